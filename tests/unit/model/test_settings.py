"""The strict loader: later sources win, mistakes are named with the nearest right thing."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from pincite.model.errors import ConfigError
from pincite.model.settings import Settings, load_settings, merged, setting_names


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "pincite.toml"
    file.write_text("[search]\nk = 3\ndepth = 30\n[lexical]\nk1 = 1\n")
    environment = {"PINCITE_SEARCH__DEPTH": "31", "PINCITE_LEXICAL__B": "0.5", "PINCITE_INDEX": "x"}
    settings = load_settings(file, environment, ["lexical.b=0.25", " tokens.language = german "])
    assert (settings.search.k, settings.search.depth) == (3, 31)
    assert (settings.lexical.k1, settings.lexical.b) == (1.0, 0.25)
    assert isinstance(settings.lexical.k1, float)
    assert settings.tokens.language == "german"


def test_nothing_given_is_the_default() -> None:
    assert load_settings() == Settings()
    assert merged(Settings(), {}, origin="x") == Settings()
    assert merged(Settings(), asdict(Settings()), origin="x") == Settings()


def test_a_string_setting_takes_what_looks_like_a_number() -> None:
    assert load_settings(overrides=["tokens.language=5"]).tokens.language == "5"
    assert load_settings(overrides=["tokens.language='none'"]).tokens.language == "none"


@pytest.mark.parametrize(
    ("override", "message", "hint"),
    [
        ("serch.k=5", "--set: unknown setting serch", "did you mean search?"),
        ("search.kk=5", "--set: unknown setting search.kk", "did you mean search.k?"),
        ("zzz.q=5", "unknown setting zzz", "known here: ingest, tokens"),
        ("search.k=five", "search.k must be int, got 'five'", ""),
        ("search.k=2.5", "search.k must be int, got 2.5", ""),
        ("search.k=true", "search.k must be int, got True", ""),
        ("search.k=", "search.k must be int, got ''", ""),
        ("search.k=-1", "search.k must be from 0", ""),
        ("lexical.b=1.5", "lexical.b must be from 0 to 1, got 1.5", ""),
        ("lexical.k1=nan", "lexical.k1 must be from 0", ""),
        ("lexical.k1=inf", "lexical.k1 must be from 0", ""),
        ("tokens.bigrams=1", "tokens.bigrams must be bool, got 1", ""),
        ("lexical.variant=bm42", "must be one of lucene, robertson, atire, plus", ""),
        ("search=5", "search is a section, got 5", ""),
        ("search.k.x=5", "search.k.x", ""),
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
    free = load_settings(overrides=["search.k=1", "lexical.k1=2", "limits.max_file_mb=1"])
    shaping = load_settings(overrides=["tokens.bigrams=false"])
    assert free.shape() == default.shape()
    assert shaping.shape() != default.shape()
    assert len({each.fingerprint() for each in (default, free, shaping)}) == 3
    assert default.fingerprint() == Settings().fingerprint()


def test_every_setting_has_its_name() -> None:
    names = setting_names()
    assert "search.k" in names and len(names) == len(set(names))
    assert all(len(name.split(".")) == 2 for name in names)
