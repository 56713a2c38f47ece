"""Profiles: what is accepted, what is refused with which words, and which one is chosen."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.model.errors import ConfigError, StaleIndex
from pincite.model.profiles import PROFILE_NAMES, WINDOW, WatchedPattern, compiled_pattern, windows
from pincite.model.settings import IngestSettings, Settings
from pincite.model.types import Chunk, Document
from pincite.read.chunks import chunks_of
from pincite.read.enrich.profile import (
    choose_profile,
    load_profile,
    load_profiles,
    parse_profile,
    profile_fingerprint,
    profile_for,
    profile_scores,
)
from pincite.read.formats.markdown import read
from pincite.read.structure.clauses import clause_tree
from pincite.update import ingest_files, remove


def loaded(text: str) -> tuple[Document, list[Chunk]]:
    parsed = read(text.encode(), "d.md")
    document = Document("d.md", parsed.text, parsed.title)
    clauses = clause_tree(parsed.text, parsed.blocks, parsed.title)
    return document, chunks_of(document, clauses, parsed.pages, IngestSettings())


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a" * 501, "501 characters"),
        ("(", "no valid pattern"),
        ("a{9999999999}", "no valid pattern"),
        ("(?<=a+)b", "no valid pattern"),
    ],
)
def test_uncompiled_patterns_are_refused(pattern: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as error:
        compiled_pattern(pattern, where="field x")
    assert error.value.message.startswith("field x: ")
    assert error.value.hint


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bshall\b|\bmust\b",
        r"^\*\*Traits\*\*\s*(.+)$",
        r"^[*]{2}([^*\n]{2,80})[.][*]{2}",
        r"(?i)^definitions?$",
        r"Casting Time: (\S.{0,80})",
        r"\w+\s+\w+\s+means",
        r"\((?P<alias>[A-Z]{2,6})\)",
    ],
)
def test_what_people_write_is_accepted_and_quick_on_nasty_texts(pattern: str) -> None:
    compiled = compiled_pattern(pattern, where="x")
    nasty = [sign * WINDOW for sign in ("a", " ", "\n", "*", "(", "A ", "a\n")]
    begin = time.process_time()
    for text in nasty:
        for start, end in windows(text, 0, len(text)):
            list(compiled.finditer(text, start, end))
    assert time.process_time() - begin < 2


@pytest.mark.parametrize("pattern", [r"(?:a|aa)+$", r"(a+)+$", r"(.*a){20}$", r"(a{1,9}){1,9}b"])
def test_a_pattern_that_takes_too_long_is_stopped_and_named(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite.model.profiles.MAX_SECONDS", 0.05)
    compiled, text = compiled_pattern(pattern, where="field x"), "a" * (WINDOW - 1) + "!"
    for find in (compiled.search, lambda text: list(compiled.finditer(text))):
        begin = time.process_time()
        with pytest.raises(ConfigError, match="took more than") as error:
            find(text)
        assert time.process_time() - begin < 5
        assert error.value.message.startswith(f"field x: {pattern}: ") and error.value.hint


def test_only_patterns_of_others_are_watched(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('name = "own"\nextends = "code"\nrules = ["x"]\n')
    assert all(isinstance(each, WatchedPattern) for each in load_profile(str(own)).rules)
    assert not any(isinstance(each, WatchedPattern) for each in load_profile("code").rules)


@given(st.text(alphabet="ab \n", max_size=4000), st.integers(0, 50))
def test_windows_are_short_and_join_to_the_text(text: str, start: int) -> None:
    start = min(start, len(text))
    found = list(windows(text, start, len(text)))
    assert "".join(text[a:b] for a, b in found) == text[start:]
    assert all(0 < b - a <= WINDOW for a, b in found)


@pytest.mark.parametrize("name", PROFILE_NAMES)
def test_the_profiles_that_come_along_are_complete(name: str) -> None:
    profile = load_profile(name)
    assert profile.name == name
    assert profile.about and profile.rules and profile.kinds and profile.signals
    assert {"table", "definition", "rule"} <= {kind.name for kind in profile.kinds}


def test_a_profile_is_read_once() -> None:
    assert load_profile("code") is load_profile("code")
    assert [profile.name for profile in load_profiles()] == list(PROFILE_NAMES)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("nam = 'x'", "name is missing", "docs/profiles.md"),
        ("name = 'x'\nrule = ['a']", "unknown key rule", "did you mean rules?"),
        ("name = 3", "name must be a text, got 3", ""),
        ("name = 'x'\nrules = 'a'", "rules must be a list, got 'a'", ""),
        ("name = 'x'\nrules = [3]", "rules must be a list of texts, got 3", ""),
        ("name = 'x'\ninverted_terms = 1", "must be true or false, got 1", ""),
        ("name = 'x'\nbase = -1", "base must be from 0", ""),
        ("name = 'x'\n[[kind]]\nname = 'k'\nwen = []", "kind k: unknown key wen", "mean when?"),
        ("name = 'x'\nkind = ['a']", "kind must be a list of tables", ""),
        (
            "name = 'x'\n[[kind]]\nname = 'k'\nwhen = [{ headin = 'a' }]",
            "kind k: when 1: unknown key headin",
            "did you mean heading?",
        ),
        (
            "name = 'x'\n[[kind]]\nname = 'k'\nwhen = [{ kinds = ['k'] }]",
            "unknown key kinds",
            "",
        ),
        (
            "name = 'x'\n[[field]]\nname = 'cost'\npatterns = ['Cost']",
            "field cost: patterns: Cost: 1 group wanted, 0 found",
            "parentheses",
        ),
        (
            "name = 'x'\n[[field]]\nname = 'cost'\npatterns = []\ntraits = 'some'",
            "traits must be one of none, all, known, got 'some'",
            "",
        ),
        ("name = 'x'\n[[alias]]\npattern = '(A)'", "no group called alias", "(?P<alias>"),
        (
            "name = 'x'\n[[field]]\nname = 'cost'\npatterns = []\n"
            "[[kind]]\nname = 'k'\nwhen = [{ fields = ['cots'] }]",
            "no field called 'cots'",
            "did you mean cost?",
        ),
        (
            "name = 'x'\n[[tag]]\nname = 't'\nwhen = [{ kinds = ['spell'] }]",
            "no kind called 'spell'",
            "known: narrative",
        ),
        ("name = ", "is no TOML", "docs/profiles.md"),
        ("name = 'x'\nextends = 'novel'", "extends must be one of code", ""),
        ("name = 'x'\nrules = ['(a+']", "no valid pattern", "bound them"),
    ],
)
def test_mistakes_are_named(text: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as error:
        parse_profile(text, origin="mine.toml")
    assert message in error.value.message
    assert error.value.message.startswith("mine.toml")
    assert hint in error.value.hint


def test_unknown_profiles_and_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no profile 'rulebok'") as error:
        load_profile("rulebok")
    assert "rulebook" in error.value.hint
    with pytest.raises(ConfigError, match="cannot be read"):
        load_profile(str(tmp_path / "none.toml"))


def test_a_file_can_extend_a_profile(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        "name = 'mine'\nextends = 'code'\ncommon_share = 0.5\n[[kind]]\nname = 'fee'\n"
        "when = [{ heading = 'Fees' }]\n[audiences]\nowner = ['owner']\n"
    )
    mine, code = load_profile(str(file)), load_profile("code")
    assert mine.kinds[0].name == "fee"
    assert [kind.name for kind in mine.kinds[1:]] == [kind.name for kind in code.kinds]
    assert mine.common_share == 0.5
    assert mine.audiences["owner"] == ("owner",)
    assert mine.fingerprint != code.fingerprint


CODE = """# Bridge Code
## 1 Scope
This code applies to bridges.
## 2 Loads
(a) A bridge shall carry its load.
(b) The owner shall inspect it, except as paragraph (a) of this section says.
"""
GAME = """# Dust and Dice
## Spells
### Blink
*Level 2 Conjuration*

