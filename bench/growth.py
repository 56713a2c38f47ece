"""How indexing and search grow with the index: time, memory and disk at several sizes.

    python bench/growth.py [--sizes 1000,10000,100000,1000000] [--folder DIR] [--save FILE]

Texts are made up (a paragraph of 40 words each, with the frequencies of a language), and so are
their vectors, which have neighbours: only time and room are measured. Indexing and searching are
processes of their own, so that the memory of one is not that of the other; all cores may be used.
The question's own vector is made by the encoder, as ever. "first" is each question's first time in
a new process, when pages of the index may still be on disk.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from comparison.peers.protocol import clock, folder_mb, peak_mb
from pincite.api import Index
from pincite.encode.encoders import OnnxEncoder
from pincite.index.builder import IndexBuilder
from pincite.model.settings import load_settings
from pincite.model.types import Chunk, Document, ParsedDocument, Span
from pincite.update import embed_index
from vectors import Themes

Line = dict[str, Any]
VOCABULARY, WORDS_PER_CHUNK, CHUNKS_PER_DOCUMENT, WORDS_PER_QUESTION = 50_000, 40, 100, 5
QUESTIONS, ROUNDS = 200, 3
SETTINGS = ("tuning.cache=false", "ingest.language=english")


def vocabulary() -> list[str]:
    letters = np.random.default_rng(1).integers(97, 123, size=(VOCABULARY, 4), dtype=np.uint8)
    return [bytes(row).decode() for row in letters]


def made_up_documents(chunks: int, words: Sequence[str]) -> Iterator[ParsedDocument]:
    """Yield documents of chunks whose words have the frequencies of Zipf's law."""
    random = np.random.default_rng(2)
    share = np.cumsum(1 / np.arange(1, len(words) + 1))
    for first in range(0, chunks, CHUNKS_PER_DOCUMENT):
        count = min(CHUNKS_PER_DOCUMENT, chunks - first)
        drawn = np.searchsorted(share, random.random((count, WORDS_PER_CHUNK)) * share[-1])
        texts = [" ".join(words[each] for each in row) for row in drawn.tolist()]
        doc_id, at, made = f"{first:09d}.txt", 0, []
        for number, text in enumerate(texts, first):
            span = Span(doc_id, at, at + len(text))
            made.append(Chunk(f"{number:016d}", span, text, "piece", str(number), "", (), span.end))
            at = span.end + 1
        yield ParsedDocument(Document(doc_id, "\n".join(texts)), made)


@contextmanager
def made_up_vectors() -> Iterator[None]:
    """Let the encoder give vectors that have neighbours, none of them of its text."""
    source = Themes()

    def encode(_: OnnxEncoder, texts: Sequence[str]) -> Any:
        return source.draw(len(texts)).astype(np.float32)

    # No vectors stand in for those: only theirs are to be measured.
    with (
        mock.patch.object(OnnxEncoder, "encode", encode),
        mock.patch("pincite.update.STAND_IN_FROM", sys.maxsize),
    ):
        yield


def indexing(folder: Path, chunks: int) -> Line:
    """Make the index; return what that took."""
    settings = load_settings(overrides=[*SETTINGS])
    start = clock()
    with IndexBuilder(folder, settings) as builder:
        for loaded in made_up_documents(chunks, vocabulary()):
            builder.put(loaded)
        builder.flush()
    words, words_peak = clock(), peak_mb()
    words_mb = folder_mb(folder)
    with made_up_vectors():
        deque(embed_index(folder, settings), maxlen=0)
    end = clock()
    return {
        "index_cpu_s": words[0] - start[0],
        "index_wall_s": words[1] - start[1],
        "index_peak_mb": words_peak,
        "vectors_cpu_s": end[0] - words[0],
        "vectors_wall_s": end[1] - words[1],
        "vectors_peak_mb": peak_mb(),
        "bytes_a_chunk_words": 1e6 * words_mb / chunks,
        "bytes_a_chunk": 1e6 * folder_mb(folder) / chunks,
    }


