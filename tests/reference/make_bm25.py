"""Write bm25.json: what bm25s and rank_bm25 say about a small made corpus.

Run it by hand when a formula or a package changes: python tests/reference/make_bm25.py
"""

from __future__ import annotations

import json
import random
from importlib.metadata import version
from pathlib import Path
from typing import Any

WORDS = [
    *("box", "wire", "fuse", "earth", "cable", "relay", "motor", "lamp", "meter", "switch", "duct"),
    *("plug", "rail", "pipe", "valve", "pump", "gauge", "bolt", "nut", "gear", "shaft", "belt"),
]
PARAMETERS = [{"k1": 1.5, "b": 0.75}, {"k1": 0.4, "b": 0.6}, {"k1": 1.2, "b": 0.0}]


def corpus() -> list[list[str]]:
    """Return 40 texts in which some words are frequent and some rare, with repetitions."""
    chance = random.Random(40)
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    texts = [chance.choices(WORDS, weights, k=chance.randint(1, 30)) for _ in range(38)]
    return [*texts, ["box"] * 30, ["belt"]]


def queries() -> list[list[str]]:
    chance = random.Random(7)
    drawn = [chance.sample(WORDS, chance.randint(1, 6)) for _ in range(20)]
    return [*drawn, ["box"], ["belt"], ["belt", "unknown"], WORDS]


def bm25s_scores(texts: list[list[str]], asked: list[list[str]]) -> list[dict[str, Any]]:
    import bm25s

    runs = []
    for method in ("lucene", "robertson", "atire"):
        for values in PARAMETERS:
            model = bm25s.BM25(method=method, dtype="float64", **values)
            model.index(texts, show_progress=False)
            known = [[word for word in query if word in model.vocab_dict] for query in asked]
            scores = [model.get_scores(query).tolist() for query in known]
            runs.append({"package": "bm25s", "variant": method, **values, "scores": scores})
    return runs


def rank_bm25_scores(texts: list[list[str]], asked: list[list[str]]) -> list[dict[str, Any]]:
    """Return BM25Okapi for the terms with a positive idf: below, each package bends it its way.

    It multiplies by (k1 + 1), which moves no ranking; that factor is taken out.
    """
    from rank_bm25 import BM25Okapi

    runs = []
    for values in PARAMETERS:
        model = BM25Okapi(texts, **values)
        frequent = {word for word in WORDS if 2 * sum(word in text for text in texts) >= len(texts)}
        scores = [
            None
            if frequent & set(query)
            else (model.get_scores(query) / (values["k1"] + 1)).tolist()
            for query in asked
        ]
        runs.append({"package": "rank_bm25", "variant": "robertson", **values, "scores": scores})
    return runs


def main() -> None:
    texts, asked = corpus(), queries()
    runs = [*bm25s_scores(texts, asked), *rank_bm25_scores(texts, asked)]
    for run in runs:
        run["scores"] = [row and [round(score, 12) for score in row] for row in run["scores"]]
    content = {
        "versions": {name: version(name) for name in ("bm25s", "rank-bm25", "numpy")},
        "texts": [" ".join(text) for text in texts],
        "queries": [" ".join(query) for query in asked],
        "runs": runs,
    }
    Path(__file__).with_name("bm25.json").write_text(json.dumps(content, indent=None) + "\n")


if __name__ == "__main__":
    main()
