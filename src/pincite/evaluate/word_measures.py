"""Measures that compare words, taken while the texts of the hits are at hand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cached_property

from pincite.core.embedding_settings import EmbeddingSettings
from pincite.core.errors import ConfigError
from pincite.core.types import Chunk
from pincite.embed.encoders import open_encoder
from pincite.embed.models import Encoder
from pincite.evaluate.judgements.coverage import Corpus, Gold
from pincite.evaluate.lcs import Words, lcs_score
from pincite.evaluate.measures import Measure
from pincite.evaluate.runs import Found

TRIES = 20  # for each chunk that is drawn at random


class WordMeasures:
    """Takes the measures that need texts; the others are left to the tables."""

    def __init__(
        self, measures: Sequence[Measure], corpus: Corpus, embedding: EmbeddingSettings
    ) -> None:
        self.measures = [measure for measure in measures if measure.is_of_text]
        self.corpus = corpus
        self.embedding = embedding
        self.words = Words()
        self.documents = corpus.snapshot.documents()

    def taken(
        self, gold: Gold, evidence: str, hits: Sequence[Found], chunks: Sequence[Chunk]
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
                pairs = zip(first, hits, strict=False)
                first = [chunk for chunk, hit in pairs if hit.meets]
            found = self.words.of("\n".join(chunk.text for chunk in first))
            taken[str(measure)] = lcs_score(sought, found)
        return taken

    def _drawn(self, gold: Gold, many: int) -> list[Chunk]:
        """Return chunks that do not answer, the same ones every time."""
        chance = random.Random(gold.question.id)
        drawn: list[Chunk] = []
        for _ in range(TRIES * many):
            document = chance.choice(self.documents)
            searched = [chunk for chunk in self.corpus.chunks(document) if chunk.searched]
            chunk = chance.choice(searched) if searched else None
            if chunk is not None and chunk.id not in gold.chunks and len(drawn) < many:
                drawn.append(chunk)
        return drawn

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