def questions(chunks: int) -> list[str]:
    """Return words of one chunk each, so that every question has an answer."""
    random = np.random.default_rng(3)
    from_each = -(-QUESTIONS * CHUNKS_PER_DOCUMENT // chunks)
    return [
        " ".join(random.choice(chunk.text.split(), WORDS_PER_QUESTION, replace=False))
        for loaded in islice(made_up_documents(chunks, vocabulary()), QUESTIONS)
        for chunk in loaded.chunks[:from_each]
    ][:QUESTIONS]


def searching(folder: Path, chunks: int, pipeline: str) -> Line:
    """Ask all questions some times; return the times and the memory."""
    texts = questions(chunks)
    before = peak_mb()
    start = clock()
    settings = load_settings(overrides=[*SETTINGS, f"search.preset={pipeline}"])
    index = Index.open(folder, settings)
    index.search(texts[0] + " once", 10)
    ready = clock()
    rounds = []
    for turn in range(ROUNDS):
        times = []
        for text in texts:
            begin = clock()
            index.search(text + " " * turn, 10)  # blanks: nothing is remembered
            end = clock()
            times.append((1000 * (end[0] - begin[0]), 1000 * (end[1] - begin[1])))
        rounds.append(times)
    best, first = np.min(rounds, axis=0), np.array(rounds[0])
    found = {"ready_wall_s": ready[1] - start[1], "peak_mb": peak_mb(), "before_mb": before}
    for at, clock_name in enumerate(("cpu", "wall")):
        for share in (50, 95):
            found[f"{clock_name}_p{share}_ms"] = float(np.percentile(best[:, at], share))
            found[f"first_{clock_name}_p{share}_ms"] = float(np.percentile(first[:, at], share))
    return {f"{pipeline}_{name}": value for name, value in found.items()}


PARTS = {
    "indexing": indexing,
    "lexical": lambda folder, chunks: searching(folder, chunks, "lexical"),
    "hybrid": lambda folder, chunks: searching(folder, chunks, "hybrid"),
}


def grown(chunks: int, folder: Path) -> Line:
    """Return all figures of one size; each part is a process of its own."""
    line: Line = {"chunks": chunks, "date": time.strftime("%Y-%m-%d")}
    for part in PARTS:
        command = [sys.executable, __file__, "--part", part, "--folder", str(folder)]
        done = subprocess.run(
            [*command, "--sizes", str(chunks)], stdout=subprocess.PIPE, text=True, check=True
        )
        line |= json.loads(done.stdout.strip().splitlines()[-1])
    return line


SHOWN = {
    "chunks": "{:,.0f}",
    "index_wall_s": "{:.1f}",
    "index_peak_mb": "{:.0f}",
    "vectors_wall_s": "{:.1f}",
    "vectors_peak_mb": "{:.0f}",
    "bytes_a_chunk": "{:.0f}",
    "lexical_wall_p50_ms": "{:.1f}",
    "lexical_wall_p95_ms": "{:.1f}",
    "hybrid_wall_p50_ms": "{:.1f}",
    "hybrid_wall_p95_ms": "{:.1f}",
    "hybrid_first_wall_p95_ms": "{:.1f}",
    "hybrid_peak_mb": "{:.0f}",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1000,10000,100000,1000000")
    parser.add_argument("--folder", type=Path, help="where indexes are made")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--save", type=Path, help="JSON lines")
    given = parser.parse_args()
    if given.part:
        print(json.dumps(PARTS[given.part](given.folder, int(given.sizes))))
        return
    lines = []
    for number, size in enumerate(int(each) for each in given.sizes.split(",")):
        with tempfile.TemporaryDirectory(prefix="bench-", dir=given.folder) as name:
            lines.append(grown(size, Path(name) / "index"))
        if not number:
            print(f"| {' | '.join(SHOWN)} |\n|{'---|' * len(SHOWN)}")
        cells = [form.format(lines[-1][name]) for name, form in SHOWN.items()]
        print(f"| {' | '.join(cells)} |", flush=True)
        if given.save:
            given.save.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
