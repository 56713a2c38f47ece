"""Hybrid search on one collection in a folder and in servers: the same hits, times, memory, disk.

    python bench/stores.py --chunks 20000 --stores postgresql,chroma
    python bench/stores.py --chunks 50000 --stores opensearch
    python bench/stores.py --part97 ../shared/data/part97

Documents are made, vectors are random ones around centres: no model runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # times of one thread, whatever else runs

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.servers.chroma import Chroma
from tests.servers.opensearch import OpenSearch
from tests.servers.postgres import Postgres

from experiments import part97
from pincite.api import Index
from pincite.index.builder import IndexBuilder
from pincite.index.opened import OpenIndex, Rows
from pincite.index.vectors import VectorIndex, packed
from pincite.maintain.copy import copy_index
from pincite.model.settings import Settings, StoreSettings
from pincite.model.tuning import LexicalTuning
from pincite.model.types import Chunk, Document, ParsedDocument, Query, Span
from pincite.search.neighbours import Neighbours
from pincite.search.pipeline import Gather, Searcher
from pincite.search.query import QueryReader
from pincite.search.row_scorers import Meaning, WordScorer
from pincite.store.location import Location, open_writer, shape_of
from pincite.update import embed_index, ingest_files

MODEL, DIMENSION, CENTRES = "made", 384, 200
DEPTH = 100
WORDS = 30_000
PATIENCE = 300.0  # seconds that an answer may take: copying writes much at a time


class MadeSpec:
    id, dimension, query_prefix, has_tokens, unrelated = MODEL, DIMENSION, "", False, 0.0


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


def made_documents(chunks: int) -> Iterator[ParsedDocument]:
    """Yield documents of ten sections; words are as frequent as words are (Zipf)."""
    random = np.random.default_rng(1)
    shares = np.cumsum(1 / np.arange(1, WORDS + 1) ** 0.9)
    for number in range(chunks // 10):
        drawn = np.searchsorted(shares, random.random((10, 120)) * shares[-1])
        texts = [" ".join(f"w{n}x" for n in row) + "\n" for row in drawn.tolist()]
        document = Document(f"part-{number}.md", "".join(texts), f"Part {number}")
        yield ParsedDocument(document, list(_sections(document, number, texts)))


def _sections(document: Document, number: int, texts: list[str]) -> Iterator[Chunk]:
    at = 0
    for section, text in enumerate(texts, 1):
        span = Span(document.id, at, at + len(text))
        at = span.end
        name = f"{number}.{section}"
        chunk_id = f"{number:08x}{section:08x}"
        yield Chunk(chunk_id, span, text, "section", name, "", (document.title,), at)


def build(folder: Path, chunks: int, settings: Settings) -> None:
    """Make the index that all others are copies of."""
    with IndexBuilder(folder, settings) as builder:
        for number, each in enumerate(made_documents(chunks)):
            builder.put(each)
            if number % 1000 == 999:
                told(f"folder: {10 * (number + 1)} of {chunks} chunks")
        builder.flush()
    with open_writer(folder, shape_of(folder), settings=settings.store) as writer:
        for number, entry in enumerate(writer.segments):
            rows = np.arange(entry.chunks)
            made = packed(rows, vectors_near(len(rows), 7 + number))
            writer.add_vectors(entry.name, MODEL, made)
        writer.commit()


def told(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def searcher(location: Location, settings: Settings) -> tuple[OpenIndex, list[Searcher]]:
    """Return searches by words, by meaning and by both."""
    index = OpenIndex.open(location, settings.store)
    rows = Rows(index)
    words = WordScorer(index, LexicalTuning(), rows)
    near = Meaning(VectorIndex(index.snapshot, MODEL), MadeEncoder(), rows)
    weight = settings.search.meaning_weight
    gathers = [
        Gather(rows, [words]),
        Gather(rows, [near]),
        Gather(rows, [words, near], [1 - weight, weight], depth=DEPTH),
    ]
    reader = QueryReader(
        index, Neighbours(index.snapshot), has_typos=True, has_places=False, has_entities=False
    )
    return index, [Searcher(reader, [(each.name, each)]) for each in gathers]


def questions(count: int) -> list[str]:
    random = np.random.default_rng(5)
    shares = np.cumsum(1 / np.arange(1, WORDS + 1) ** 0.9)
    drawn = np.searchsorted(shares, random.random((count, 7)) * shares[-1])
    return [" ".join(f"w{n}x" for n in row) for row in drawn.tolist()]


def timed(search: Callable[[str], object], asked: list[str], server: int) -> tuple[float, ...]:
    """Return p50, p95 and the processor time of each, ours and the server's, in milliseconds."""
    took = []
    cpu, theirs = time.process_time(), cpu_of(server)
    for text in asked:
        start = time.perf_counter()
        search(text)
        took.append(1000 * (time.perf_counter() - start))
    cpu = 1000 * (time.process_time() - cpu) / len(asked)
    theirs = 1000 * (cpu_of(server) - theirs) / len(asked)
    return statistics.median(took), float(np.quantile(took, 0.95)), cpu, theirs


