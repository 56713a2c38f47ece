"""sentence-transformers: vectors of texts and questions, all compared; its cross-encoder on top.

python peers/sentence_transformers_.py vectors FOLDER     # write the texts' vectors first
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from protocol import POOL, Bench, Search, best, clock, read, serve


def encoder(bench: Bench) -> Any:
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    return SentenceTransformer(bench.encoder, device="cpu")


def make_vectors(folder: Path) -> None:
    """Write one vector a text, and print how long it took."""
    import numpy as np

    bench = read(folder, "vectors")
    model = encoder(bench)
    model.encode(bench.texts[:2], show_progress_bar=False)
    start = clock()
    vectors = model.encode(
        bench.texts, batch_size=32, show_progress_bar=False, normalize_embeddings=True
    )
    end = clock()
    np.save(bench.vectors, vectors.astype(np.float32))
    print(json.dumps({"cpu_s": end[0] - start[0], "wall_s": end[1] - start[1]}))


def meaning(bench: Bench) -> Search:
    model, vectors = encoder(bench), bench.text_vectors()

    def search(question: str) -> list[int]:
        vector = model.encode(question, show_progress_bar=False, normalize_embeddings=True)
        return best(vectors @ vector, bench.k)

    return search


def reranked(bench: Bench) -> Search:
    from sentence_transformers import CrossEncoder

    first = meaning(bench)
    model = CrossEncoder(bench.cross_encoder, device="cpu", max_length=256, trust_remote_code=True)

    def search(question: str) -> Sequence[int]:
        rows = first(question)
        pool = rows[:POOL]
        pairs = [(question, bench.texts[row]) for row in pool]
        scores = model.predict(pairs, show_progress_bar=False)
        return [pool[at] for at in best(scores, POOL)] + rows[POOL:]

    return search


def pairs(bench: Bench) -> Search:
    """Read candidates that were found before, and nothing else."""
    import torch
    from sentence_transformers import CrossEncoder

    torch.set_num_threads(1)
    model = CrossEncoder(bench.cross_encoder, device="cpu", max_length=256, trust_remote_code=True)

    def search(question: str) -> list[int]:
        pool = bench.pool(question)
        texts = [(question, bench.texts[row]) for row in pool]
        return [pool[at] for at in best(model.predict(texts, show_progress_bar=False), len(pool))]

    return search


if __name__ == "__main__":
    if sys.argv[1] == "vectors":
        make_vectors(Path(sys.argv[2]))
    else:
        serve(
            {
                "sentence-transformers": meaning,
                "sentence-transformers + cross-encoder": reranked,
                "sentence-transformers CrossEncoder": pairs,
            },
            ["sentence-transformers", "torch"],
        )