**Casting Time:** Action

**Range:** Self

You take 2d6 damage on a failed saving throw.
## Monsters
### Rat
**Armor Class** 12
**Hit Points** 3
"""
MANUAL = """# Kettle User Manual
## Installation
1. Connect the cable.
2. Press the button.

WARNING: The kettle is hot.
## Maintenance
CAUTION: Switch off the device.
"""
PAPER = """# On Moths
## Abstract
We studied moths [1]. This paper shows results.
## Methods
We found them with lamps (Lamb 1999).
## References
"""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (CODE, "code"),
        (GAME, "rulebook"),
        (MANUAL, "manual"),
        (PAPER, "report"),
        ("Once upon a time.", "report"),
    ],
)
def test_auto_takes_the_profile_that_a_document_looks_like(text: str, name: str) -> None:
    document, chunks = loaded(text)
    assert choose_profile(document, chunks, load_profiles()).name == name
    assert profile_for("auto", document, chunks).name == name
    assert profile_for("manual", document, chunks).name == "manual"


def test_scores_do_not_grow_with_the_document() -> None:
    short, long = loaded(CODE), loaded(CODE.replace("# Bridge Code\n", "") * 30)
    scores = [profile_scores(*each, load_profiles())["code"] for each in (short, long)]
    most = sum(signal.weight for signal in load_profile("code").signals)
    assert scores[0] <= scores[1] <= most


def test_tables_do_not_speak_for_a_kind() -> None:
    row = "| shall | 1d6 | WARNING: press |\n"
    document, chunks = loaded("# T\n\nWords.\n\n| a | b | c |\n|---|---|---|\n" + row * 30)
    assert choose_profile(document, chunks, load_profiles()).name == "report"


def test_every_key_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs/profiles.md").read_text(encoding="utf-8")
    source = Path(load_profile.__code__.co_filename).read_text(encoding="utf-8")
    keys = set(re.findall(r"(?:table|each)\.\w+\(\"(\w+)\"", source))
    assert len(keys) > 25
    for key in keys:
        assert re.search(rf"\b{key}\b", page), key


def test_an_edited_profile_makes_the_index_stale(tmp_path: Path) -> None:
    file, index = tmp_path / "mine.toml", tmp_path / "index"
    file.write_text("name = 'mine'\nextends = 'code'\n", encoding="utf-8")
    (tmp_path / "a.md").write_text(CODE, encoding="utf-8")
    files = [(tmp_path / "a.md", "a.md")]
    settings = Settings(ingest=IngestSettings(profile=str(file)))
    assert [each.status for each in ingest_files(files, index, settings)] == ["added"]
    assert [each.status for each in ingest_files(files, index, settings)] == ["unchanged"]
    file.write_text("name = 'mine'\nextends = 'code'\nbase = 1.0\n", encoding="utf-8")
    with pytest.raises(StaleIndex, match=r"profile\.fingerprint was '\w+', now '\w+'") as error:
        list(ingest_files(files, index, settings))
    assert "--rebuild" in error.value.hint
    assert remove(index, ["a.md"]) == ["a.md"]  # which reads no document, and so no profile
    assert [e.status for e in ingest_files(files, index, settings, rebuild=True)] == ["added"]


def test_the_fingerprint_of_auto_is_that_of_all_profiles() -> None:
    known = {profile_fingerprint(name) for name in ("auto", "none", *PROFILE_NAMES)}
    assert len(known) == 2 + len(PROFILE_NAMES)
    assert profile_fingerprint("code") == load_profile("code").fingerprint
    assert profile_fingerprint("none") == ""
