"""FlashRank with the weights of Pincite's cross-encoder: candidates that were found before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from protocol import Bench, Search, serve

NAME = "ms-marco-TinyBERT-L-2-v2"  # the name under which our weights lie there


def pairs(bench: Bench) -> Search:
    import onnxruntime
    from flashrank import Ranker, RerankRequest

    with_threads = onnxruntime.InferenceSession

    def one_thread(path: str) -> Any:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        return with_threads(path, options)

    onnxruntime.InferenceSession = one_thread  # it has no setting for that
    folder = Path(bench.cross_encoder) / "flashrank"
    model = Ranker(NAME, cache_dir=str(folder), max_length=256)

    def search(question: str) -> list[int]:
        passages = [{"id": row, "text": bench.texts[row]} for row in bench.pool(question)]
        return [each["id"] for each in model.rerank(RerankRequest(question, passages))]

    return search


if __name__ == "__main__":
    serve({"FlashRank": pairs}, ["flashrank", "onnxruntime"])
