"""Questions asked of one index or several pipelines of it: a run, and what it says by measure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pincite.evaluate.harness import Asking, ask, clock
from pincite.evaluate.judgements.files import load
from pincite.evaluate.judgements.questions import QuestionSet
from pincite.evaluate.measures import parse, parse_all
from pincite.evaluate.runs import Answer, Asked, Part, Run
from pincite.evaluate.summary import default_measures, summarise
from pincite.search.reader import IndexReader


class Evaluation(Mapping[str, float]):
    """What a run says: a value for each measure; ``summary`` has intervals, losses and times."""

    def __init__(self, run: Run, measures: Sequence[str]) -> None:
        self.run = run
        self.summary: dict[str, Any] = summarise(run, parse_all(measures))
        self._figures = self.summary["pipelines"][0]["figures"]

    def __getitem__(self, measure: str) -> float:
        if measure not in self._figures:  # one that nobody named before
            found = summarise(self.run, [parse(measure)])["pipelines"][0]["figures"]
            self._figures = {**self._figures, **found}
        return float(self._figures[measure]["value"])

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def interval(self, measure: str) -> tuple[float, float]:
        """Return the 95 % interval of a measure."""
        self[measure]
        return float(self._figures[measure]["low"]), float(self._figures[measure]["high"])


def evaluate(
    index: IndexReader,
    questions: Path,
    measures: Iterable[str] = (),
    *,
    k: int = 10,
    depth: int = 50,
) -> Evaluation:
    """Return how good an index is on the judged questions of a file."""
    named = list(measures) or default_measures(k)
    parsed = parse_all(named)
    deep = max(depth, k, *(each.depth or 1 for each in parsed))
    asked = load(questions)
    rows = ask([index], asked.questions, Asking(deep, k, parsed))
    name = index.settings.search.pipeline
    return Evaluation(run_of(asked, {name: index}, list(rows), k), named)


def run_of(
    questions: QuestionSet,
    indexes: Mapping[str, IndexReader],
    rows: Sequence[tuple[Asked, list[Answer]]],
    k: int,
    version: str = "",
) -> Run:
    """Return a run of what every pipeline answered to every question, by this version of ours."""
    parts = tuple(
        Part(name, _settings_name(index), tuple(answers[at] for _, answers in rows))
        for at, (name, index) in enumerate(indexes.items())
    )
    snapshot = next(iter(indexes.values())).snapshot
    return Run(
        questions.name,
        questions.version,
        questions.hash,
        any(question.synthetic for question in questions.questions),
        snapshot.manifest.generation,
        len(snapshot.documents()),
        len(snapshot),
        k,
        clock(),
        version,
        tuple(asked for asked, _ in rows),
        parts,
    )


def _settings_name(index: IndexReader) -> str:
    stages = "+".join(index.searcher.rerankers)
    return f"{index.settings.fingerprint()}/{stages}" if stages else index.settings.fingerprint()
