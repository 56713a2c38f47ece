"""A query is read once, whoever wants to know something of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pincite.answer.asker import Asker
from pincite.api import Index
from pincite.index.opened import Corrections
from pincite.index.tokens import QueryAnalyzer
from pincite.model.types import Filters
from pincite.read.load import find_files
from pincite.search import query as module
from pincite.search.query import ParsedQuery
from pincite.update import ingest_files

SAMPLES = Path(__file__).parents[3] / "samples"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("query")
    list(ingest_files(find_files([SAMPLES]), folder))
    return Index.open(folder)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a query was read, and what for."""
    found: Counter[str] = Counter()

    def counted(home: Any, name: str, label: str) -> None:
        real = getattr(home, name)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            found[label] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(home, name, wrapper)

    counted(ParsedQuery, "__init__", "parsed")
    counted(Corrections, "of", "corrected")
    counted(QueryAnalyzer, "readings", "terms")
    counted(module, "mentions", "mentions")
    counted(module, "mention_spans", "mention spans")
    counted(module, "named_places", "places")
    return found


ONCE = {"parsed": 1, "corrected": 1, "terms": 1, "mentions": 1, "places": 1}


def test_a_search_reads_a_question_once(index: Index, counts: Counter[str]) -> None:
    result = index.search("how far must a working space reach", 5)
    assert result.passages and counts == ONCE


def test_an_answer_reads_a_question_once(index: Index, counts: Counter[str]) -> None:
    assert Asker(index).answer("What does error E-07 mean?").text
    assert counts == ONCE
    counts.clear()
    assert Asker(index).answer("What does 210.8 say?").text  # a place that is named is looked up
    assert counts == ONCE | {"mention spans": 1}


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("210.8(A)(1) to 210.8(A)(5)", [f"210.8(A)({n})" for n in range(1, 6)]),
        ("110.26(A) through 110.26(C)", [f"110.26({letter})" for letter in "ABC"]),
    ],
)
def test_a_named_range_stands_first_whole_and_in_order(
    index: Index, query: str, places: list[str]
) -> None:
    found = index.search(query, 20).passages
    names = [passage.chunk.locator for passage in found if passage.is_named]
    assert sorted(names) == sorted(places * 2)  # two editions
    assert names[: len(places)] == names[len(places) :] == places
    assert all(passage.is_named for passage in found[: len(names)])


def test_the_word_of_a_field_is_no_typing_error(make_index: Callable[..., Index]) -> None:
    index = make_index({"a.md": "# Coast\n\nThe cape has a lighthouse, and a capstan.\n"})
    assert index.parse("what was the capex of the lighthose?").corrections == {
        "lighthose": "lighthouse"
    }


def test_what_is_read_of_a_query(make_index: Callable[..., Index]) -> None:
    index = make_index({"a.md": "# Code\n\n## 1.2 Boxes\n\n(a) A permit has a duration.\n"})
    query = index.parse("which duraton has 1.2(a), and 1.2(c)?", Filters())
    assert query.corrections == {"duraton": "duration"}
    assert query.corrected == "which duration has 1.2(a), and 1.2(c)?"
    assert [mention.first for mention in query.mentions] == ["1.2(a)", "1.2(c)"]
    assert [chunk.locator for chunk in index.snapshot.get(query.places)] == ["1.2(a)"]
    assert query.missing == [("1.2(c)", "1.2")]
    assert not query.is_bare_number and index.parse("1.2(a)").is_bare_number
    assert query.weights["durat"] > 0 and "duraton" not in query.weights
