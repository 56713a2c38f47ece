"""Part 97: exam questions that cite the clause which answers them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.indexes import opened
from figures import Figures
from pincite.api import Index
from pincite.measure.imports import PART97, CitingQuestion, read_citing_questions
from pincite.model.settings import Settings
from pincite.model.types import Chunk, Span

DEPTHS = (1, 5, 10, 20)
DOCUMENT = PART97
read_questions = read_citing_questions
NAMED = ("section", "clause", "table")


@dataclass(frozen=True, slots=True)
class Scored:
    """Ranks of the first hit; None where it is not among those returned."""

    question: CitingQuestion
    section_rank: int | None
    clause_rank: int | None
    has_section: bool  # a cited section is in the text
    has_clause: bool  # a cited lettered clause is in the text


@dataclass(frozen=True, slots=True)
class Named:
    """A place that was asked for by its locator alone."""

    locator: str
    is_first: bool
    seconds: float


def run(data: Path, questions: Path, pipelines: Sequence[Settings]) -> Iterator[list[Scored]]:
    """Yield each question's ranks; every lettered item is a chunk, question text only."""
    lettered = [replace(each, ingest=replace(each.ingest, split_depth=1)) for each in pipelines]
    asked = read_questions(questions)
    with opened([(data / DOCUMENT, DOCUMENT)], lettered) as indexes:
        for question in asked:
            yield [scored(index, question) for index in indexes]


def scored(index: Index, question: CitingQuestion) -> Scored:
    ranking = index.search_ranking(question.text, 2 * max(DEPTHS))
    chunks = index.snapshot.get(ranking.ids)
    sections = _spans(index, question.sections)
    clauses = _spans(index, question.clauses)
    return Scored(
        question,
        _first_rank(chunks, sections),
        _first_rank(chunks, clauses),
        bool(sections),
        bool(clauses),
    )


def locators_first(data: Path, pipelines: Sequence[Settings]) -> list[list[Named]]:
    """Return for each pipeline how the locator of every section, clause and table finds it."""
    with opened([(data / DOCUMENT, DOCUMENT)], pipelines) as indexes:
        return [[_named(index, chunk) for chunk in _places(index)] for index in indexes]


def _places(index: Index) -> list[Chunk]:
    return [chunk for chunk in index.snapshot.chunks(DOCUMENT) if chunk.kind in NAMED]


def _named(index: Index, chunk: Chunk) -> Named:
    start = time.perf_counter()
    found = index.search_ranking(chunk.locator, 1).ids
    return Named(chunk.locator, found == (chunk.id,), time.perf_counter() - start)


def _spans(index: Index, locators: Sequence[str]) -> list[Span]:
    """Return where the cited places stand; one that the text does not have is left out."""
    return [c.span for c in index.snapshot.found_by(locators) if c.kind in ("section", "clause")]


def _first_rank(chunks: Sequence[Chunk], gold: Sequence[Span]) -> int | None:
    """Return the rank of the first chunk that lies inside a gold place."""
    for rank, chunk in enumerate(chunks, 1):
        if any(place.overlap(chunk.span) == len(chunk.span) for place in gold):
            return rank
    return None


def summarise(results: Sequence[Scored], named: Sequence[Named] = ()) -> Figures:
    """Return recall and MRR for sections and for lettered clauses; places found by their name."""
    figures = Figures()
    names = [each.locator for each in named]
    figures.add("locator_hit@1", [float(each.is_first) for each in named], names)
    figures.add("locator_ms", [each.seconds for each in named], names, scale=1000)
    for level in ("section", "clause"):
        judged = [each for each in results if getattr(each, f"has_{level}")]
        ranks = [getattr(each, f"{level}_rank") for each in judged]
        # The pools repeat questions word for word; those count as one when figures vary.
        groups = [each.question.text for each in judged]
        for depth in DEPTHS:
            figures.add(
                f"{level}_recall@{depth}", [float((r or 10**6) <= depth) for r in ranks], groups
            )
        figures.add(f"{level}_mrr", [1 / r if r else 0.0 for r in ranks], groups)
    return figures
