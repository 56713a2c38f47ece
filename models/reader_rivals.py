"""Windows of other documents that a search finds for a question, and that do not answer it.

A reader at work sees what was found: mostly windows of other documents that speak of the same
things. Windows of the question's own document alone do not teach to refuse those.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix

from pincite.store.files import Array
from reader_data import Example, words_of

# How many of a source's questions with an answer get a rival. Contracts and made statements all say
# the same things of somebody else: there the question does not tell which one is meant.
SHARES = {
    "squad": 0.9,
    "boolq": 0.5,
    "sharc": 0.5,
    "conditionalqa": 0.5,
    "medquad": 0.6,
    "wikitables": 0.4,
    "fetaqa": 0.4,
}
DEPTH = 6  # the rival is one of so many best ones
K1, B = 0.9, 0.4
BATCH = 512


def rivals(examples: Sequence[Example], seed: int) -> Iterator[Example]:
    """Yield questions of the examples with a window of another document, which answers nothing."""
    for source, share in SHARES.items():
        chance = random.Random(f"{seed} rivals {source}")
        own = [each for each in examples if each.source == source]
        asked = [each for each in own if each.verdict != "none" and chance.random() < share]
        if asked:
            yield from _of_source(own, asked, chance)


def _of_source(
    own: Sequence[Example], asked: Sequence[Example], chance: random.Random
) -> Iterator[Example]:
    windows = list({each.passage: each for each in own}.values())
    answers: dict[str, list[str]] = defaultdict(list)
    for each in own:
        answers[each.question] += [each.passage[a:b].lower() for a, b in each.spans]
    numbers: dict[str, int] = {}
    scores = _weights([f"{each.path} {each.passage}" for each in windows], numbers)
    for at in range(0, len(asked), BATCH):
        some = asked[at : at + BATCH]
        known = [[numbers[w] for w in words_of(e.question) if w in numbers] for e in some]
        rows = np.repeat(np.arange(len(some)), [len(words) for words in known])
        columns = np.array([word for words in known for word in words], dtype=np.int64)
        shape = (len(some), len(numbers))
        query = csr_matrix((np.ones(len(columns), dtype=np.float32), (rows, columns)), shape)
        found = (query @ scores.T).toarray()
        for example, row in zip(some, found, strict=True):
            best = np.argsort(-row)[: 8 * DEPTH]
            fit = [windows[n] for n in best if _is_rival(example, windows[n], answers)][:DEPTH]
            if fit:
                rival = chance.choice(fit)
                yield replace(
                    example,
                    path=rival.path,
                    passage=rival.passage,
                    verdict="none",
                    spans=(),
                    evidence=(),
                )


def _is_rival(example: Example, window: Example, answers: dict[str, list[str]]) -> bool:
    """Return whether a window is of another document, on the same side, and has no answer in it."""
    if window.document == example.document or window.is_held_out != example.is_held_out:
        return False
    text = window.passage.lower()
    return not any(answer in text for answer in answers[example.question])


def _weights(texts: Sequence[str], numbers: dict[str, int]) -> Array:
    """Return the BM25 weight of every word in every text; ``numbers`` gets the words' columns."""
    rows, columns = [], []
    for n, text in enumerate(texts):
        for word in words_of(text):
            rows.append(n)
            columns.append(numbers.setdefault(word, len(numbers)))
    lengths = np.bincount(rows, minlength=len(texts)).astype(np.float32)
    found = np.bincount(columns, minlength=len(numbers))
    idf = np.log1p((len(texts) - found + 0.5) / (found + 0.5))
    norm = (K1 + 1) / (1 + K1 * (1 - B + B * lengths / max(1.0, lengths.mean())))
    values = (idf[columns] * norm[rows]).astype(np.float32)
    return csr_matrix((values, (rows, columns)), (len(texts), len(numbers)))
