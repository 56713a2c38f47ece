"""How fast features and a learned ranker are: candidates a second on one core, and ms a question.

python bench/features.py INDEX QUESTIONS.txt      one question a line; CPU time of one thread
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from pincite.api import Index
from pincite.model.settings import load_settings
from pincite.model.types import Query
from pincite.search.feature_table import NAMES, Features
from pincite.search.learned import Learned, RankerModel, feature_lines, joined, trees_from

K = 20
TREES, LEAVES = 200, 7


def main(folder: str, questions: str) -> None:
    settings = load_settings(overrides=["search.preset=lexical"])
    asked = Path(questions).read_text(encoding="utf-8").splitlines()
    with Index.open(folder, settings) as index:
        features = Features(index.opened)
        stage = Learned(made_up_model(), features)
        found = [(index.parse(text), index.searcher.search(Query(text), 100)) for text in asked]
        stage(*found[0])  # what is opened on first use
        seconds, lines = [], 0
        for query, table in found:
            start = time.thread_time()
            lines += len(feature_lines(features, query, table, K))
            seconds.append(time.thread_time() - start)
        print(f"features: {lines / sum(seconds):.0f} candidates a second, {_ms(seconds)}")
        seconds = []
        for query, table in found:
            start = time.thread_time()
            stage(query, table)
            seconds.append(time.thread_time() - start)
        print(f"whole stage, {K} candidates, {TREES} trees: {_ms(seconds)}")


def _ms(seconds: list[float]) -> str:
    median, high = np.percentile(1000 * np.array(seconds), [50, 95])
    return f"CPU ms a question: median {median:.1f}, p95 {high:.1f} (n = {len(seconds)})"


def made_up_model() -> RankerModel:
    """Return a model of the usual size; what it says does not matter for its speed."""
    rng = np.random.default_rng(1)
    nodes = 2 * LEAVES - 1
    own = np.arange(nodes)
    is_inner = own < LEAVES - 1
    tree = {
        "feature": rng.integers(0, len(NAMES), nodes),
        "threshold": rng.normal(size=nodes),
        "left": np.where(is_inner, 2 * own + 1, own),
        "right": np.where(is_inner, 2 * own + 2, own),
        "value": rng.normal(size=nodes),
    }
    trees = trees_from(joined([tree] * TREES), features=2 * len(NAMES), single=False)
    return RankerModel("lambdamart", NAMES, K, trees, ("plain", "relative"))


if __name__ == "__main__":
    main(*sys.argv[1:])
