"""The experiments that can be reproduced, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from experiments import collection, ohr_bench, ohr_learned, part97, scifact, squad, srd
from figures import Figures
from pincite.model.settings import Settings

# What each pipeline got for one question; empty if the question cannot be judged.
Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Experiment:
    """How an experiment asks its questions, and what it makes of the results."""

    questions: str  # its question file; none where the folder itself is asked for
    run: Callable[[Path, Path, Sequence[Settings]], Iterator[Row]]
    summarise: Callable[..., Figures]
    # What is measured without questions: a result for each pipeline, for summarise.
    beside: Callable[[Path, Sequence[Settings]], Sequence[Any]] | None = None

    def figures(
        self, rows: Sequence[Row], data: Path, pipelines: Sequence[Settings]
    ) -> list[Figures]:
        """Return the figures of each pipeline."""
        columns = [[row[i] for row in rows if row] for i in range(len(pipelines))]
        if self.beside is None:
            return [self.summarise(column) for column in columns]
        besides = self.beside(data, pipelines)
        return [self.summarise(*pair) for pair in zip(columns, besides, strict=True)]


def _collection(questions: str, read: collection.Read) -> Experiment:
    return Experiment(questions, partial(collection.run, read), collection.summarise)


EXPERIMENTS = {
    "ohr-bench": Experiment("qas_dev.json", ohr_bench.run, ohr_bench.summarise),
    "ohr-bench, all domains in one index": Experiment(
        "qas_dev.json", partial(ohr_bench.run, oracle=False), ohr_bench.summarise
    ),
    "ohr-bench, learned": Experiment("qas_dev.json", ohr_learned.run, ohr_bench.summarise),
    "ohr-bench, as published": Experiment(
        "qas_dev.json", ohr_learned.run_published, ohr_bench.summarise
    ),
    "part97": Experiment(
        "questions_dev.jsonl", part97.run, part97.summarise, part97.locators_first
    ),
    "scifact": _collection("claims_train.csv", scifact.read),
    "squad-it": _collection("dev.json.gz", squad.read_squad_it),
    "srd-5.1": _collection("spell_questions_dev.json", srd.read),
    "xquad": _collection("", squad.read_xquad),
}
