"""Hybrid search on one collection in a folder and in PostgreSQL: the same hits, and the times.

    python bench/stores.py --chunks 20000
    python bench/stores.py --part97 ../shared/data/part97

Documents are made, vectors are random ones around centres: no model runs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # times of one thread, whatever else runs

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.servers.postgres import Postgres

from pincite.api import Index
from pincite.core.settings import HybridSettings, LexicalSettings, Settings, StoreSettings
from pincite.core.types import Chunk, Document, Loaded, Query, Span
from pincite.evaluate import part97
from pincite.index.builder import IndexBuilder
from pincite.index.opened import OpenIndex
from pincite.index.server_vectors import vector_index
from pincite.index.vectors import packed
from pincite.retrieve.dense import Dense
from pincite.retrieve.hybrid import Hybrid
from pincite.retrieve.lexical import Lexical
from pincite.retrieve.rows import Rows
from pincite.store.location import Location, open_writer, shape_of
from pincite.update import ingest_files
from pincite.vectorise import embed_index

MODEL, DIMENSION, CENTRES = "made", 384, 200
DEPTH = 100
WORDS = 30_000


class MadeSpec:
    id, dimension, query_prefix, has_tokens = MODEL, DIMENSION, "", False


class MadeEncoder:
    """A vector near one of the centres, the same for the same words."""

    spec = MadeSpec()

    def encode_query(self, text: str) -> np.ndarray:
        return vectors_near(1, sum(text.encode()))[0].astype(np.float32)


_AROUND = np.random.default_rng(0).normal(size=(CENTRES, DIMENSION))


def vectors_near(count: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    some = _AROUND[random.integers(CENTRES, size=count)] + random.normal(size=(count, DIMENSION))
    return (some / np.linalg.norm(some, axis=1, keepdims=True)).astype(np.float16)


def made_documents(chunks: int) -> Iterator[Loaded]:
    """Yield documents of ten sections; words are as frequent as words are (Zipf)."""
    random = np.random.default_rng(1)
    shares = np.cumsum(1 / np.arange(1, WORDS + 1) ** 0.9)
    for number in range(chunks // 10):
        drawn = np.searchsorted(shares, random.random((10, 120)) * shares[-1])
        texts = [" ".join(f"w{n}x" for n in row) + "\n" for row in drawn.tolist()]
        document = Document(f"part-{number}.md", "".join(texts), f"Part {number}")
        yield Loaded(document, list(_sections(document, number, texts)))


def _sections(document: Document, number: int, texts: list[str]) -> Iterator[Chunk]:
    at = 0
    for section, text in enumerate(texts, 1):
        span = Span(document.id, at, at + len(text))
        at = span.end
        name = f"{number}.{section}"
        chunk_id = f"{number:08x}{section:08x}"
        yield Chunk(chunk_id, span, text, "section", name, "", (document.title,), at)


def build(location: Location, documents: Sequence[Loaded], settings: Settings) -> None:
    with IndexBuilder(location, settings) as builder:
        for each in documents:
            builder.put(each)
        builder.flush()
    with open_writer(location, shape_of(location), settings=settings.store) as writer:
        for number, entry in enumerate(writer.segments):
            rows = np.arange(entry.chunks)
            made = packed(rows, vectors_near(len(rows), 7 + number))
            writer.add_vectors(entry.name, MODEL, made)
        writer.commit()


def searcher(location: Location, settings: Settings) -> tuple[OpenIndex, Hybrid]:
    index = OpenIndex.open(location, settings.store)
    rows = Rows(index)
    words = Lexical(index, LexicalSettings(), rows, typos=True)
    near = Dense(vector_index(index.snapshot, MODEL), MadeEncoder(), rows)
    weight = HybridSettings().dense_weight
    parts = [(words, 1 - weight), (near, weight)]
    return index, Hybrid(parts, rows, method="theoretical", depth=DEPTH)


def questions(count: int) -> list[str]:
    random = np.random.default_rng(5)
    shares = np.cumsum(1 / np.arange(1, WORDS + 1) ** 0.9)
    drawn = np.searchsorted(shares, random.random((count, 7)) * shares[-1])
    return [" ".join(f"w{n}x" for n in row) for row in drawn.tolist()]


def timed(search: Callable[[str], object], asked: list[str]) -> tuple[float, float, float]:
    """Return p50 and p95 in milliseconds, and milliseconds of our own processor time each."""
    took = []
    cpu = time.process_time()
    for text in asked:
        start = time.perf_counter()
        search(text)
        took.append(1000 * (time.perf_counter() - start))
    cpu = 1000 * (time.process_time() - cpu) / len(asked)
    return statistics.median(took), float(np.quantile(took, 0.95)), cpu


def part97_figures(data: Path) -> None:
    """Print how many of Part 97's questions find what they cite, in a folder and in PostgreSQL."""
    settings = Settings()
    settings = replace(settings, ingest=replace(settings.ingest, split_depth=1))
    asked = part97.read_questions(data / "questions_dev.jsonl")
    hits = {}
    with tempfile.TemporaryDirectory() as folder, Postgres() as server:
        for name, location in {"folder": f"{folder}/index", "postgresql": server.url}.items():
            list(ingest_files([(data / part97.DOCUMENT, part97.DOCUMENT)], location, settings))
            list(embed_index(location, settings))
            with Index.open(location, settings) as index:
                scored = [part97._scored(index, question) for question in asked]
                hits[name] = [index.search_ranking(q.text, 40).hits for q in asked]
            for what in ("section", "clause"):
                counted = [each for each in scored if getattr(each, f"has_{what}")]
                ranks = [getattr(each, f"{what}_rank") or 1000 for each in counted]
                shares = {k: sum(rank <= k for rank in ranks) / len(ranks) for k in part97.DEPTHS}
                words = ", ".join(f"@{k} {share:.4f}" for k, share in shares.items())
                print(f"{name:12} {what:8} of {len(ranks)}: {words}", flush=True)
    same = sum(a == b for a, b in zip(*hits.values(), strict=True))
    print(f"{same} of {len(asked)} questions have the same 40 hits, scores and features")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--part97", type=Path, help="folder of Part 97: only its figures")
    options.add_argument("--chunks", type=int, default=20_000)
    options.add_argument("--queries", type=int, default=100)
    chosen = options.parse_args()
    if chosen.part97 is not None:
        part97_figures(chosen.part97)
        return
    asked = questions(chosen.queries)
    documents = list(made_documents(chosen.chunks))
    with tempfile.TemporaryDirectory() as folder, Postgres() as server:
        plain = Settings()
        exact = Settings(store=StoreSettings(exact=True))
        places: dict[str, tuple[Location, Settings]] = {
            "folder": (Path(folder) / "index", plain),
            "postgresql, hnsw": (server.url, plain),
            "postgresql, exact": (server.url, exact),
        }
        best: dict[str, list[tuple[str, ...]]] = {}
        for name, (location, settings) in places.items():
            start = time.perf_counter()
            if "exact" not in name:
                build(location, documents, settings)
            built = time.perf_counter() - start
            index, hybrid = searcher(location, settings)
            for part in (hybrid, hybrid.parts[0][0], hybrid.parts[1][0]):
                first = timed(lambda text, p=part: p.retrieve(Query(text), 10), asked)
                again = timed(lambda text, p=part: p.retrieve(Query(text), 10), asked)
                print(
                    f"{name:18} {part.name:8} first p50 {first[0]:6.1f} p95 {first[1]:6.1f} cpu "
                    f"{first[2]:5.1f} | again p50 {again[0]:6.1f} p95 {again[1]:6.1f} cpu "
                    f"{again[2]:5.1f} ms  (built in {built:.0f} s)",
                    flush=True,
                )
            best[name] = [hybrid.retrieve(Query(text), 10).ids for text in asked]
            index.snapshot.close()
        for name in list(places)[1:]:
            pairs = zip(best["folder"], best[name], strict=True)
            shares = [len(set(a) & set(b)) / max(1, len(a)) for a, b in pairs]
            print(f"{name}: {100 * statistics.mean(shares):.2f} % of the folder's ten best hits")
        size = Path(folder) / "index"
        disk = sum(file.stat().st_size for file in size.rglob("*") if file.is_file())
        print(f"folder: {disk / 1e6:.0f} MB; postgresql: {server.size() / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
