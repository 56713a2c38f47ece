"""Part 97: exam questions that cite the clause which answers them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pincite.api import Index
from pincite.core.errors import MALFORMED, SourceError
from pincite.core.settings import Settings
from pincite.core.types import Chunk, Span
from pincite.evaluate.figures import Figures
from pincite.evaluate.indexes import opened
from pincite.model.locators import locator_key

DEPTHS = (1, 5, 10, 20)
DOCUMENT = "part97.md"
NAMED = ("section", "clause", "table")
_SECTION = re.compile(r"(?<![\d.])(97\.\d+)|\(([a-z])(?:-([a-z]))?\)")


@dataclass(frozen=True, slots=True)
class Question:
    """One exam question with the sections and the lettered clauses that it cites."""

    id: str
    text: str
    sections: tuple[str, ...]
    clauses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """Ranks of the first hit; None where it is not among those returned."""

    question: Question
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


def read_questions(file: Path) -> list[Question]:
    """Return the questions of a file of JSON lines in the pools' own format."""
    try:
        items = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
        return [
            Question(
                id=f"{item['pool']}/{item['id']}",
                text=_text(item["question"]),
                sections=tuple(locator_key(name) for name in item["gold_sections"]),
                clauses=cited_clauses(item["cited"]),
            )
            for item in items
        ]
    except (OSError, *MALFORMED) as error:
        raise SourceError(
            f"{file} is not a question file of Part 97: {error!r}",
            hint="it has one JSON object a line with pool, id, question, cited, gold_sections",
        ) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"question is {value!r:.40}")
    return value


def cited_clauses(cited: str) -> tuple[str, ...]:
    """Return the lettered clauses that a citation names, to the letter.

    >>> cited_clauses("[97.101(b), (c), 97.301(a-b), 97.3(a)(38)]")
    ('97.101(b)', '97.101(c)', '97.301(a)', '97.301(b)', '97.3(a)')
    """
    section, is_open, found = "", False, []
    for match in _SECTION.finditer(cited):
        if match.group(1):
            section, is_open = match.group(1), True
        elif section and (is_open or cited[match.start() - 2 : match.start()] == ", "):
            first, last = match.group(2), match.group(3) or match.group(2)
            found += [f"{section}({chr(code)})" for code in range(ord(first), ord(last) + 1)]
            is_open = False
    return tuple(dict.fromkeys(found))


def run(data: Path, questions: Path, pipelines: Sequence[Settings]) -> Iterator[list[Scored]]:
    """Yield each question's ranks; every lettered item is a chunk, question text only."""
    lettered = [replace(each, ingest=replace(each.ingest, split_depth=1)) for each in pipelines]
    asked = read_questions(questions)
    with opened([(data / DOCUMENT, DOCUMENT)], lettered) as indexes:
        for question in asked:
            yield [_scored(index, question) for index in indexes]


def _scored(index: Index, question: Question) -> Scored:
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
