"""Measures of words: those of short answers, longest common subsequence, similarity of texts."""

from __future__ import annotations

import random
import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from rapidfuzz.distance import LCSseq

from pincite.encode.encoders import open_encoder
from pincite.encode.models import Encoder
from pincite.measure.coverage import Corpus, CoveredGold
from pincite.measure.grades import Measure
from pincite.measure.runs import RunHit
from pincite.model.errors import ConfigError
from pincite.model.settings import Encoding
from pincite.model.types import Chunk


class WordNumbers:
    """Turns texts into lists of word numbers, so that sequences compare fast."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, text: str) -> list[int]:
        """Return the words of a text: lower-case, without punctuation and articles."""
        numbers = self._numbers
        return [numbers.setdefault(word, len(numbers)) for word in normal(text).split()]


def lcs_score(evidence: Sequence[int], retrieved: Sequence[int]) -> float:
    """Return the longest common subsequence as a share of the evidence, 0 to 1.

    >>> words = WordNumbers()
    >>> lcs_score(words.of("the red fox jumps"), words.of("A red dog, a fox."))
    0.6666666666666666
    """
    if not evidence:
        return 0.0
    # Bit-parallel (Hyyrö 2004): equals the textbook's table, about a hundred times faster.
    return LCSseq.similarity(evidence, retrieved) / len(evidence)


TRIES = 20  # for each chunk that is drawn at random


class WordMeasures:
    """Takes the measures that need texts; the others are left to the tables."""

    def __init__(self, measures: Sequence[Measure], corpus: Corpus, embedding: Encoding) -> None:
        self.measures = [measure for measure in measures if measure.is_of_text]
        self.corpus = corpus
        self.embedding = embedding
        self.words = WordNumbers()
        self.documents = corpus.snapshot.documents()

    def taken(
        self, gold: CoveredGold, evidence: str, hits: Sequence[RunHit], chunks: Sequence[Chunk]
    ) -> dict[str, float]:
        """Return each measure of one question that has what it compares with."""
        taken = {}
        sought = self.words.of(evidence)
        for measure in self.measures:
            first = chunks[: measure.depth or 1]
            if measure.name == "Similarity":
                if gold.question.answer:
                    taken[str(measure)] = self._similarity(gold.question.answer, first)
                continue
            if not evidence:
                continue
            if measure.variant == "floor":
                first = self._drawn(gold, measure.depth or 1)
            elif measure.variant != "loose":
                first = [chunk for chunk, hit in zip(first, hits, strict=False) if hit.meets]
            found = self.words.of("\n".join(chunk.text for chunk in first))
            taken[str(measure)] = lcs_score(sought, found)
        return taken

    def _drawn(self, gold: CoveredGold, many: int) -> list[Chunk]:
        """Return chunks that do not answer, the same ones every time."""
        chance = random.Random(gold.question.id)
        drawn: list[Chunk] = []
        for _ in range(TRIES * many):
            document = chance.choice(self.documents)
            searched = [chunk for chunk in self.corpus.chunks(document) if chunk.searched]
            if searched and (chunk := chance.choice(searched)).id not in gold.chunks:
                drawn.append(chunk)
        return drawn[:many]

    def _similarity(self, answer: str, chunks: Sequence[Chunk]) -> float:
        if not chunks:
            return 0.0
        vectors = self._encoder.encode([answer, *(chunk.text for chunk in chunks)])
        return max(0.0, float((vectors[1:] @ vectors[0]).max()))

    @cached_property
    def _encoder(self) -> Encoder:
        encoder = open_encoder(self.embedding)
        if encoder is None:
            raise ConfigError("Similarity needs an embedding model", hint="set embedding.model")
        return encoder


_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normal(text: str) -> str:
    """Return a text as SQuAD's measure compares it: no case, punctuation or articles.

    >>> normal("The  U.S. Navy's (first) ship")
    'us navys first ship'
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def token_f1(said: str, right: Sequence[str]) -> float:
    """Return the best F1 of words over the right answers (Rajpurkar 2016).

    >>> round(token_f1("in October 1973", ["October 1973", "1979"]), 3)
    0.8
    """
    return max((_f1(normal(said).split(), normal(each).split()) for each in right), default=0.0)


def _f1(said: Sequence[str], right: Sequence[str]) -> float:
    if not said or not right:
        return float(said == right)
    shared = sum((Counter(said) & Counter(right)).values())
    return 2 * shared / (len(said) + len(right))


def is_exact(said: str, right: Sequence[str]) -> bool:
    """Return whether an answer is one of the right ones, word for word."""
    return any(normal(said) == normal(each) for each in right)


def holds(text: str, right: Sequence[str]) -> bool:
    """Return whether a text has all words of a right answer, one after the other.

    >>> holds("It was granted for a 10-year term.", ["10-year term"])
    True
    """
    padded = f" {normal(text)} "
    return any(f" {normal(each)} " in padded for each in right if normal(each))


def polar(text: str) -> str:
    """Return "yes" or "no" for an answer that begins so, or nothing."""
    first = normal(text).split(" ", 1)[0]
    return first if first in ("yes", "no") else ""


def area_under_roc(scores: Sequence[float], is_right: Sequence[bool]) -> float:
    """Return how often a right answer is surer than a wrong one; ties count half.

    >>> area_under_roc([0.9, 0.4, 0.6], [True, False, True])
    1.0
    """
    values, right = np.asarray(scores, dtype=float), np.asarray(is_right, dtype=bool)
    good, bad = values[right], values[~right]
    if not len(good) or not len(bad):
        return float("nan")
    wins = (good[:, None] > bad[None, :]).sum() + 0.5 * (good[:, None] == bad[None, :]).sum()
    return float(wins / (len(good) * len(bad)))
