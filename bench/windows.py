"""How much of a long chunk a cross-encoder has to read: `python bench/windows.py [DATA]`.

Questions of Part 97 over lettered clauses: the hybrid's ten best read with all of their windows,
and with the one or two that hold most of the question's words; also with shorter windows. Printed
are pairs a question, nDCG@10 and RR, and their change from reading everything, with intervals.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from peers import task_part97
from pincite.api import Index
from pincite.model.settings import load_settings
from pincite.search.cross_encoder import CrossEncoder, open_cross_encoder

FIXED = (
    "search.preset=hybrid",
    "rerank.enabled=true",
    "rerank.budget_ms=0",
    "tuning.rerank.cache_pairs=0",
)
WAYS = {  # windows of a chunk, tokens of a window
    "all": (0, 144),
    "two": (2, 144),
    "one": (1, 144),
    "one of 96 tokens": (1, 96),
}
MEASURES = ("nDCG@10", "RR")


class Counted:
    """A scorer that reads each pair once and counts how often it is asked for one."""

    def __init__(self, model: CrossEncoder) -> None:
        self.model, self.id, self.pairs = model, model.id, 0
        self._known: dict[tuple[str, str], float] = {}

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.pairs += len(texts)
        new = [text for text in texts if (query, text) not in self._known]
        for text, score in zip(new, self.model.score(query, new), strict=True):
            self._known[query, text] = score
        return [self._known[query, text] for text in texts]


def main() -> None:
    data = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data")
    scorer = Counted(open_cross_encoder("shipped"))
    print("| windows | pairs | nDCG@10 | change | RR | change |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="pincite-bench-") as scratch:
        task = task_part97(data / "part97", Path(scratch), 1000)
        rows = {chunk_id: row for row, chunk_id in enumerate(task.ids)}
        first = None
        for name, (windows, tokens) in WAYS.items():
            sizes = {"windows": windows, "window_tokens": tokens}
            chosen = [*FIXED, *(f"tuning.rerank.{key}={size}" for key, size in sizes.items())]
            scorer.pairs = 0
            with Index.open(task.index, load_settings(overrides=chosen), scorer) as index:
                rankings = (index.search_ranking(text, 10) for text in task.questions)
                found = [[rows.get(each, -1) for each in ranking.ids] for ranking in rankings]
            figures = task.figures(found)
            first = first or figures
            change = figures.minus(first)
            cells = [name, f"{scorer.pairs / len(found):.1f}"]
            for measure in MEASURES:
                low, high = change.intervals[measure]
                cells.append(f"{figures.values[measure]:.3f}")
                cells.append(f"{change.values[measure]:+.3f} [{low:+.3f}, {high:+.3f}]")
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
