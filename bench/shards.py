"""One large index or many small ones: what a search loses and costs, and how many are needed.

    python bench/shards.py simulate [--chunks 200000] [--shards 4,16]
    python bench/growth.py --save growth.jsonl && python bench/shards.py plan growth.jsonl

``simulate`` deals the same made-up documents to one index and to several, asks each of them alone,
and merges what the shards find by score. An engine that scales out works like this: every shard
has its own statistics of words and its own lists of vectors. ``plan`` takes what was measured at
several sizes, predicts the largest from the others to see what such predictions are worth, and
says what 10^8 and 10^9 chunks need. Only ratios and ranks mean anything for other machines.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock
from zlib import crc32

import numpy as np

from growth import SETTINGS, made_up_documents, questions, vocabulary
from pincite.api import Index
from pincite.encode.encoders import OnnxEncoder
from pincite.index.builder import IndexBuilder
from pincite.index.vectors import EXACT_UP_TO, looked_at
from pincite.model.settings import load_settings
from pincite.update import embed_index
from vectors import DIMENSION, Themes

Line = dict[str, Any]
K, DEPTH = 10, 100
PIPELINES = ("lexical", "dense")
PLANNED = (10**6, 10**7, 10**8, 10**9)
SHARD_CHUNKS = (10**6, 5 * 10**6, 10**7)
NODE_GB, NODE_CORES = 24, 2


@contextmanager
def vectors_by_text() -> Iterator[None]:
    """Let a text always have the same vector, near those of its theme; questions have one too."""
    source = Themes()

    def vector(text: str) -> np.ndarray[Any, Any]:
        # A chunk is encoded under a heading, a question with blanks: its words are what counts.
        random = np.random.default_rng(crc32(" ".join(text.split()).encode()))
        noise = random.standard_normal(DIMENSION, dtype=np.float32) * source.spread
        found = source.themes[random.integers(len(source.themes))] + noise
        return found / np.linalg.norm(found)

    with (
        mock.patch.object(OnnxEncoder, "encode", lambda _, texts: np.stack([*map(vector, texts)])),
        mock.patch.object(OnnxEncoder, "encode_query", lambda _, text: vector(text)),
    ):
        yield


def made(folder: Path, chunks: int, part: int, parts: int) -> Path:
    """Make the index of every so-many-th document."""
    settings = load_settings(overrides=[*SETTINGS])
    with IndexBuilder(folder, settings) as builder:
        for number, loaded in enumerate(made_up_documents(chunks, vocabulary())):
            if number % parts == part:
                builder.put(loaded)
        builder.flush()
    deque(embed_index(folder, settings), maxlen=0)
    return folder


def asked(folder: Path, pipeline: str, texts: Sequence[str]) -> tuple[list[Any], list[float]]:
    """Return the best hits of every question, as (score, id), and the milliseconds of each."""
    found, times = [], []
    # Without corrections, which depend on the words that a shard happens to have.
    chosen = [*SETTINGS, "search.without=typos", f"search.preset={pipeline}"]
    with Index.open(folder, load_settings(overrides=chosen)) as index:
        for text in texts:
            index.search_ranking(text, DEPTH)
            start = time.process_time()
            ranking = index.search_ranking(text + " ", DEPTH)
            times.append(1000 * (time.process_time() - start))
            found.append([(-hit.score, hit.chunk_id) for hit in ranking.hits])
    return found, times


def simulate(chunks: int, counts: Sequence[int]) -> None:
    """Print how alike the merged hits of shards are to those of one index, and what they cost."""
    texts = questions(chunks)
    print("| pipeline | shards | same best hit | same ten | slowest shard, ms | all shards, ms |")
    print("|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(prefix="bench-") as name, vectors_by_text():
        one: dict[str, list[Any]] = {}
        for parts in (1, *counts):
            folders = [made(Path(name) / f"{parts}-{n}", chunks, n, parts) for n in range(parts)]
            for pipeline in PIPELINES:
                answers = [asked(folder, pipeline, texts) for folder in folders]
                times = np.array([each for _, each in answers])
                merged = [
                    [chunk_id for _, chunk_id in sorted(hit for hits in each for hit in hits)[:K]]
                    for each in zip(*(found for found, _ in answers), strict=True)
                ]
                whole = one.setdefault(pipeline, merged)
                pairs = list(zip(whole, merged, strict=True))
                first = np.mean([a[:1] == b[:1] for a, b in pairs])
                ten = np.mean([len({*a} & {*b}) / max(1, len(a)) for a, b in pairs])
                slowest, work = np.median(times.max(axis=0)), np.median(times.sum(axis=0))
                cells = f"{100 * first:.1f} % | {100 * ten:.1f} % | {slowest:.1f} | {work:.1f}"
                print(f"| {pipeline} | {parts} | {cells} |", flush=True)


def fitted(sizes: Sequence[float], values: Sequence[float]) -> Any:
    """Return what predicts a value: so much, and so much for each chunk and each look."""

    def basis(size: float) -> list[float]:
        looks = size if size <= EXACT_UP_TO else looked_at(int(size))
        return [1.0, size / 1e6, looks / 1e6]

    # In proportion, or the largest size alone would decide.
    scale = 1 / np.array(values)
    rows = np.array([basis(size) for size in sizes])
    weights = _least_squares(rows * scale[:, None], np.ones(len(values)))
    return lambda size: float(np.array(basis(size)) @ weights)


def _least_squares(rows: Any, values: Any) -> Any:
    """Return the weights, none below nothing: a column that would have such a one is left out."""
    kept = list(range(rows.shape[1]))
    while True:
        some = np.linalg.lstsq(rows[:, kept], values, rcond=None)[0]
        if (some >= 0).all():
            weights = np.zeros(rows.shape[1])
            weights[kept] = some
            return weights
        kept.pop(int(np.argmin(some)))


PREDICTED = {
    "lexical_cpu_p95_ms": "words, p95 CPU ms",
    "hybrid_cpu_p95_ms": "hybrid, p95 CPU ms",
    "hybrid_peak_mb": "reader, MB",
    "index_mb": "disk, MB",
    "index_cpu_s": "indexing words, CPU s",
}


def plan(file: Path) -> None:
    """Print how well the largest size is predicted by the others, and what larger ones need."""
    lines: list[Line] = [json.loads(line) for line in file.read_text().splitlines()]
    lines.sort(key=lambda line: line["chunks"])
    if len(lines) < 4:
        sys.exit("at least four sizes are needed: python bench/growth.py --save FILE")
    for line in lines:
        line["index_mb"] = line["bytes_a_chunk"] * line["chunks"] / 1e6
    sizes = [line["chunks"] for line in lines]
    print(
        f"| {sizes[-1]:,} chunks | predicted from fewer | measured | off by |\n|---|---:|---:|---:|"
    )
    for key, title in PREDICTED.items():
        predicted = fitted(sizes[:-1], [line[key] for line in lines[:-1]])(sizes[-1])
        real = lines[-1][key]
        print(
            f"| {title} | {predicted:,.0f} | {real:,.0f} | {100 * (predicted / real - 1):+.0f} % |"
        )
    of = {key: fitted(sizes, [line[key] for line in lines]) for key in PREDICTED}
    print(
        "\n| chunks | in a shard | shards | hybrid p95 of a shard, CPU ms | memory of all, GB",
        end="",
    )
    print(f" | disk of all, GB | machines of {NODE_GB} GB | searches a second on them |")
    print("|---|---|---|---|---|---|---|---|")
    for chunks in PLANNED:
        for size in (each for each in SHARD_CHUNKS if each <= chunks):
            print(f"| {' | '.join(planned(chunks, size, of))} |")


def planned(chunks: int, size: int, of: dict[str, Any]) -> list[str]:
    """Return the cells of one way to cut so many chunks into shards."""
    shards = -(-chunks // size)
    milliseconds, memory = of["hybrid_cpu_p95_ms"](size), of["hybrid_peak_mb"](size) / 1000
    on_one = max(1, int(NODE_GB * 0.8 // memory))  # a fifth is for everything else
    machines = -(-shards // on_one)
    rate = machines * NODE_CORES * 1000 / (shards * milliseconds)
    return [
        f"{chunks:,}",
        f"{size:,}",
        f"{shards:,}",
        f"{milliseconds:,.0f}",
        f"{shards * memory:,.0f}",
        f"{shards * of['index_mb'](size) / 1000:,.0f}",
        f"{machines:,}",
        f"{rate:,.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ways = parser.add_subparsers(dest="way", required=True)
    simulated = ways.add_parser("simulate")
    simulated.add_argument("--chunks", type=int, default=200_000)
    simulated.add_argument("--shards", default="4,16")
    ways.add_parser("plan").add_argument("growth", type=Path)
    given = parser.parse_args()
    if given.way == "simulate":
        simulate(given.chunks, [int(each) for each in given.shards.split(",")])
    else:
        plan(given.growth)


if __name__ == "__main__":
    main()
