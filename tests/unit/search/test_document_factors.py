"""What a document is worth multiplies the scores of its rows before the best are chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pincite.api import Index
from pincite.index.filters import Groups
from pincite.index.opened import Rows
from pincite.model.types import Filters
from pincite.search.candidates import Candidates
from pincite.search.documents import DOCUMENT, DocumentFactors, weigh
from pincite.search.explain import proposals
from pincite.search.pipeline import Gather
from pincite.search.query import ParsedQuery
from pincite.search.row_scorers import MeaningScores, WordScorer
from pincite.store.files import Array

MANY = 6
TEXT = "# Rules\n\n" + "\n\n".join(f"## {n} Fees\n\nThe fee of berth {n} is due." for n in range(9))
DOCUMENTS = {f"{n:02d}.md": TEXT for n in range(MANY)} | {
    "zz.md": "# Rules\n\n## 1 Fees\n\n"
    "Any fee of 3 crowns is due at the harbour office, in coins, before the berth is left.\n"
}


class OneDocument:
    """Says that a question is about one document."""

    def __init__(self, index: Index, name: str, others: float) -> None:
        self.groups = Groups(index.snapshot, "document")
        self.offsets = Rows(index.opened).offsets
        self.of = np.array([1.0 if each.endswith(name) else others for each in self.groups.names])

    def factors(self, text: str, filters: Filters) -> DocumentFactors | None:
        rows = np.concatenate(self.groups.rows)
        return DocumentFactors(self.of, rows, self.offsets) if "berth" in text else None


def about(index: Index, text: str, name: str, others: float = 0.01) -> ParsedQuery:
    reader = replace(index.searcher.reader, documents=OneDocument(index, name, others))
    return ParsedQuery(index.parse(text).query, reader)


def documents(index: Index, table: Candidates, k: int) -> list[str]:
    return [doc_id for doc_id, _ in index.snapshot.places(table.best(k).names())]


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    return make_index(DOCUMENTS)


def test_rows_are_chosen_with_what_their_document_is_worth(index: Index) -> None:
    found = index.searcher.run(index.parse("fee of berth 3"), 5)
    assert "zz.md" not in documents(index, found, 5)  # any of six has more of its words
    first = index.searcher.run(about(index, "fee of berth 3", "zz.md"), 5)
    assert documents(index, first, 1) == ["zz.md"]


def test_parts_add_up_and_the_factor_is_shown(index: Index) -> None:
    plain = index.searcher.find(index.parse("fee of berth 3").query, 500)
    query = about(index, "fee of berth 3", "zz.md", 0.5)
    table = index.searcher.stages[0][1](query, Candidates.empty(500))
    before = dict(zip(plain.names(), plain.score.tolist(), strict=True))
    for name, score, worth in zip(table.names(), table.score, table.raw[DOCUMENT], strict=True):
        assert worth == (1.0 if index.snapshot.places([name])[0][0] == "zz.md" else 0.5)
        assert score == pytest.approx(worth * before[name])
    assert [sum(hit.features.values()) for hit in table.hits(9)] == pytest.approx(
        [hit.score for hit in table.hits(9)]
    )


def test_a_question_that_names_no_document_is_the_same_to_the_byte(index: Index) -> None:
    one = index.searcher.run(index.parse("when is a fee due"), 20)
    other = index.searcher.run(about(index, "when is a fee due", "zz.md"), 20)
    assert other.ids.tobytes() == one.ids.tobytes()
    assert other.score.tobytes() == one.score.tobytes()
    assert DOCUMENT not in other.raw


class Near:
    """Vectors of which the last row's is the farthest."""

    def __init__(self, size: int, *, has_lists: bool) -> None:
        self.cosines = np.linspace(0.9, 0.5, size)
        self.has_lists = has_lists

    def approximate(self, number: int, vector: Array) -> Array:
        return self.cosines.copy()

    def nearest(self, vector: Array, masks: Sequence[Array | None], wanted: int) -> dict[int, Any]:
        if not self.has_lists:
            return {}
        allowed = np.ones(len(self.cosines), bool) if masks[0] is None else masks[0]
        found = np.flatnonzero(allowed)[:wanted]
        return {0: (found, self.cosines[found])}

    def exact(self, number: int, rows: Array, vector: Array) -> Array:
        return np.asarray(self.cosines[rows])


@pytest.mark.parametrize("has_lists", [False, True])
def test_vectors_are_chosen_with_what_their_document_is_worth(
    index: Index, has_lists: bool
) -> None:
    query, rows = about(index, "berth", "zz.md"), Rows(index.opened)
    size = int(rows.offsets[-1])
    vectors: Any = Near(size, has_lists=has_lists)
    assert len(rows.segments) == 1
    run = MeaningScores(vectors, rows, np.ones(2), [None], query.factors)
    best = run.best(1, pool=4)
    assert index.snapshot.places([rows.ids[best[0]].decode()])[0][0] == "zz.md"
    assert run.parts(best)[0, 0] == pytest.approx(vectors.cosines[best[0]])  # as measured
    plain = MeaningScores(vectors, rows, np.ones(2), [None])
    assert plain.best(1, pool=4).tolist() == [0]


def test_both_scorers_agree_on_what_is_proposed(index: Index) -> None:
    rows = Rows(index.opened)

    class AsMeaning:
        name, key, floor = "dense", "", -1.0

        def score(self, query: ParsedQuery, masks: list[Array | None]) -> MeaningScores:
            vectors: Any = Near(int(rows.offsets[-1]), has_lists=False)
            return MeaningScores(vectors, rows, np.ones(2), masks, query.factors)

    scorers: Any = [WordScorer(index.opened, rows=rows), AsMeaning()]
    gather = Gather(rows, scorers, [0.2, 0.8], depth=3)
    searcher = replace(index.searcher, stages=[(gather.name, gather)])
    query = about(index, "fee of berth 3", "zz.md")
    table = gather(query, Candidates.empty(3))
    assert documents(index, table, 1) == ["zz.md"]
    for names in proposals(searcher, query).values():
        assert index.snapshot.places(names[:1])[0][0] == "zz.md"


def test_a_factor_counts_from_the_least_score_there_is() -> None:
    cosines = np.array([-1.0, 0.0, 0.5])
    assert weigh(cosines, np.array([0.5, 0.5, 1.0]), -1.0).tolist() == [-1.0, -0.5, 0.5]


class Tenth:
    """Gives the last row of every segment something."""

    name = key = "tenth"

    def of(self, query: ParsedQuery, totals: Sequence[Array]) -> Sequence[Array] | None:
        if "berth" not in query.text:
            return None
        return [np.r_[np.zeros(len(each) - 1), 2 * each.max()] for each in totals]


def test_evidence_of_rows_is_a_part_of_their_score(index: Index) -> None:
    rows = Rows(index.opened)
    words = WordScorer(index.opened, rows=rows, evidence=[Tenth()])
    gather = Gather(rows, [words])
    table = gather(index.parse("fee of berth 3"), Candidates.empty(10))
    assert table.best(1).rows.tolist() == [rows.offsets[-1] - 1]
    assert table.parts["tenth"].max() > 0
    query = index.parse("when is a fee due")
    without = Gather(rows, [WordScorer(index.opened, rows=rows)])(query, Candidates.empty(10))
    assert gather(query, Candidates.empty(10)).score.tobytes() == without.score.tobytes()
