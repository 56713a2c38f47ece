"""What re-ranking costs beside the model: windows, cache, guard. `python bench/rerank_stage.py`.

The scorer answers at once, so that all the time is the stage's own. Lexical first stage over the
sample documents and their questions; processor time of all threads, milliseconds a question.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pincite.api import Index
from pincite.model.settings import Reranking, SearchSettings, Settings
from pincite.model.types import Query
from pincite.read.load import find_files
from pincite.search.candidates import Candidates
from pincite.search.query import ParsedQuery
from pincite.search.rerank import CrossEncode
from pincite.update import ingest_files

SAMPLES = Path(__file__).parents[1] / "samples"


class Free:
    """Scores at no cost."""

    id = "free"

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return [0.5] * len(texts)


def questions() -> list[str]:
    lines = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


def timed(
    stage: CrossEncode, found: Sequence[tuple[ParsedQuery, Candidates]]
) -> tuple[float, float]:
    """Return the median and the 95th percentile of the stage's milliseconds."""
    taken = []
    for query, table in found:
        started = time.process_time()
        stage(query, table)
        taken.append(1000 * (time.process_time() - started))
    taken.sort()
    return taken[len(taken) // 2], taken[int(0.95 * len(taken))]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="pincite-") as scratch:
        folder = Path(scratch) / "index"
        for _ in ingest_files(find_files([SAMPLES]), folder):
            pass
        settings = replace(Settings(), search=SearchSettings(preset="lexical"))
        with Index.open(folder, settings) as index:
            tables = {text: index.searcher.find(Query(text), 100) for text in questions()}
            print(f"{len(tables)} questions; ms p50 / p95")
            for pool in (20, 50):
                chosen = Reranking(enabled=True, pool=pool)
                for name, seconds in (("in a thread", 60.0), ("without a deadline", 0.0)):
                    until = time.monotonic() + seconds if seconds else None
                    asked = [
                        (index.parse(text, deadline=until), table) for text, table in tables.items()
                    ]
                    stage = CrossEncode(index.snapshot, Free(), chosen)
                    first, again = timed(stage, asked), timed(stage, asked)
                    print(
                        f"pool {pool}, {name}: {first[0]:.2f} / {first[1]:.2f}, "
                        f"remembered: {again[0]:.2f} / {again[1]:.2f}"
                    )


if __name__ == "__main__":
    main()
