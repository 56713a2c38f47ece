"""Pincite's own pipelines, over an index that is there."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from protocol import Bench, Search, best, serve

# BM25 and nothing else, as peers have it: stems, one score a chunk.
PLAIN = (
    *("tuning.lexical.bigram_weight=0", "tuning.lexical.window_weight=0", "tuning.spread=0"),
    "search.without=places,names,aliases,typos",
)
# One thread, as peers have it, and no pair is remembered from one round to the next.
FIXED = ("tuning.threads=1", "tuning.rerank.cache_pairs=0")


def _settings(*chosen: str) -> Any:
    from pincite.model.settings import load_settings

    return load_settings(overrides=[*FIXED, *chosen])


def pipeline(*chosen: str) -> Callable[[Bench], Search]:
    """Return what opens the index with some settings."""

    def opened(bench: Bench) -> Search:
        from pincite.api import Index

        rows = {chunk_id: row for row, chunk_id in enumerate(bench.ids)}
        index = Index.open(bench.index, _settings(*chosen))

        def search(question: str) -> Sequence[int]:
            # A place that a question names may be one that is not searched by its text.
            found = index.search_ranking(question, bench.k).ids
            return [rows.get(chunk_id, -1) for chunk_id in found]

        return search

    return opened


def from_texts(bench: Bench, preset: str) -> Search:
    """Index the texts as peers do, to tell how long that takes and what is found in them alone."""
    from pincite.api import Index
    from pincite.index.builder import IndexBuilder
    from pincite.model.types import Chunk, Document, ParsedDocument, Span
    from pincite.update import embed_index

    settings = _settings(f"search.preset={preset}")
    shutil.rmtree(bench.scratch)
    with IndexBuilder(bench.scratch, settings) as builder:
        for row, text in enumerate(bench.texts):
            span = Span(str(row), 0, len(text))
            chunk = Chunk(f"{row:016d}", span, text, "piece", str(row), "", (), len(text))
            builder.put(ParsedDocument(Document(str(row), text), [chunk]))
        builder.flush()
    if preset != "lexical":
        deque(embed_index(bench.scratch, settings), maxlen=0)
    index = Index.open(bench.scratch, settings)
    return lambda question: [int(each) for each in index.search_ranking(question, bench.k).ids]


def pairs(bench: Bench) -> Search:
    """Read candidates that were found before, and nothing else."""
    from pincite.search.cross_encoder import open_cross_encoder

    model = open_cross_encoder("shipped", threads=1)

    def search(question: str) -> list[int]:
        pool = bench.pool(question)
        return [pool[at] for at in best(model.logits(question, [bench.texts[r] for r in pool]), 99)]

    return search


if __name__ == "__main__":
    serve(
        {
            "pincite, BM25 alone": pipeline("search.preset=lexical", *PLAIN),
            "pincite, words": pipeline("search.preset=lexical"),
            "pincite, words, indexed here": partial(from_texts, preset="lexical"),
            "pincite, hybrid, indexed here": partial(from_texts, preset="hybrid"),
            "pincite, meaning": pipeline("search.preset=dense"),
            "pincite, hybrid": pipeline("search.preset=hybrid"),
            "pincite, hybrid + late interaction": pipeline("search.preset=hybrid+late"),
            "pincite, hybrid + cross-encoder": pipeline(
                "search.preset=hybrid", "rerank.enabled=true", "rerank.budget_ms=60000"
            ),
            "pincite CrossEncoder": pairs,
        },
        ["pincite", "numpy", "onnxruntime"],
    )
