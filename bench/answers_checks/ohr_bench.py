"""Questions on 1,559 parsed documents, from search to short answer (OHR-Bench).

The 2,758 questions of `ohr-bench/qas_dev.json`, all documents in one index in folders of their
domain. F1 is SQuAD's over all questions of a kind but those answered by yes or no, which are judged
alone. Then the same questions with their document left out: whoever still answers is wrong. A
question belongs to the half that was looked at by the hash of its document. Published with language
models of 7 to 8 billion parameters and perfect parsing (v2 questions): F1 45.0 on text, 34.6 on
tables, 36.1 over all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from answers_checks._asking import (
    Judged,
    asker_of,
    confidence_figures,
    quoted_figures,
    said,
    settings_here,
    short_figures,
)
from checks import Figure, sampled
from experiments import ohr_bench
from experiments.indexes import opened_at
from finding_checks._halves import by_half
from finding_checks._indexes import index_folder
from pincite.api import Index
from pincite.index.opened import OpenIndex
from pincite.measure.words import polar

ASKED = {"text": ">= .45", "table": ">= .36"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its answer, its document, and what kind of evidence has it."""

    text: str
    answer: str
    document: str
    kind: str


def read_asked(file: Path) -> list[Asked]:
    """Return the questions of a file in the benchmark's own format."""
    return [
        Asked(item["questions"], item["answers"], item["doc_name"], item["evidence_source"])
        for item in json.loads(file.read_text(encoding="utf-8"))
    ]


def run(data: Path) -> list[Figure]:
    """Return how good answers are by kind, and what happens without the document."""
    folder, settings = data / "ohr-bench", settings_here()
    files = ohr_bench.all_files(folder / "gt")
    with (
        index_folder(f"ohr-bench-{settings.search.preset}", files, [settings]) as place,
        opened_at(place, settings) as index,
    ):
        known = set(index.documents())
        questions = [
            each
            for each in sampled(read_asked(folder / "qas_dev.json"), lambda each: each.text)
            if f"{each.document}.json" in known
        ]
        asker = asker_of(index)
        judged = [(q, Judged(q.document, [q.answer], said(asker, q.text))) for q in questions]
        figures = [*by_kind(judged), *confidence_figures([each for _, each in judged])]
        refused = [float(not each.said.is_found) for _, each in judged]
        keys = [question.document for question in questions]
        figures += by_half("refused, document there", refused, keys, "<= .12")
        without = list(left_out(index, questions))
        figures += by_half("refused, document left out", without, keys, ">= .80")
    return figures


def by_kind(judged: Sequence[tuple[Asked, Judged]]) -> list[Figure]:
    """Return the short answers of each kind of evidence, then yes and no, then quotations."""
    figures = []
    worded = [(question, each) for question, each in judged if not polar(question.answer)]
    for kind in sorted({question.kind for question, _ in worded}):
        own = [each for question, each in worded if question.kind == kind]
        figures += short_figures(own, kind, ASKED.get(kind, ""))
    figures += short_figures([each for _, each in worded], "all", ">= .42")
    decided = [each for question, each in judged if polar(question.answer)]
    if decided:
        right = [float(each.is_right) for each in decided]
        figures += by_half("yes or no right", right, [each.key for each in decided], ">= .80")
    return [*figures, *quoted_figures([each for _, each in worded], ">= .65")]


def left_out(index: Index, questions: Sequence[Asked]) -> Iterator[float]:
    """Yield for each question whether it is refused when its document is not there."""
    for question in questions:
        hidden = index.snapshot.hiding(frozenset([f"{question.document}.json"]))
        asker = asker_of(Index(OpenIndex(hidden), index.settings))
        yield float(not said(asker, question.text).is_found)