def cpu_of(pid: int) -> float:
    """Return the seconds of processor time of a process and those below it; 0 without one."""
    ticks = 0
    for process in (pid, *_below(pid)) if pid else ():
        with suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


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
                scored = [part97.scored(index, question) for question in asked]
                hits[name] = [index.search_ranking(q.text, 40).hits for q in asked]
            for what in ("section", "clause"):
                counted = [each for each in scored if getattr(each, f"has_{what}")]
                ranks = [getattr(each, f"{what}_rank") or 1000 for each in counted]
                shares = {k: sum(rank <= k for rank in ranks) / len(ranks) for k in part97.DEPTHS}
                words = ", ".join(f"@{k} {share:.4f}" for k, share in shares.items())
                print(f"{name:12} {what:8} of {len(ranks)}: {words}", flush=True)
    same = sum(a == b for a, b in zip(*hits.values(), strict=True))
    print(f"{same} of {len(asked)} questions have the same 40 hits, scores and features")


def measure(location: str, queries: int, server: int, *, exact: bool) -> None:
    """Print what searching costs in this process, as JSON; nothing else has run in it."""
    empty = memory_of(os.getpid())
    settings = Settings(store=StoreSettings(exact=exact, timeout_seconds=PATIENCE))
    asked = questions(queries)
    start = time.perf_counter()
    index, searches = searcher(location if "://" in location else Path(location), settings)
    parts = {each.stages[0][0]: each for each in reversed(searches)}
    hybrid = parts["hybrid"]
    hybrid.find(Query(asked[0]), 10)
    opened = time.perf_counter() - start
    times = {
        name: [timed(lambda text, p=part: p.find(Query(text), 10), asked, server) for _ in range(2)]
        for name, part in parts.items()
    }
    best = [hybrid.find(Query(text), 10).names() for text in asked]
    used = memory_of(os.getpid()) - empty
    index.snapshot.close()
    print(json.dumps({"opened": opened, "times": times, "best": best, "memory": used}))


def memory_of(pid: int) -> float:
    """Return the MB of a process and all below it; what they share is counted once."""
    total = 0
    for process in (pid, *_below(pid)):
        with suppress(OSError):
            for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1000


def _below(pid: int) -> list[int]:
    found = []
    for task in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(task.read_text().rpartition(")")[2].split()[1]) == pid:
                child = int(task.parent.name)
                found += [child, *_below(child)]
    return found


def measured(location: str, queries: int, server: int = 0, *, exact: bool) -> dict[str, Any]:
    """Return what :func:`measure` says, in a process of its own."""
    command = [sys.executable, __file__, "--measure", location, "--queries", str(queries)]
    command += ["--server", str(server)]
    done = subprocess.run(
        [*command, *(["--exact"] if exact else [])], stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(name: str, found: dict[str, Any], best: list[Any]) -> None:
    for stage, (first, again) in found["times"].items():
        shown = [
            f"p50 {p50:6.1f} p95 {p95:6.1f} cpu {cpu:5.1f} + {theirs:5.1f}"
            for p50, p95, cpu, theirs in (first, again)
        ]
        print(f"{name:18} {stage:8} first {shown[0]} | again {shown[1]} ms")
    pairs = zip(best, found["best"], strict=True)
    shares = [len(set(a) & set(b)) / max(1, len(a)) for a, b in pairs]
    share = 100 * statistics.mean(shares)
    print(f"{name:18} {share:.2f} % of the folder's ten best; reader {found['memory']:.0f} MB; "
          f"open and first search {found['opened']:.1f} s", flush=True)  # fmt: skip


def run_store(name: str, folder: Path, queries: int, best: list[Any]) -> None:
    """Copy the index into a server of its own, and measure it there."""
    makes: dict[str, Callable[[], Any]] = {
        "postgresql": Postgres,
        "chroma": lambda: Chroma(in_memory=False),
        "opensearch": lambda: OpenSearch(heap="1g", options="", in_memory=False),
    }
    with makes[name]() as server:
        url = server.url if name == "postgresql" else f"{server.url}/bench"
        start = time.perf_counter()
        for part in copy_index(folder, url, StoreSettings(timeout_seconds=PATIENCE)):
            told(f"{name}: {part.done} of {part.total} documents")
        copied = time.perf_counter() - start
        for exact in (False, True):
            label = f"{name}, {'exact' if exact else 'hnsw'}"
            table(label, measured(url, queries, server.pid, exact=exact), best)
        print(
            f"{name:18} copied and read back in {copied:.0f} s; server {memory_of(server.pid):.0f} "
            f"MB; disk {server.size() / 1e6:.0f} MB",
            flush=True,
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--part97", type=Path, help="folder of Part 97: only its figures")
    options.add_argument("--chunks", type=int, default=20_000)
    options.add_argument("--queries", type=int, default=100)
    options.add_argument("--stores", default="postgresql,chroma", help="beside the folder")
    options.add_argument("--folder", type=Path, help="keep the index there, or take what is there")
    options.add_argument("--measure", help=argparse.SUPPRESS)
    options.add_argument("--server", type=int, default=0, help=argparse.SUPPRESS)
    options.add_argument("--exact", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.part97 is not None:
        part97_figures(chosen.part97)
        return
    if chosen.measure is not None:
        measure(chosen.measure, chosen.queries, chosen.server, exact=chosen.exact)
        return
    with tempfile.TemporaryDirectory(prefix="pincite-bench-") as room:
        folder = chosen.folder or Path(room) / "index"
        start = time.perf_counter()
        if not folder.exists():
            build(folder, chosen.chunks, Settings())
        built = time.perf_counter() - start
        found = measured(str(folder), chosen.queries, exact=False)
        table("folder", found, found["best"])
        disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        print(f"{'folder':18} built in {built:.0f} s; disk {disk / 1e6:.0f} MB", flush=True)
        for name in filter(None, chosen.stores.split(",")):
            run_store(name, folder, chosen.queries, found["best"])


if __name__ == "__main__":
    main()
