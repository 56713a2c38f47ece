"""txtai: its BM25, and its hybrid with vectors that were made before."""

from __future__ import annotations

from typing import Any

from protocol import Bench, Search, serve


def words(bench: Bench) -> Search:
    from txtai import Embeddings

    index = Embeddings(keyword=True)
    index.index(enumerate(bench.texts))
    return lambda question: [int(row) for row, _ in index.search(question, bench.k)]


def both(bench: Bench) -> Search:
    import numpy as np
    import torch
    from sentence_transformers import SentenceTransformer
    from txtai import Embeddings

    torch.set_num_threads(1)
    model = SentenceTransformer(bench.encoder, device="cpu")
    known = dict(zip(bench.texts, bench.text_vectors(), strict=True))

    def vectors(texts: list[str]) -> Any:
        if all(text in known for text in texts):
            return np.array([known[text] for text in texts])
        return model.encode(texts, show_progress_bar=False, normalize_embeddings=True)

    index = Embeddings(method="external", transform=vectors, hybrid=True)
    index.index(enumerate(bench.texts))
    return lambda question: [int(row) for row, _ in index.search(question, bench.k)]


if __name__ == "__main__":
    serve(
        {"txtai keyword": words, "txtai hybrid": both}, ["txtai", "sentence-transformers", "torch"]
    )
