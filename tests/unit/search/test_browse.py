"""The tree of a document, and where words or a pattern stand in it."""

from __future__ import annotations

import time

import pytest

from pincite.api import Index
from pincite.index.builder import IndexBuilder
from pincite.model.errors import ConfigError, StoreError
from pincite.model.settings import Settings
from pincite.model.types import Filters
from pincite.read.load import parse
from pincite.search import browse

RULES = """# Rules

## 1 Rods

Rods shall be
**at least** 2 m apart.

(a) Iron rods are long.

(b) Copper rods are short, see 2.

## 2 Wires

**Table 2.1 Sizes**

| Load | Size |
|---|---|
| Low | 4 mm |
| High | 9 mm |

Wires and rods are thin.
"""
SLOW = "# Slow\n\n## 9 Long\n\n" + "a" * 60 + "!\n"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    home = tmp_path_factory.mktemp("browse")
    with IndexBuilder(home, Settings()) as builder:
        for name, text in {"rules.md": RULES, "slow.md": SLOW}.items():
            builder.put(parse(text.encode(), name, Settings().ingest))
        builder.flush()
    return Index.open(home)


def test_an_outline_counts_what_it_leaves_out(index: Index) -> None:
    tree = index.outline("rules.md", 1)
    assert [(each.place.locator, each.level, each.below) for each in tree] == [
        ("Rules", 0, 0),
        ("1", 1, 2),
        ("2", 1, 1),
    ]
    whole = index.outline("rules.md", 9)
    assert [each.place.locator for each in whole] == [
        "Rules",
        "1",
        "1(a)",
        "1(b)",
        "2",
        "Table 2.1",
    ]
    assert all(each.characters == len(each.place.text) for each in whole)
    rows = index.outline("rules.md", 1, "Table 2.1")
    assert [each.place.locator for each in rows[1:]] == ["Table 2.1 > Low", "Table 2.1 > High"]


def test_the_tree_of_every_place_is_a_part_of_the_whole(index: Index) -> None:
    whole = index.outline("rules.md", 9)
    for entry in whole[1:]:
        part = index.outline("rules.md", 9, entry.place.locator)
        names = [each.place.id for each in part if each.place.kind != "row"]
        at = whole.index(entry)
        assert names == [each.place.id for each in whole[at : at + len(names)]]


def test_what_is_not_there_is_told(index: Index) -> None:
    with pytest.raises(StoreError, match="no document 'x'"):
        index.outline("x")
    with pytest.raises(StoreError, match=r"no place '7' in rules\.md"):
        index.outline("rules.md", 2, "7")
    with pytest.raises(ConfigError, match="nothing to look for"):
        index.grep("  ")


def test_words_stand_across_lines_and_signs(index: Index) -> None:
    (hit,) = index.grep("BE at least 2 m")
    assert (hit.place.locator, hit.count) == ("1", 1)
    assert [hit.line[a:b] for a, b in hit.marks] == ["be at least 2 m"]


def test_matches_belong_to_the_deepest_place(index: Index) -> None:
    found = index.grep("rods", limit=50)
    assert found.counts == {"rules.md": 5} and found.matches == 5
    assert [(hit.place.locator, hit.count) for hit in found] == [
        ("1", 2),
        ("1(a)", 1),
        ("1(b)", 1),
        ("2", 1),
    ]
    assert [hit.place.locator for hit in index.grep("mm")] == [
        "Table 2.1 > Low",
        "Table 2.1 > High",
    ]
    assert len(index.grep("rods", filters=Filters(documents=("slow.md",)))) == 0


def test_a_part_of_the_places_and_the_rest(index: Index) -> None:
    whole = [hit.place.id for hit in index.grep("rods")]
    first, second = index.grep("rods", limit=3), index.grep("rods", limit=3, start=3)
    assert (first.more, second.more) == (True, False)
    assert [hit.place.id for hit in (*first, *second)] == whole


def test_a_pattern_is_one(index: Index) -> None:
    hits = index.grep(r"^\(\w\) (Iron|Copper)", is_pattern=True)
    assert [hit.place.locator for hit in hits] == ["1(a)", "1(b)"]
    assert not index.grep(r"^\(\w\) (iron)", is_pattern=True)
    assert not index.grep(r"x*", is_pattern=True)


def test_a_slow_pattern_is_refused_in_time(index: Index) -> None:
    started = time.thread_time()
    with pytest.raises(ConfigError, match="took more than") as told:
        index.grep(r"(a|aa)+$", is_pattern=True)
    assert "keep repeats apart" in told.value.hint
    assert time.thread_time() - started < 5


def test_what_there_was_no_time_for_is_named(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browse, "GREP_SECONDS", -1.0)
    assert index.grep("rods").unread == ("rules.md", "slow.md")
