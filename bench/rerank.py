"""What re-ranking costs: late interaction, the cross-encoder, and both as a cascade.

    python bench/rerank.py                   # Part 97 of the data folder, one core for late
    python bench/rerank.py --peer            # also sentence-transformers' CrossEncoder by torch,
                                             # on weights of the same shape (needs it installed)

Prints one line a figure. Late interaction is measured after the question is encoded, which search
by meaning has done already. Pairs are 20 of 256 tokens, two threads.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import deque
from pathlib import Path

from experiments.part97 import read_questions
from pincite.api import Index
from pincite.model.settings import Settings
from pincite.search.cross_encoder import open_cross_encoder
from pincite.update import embed_index, ingest_files

PAIRS, TOKENS, ROUNDS, QUESTIONS = 20, 256, 5, 100


def late_interaction(folder: Path) -> None:
    """Print the cost of late interaction over 100 candidates, and the size of its index."""
    settings = Settings().changed({"search.late_weight": 0.3, "ingest.split_depth": 1})
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "index"
        list(ingest_files([(folder / "part97.md", "part97.md")], home, settings))
        deque(embed_index(home, settings), maxlen=0)
        with Index.open(home, settings) as index:
            stage = index.searcher.late
            assert stage is not None
            costs = []
            for question in read_questions(folder / "questions_dev.jsonl")[:QUESTIONS]:
                query = index.parse(question.text)
                table = index.searcher.find(query.query, 100)
                stage.encoder.query_tokens(question.text)
                start = time.thread_time()
                stage(query, table)
                costs.append(1000 * (time.thread_time() - start))
            text = sum(len(index.snapshot.document(d).text.encode()) for d in index.documents())
            parts = [v.tokens for v in index.snapshot.vectors if v.tokens is not None]
            size = sum(codes.nbytes + starts.nbytes for codes, starts in parts)
    costs.sort()
    p50, p95 = statistics.median(costs), costs[int(0.95 * len(costs))]
    print(f"late interaction, 100 candidates: p50 {p50:.1f} ms, p95 {p95:.1f} ms of one core")
    print(f"its index: {size / text:.2f} times the text")


def pairs_per_second() -> float:
    """Print how many pairs the shipped cross-encoder reads a second."""
    model = open_cross_encoder("shipped", threads=2)
    texts = _texts()
    model.logits("what does this say?", texts[:2])
    best = min(_seconds(lambda: model.logits("what does this say?", texts)) for _ in range(ROUNDS))
    print(f"cross-encoder, int8, two threads: {PAIRS / best:.1f} pairs a second")
    return PAIRS / best


def peer(ours: float) -> None:
    """Print the same of sentence-transformers and torch, on random weights of the same shape."""
    import torch
    from sentence_transformers import CrossEncoder
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    torch.set_num_threads(2)
    from importlib.resources import files

    words = Path(str(files("pincite.encode").joinpath("minilm", "tokenizer.json")))
    with tempfile.TemporaryDirectory() as folder:
        shape = BertConfig(
            vocab_size=30522,
            hidden_size=384,
            num_hidden_layers=6,
            num_attention_heads=12,
            intermediate_size=1536,
            num_labels=1,
        )
        BertForSequenceClassification(shape).save_pretrained(folder)
        BertTokenizerFast(tokenizer_file=str(words)).save_pretrained(folder)
        model = CrossEncoder(folder, device="cpu", max_length=TOKENS)
        pairs = [("what does this say?", text) for text in _texts()]
        model.predict(pairs[:2], show_progress_bar=False)
        rounds = [
            _seconds(lambda: model.predict(pairs, show_progress_bar=False)) for _ in range(ROUNDS)
        ]
    rate = PAIRS / min(rounds)
    print(f"sentence-transformers, torch fp32, two threads: {rate:.1f} pairs a second")
    print(f"ratio: {ours / rate:.2f}")


def _texts() -> list[str]:
    """Return texts that make pairs of 256 tokens with the question: a short word is one token."""
    return [" ".join(["rule"] * (TOKENS - 9 - number % 2)) for number in range(PAIRS)]


def _seconds(work: object) -> float:
    start = time.perf_counter()
    work()  # type: ignore[operator]
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", action="store_true")
    default = os.environ.get("PINCITE_DATA", Path(__file__).parents[2] / "shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    wanted = parser.parse_args()
    folder = wanted.data / "part97"
    late_interaction(folder)
    ours = pairs_per_second()
    if wanted.peer:
        peer(ours)


if __name__ == "__main__":
    main()
