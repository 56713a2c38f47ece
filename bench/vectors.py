"""Search by meaning at several sizes: all vectors looked at, and the nearest lists only.

    python bench/vectors.py [--sizes 10000,100000,1000000] [--queries N] [--json FILE]

Vectors are made up: 2,000 themes in 50 fields, each vector a theme with noise, so that neighbours
mean something; a question is one more such vector. They stand in segments of at most 250,000, as in
an index of that size. Times are CPU milliseconds of this process for one query on one core, from
the question's vector to the best hundred; recall is against comparing everything in full precision.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})

import numpy as np

from pincite.index.builder import MERGED_CHUNKS
from pincite.index.opened import Rows
from pincite.index.vectors import VectorIndex, packed
from pincite.search.row_scorers import MAX_RESCORED, MeaningScores
from pincite.store.files import write_folder
from pincite.store.manifest import VECTORS, VectorEntry
from pincite.store.segment import Vectors

FIELDS, THEMES, DIMENSION, K = 50, 2000, 384, 100


class Themes:
    """A source of vectors that have neighbours; the same seed gives the same ones."""

    def __init__(self, seed: int = 7) -> None:
        self.random = np.random.default_rng(seed)
        # Real vectors vary in some directions more than in others.
        spread = (1 + np.arange(DIMENSION, dtype=np.float32)) ** -0.5
        self.spread = spread / np.linalg.norm(spread)
        fields = self._noise(FIELDS)
        self.themes = fields[self.random.integers(FIELDS, size=THEMES)] + self._noise(THEMES)

    def _noise(self, count: int) -> np.ndarray[Any, Any]:
        size = (count, DIMENSION)
        return self.random.standard_normal(size, dtype=np.float32) * self.spread

    def draw(self, count: int) -> np.ndarray[Any, Any]:
        found = self.themes[self.random.integers(THEMES, size=count)] + self._noise(count)
        return found / np.linalg.norm(found, axis=1, keepdims=True)


class MadeUpIndex:
    """Segments of vectors in real folders, with as much of an index around them as search needs."""

    def __init__(self, folder: Path, size: int, source: Themes) -> None:
        (folder / VECTORS).mkdir(parents=True)
        parts, segments, self.build_seconds, self.bytes = [], [], 0.0, 0
        self.vectors: list[np.ndarray[Any, Any]] = []
        for at in range(0, size, MERGED_CHUNKS):
            count = min(MERGED_CHUNKS, size - at)
            exact = source.draw(count).astype(np.float16)
            start = time.process_time()
            arrays = packed(np.arange(count), exact)
            self.build_seconds += time.process_time() - start
            self.bytes += sum(array.nbytes for array in arrays.values())
            name = f"{at:09d}"
            sha256 = write_folder(folder / VECTORS / name, arrays)
            parts.append(Vectors(folder, VectorEntry(name, sha256, name, "none", count, count)))
            ids = np.char.mod("%015d", np.arange(at, at + count)).astype("S16")
            segments.append(SimpleNamespace(ids=ids, all_live=True, live=None))
            self.vectors.append(exact)
        index = SimpleNamespace(lexical=SimpleNamespace(segments=segments))
        entries = [
            SimpleNamespace(entry=SimpleNamespace(name=p.entry.name, chunks=len(p.rows)))
            for p in parts
        ]
        snapshot = SimpleNamespace(
            segments=entries,
            vectors_of=lambda model: parts,
            nearest_rows=lambda *_: None,
        )
        rows = Rows(index)  # type: ignore[arg-type]
        self.rows = rows
        self.index = VectorIndex(snapshot, "none")  # type: ignore[arg-type]

    def search(self, query: np.ndarray[Any, Any], *, approximate: bool) -> np.ndarray[Any, Any]:
        run = MeaningScores(self.index, self.rows, query, [None] * len(self.vectors))
        # Who asks for thousands gets them from all rows, without the nearest lists.
        return run.best(K) if approximate else run.best(K, pool=MAX_RESCORED + 1)

    def truth(self, queries: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the best rows of each query, everything compared in full precision."""
        best_rows = np.zeros((len(queries), 0), dtype=np.int64)
        best = np.zeros((len(queries), 0), dtype=np.float32)
        offset = 0
        for part in self.vectors:
            for at in range(0, len(part), 20_000):
                scores = queries @ part[at : at + 20_000].astype(np.float32).T
                rows = np.broadcast_to(offset + at + np.arange(scores.shape[1]), scores.shape)
                best, best_rows = np.hstack([best, scores]), np.hstack([best_rows, rows])
                kept = np.argpartition(-best, K - 1, axis=1)[:, :K]
                best = np.take_along_axis(best, kept, axis=1)
                best_rows = np.take_along_axis(best_rows, kept, axis=1)
            offset += len(part)
        return best_rows


def measured(size: int, queries: int) -> list[dict[str, Any]]:
    """Return a line for each way to search vectors of one size."""
    source = Themes()
    with tempfile.TemporaryDirectory() as folder:
        index = MadeUpIndex(Path(folder), size, source)
        asked = source.draw(queries)
        truth = index.truth(asked)
        lines = []
        for approximate in (False, True):
            index.search(asked[0], approximate=approximate)
            times, recall = [], []
            for query, right in zip(asked, truth, strict=True):
                start = time.process_time()
                found = index.search(query, approximate=approximate)
                times.append(1000 * (time.process_time() - start))
                recall.append(len(np.intersect1d(found, right)) / K)
            lines.append(
                {
                    "windows": size,
                    "segments": len(index.vectors),
                    "search": "as shipped" if approximate else "all",
                    "p50_ms": round(float(np.percentile(times, 50)), 2),
                    "p95_ms": round(float(np.percentile(times, 95)), 2),
                    "recall_at_100": round(float(np.mean(recall)), 4),
                    "worst_recall": min(recall),
                    "mb": round(index.bytes / 1e6),
                    "build_cpu_s": round(index.build_seconds, 1),
                }
            )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    lines: list[dict[str, Any]] = []
    for size in map(int, given.sizes.split(",")):
        for line in measured(size, given.queries):
            if not lines:
                print(" | ".join(line))
            lines.append(line)
            print(" | ".join(str(value) for value in line.values()), flush=True)
    if given.json:
        given.json.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
