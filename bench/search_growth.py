"""How search by words grows with the index; part of bench/search.py."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from search_engines import asked, clock, peak_mb

from pincite.api import Index
from pincite.core.settings import load_settings
from pincite.core.types import Chunk, Document, Loaded, Span
from pincite.index.builder import IndexBuilder

Line = dict[str, Any]
# Made-up texts: a vocabulary with the frequencies of a language, chunks of a paragraph's length.
VOCABULARY, WORDS_PER_CHUNK, CHUNKS_PER_DOCUMENT, WORDS_PER_QUESTION = 50_000, 40, 100, 5


def folder_size(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def made_up_documents(chunks: int, words: Sequence[str], seed: int) -> Iterator[Loaded]:
    """Yield documents of chunks whose words have the frequencies of Zipf's law."""
    random = np.random.default_rng(seed)
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
        yield Loaded(Document(doc_id, "\n".join(texts)), made)


def grown(size: int, questions: int, rounds: int) -> Line:
    """Return the figures of search by words in so many made-up chunks."""
    letters = np.random.default_rng(1).integers(97, 123, size=(VOCABULARY, 7), dtype=np.uint8)
    words = [bytes(row).decode() for row in letters]
    settings = load_settings(overrides=["search.pipeline=lexical"])
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        start = clock()
        with IndexBuilder(Path(name), settings) as builder:
            for loaded in made_up_documents(size, words, seed=2):
                builder.put(loaded)
            builder.flush()
        end = clock()
        # Words of one chunk each, so that every question has an answer.
        random = np.random.default_rng(3)
        from_each = -(-questions * CHUNKS_PER_DOCUMENT // size)
        texts = [
            " ".join(random.choice(chunk.text.split(), WORDS_PER_QUESTION, replace=False))
            for loaded in islice(made_up_documents(size, words, seed=2), questions)
            for chunk in loaded.chunks[:from_each]
        ][:questions]
        index = Index.open(name, settings)
        index.search_ranking(texts[0], 10)
        runs = [asked(lambda text: index.search_ranking(text, 10), texts) for _ in range(rounds)]
        index.snapshot.close()
        total = folder_size(Path(name))
    best = min(runs, key=lambda run: sum(run["cpu_ms"]))
    return {
        "chunks": size,
        "segments": len(index.snapshot.segments),
        "cpu_p50_ms": round(float(np.percentile(best["cpu_ms"], 50)), 2),
        "cpu_p95_ms": round(float(np.percentile(best["cpu_ms"], 95)), 2),
        "wall_p50_ms": round(float(np.percentile(best["wall_ms"], 50)), 2),
        "wall_p95_ms": round(float(np.percentile(best["wall_ms"], 95)), 2),
        "bytes_per_chunk": round(total / size),
        "index_cpu_s": round(end[0] - start[0], 1),
        "peak_mb": round(peak_mb()),  # of indexing and searching, this size and those before it
    }
