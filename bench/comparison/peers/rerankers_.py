"""rerankers with the weights of Pincite's cross-encoder: candidates that were found before."""

from __future__ import annotations

from protocol import Bench, Search, serve


def pairs(bench: Bench) -> Search:
    import torch
    from rerankers import Reranker

    torch.set_num_threads(1)
    trusted = {"trust_remote_code": True}
    model = Reranker(
        bench.cross_encoder,
        model_type="cross-encoder",
        device="cpu",
        dtype="float32",
        verbose=0,
        model_kwargs=trusted,
        tokenizer_kwargs={**trusted, "model_max_length": 256},
    )

    def search(question: str) -> list[int]:
        pool = bench.pool(question)
        found = model.rank(question, [bench.texts[row] for row in pool], doc_ids=pool)
        return [int(each.document.doc_id) for each in found.results]

    return search


if __name__ == "__main__":
    serve({"rerankers": pairs}, ["rerankers", "transformers", "torch"])
