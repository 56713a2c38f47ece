"""Cheap scorer first, cross-encoder last: speed and quality beside reading all candidates.

    python bench/cascade.py DATA_FOLDER [--questions 60]

Part 97's questions, each asked twice: the cross-encoder reads all 50 candidates, or late
interaction orders them and it reads the best five. Processor time of the stages after the first
one, milliseconds a question, and the reciprocal rank of the clause that answers.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments import part97
from experiments.indexes import opened
from pincite.api import Index
from pincite.measure.imports import CitingQuestion
from pincite.model.settings import Settings
from pincite.model.types import Query

DEPTH = 50


@dataclass(frozen=True)
class Asked:
    """What one way gave for one question."""

    milliseconds: float
    reciprocal_rank: float


def settings_of(pool: int, late: float) -> Settings:
    values = {"ingest.split_depth": 1, "search.preset": "hybrid", "search.late_weight": late}
    values |= {"rerank.enabled": True, "rerank.pool": pool, "rerank.budget_ms": 0}
    return Settings().changed({**values, "tuning.depth": DEPTH, "tuning.threads": 1})


def asked(index: Index, question: CitingQuestion) -> Asked:
    searcher, query = index.searcher, index.parse(question.text)
    table = searcher.find(Query(question.text), DEPTH)
    started = time.process_time()
    for _, stage in searcher.stages[searcher.first :]:
        table = stage(query, table)
    taken = 1000 * (time.process_time() - started)
    return Asked(taken, reciprocal_rank(index, table.names(table.order()), question))


def reciprocal_rank(index: Index, ids: Sequence[str], question: CitingQuestion) -> float:
    places = [c.span for c in index.snapshot.found_by(question.clauses) if c.kind == "clause"]
    for rank, chunk in enumerate(index.snapshot.get(ids), 1):
        if any(place.overlap(chunk.span) == len(chunk.span) for place in places):
            return 1 / rank
    return 0.0


def printed(name: str, found: Sequence[Asked]) -> float:
    times = np.array([each.milliseconds for each in found])
    quality = np.mean([each.reciprocal_rank for each in found])
    p50, p95 = np.percentile(times, [50, 95])
    print(f"{name:28} {times.mean():8.1f} {p50:8.1f} {p95:8.1f} {quality:8.3f}")
    return float(times.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data", type=Path, help="folder with part97/")
    parser.add_argument("--questions", type=int, default=60)
    options = parser.parse_args()
    folder = options.data / "part97"
    chosen = [
        each for each in part97.read_questions(folder / "questions_dev.jsonl") if each.clauses
    ]
    chosen = chosen[:: max(1, len(chosen) // options.questions)][: options.questions]
    ways = {"reading all 50": settings_of(DEPTH, 0.0), "late, then reading 5": settings_of(5, 0.3)}
    # The index with vectors of tokens serves both.
    with opened([(folder / part97.DOCUMENT, part97.DOCUMENT)], [*ways.values()]) as indexes:
        found: list[list[Asked]] = []
        for index in indexes:
            index.warm()
            found.append([asked(index, question) for question in chosen])
    print(f"{len(chosen)} questions{'':14}  ms mean      p50      p95      MRR")
    all_of_them, cascade = (printed(name, each) for name, each in zip(ways, found, strict=True))
    change = np.array([b.reciprocal_rank - a.reciprocal_rank for a, b in zip(*found, strict=True)])
    error = change.std() / len(change) ** 0.5
    print(f"the cascade is {all_of_them / cascade:.1f} times as fast; MRR {change.mean():+.3f}")
    print(f"95 % interval of the change {change.mean() - 1.96 * error:+.3f} to", end=" ")
    print(f"{change.mean() + 1.96 * error:+.3f}")


if __name__ == "__main__":
    main()
