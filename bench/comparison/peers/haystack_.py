"""Haystack: documents in memory, BM25 and vectors, joined by ranks, cross-encoder on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from protocol import DEPTH, POOL, Bench, Search, serve


def _store(bench: Bench, *, with_vectors: bool) -> Any:
    from haystack import Document
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    vectors = bench.text_vectors().tolist() if with_vectors else [None] * len(bench.texts)
    store.write_documents(
        [
            Document(id=str(row), content=text, embedding=vector)
            for row, (text, vector) in enumerate(zip(bench.texts, vectors, strict=True))
        ]
    )
    return store


def _rows(documents: Sequence[Any]) -> list[int]:
    return [int(each.id) for each in documents]


def words(bench: Bench) -> Search:
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever

    retriever = InMemoryBM25Retriever(_store(bench, with_vectors=False), top_k=bench.k)
    return lambda question: _rows(retriever.run(query=question)["documents"])


def _joined(bench: Bench, k: int) -> Any:
    import torch
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import (
        InMemoryBM25Retriever,
        InMemoryEmbeddingRetriever,
    )
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    store = _store(bench, with_vectors=True)
    by_words = InMemoryBM25Retriever(store, top_k=DEPTH)
    by_meaning = InMemoryEmbeddingRetriever(store, top_k=DEPTH)
    joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=k)
    model = SentenceTransformer(bench.encoder, device="cpu")

    def documents(question: str) -> list[Any]:
        vector = model.encode(question, show_progress_bar=False, normalize_embeddings=True)
        found = [
            by_words.run(query=question)["documents"],
            by_meaning.run(query_embedding=vector.tolist())["documents"],
        ]
        return joiner.run(documents=found)["documents"]

    return documents


def both(bench: Bench) -> Search:
    documents = _joined(bench, bench.k)
    return lambda question: _rows(documents(question))


def reranked(bench: Bench) -> Search:
    from sentence_transformers import CrossEncoder

    documents = _joined(bench, bench.k)
    model = CrossEncoder(bench.cross_encoder, device="cpu", max_length=256, trust_remote_code=True)

    def search(question: str) -> list[int]:
        found = documents(question)
        pairs = [(question, each.content) for each in found[:POOL]]
        scores = model.predict(pairs, show_progress_bar=False)
        order = sorted(range(len(pairs)), key=lambda at: (-float(scores[at]), at))
        return _rows([found[at] for at in order] + found[POOL:])

    return search


if __name__ == "__main__":
    serve(
        {
            "Haystack BM25": words,
            "Haystack hybrid": both,
            "Haystack hybrid + cross-encoder": reranked,
        },
        ["haystack-ai", "sentence-transformers", "torch"],
    )
