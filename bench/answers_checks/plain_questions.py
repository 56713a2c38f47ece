"""Plain questions on rules, a rulebook, the samples and a contract, with their places.

The 80 questions of `plain_questions.json` were written before any model was tuned; 60 have an
answer at a place that is named, 20 have none in these documents. Each set is an index of its own:
47 CFR Part 97, the SRD 5.2, the samples, one supply agreement. Right is an answer that is found,
quotes the place and says the answer: yes or no as it should be, else a short answer with half of
its words right (F1). All are figures: none was looked at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from answers_checks._asking import Judged, Said, asker_of, said, settings_here
from checks import Figure, sampled
from experiments.indexes import Files, opened_at
from finding_checks._indexes import index_folder
from pincite.api import Index
from pincite.model.types import Span

QUESTIONS = Path(__file__).with_name("plain_questions.json")
SAMPLES = Path(__file__).parents[2] / "samples"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question; without a place there is no answer to it."""

    set: str
    document: str
    place: str  # a locator, or the last heading
    question: str
    answers: tuple[str, ...]


def read_asked() -> list[Asked]:
    """Return the questions."""
    items = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    return [Asked(**{**item, "answers": tuple(item["answers"])}) for item in items]


def files_of(data: Path, name: str) -> Files:
    """Return the documents of a set with their ids."""
    if name == "samples":
        return [(f, f.name) for f in sorted(SAMPLES.iterdir()) if f.suffix in (".md", ".txt")]
    if name == "srd":
        folder = data / "srd-5.2" / "src"
        return [(f, str(f.relative_to(data))) for f in sorted(folder.rglob("*.md"))]
    named = {each.document for each in read_asked() if each.set == name and each.document}
    return [(data / document, document) for document in sorted(named)]


def places_of(index: Index, asked: Asked) -> list[Span]:
    """Return the stretches of the document that a place names: a locator's, or a heading's."""
    chunks = [c for c in index.snapshot.chunks(asked.document) if c.kind != "document"]
    named = [c.span for c in chunks if c.locator == asked.place]
    return named or [c.span for c in chunks if asked.place in c.path]


def run(data: Path) -> list[Figure]:
    """Return how many are answered right with their place, and how many are refused."""
    questions = sampled(read_asked(), lambda each: each.question)
    found: list[tuple[Asked, Said, bool]] = []
    for name in dict.fromkeys(each.set for each in questions):
        own = [each for each in questions if each.set == name]
        found += _asked(data, name, own)
    answerable = [(q, s, at) for q, s, at in found if q.answers]
    right = [Judged("", q.answers, s).is_right and at for q, s, at in answerable]
    refused = [not s.is_found for q, s, _ in found if not q.answers]
    placed = [s.is_found and at for _, s, at in answerable]
    figures = [Figure("found and right", _share(right), ">= .80", len(right))]
    for name in dict.fromkeys(q.set for q, _, _ in answerable):
        part = [ok for (q, _, _), ok in zip(answerable, right, strict=True) if q.set == name]
        figures.append(Figure(f"  {name}", _share(part), "", len(part)))
    figures.append(Figure("place quoted", _share(placed), "", len(placed)))
    if refused:
        figures.append(Figure("no answer, and refused", _share(refused), "1", len(refused)))
    return figures


def _asked(data: Path, name: str, questions: list[Asked]) -> Iterator[tuple[Asked, Said, bool]]:
    settings = settings_here()
    files = files_of(data, name)
    kept = f"plain-{name}-{settings.search.preset}"
    with index_folder(kept, files, [settings]) as place, opened_at(place, settings) as index:
        asker = asker_of(index)
        for each in questions:
            answer = said(asker, each.question)
            spans = [c.span for c in answer.answer.citations if c.span]
            gold = places_of(index, each) if each.place else []
            yield each, answer, any(one.overlap(other) for one in gold for other in spans)


def _share(values: list[bool]) -> float:
    return sum(values) / max(1, len(values))
