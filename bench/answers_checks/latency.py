"""How long `ask` takes, and how many passages a second the reader reads beside torch.

Questions of OHR-Bench are asked of all its documents (some 21,000 chunks); time is that of the
whole answer. Then windows of these answers are read by the served model, and by the same weights as
float32 in torch (dependency group `models`; left out where it is not installed), one pair a call
and the same number of threads each.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from answers_checks._asking import asker_of, settings_here
from answers_checks.ohr_bench import read_asked
from checks import Figure, sampled
from experiments import ohr_bench
from experiments.indexes import opened_at
from finding_checks._indexes import index_folder
from pincite.search.pair_scorers import open_reader

MODELS = Path(__file__).parents[2] / "models"
USUAL = 80  # questions, if the command line does not say
WARM_UP = 8


def run(data: Path) -> list[Figure]:
    """Return the times of whole answers, and the speed of reading."""
    folder, settings = data / "ohr-bench", settings_here()
    files = ohr_bench.all_files(folder / "gt")
    questions = sampled(read_asked(folder / "qas_dev.json"), lambda each: each.text)
    texts = [each.text for each in questions[: None if len(questions) < USUAL else USUAL]]
    with (
        index_folder(f"ohr-bench-{settings.search.preset}", files, [settings]) as place,
        opened_at(place, settings) as index,
    ):
        asker = asker_of(index)
        seconds = [_seconds(lambda text=text: asker.answer(text)) for text in texts]
        pairs = [
            (text, each.window.heading, each.window.text)
            for text in texts[:20]
            for each in asker.found(text).read
        ]
        chunks = sum(len(index.snapshot.chunks(each)) for each in index.documents())
    ms = [1000 * each for each in seconds[WARM_UP:]]
    note = f"ms, {chunks:,} chunks"
    return [
        Figure("ask, half within", float(np.quantile(ms, 0.5)), "<= 250", len(ms), note),
        Figure("ask, 95 of 100 within", float(np.quantile(ms, 0.95)), "<= 500", len(ms), note),
        *_reading(pairs),
    ]


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _reading(pairs: Sequence[tuple[str, str, str]]) -> list[Figure]:
    """Return passages a second of the served model, and of torch with the same weights."""
    served = open_reader("shipped")
    if served is None:
        return []
    served.read(pairs[0][0], [pairs[0][1:]])  # loads
    served.threads = 1
    taken = _seconds(lambda: [served.read(q, [(h, t)]) for q, h, t in pairs])
    figures = [Figure("passages a second", len(pairs) / taken, "", len(pairs), "one thread")]
    if find_spec("torch") is None:
        return figures
    other = _torch_seconds(pairs)
    return [
        *figures,
        Figure("passages a second in torch", len(pairs) / other, "", len(pairs), "float32"),
        Figure("ratio", other / taken, ">= 2"),
    ]


def _torch_seconds(pairs: Sequence[tuple[str, str, str]]) -> float:
    """Return how long torch takes for the same pairs with the weights of the served model."""
    sys.path.append(os.fspath(MODELS))
    import torch
    from tokenizers import Tokenizer

    from reader_data import Example
    from reader_network import ReaderNetwork, ReaderTokens
    from train_reader import read_start

    folder = Path(__file__).parents[2] / "src" / "pincite" / "answer" / "minilm"
    weights, text, _ = read_start(folder)
    network, tokens = ReaderNetwork(weights, 0), ReaderTokens(Tokenizer.from_str(text), 256)
    torch.set_num_threads(1)

    def read(question: str, heading: str, passage: str) -> None:
        example = Example("", "", question, heading, passage, "none")
        network.read(tokens.labelled([example]).batch)

    with torch.no_grad():
        read(*pairs[0])
        return _seconds(lambda: [read(*pair) for pair in pairs])
