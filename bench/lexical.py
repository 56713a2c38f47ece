"""Lexical search beside other engines: the same pages, the same questions, one run, one core.

    python bench/lexical.py [--data DIR] [--rounds N] [--json FILE]

Prints indexing time, time to the first answer in a new process' terms (open), time per query, and
how often the gold page is among ten. Times are CPU seconds of this process, best of the rounds;
engines take turns in every round, so a busy machine disturbs all of them alike.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

# One core for everybody: some engines would otherwise use all of them.
os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"})

from pincite.core.settings import Settings, load_settings
from pincite.core.types import Chunk, Document, Loaded, Query, Span
from pincite.index.builder import IndexBuilder
from pincite.index.opened import OpenIndex
from pincite.pipeline import build

Search = Callable[[str], Sequence[int]]


@dataclass
class Engine:
    """An engine under test: how it indexes pages and how the index is opened for searching."""

    name: str
    index: Callable[[list[str], Path], None]
    open: Callable[[Path], Search]
    index_seconds: list[float] = field(default_factory=list)
    open_seconds: list[float] = field(default_factory=list)
    query_ms: list[list[float]] = field(default_factory=list)
    found: int = 0
    size_mb: float = 0.0


def pincite_engine(name: str, settings: Settings) -> Engine:
    def index(pages: list[str], folder: Path) -> None:
        with IndexBuilder(folder / "index", settings) as builder:
            for number, text in enumerate(pages):
                chunk = Chunk(
                    id=f"{number:016d}",
                    span=Span(str(number), 0, len(text)),
                    text=text,
                    kind="piece",
                    locator=str(number),
                    title="",
                    path=(),
                    own_end=len(text),
                )
                builder.put(Loaded(Document(str(number), text), [chunk]))
            builder.flush()

    def opened(folder: Path) -> Search:
        pipeline = build(settings, OpenIndex.open(folder / "index"))
        return lambda query: [int(i) for i in pipeline.search(Query(query), 10).ids]

    return Engine(name, index, opened)


def bm25s_engine() -> Engine:
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")

    def index(pages: list[str], folder: Path) -> None:
        tokens = bm25s.tokenize(pages, stopwords=None, stemmer=stemmer, show_progress=False)
        engine = bm25s.BM25()
        engine.index(tokens, show_progress=False)
        engine.save(folder / "index")

    def opened(folder: Path) -> Search:
        engine = bm25s.BM25.load(folder / "index", mmap=True)

        def search(query: str) -> Sequence[int]:
            tokens = bm25s.tokenize(query, stopwords=None, stemmer=stemmer, show_progress=False)
            found = engine.retrieve(tokens, k=10, show_progress=False)
            return found.documents[0].tolist()

        return search

    return Engine(f"bm25s {version('bm25s')}", index, opened)


def tantivy_engine() -> Engine:
    import tantivy

    def index(pages: list[str], folder: Path) -> None:
        schema = tantivy.SchemaBuilder()
        schema.add_integer_field("number", stored=True)
        schema.add_text_field("text", tokenizer_name="en_stem")
        (folder / "index").mkdir()
        engine = tantivy.Index(schema.build(), path=str(folder / "index"))
        writer = engine.writer(num_threads=1)
        for number, text in enumerate(pages):
            writer.add_document(tantivy.Document(number=number, text=text))
        writer.commit()
        writer.wait_merging_threads()

    def opened(folder: Path) -> Search:
        engine = tantivy.Index.open(str(folder / "index"))
        searcher = engine.searcher()

        def search(query: str) -> Sequence[int]:
            parsed, _ = engine.parse_query_lenient(query, ["text"])
            hits = searcher.search(parsed, 10).hits
            return [searcher.doc(address)["number"][0] for _, address in hits]

        return search

    return Engine(f"tantivy {version('tantivy')}", index, opened)


def rank_bm25_engine() -> Engine:
    import numpy as np
    from rank_bm25 import BM25Okapi

    kept: dict[Path, BM25Okapi] = {}

    def index(pages: list[str], folder: Path) -> None:
        kept[folder] = BM25Okapi([page.lower().split() for page in pages])

    def opened(folder: Path) -> Search:
        engine = kept.pop(folder)
        return lambda query: np.argsort(-engine.get_scores(query.lower().split()))[:10].tolist()

    return Engine(f"rank_bm25 {version('rank-bm25')}", index, opened)


def load_pages(data: Path) -> tuple[list[str], list[tuple[str, int]]]:
    """Return all pages of the benchmark and (question, number of its gold page)."""
    pages: list[str] = []
    numbers: dict[tuple[str, str, int], int] = {}
    for file in sorted((data / "gt").glob("*/*.json")):
        for item in json.loads(file.read_text(encoding="utf-8")):
            if item["text"].strip():
                numbers[file.parent.name, file.stem, item["page_idx"]] = len(pages)
                pages.append(item["text"])
    questions = []
    for item in json.loads((data / "qas_dev.json").read_text(encoding="utf-8")):
        folder, name = item["doc_name"].split("/", 1)
        for where in (folder, "academic"):
            gold = numbers.get((where, name, item["evidence_page_no"]))
            if gold is not None:
                questions.append((item["questions"], gold))
                break
    return pages, questions


def run_round(engine: Engine, pages: list[str], questions: list[tuple[str, int]]) -> None:
    """Index, open and search once with one engine."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        start = time.process_time()
        engine.index(pages, folder)
        engine.index_seconds.append(time.process_time() - start)
        start = time.process_time()
        search = engine.open(folder)
        search(questions[0][0])
        engine.open_seconds.append(time.process_time() - start)
        times, engine.found = [], 0
        for question, gold in questions:
            start = time.process_time()
            found = search(question)
            times.append((time.process_time() - start) * 1000)
            engine.found += gold in found
        engine.query_ms.append(times)
        engine.size_mb = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    default = os.environ.get("PINCITE_DATA", "../shared/data")
    arguments.add_argument("--data", type=Path, default=Path(default))
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--questions", type=int, default=1000)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    pages, questions = load_pages(given.data / "ohr-bench")
    # Every third question or so: all domains, the same for every engine.
    step = max(1, len(questions) // given.questions)
    questions = questions[::step][: given.questions]
    plain = ["tokens.bigrams=false", "lexical.bigram_weight=0", "lexical.window_weight=0"]
    engines = [
        pincite_engine("pincite, BM25 alone", load_settings(overrides=plain)),
        pincite_engine("pincite, default", Settings()),
        bm25s_engine(),
        tantivy_engine(),
    ]
    for _ in range(given.rounds):
        for engine in engines:
            run_round(engine, pages, questions)
    slow = rank_bm25_engine()
    run_round(slow, pages, questions[::20])
    slow.found *= len(questions) / len(questions[::20])
    report([*engines, slow], pages, questions, given.json)


def report(
    engines: list[Engine], pages: list[str], questions: list[tuple[str, int]], file: Path | None
) -> None:
    """Print the table, and write it as JSON lines if asked to."""
    megabytes = sum(map(len, pages)) / 1e6
    print(f"{len(pages)} pages ({megabytes:.0f} MB), {len(questions)} questions, top 10")
    print(f"{'engine':<22}{'index s':>9}{'open s':>8}{'p50 ms':>8}{'p95 ms':>8}{'@10':>7}{'MB':>7}")
    lines = []
    for engine in engines:
        best = min(engine.query_ms, key=sum)
        ordered = sorted(best)
        row = {
            "engine": engine.name,
            "index_seconds": min(engine.index_seconds),
            "open_seconds": min(engine.open_seconds),
            "p50_ms": ordered[len(ordered) // 2],
            "p95_ms": ordered[int(len(ordered) * 0.95)],
            "mean_ms": sum(best) / len(best),
            "gold_page@10": engine.found / len(questions),
            "index_mb": engine.size_mb,
        }
        lines.append(json.dumps(row))
        print(
            f"{row['engine']:<22}{row['index_seconds']:>9.2f}{row['open_seconds']:>8.3f}"
            f"{row['p50_ms']:>8.3f}{row['p95_ms']:>8.3f}{row['gold_page@10']:>7.3f}"
            f"{row['index_mb']:>7.1f}"
        )
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
