"""The strict loader: later sources win, mistakes are named with the nearest right thing."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from pincite.model.errors import ConfigError
from pincite.model.old_settings import OLD_KEYS
from pincite.model.settings import Settings, load_settings, merged, setting_names


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "pincite.toml"
    file.write_text("[search]\nk = 3\n[tuning]\ndepth = 30\n[tuning.lexical]\nk1 = 1\n")
    tuned = {"PINCITE_TUNING__DEPTH": "31", "PINCITE_TUNING__LEXICAL__B": "0.5"}
    last = ["tuning.lexical.b=0.25", " ingest.language = german "]
    settings = load_settings(file, {**tuned, "PINCITE_INDEX": "x"}, last)
    assert (settings.search.k, settings.tuning.depth) == (3, 31)
    assert (settings.tuning.lexical.k1, settings.tuning.lexical.b) == (1.0, 0.25)
    assert isinstance(settings.tuning.lexical.k1, float)
    assert settings.ingest.language == "german"


def test_nothing_given_is_the_default() -> None:
    assert load_settings() == Settings()
    assert merged(Settings(), {}, origin="x") == Settings()
    assert merged(Settings(), asdict(Settings()), origin="x") == Settings()


def test_a_string_setting_takes_what_looks_like_a_number() -> None:
    assert load_settings(overrides=["ingest.language=5"]).ingest.language == "5"
    assert load_settings(overrides=["ingest.language='none'"]).ingest.language == "none"


@pytest.mark.parametrize(
    ("override", "message", "hint"),
    [
        ("serch.k=5", "--set: unknown setting serch", "did you mean search?"),
        ("search.kk=5", "--set: unknown setting search.kk", "did you mean search.k?"),
        ("zzz.q=5", "unknown setting zzz", "known here: ingest, embedding"),
        ("search.k=five", "search.k must be int, got 'five'", ""),
        ("search.k=2.5", "search.k must be int, got 2.5", ""),
        ("search.k=true", "search.k must be int, got True", ""),
        ("search.k=", "search.k must be int, got ''", ""),
        ("search.k=-1", "search.k must be from 0", ""),
        ("tuning.lexical.b=1.5", "tuning.lexical.b must be from 0 to 1, got 1.5", ""),
        ("tuning.lexical.k1=nan", "tuning.lexical.k1 must be from 0", ""),
        ("tuning.lexical.k1=inf", "tuning.lexical.k1 must be from 0", ""),
        ("tuning.bigrams=1", "tuning.bigrams must be bool, got 1", ""),
        ("tuning.lexical.variant=bm42", "must be one of lucene, robertson, atire, plus", ""),
        ("search=5", "search is a section, got 5", ""),
        ("search.k.x=5", "search.k must be int", ""),
        ("search", "--set search: no value", "section.key=value"),
        ("=5", "unknown setting", ""),
    ],
)
def test_mistakes_are_named(override: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(overrides=[override])
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize("content", [b"[search\n", b"k = ", b"\xff", b"search = 5\n", b"[a]\nb=1"])
def test_bad_files_are_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=r"x\.toml"):
        load_settings(file)


def test_the_environment_is_named() -> None:
    with pytest.raises(ConfigError, match="environment PINCITE_SEARCH__KK"):
        load_settings(environment={"PINCITE_SEARCH__KK": "5"})


def test_only_what_shapes_an_index_is_its_shape() -> None:
    default = Settings()
    free = load_settings(overrides=["search.k=1", "tuning.lexical.k1=2", "limits.file_mb=1"])
    shaping = load_settings(overrides=["tuning.bigrams=false"])
    assert free.shape() == default.shape()
    assert shaping.shape() != default.shape()
    assert len({each.fingerprint() for each in (default, free, shaping)}) == 3
    assert default.fingerprint() == Settings().fingerprint()


def test_every_setting_has_its_name() -> None:
    names = setting_names()
    assert "search.k" in names and len(names) == len(set(names))
    assert all(len(name.split(".")) == 2 for name in names if not name.startswith("tuning."))


def test_what_was_renamed_is_told() -> None:
    """In a file, in the environment and on the command line; every new name is one."""
    names = set(setting_names())
    assert not names & set(OLD_KEYS)
    assert {new for new in OLD_KEYS.values() if new} <= names
    with pytest.raises(ConfigError, match=r"search\.pipeline is called search\.preset now"):
        load_settings(overrides=["search.pipeline=lexical"])
    with pytest.raises(ConfigError, match=r"lexical\.k1 is called tuning\.lexical\.k1 now"):
        load_settings(environment={"PINCITE_LEXICAL__K1": "1"})
    with pytest.raises(ConfigError, match=r"store\.connections is fixed now"):
        merged(Settings(), {"store": {"connections": 3}}, origin="file")
    with pytest.raises(ConfigError, match=r"search\.locators is a part of") as caught:
        load_settings(overrides=["search.locators=false"])
    assert caught.value.hint == 'search.without = "places" leaves it out'


def test_parts_are_left_out_by_name() -> None:
    settings = load_settings(overrides=["search.without=typos, names"])
    assert settings.left_out == {"typos", "names"}
    assert settings.leaving_out("graph").taking_in("names").left_out == {"graph", "typos"}
    with pytest.raises(ConfigError, match="no part 'name'") as caught:
        load_settings(overrides=["search.without=typos,name"])
    assert "places, names, documents" in caught.value.hint


def test_a_shape_is_stored_as_it_always_was() -> None:
    stored = {
        "ingest": {
            "chunking": "clause",
            "max_chars": 3000,
            "split_depth": 0,
            "profile": "auto",
            "max_tokens": 1024,
        },
        "tokens": {"language": "auto", "bigrams": True},
    }
    assert json.dumps(Settings().shape()) == json.dumps(stored)
    stored["tokens"] = {"language": "german", "bigrams": False}
    settings = Settings.from_shape({**stored, "more": 1}, origin="index")
    assert (settings.ingest.language, settings.tuning.bigrams) == ("german", False)
    assert settings.shape() == stored
    assert Settings().shaped_as(settings) == settings
    for broken in ({"tokens": 5}, {"tokens": {"accents": True}}, {"ingest": {"x": 1}}):
        with pytest.raises(ConfigError, match="index"):
            Settings.from_shape(broken, origin="index")
