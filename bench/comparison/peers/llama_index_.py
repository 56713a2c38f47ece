"""llama-index: BM25 retriever, vector index, fusion of both by ranks, cross-encoder on top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from protocol import DEPTH, POOL, Bench, Search, serve


def _nodes(bench: Bench, *, with_vectors: bool = False) -> list[Any]:
    from llama_index.core.schema import TextNode

    nodes = [TextNode(text=text, id_=str(row)) for row, text in enumerate(bench.texts)]
    if with_vectors:
        for node, vector in zip(nodes, bench.text_vectors().tolist(), strict=True):
            node.embedding = vector
    return nodes


def _rows(found: Sequence[Any]) -> list[int]:
    return [int(each.node.node_id) for each in found]


def _bm25(bench: Bench, nodes: list[Any], k: int) -> Any:
    from llama_index.retrievers.bm25 import BM25Retriever

    return BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=min(k, len(nodes)))


def _vector(bench: Bench, nodes: list[Any], k: int) -> Any:
    import torch
    from llama_index.core import VectorStoreIndex
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding

    torch.set_num_threads(1)
    model = HuggingFaceEmbedding(model_name=bench.encoder, device="cpu", normalize=True)
    return VectorStoreIndex(nodes, embed_model=model).as_retriever(similarity_top_k=k)


def _fusion(bench: Bench, k: int) -> Any:
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever

    nodes = _nodes(bench, with_vectors=True)
    depth = min(DEPTH, len(nodes))
    return QueryFusionRetriever(
        [_bm25(bench, nodes, depth), _vector(bench, nodes, depth)],
        llm=MockLLM(),  # never asked: one query, as it stands
        similarity_top_k=k,
        num_queries=1,
        mode="reciprocal_rerank",
        use_async=False,
    )


def words(bench: Bench) -> Search:
    retriever = _bm25(bench, _nodes(bench), bench.k)
    return lambda question: _rows(retriever.retrieve(question))


def meaning(bench: Bench) -> Search:
    retriever = _vector(bench, _nodes(bench, with_vectors=True), bench.k)
    return lambda question: _rows(retriever.retrieve(question))


def both(bench: Bench) -> Search:
    retriever = _fusion(bench, bench.k)
    return lambda question: _rows(retriever.retrieve(question))


def reranked(bench: Bench) -> Search:
    from llama_index.core.postprocessor import SentenceTransformerRerank
    from llama_index.core.schema import QueryBundle

    retriever = _fusion(bench, bench.k)
    model = SentenceTransformerRerank(
        model=bench.cross_encoder, top_n=POOL, device="cpu", trust_remote_code=True
    )

    def search(question: str) -> list[int]:
        found = retriever.retrieve(question)
        first = model.postprocess_nodes(found[:POOL], query_bundle=QueryBundle(question))
        return _rows(first) + _rows(found[POOL:])

    return search


if __name__ == "__main__":
    serve(
        {
            "llama-index BM25": words,
            "llama-index vectors": meaning,
            "llama-index fusion": both,
            "llama-index fusion + cross-encoder": reranked,
        },
        [
            *("llama-index-core", "llama-index-retrievers-bm25", "bm25s"),
            *("sentence-transformers", "torch"),
        ],
    )
