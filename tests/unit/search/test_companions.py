"""What belongs beside hits: tables, exceptions, definitions, clauses and introductions."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pincite.api import Index
from pincite.model.settings import IngestSettings, Settings
from pincite.search.neighbours import Companion, Neighbours, companions

CODE = """# Wiring Code

## 1.1 Definitions

(a) *Branch circuit* means the conductors behind the last fuse.

## 1.2 Boxes

Boxes follow these rules.

(a) A branch circuit has the size in Table 1.4, and a cover as section 1.3 says.

(b) A box has a number.

Exception: No number is needed below a floor.

## 1.3 Covers

Covers are made of metal.

## 1.4 Sizes

Table 1.4 Sizes

| wires | size |
|---|---|
| 2 | 10 |
| 3 | 15 |
"""
SETTINGS = Settings(ingest=IngestSettings(split_depth=2, profile="code"))


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    return make_index({"code.md": CODE}, SETTINGS)


def ids(index: Index, *locators: str) -> list[str]:
    chunks = [chunk for chunk in index.snapshot.chunks("code.md") if chunk.searched]
    return [next(c.id for c in chunks if c.locator == locator) for locator in locators]


def told(index: Index, *hits: str, limit: int = 10) -> list[tuple[str, str, str, str]]:
    found = ids(index, *hits)
    got = companions(found, Neighbours(index.snapshot), limit)
    chunks = index.snapshot.get([i for each in got for i in (each.chunk_id, each.of)])
    pairs = zip(chunks[::2], chunks[1::2], got, strict=True)
    return [(a.locator, each.relation, b.locator, each.evidence) for a, b, each in pairs]


def test_the_most_useful_come_first(index: Index) -> None:
    assert told(index, "1.2(a)") == [
        ("Table 1.4", "table", "1.2(a)", "Table 1.4"),
        ("1.1(a)", "definition", "1.2(a)", "branch circuit"),
        ("1.3", "clause", "1.2(a)", "section 1.3"),
        ("1.2", "introduction", "1.2(a)", ""),
    ]


def test_an_exception_comes_with_its_rule(index: Index) -> None:
    (first, *_) = told(index, "1.2(b)")
    assert first[1] == "exception"
    assert "Exception" in first[0]


def test_a_hit_is_no_companion_and_no_companion_comes_twice(index: Index) -> None:
    found = told(index, "1.2(a)", "1.3", "1.2(b)")
    places = [place for place, *_ in found]
    assert len(places) == len(set(places))
    assert not {"1.2(a)", "1.3", "1.2(b)"} & set(places)


def test_the_limit_and_the_filter_are_kept(index: Index) -> None:
    assert [place for place, *_ in told(index, "1.2(a)", limit=2)] == ["Table 1.4", "1.1(a)"]
    hit, definition = ids(index, "1.2(a)", "1.1(a)")
    only = companions([hit], Neighbours(index.snapshot), 9, lambda some: {definition} & {*some})
    assert only == [Companion(definition, hit, "definition", "branch circuit")]


def test_no_hits_have_no_companions(index: Index) -> None:
    assert companions([], Neighbours(index.snapshot), 5) == []
