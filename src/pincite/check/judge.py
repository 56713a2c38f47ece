"""How probable it is that a text bears out a statement: a small model over what can be counted.

It sees what share of the statement's words, names and numbers the text has, whether either denies
something, and how near each word of the statement comes to a word of the text (MaxSim of the
encoder's tokens). Trees that can only rise with what speaks for the statement weigh these
(``models/train_judge.py``); the rules for polarity and numbers come first, and win.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from pincite.check.rules import negations, without_polarity
from pincite.check.support import TextPart, TextParts, near, turned_round, wrong_numbers
from pincite.encode.encoders import OnnxEncoder
from pincite.encode.models import SHIPPED, QueryTokens
from pincite.model.units import quantities
from pincite.search.learned import RankerModel, load_model

FILE = Path(__file__).with_name("judge.json")
LANGUAGE = "english"  # of all that it learned from
# What it sees, and whether its probability may only rise (1) or fall (-1) with it.
FEATURES: dict[str, int] = {
    "words_of_best_unit": 1,
    "words": 1,
    "pairs_of_words": 1,
    "numbers": 0,
    "numbers_missing": -1,
    "numbers_far": 0,
    "names": 0,
    "names_missing": -1,
    "turned_round": -1,
    "denies": 0,
    "denies_otherwise": 0,
    "length": 0,
    "text_length": 0,
    "units": 0,
    "token_match": 1,
    "token_match_least": 1,
    "token_match_low": 1,
}
WINDOW_CHARS = 700  # that the encoder sees at once
WINDOWS = 2  # the encoder sees of a text: those with most words of the statement
LOW = 20  # percentile of the statement's tokens
KEPT_TEXTS = 16
MAX_CHARS = 20_000  # of a text
_NAME = re.compile(r"(?<=[\w,;:'’\"”)] )[\"“(]?([A-Z][\w&.'’-]*\w)")  # a capital inside a sentence


class Judge:
    """Judges statements in English; any number of threads may share one."""

    def __init__(self, model: RankerModel, encoder: OnnxEncoder) -> None:
        self._model = model
        self._encoder = encoder
        self._tokens = lru_cache(maxsize=KEPT_TEXTS)(encoder.query_tokens)

    def probability(self, claim: str, text: str, texts: TextParts) -> float:
        """Return how probable it is that a text bears out a claim."""
        line = np.array([self.features(claim, text, texts)])
        return float(self._model.probabilities(self._model.scores_of(line))[0])

    def features(self, claim: str, text: str, texts: TextParts) -> list[float]:
        """Return the values of ``FEATURES`` for a claim and a text."""
        text = text[:MAX_CHARS]
        parts = texts.of(text)
        matches = self._matches(claim, texts.content(claim), parts)
        return [*_counted(claim, text, texts), *matches]

    def _matches(
        self, claim: str, words: frozenset[str], parts: Sequence[TextPart]
    ) -> tuple[float, float, float]:
        """Return how near the claim's tokens come to the text's: on average, at worst, of most."""
        own: QueryTokens = self._tokens(claim)
        theirs = [self._tokens(window).vectors for window in windows(words, parts)]
        theirs = [vectors for vectors in theirs if len(vectors)]
        if not len(own.weights) or not theirs:
            return 0.0, 0.0, 0.0
        nearest = (own.vectors @ np.concatenate(theirs).T).max(axis=1)
        low = float(np.percentile(nearest, LOW))
        return float(nearest @ own.weights), float(nearest.min()), low


@cache
def open_judge() -> Judge:
    """Return the judge that ships with Pincite; its encoder is loaded when it is first asked."""
    return Judge(load_model(FILE), OnnxEncoder(SHIPPED))


def windows(words: frozenset[str], parts: Sequence[TextPart]) -> list[str]:
    """Return the stretches of a text with most of some words; neighbours share a unit."""
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(parts):
        end, size = start, 0
        while end < len(parts) and (not size or size + len(parts[end].text) <= WINDOW_CHARS):
            size += len(parts[end].text) + 1
            end += 1
        spans.append((start, end))
        start = len(parts) if end == len(parts) else max(start + 1, end - 1)

    def shared(span: tuple[int, int]) -> int:
        return len(
            words.intersection(frozenset[str]().union(*(p.terms for p in parts[slice(*span)])))
        )

    best = sorted(spans, key=lambda span: -shared(span))[:WINDOWS]
    return ["\n".join(part.text for part in parts[slice(*span)]) for span in best]


def _counted(claim: str, text: str, texts: TextParts) -> list[float]:
    """Return what can be counted without a model."""
    parts, words = texts.of(text), texts.content(claim)
    about = texts.content(without_polarity(claim))
    close = near(about, parts)
    numbers = len(list(quantities(claim)))
    missing = len(list(wrong_numbers(claim, parts)))
    far = len(list(wrong_numbers(claim, close))) - missing
    names = _NAME.findall(claim)
    folded = text.casefold()
    pairs, theirs = set(pairwise(texts.terms(claim))), set(pairwise(texts.terms(text)))
    best = max(parts, key=lambda part: len(words & part.terms), default=None)
    denied, denies = negations(claim), negations(best.text) if best else 0
    said = frozenset[str]().union(*(part.terms for part in parts))
    return [
        len(words & best.terms) / max(1, len(words)) if best else 0.0,
        len(words & said) / max(1, len(words)),
        len(pairs & theirs) / max(1, len(pairs)),
        float(numbers > 0),
        missing / max(1, numbers),
        far / max(1, numbers),
        float(bool(names)),
        sum(name.casefold() not in folded for name in names) / max(1, len(names)),
        float(bool(turned_round(claim, about, close))),
        float(denied > 0),
        float(denied % 2 != denies % 2),
        math.log1p(len(claim.split())),
        math.log1p(len(text.split())),
        math.log1p(len(parts)),
    ]
