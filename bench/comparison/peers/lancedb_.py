"""LanceDB: its full text, its vectors, and its hybrid by ranks."""

from __future__ import annotations

from typing import Any

from protocol import Bench, Search, serve


def _table(bench: Bench, *, with_vectors: bool) -> Any:
    import lancedb
    import pyarrow as pa

    columns: dict[str, Any] = {"row": list(range(len(bench.texts))), "text": bench.texts}
    if with_vectors:
        vectors = bench.text_vectors()
        width = vectors.shape[1]
        columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), width)
    table = lancedb.connect(str(bench.scratch)).create_table(
        "chunks", pa.table(columns), mode="overwrite"
    )
    table.create_fts_index("text", replace=True)
    return table


def _encoder(bench: Bench) -> Any:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    return SentenceTransformer(bench.encoder, device="cpu")


def words(bench: Bench) -> Search:
    table = _table(bench, with_vectors=False)

    def search(question: str) -> list[int]:
        found = table.search(_plain(question), query_type="fts").select(["row", "_score"])
        return found.limit(bench.k).to_arrow()["row"].to_pylist()

    return search


def both(bench: Bench) -> Search:
    from lancedb.rerankers import RRFReranker

    table, model, ranker = _table(bench, with_vectors=True), _encoder(bench), RRFReranker()

    def search(question: str) -> list[int]:
        vector = model.encode(question, show_progress_bar=False, normalize_embeddings=True)
        query = table.search(query_type="hybrid").vector(vector).text(_plain(question))
        return query.rerank(ranker).limit(bench.k).to_arrow()["row"].to_pylist()

    return search


def _plain(question: str) -> str:
    """Return the question without what its query language would read as commands."""
    return "".join(mark if mark.isalnum() else " " for mark in question)


if __name__ == "__main__":
    serve(
        {"LanceDB full text": words, "LanceDB hybrid": both},
        ["lancedb", "sentence-transformers", "torch"],
    )
