"""How long measures take beside ranx: CPU seconds for 2,000 questions of 100 hits, five measures.

pip install ranx==0.3.21 beside Pincite, then: python bench/measures.py
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from pincite.measure.grades import parse
from trec_tables import graded

OURS = ("nDCG@10", "Recall@10", "RR", "AP", "P@10")
THEIRS = ("ndcg@10", "recall@10", "mrr", "map", "precision@10")


def made(questions: int = 2000, hits: int = 100) -> tuple[Any, Any]:
    """Return grades and scores by chance."""
    chance = random.Random(1)
    names = [f"d{number}" for number in range(5000)]
    asked = [f"q{number}" for number in range(questions)]
    qrels = {q: {d: chance.choice([1, 1, 2]) for d in chance.sample(names, 8)} for q in asked}
    return qrels, {q: {d: chance.random() for d in chance.sample(names, hits)} for q in asked}


def timed(what: str, work: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Print the seconds of the first and of the second time."""
    for turn in ("first", "second"):
        start = time.process_time()
        values = work()
        print(f"{what:8} {turn:6} {time.process_time() - start:8.3f} s")
    return values


def main() -> None:
    qrels, run = made()

    def ours() -> dict[str, float]:
        grades = graded(qrels, run)
        return {name: float(parse(name).of(grades).mean()) for name in OURS}

    mine = timed("pincite", ours)
    try:
        from ranx import Qrels, Run, evaluate
    except ImportError:
        print("ranx is not installed")
        return

    def theirs() -> dict[str, float]:
        return dict(evaluate(Qrels(qrels), Run(run), list(THEIRS)))

    other = timed("ranx", theirs)
    for name, same in zip(OURS, THEIRS, strict=True):
        assert abs(mine[name] - other[same]) < 1e-9, name


if __name__ == "__main__":
    main()
