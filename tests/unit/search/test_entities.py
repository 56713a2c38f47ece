"""Names in a query narrow a search to what is said about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from pincite.api import Index
from pincite.model.locators import locator_key
from pincite.model.settings import IngestSettings, SearchSettings, Settings
from pincite.model.types import Query
from pincite.search.build import build
from pincite.search.neighbours import Neighbours
from pincite.search.query import find_entities

CODE = """# Wiring Code

## 1.1 Definitions

(a) *Branch circuit* means the conductors behind the last fuse.

(b) *Branch circuit breaker* means what opens one.

## 1.2 Boxes

(a) A branch circuit has a box with a cover.

(b) A feeder has a box with two covers, a cover and a cover.

## 1.3 Covers

Any box has a cover.
"""
SETTINGS = Settings(ingest=IngestSettings(split_depth=1, profile="code"))


def ranked(index: Index, text: str, k: int = 10, *, names: bool = True) -> list[str]:
    """Return what words find, with or without what the query names."""
    search = SearchSettings(preset="lexical", without="places" if names else "places,names")
    found = build(replace(SETTINGS, search=search), index.opened).find(Query(text), k)
    for hit in found.hits():
        assert sum(hit.features.values()) == pytest.approx(hit.score)
    return [chunk.locator for chunk in index.snapshot.get(found.names())]


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    return make_index({"code.md": CODE}, SETTINGS)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("What is a Branch Circuit?", ["branch circuit"]),
        ("the branch circuit breaker of a box", ["branch circuit breaker"]),
        ("covers of the branch circuit", ["branch circuit", "covers"]),
        ("what is this?", []),
        ("", []),
    ],
)
def test_the_longest_names_are_found(index: Index, text: str, names: list[str]) -> None:
    words = text.split()
    content = {word.strip("?").casefold() for word in index.opened.analyzer.content_words(text)}
    spans = {
        (at, at + size): locator_key(" ".join(words[at : at + size]).rstrip("?"))
        for size in range(5, 0, -1)
        for at in range(len(words) - size + 1)
        if size > 1 or words[at].strip("?").casefold() in content
    }
    found = find_entities(spans, set(), set(), Neighbours(index.snapshot))
    assert [each.name for each in found] == names


BOOK = """# Spells

## Fire Ball

*3rd-level evocation*

**Casting Time:** 1 action

**Range:** 150 feet

**Duration:** Instantaneous

A bright streak. Each creature takes damage. The range grows at higher levels.

## Bane

*1st-level enchantment*

**Casting Time:** 1 action

**Range:** 30 feet

**Duration:** Instantaneous

Creatures lose.

## Ranges

The range of a spell, the range of a ball, the range of fire: what the range is, each spell says.
A bane on all long-range spells.
"""


@pytest.fixture
def book(make_index: Callable[..., Index]) -> Index:
    return make_index({"book.md": BOOK}, Settings(ingest=IngestSettings(profile="rulebook")))


def test_a_described_thing_comes_first(book: Index) -> None:
    text = "what range has the fire ball spell: the range of a ball of fire?"
    plain = ranked(book, text, names=False)
    assert plain[0] == "Ranges"
    found = ranked(book, text)
    assert found[0] == "Fire Ball"
    assert set(found) == set(plain)
    for k in range(len(found) + 1):
        assert ranked(book, text, k) == found[:k]


def test_one_word_is_a_name_only_with_a_capital_inside(book: Index) -> None:
    assert ranked(book, "the range of Bane")[0] == "Bane"
    plain = ranked(book, "the range of bane", names=False)
    assert ranked(book, "the range of bane") == plain


def test_a_term_that_is_only_defined_changes_nothing(index: Index) -> None:
    text = "cover of the branch circuit box"
    assert ranked(index, text) == ranked(index, text, names=False)
