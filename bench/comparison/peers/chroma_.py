"""Chroma on disk with vectors of sentence-transformers; with rank_bm25, the hand-made hybrid."""

from __future__ import annotations

from typing import Any

from protocol import DEPTH, Bench, Search, serve
from rank_bm25_ import tokenizer

DENSE_WEIGHT = 0.6


def _collection(bench: Bench) -> Any:
    import chromadb

    client = chromadb.PersistentClient(str(bench.scratch))
    collection = client.get_or_create_collection(
        "chunks", metadata={"hnsw:space": "cosine", "hnsw:num_threads": 1}, embedding_function=None
    )
    vectors = bench.text_vectors()
    for at in range(0, len(vectors), 4000):
        rows = range(at, min(at + 4000, len(vectors)))
        collection.upsert(
            ids=[str(row) for row in rows],
            embeddings=vectors[at : at + 4000],
            documents=bench.texts[at : at + 4000],
        )
    return collection


def _encoder(bench: Bench) -> Any:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    return SentenceTransformer(bench.encoder, device="cpu")


def meaning(bench: Bench) -> Search:
    collection, model = _collection(bench), _encoder(bench)

    def search(question: str) -> list[int]:
        vector = model.encode(question, show_progress_bar=False, normalize_embeddings=True)
        found = collection.query(query_embeddings=[vector], n_results=bench.k)
        return [int(row) for row in found["ids"][0]]

    return search


def both(bench: Bench) -> Search:
    import numpy as np
    from rank_bm25 import BM25Okapi

    terms = tokenizer()
    words = BM25Okapi([terms(text) for text in bench.texts])
    collection, model = _collection(bench), _encoder(bench)
    depth = min(DEPTH, len(bench.texts))

    def search(question: str) -> list[int]:
        scores = words.get_scores(terms(question))
        lexical = {int(row): float(scores[row]) for row in np.argsort(-scores)[:depth]}
        vector = model.encode(question, show_progress_bar=False, normalize_embeddings=True)
        near = collection.query(
            query_embeddings=[vector], n_results=depth, include=["distances", "documents"]
        )
        pairs = zip(near["ids"][0], near["distances"][0], strict=True)
        dense = {int(row): 1 - distance for row, distance in pairs}
        lexical, dense = _min_max(lexical), _min_max(dense)
        fused = {
            row: (1 - DENSE_WEIGHT) * lexical.get(row, 0.0) + DENSE_WEIGHT * dense.get(row, 0.0)
            for row in lexical.keys() | dense.keys()
        }
        return sorted(fused, key=lambda row: (-fused[row], row))[: bench.k]

    return search


def _min_max(scores: dict[int, float]) -> dict[int, float]:
    least, most = min(scores.values()), max(scores.values())
    return {row: (score - least) / ((most - least) or 1.0) for row, score in scores.items()}


if __name__ == "__main__":
    serve(
        {"Chroma": meaning, "rank_bm25 + Chroma": both},
        ["chromadb", "rank-bm25", "sentence-transformers", "torch"],
    )
