"""Names in a query narrow a search to what is said about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from pincite.api import Index
from pincite.core.settings import IngestSettings, Settings
from pincite.core.types import Hit, Query, Ranking
from pincite.search.places import EntityFirst, entities
from pincite.search.words import Lexical
from pincite.search.neighbours import Neighbours

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


class Scoring:
    """The words' scores, also of given chunks."""

    name = "lexical"

    def __init__(self, index: Index) -> None:
        self.inner = Lexical(index.opened)

    def retrieve(self, query: Query, k: int) -> Ranking:
        return self.inner.retrieve(query, k)

    def score(self, query: Query, ids: Sequence[str]) -> list[Hit]:
        return [hit for hit in self.inner.retrieve(query, 1000).hits if hit.chunk_id in ids]


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
    found = entities(text, Neighbours(index.snapshot), index.opened.analyzer)
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


def ranked(index: Index, text: str, k: int = 10) -> list[str]:
    retriever = EntityFirst(Scoring(index), Neighbours(index.snapshot), index.opened.analyzer)
    found = retriever.retrieve(Query(text), k)
    for hit in found.hits:
        assert sum(hit.features.values()) == pytest.approx(hit.score)
    return [chunk.locator for chunk in index.snapshot.get(found.ids)]


def test_a_described_thing_comes_first(book: Index) -> None:
    text = "what range has the fire ball spell: the range of a ball of fire?"
    plain = book.snapshot.get(Scoring(book).retrieve(Query(text), 10).ids)
    assert plain[0].locator == "Ranges"
    found = ranked(book, text)
    assert found[0] == "Fire Ball"
    assert set(found) == {chunk.locator for chunk in plain}
    for k in range(len(found) + 1):
        assert ranked(book, text, k) == found[:k]


def test_one_word_is_a_name_only_with_a_capital_inside(book: Index) -> None:
    assert ranked(book, "the range of Bane")[0] == "Bane"
    plain = Scoring(book).retrieve(Query("the range of bane"), 10).ids
    assert ranked(book, "the range of bane") == [c.locator for c in book.snapshot.get(plain)]


def test_a_term_that_is_only_defined_changes_nothing(index: Index) -> None:
    text = "cover of the branch circuit box"
    plain = index.snapshot.get(Scoring(index).retrieve(Query(text), 10).ids)
    assert ranked(index, text) == [chunk.locator for chunk in plain]
