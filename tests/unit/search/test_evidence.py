"""What a field calls the things that are asked for, in scores of its documents alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pincite.api import Index
from pincite.model.types import Filters, Query
from pincite.search.candidates import Candidates

COVER = """\
UNITED STATES SECURITIES AND EXCHANGE COMMISSION

FORM 10-K

For the fiscal year ended December 31, 2021

HARBOUR WORKS, INC.

(Exact name of registrant as specified in its charter)

"""
FILING = f"""\
{COVER}
# Business

Our capex plans are told to nobody. Cranes are what we make, and what we spend is our affair.

# Consolidated Balance Sheets

(In millions)

| | 2021 | 2020 |
|---|---|---|
| Receivables | 40 | 30 |
| Total current assets | 90 | 80 |
| Total assets | 300 | 280 |
| Total current liabilities | 60 | 50 |
| Total liabilities and equity | 300 | 280 |

# Consolidated Statements of Cash Flows

(In millions)

| | 2021 | 2020 |
|---|---|---|
| Net cash provided by operating activities | 70 | 60 |
| Depreciation | 10 | 9 |
| Purchases of property, plant and equipment | 20 | 10 |
| Net cash used in investing activities | 20 | 10 |
"""
RULES = """\
# Harbour Rules

## 1 Capex of harbours

Capex shall be told to the harbour master.

## 2 Purchases

Purchases of property, plant and equipment shall be paid within 30 days.
"""
DOCUMENTS = {"a/filing.md": FILING, "b/rules.md": RULES}


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    return make_index(DOCUMENTS)


def asked(index: Index, text: str, *, filters: Filters | None = None) -> Candidates:
    return index.searcher.search(Query(text, filters=filters or Filters()), 10)


def without(index: Index) -> Index:
    return Index(index.opened, index.settings.leaving_out("vocabulary"))


def first(index: Index, text: str) -> str:
    found = asked(index, text, filters=Filters(documents=("a/filing.md",))).names()
    return index.snapshot.get(found[:1])[0].locator if found else ""


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("What was capex in 2021?", "Consolidated Statements of Cash Flows Table"),
        ("What is the quick ratio?", "Consolidated Balance Sheets Table"),
        ("Does the statement of financial position show it?", "Consolidated Balance Sheets Table"),
    ],
)
def test_a_statement_is_found_by_an_analysts_name(index: Index, text: str, place: str) -> None:
    assert first(index, text) == place
    assert first(without(index), text) != place


@pytest.mark.parametrize("text", ["What do cranes cost?", "harbour master", "97.1"])
def test_a_question_that_names_nothing_of_the_field_is_not_changed(index: Index, text: str) -> None:
    assert asked(index, text).hits() == asked(without(index), text).hits()


def test_documents_of_other_kinds_keep_their_scores(index: Index) -> None:
    text = "capex purchases of property"
    here, before = (
        {hit.chunk_id: hit.score for hit in asked(each, text).hits()}
        for each in (index, without(index))
    )
    places = dict(zip(before, index.snapshot.places(list(before)), strict=True))
    rules = [chunk_id for chunk_id, place in places.items() if place[0] == "b/rules.md"]
    assert rules and all(here[each] == pytest.approx(before[each]) for each in rules)
    assert here != before


def test_an_index_without_such_documents_has_no_vocabulary(
    make_index: Callable[..., Index],
) -> None:
    index = make_index({"b/rules.md": RULES})
    text = "What is the capex, and the quick ratio?"
    assert asked(index, text).hits() == asked(without(index), text).hits()


def test_a_filter_changes_no_part_of_a_score(index: Index) -> None:
    text, filters = "What was capex in 2021?", Filters(documents=("a/filing.md",))
    words = index.searcher.words
    assert words is not None
    parsed = index.parse(text)
    open_, filtered = (
        words.score(parsed, words.rows.masks(each)).columns[0]["vocabulary"]
        for each in (Filters(), filters)
    )
    assert open_.any() and (open_ == filtered).all()


def test_of_names_within_names_the_longest_counts(index: Index) -> None:
    words = index.searcher.words
    assert words is not None
    (evidence,) = words.evidence
    (field,) = evidence._fields  # type: ignore[attr-defined]
    found = evidence.asked("the cash flow statement", field.names)  # type: ignore[attr-defined]
    assert [ask.kinds for ask in found] == [{"cash flow statement"}]
    assert not evidence.asked("a statement of cash", field.names)  # type: ignore[attr-defined]
