"""Measures of words: longest common subsequence, similarity of answers."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Sequence
from functools import cached_property

from rapidfuzz.distance import LCSseq

from pincite.encode.encoders import open_encoder
from pincite.encode.models import Encoder
from pincite.measure.coverage import Corpus, CoveredGold
from pincite.measure.grades import Measure
from pincite.measure.runs import RunHit
from pincite.model.errors import ConfigError
from pincite.model.settings import Encoding
from pincite.model.types import Chunk

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


class WordNumbers:
    """Turns texts into lists of word numbers, so that sequences compare fast."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, text: str) -> list[int]:
        """Return the words of a text: lower-case, without punctuation and articles."""
        plain = _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION))
        numbers = self._numbers
        return [numbers.setdefault(word, len(numbers)) for word in plain.split()]


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
