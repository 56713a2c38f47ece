"""How probable it is that what was found answers the question: a few features, one logistic model.

The model is fitted on questions whose answers were taken out of the documents, beside the same
questions with them. The features are shares and cosines, which mean
the same in every collection; scores of a ranking do not, and are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pincite.answer.passage import Passage
from pincite.api import Index
from pincite.ask.extract import Candidate
from pincite.index.bm25 import Bm25

READ = 3  # hits that are looked at
BESIDE = 8  # units that the best one is compared with
FEATURES = ("known", "found", "together", "near", "chunk", "lead", "words")


@dataclass(frozen=True, slots=True)
class Model:
    """A logistic model by names of features."""

    weights: Mapping[str, float]
    offset: float

    def probability(self, features: Mapping[str, float]) -> float:
        value = self.offset + sum(
            weight * features[name] for name, weight in sorted(self.weights.items())
        )
        return 1 / (1 + math.exp(-max(-500.0, min(500.0, value))))


def features(
    index: Index, question: str, passages: Sequence[Passage], candidates: Sequence[Candidate]
) -> dict[str, float]:
    """Return what is known of a question and what was found for it; all from 0 to about 1.

    known: share of the question's words, by weight, that the documents have at all;
    found: that the best of the first hits has, with its headings;
    together: that the best unit has, with its headings;
    near: cosine of the nearest unit;
    chunk: cosine of the nearest of the first hits;
    lead: by how much the nearest unit is nearer than others of the first hits;
    words: how many words of weight the question has, on a scale that ends at 20.
    """
    weights, known = question_weights(index, question)
    total = sum(weights.values()) or 1.0
    first = passages[:READ]
    near = sorted((each.meaning for each in candidates), reverse=True)
    beside = near[1 : 1 + BESIDE]
    return {
        "known": sum(weights[term] for term in known) / total,
        "found": max((_share(index, each, weights) for each in first), default=0.0) / total,
        "together": max((each.share for each in candidates), default=0.0),
        "near": near[0] if near else 0.0,
        "chunk": max((each.hit.raw.get("dense", 0.0) for each in first), default=0.0),
        "lead": near[0] - sum(beside) / len(beside) if beside else 0.0,
        "words": min(1.0, len(weights) / 20),
    }


def question_weights(index: Index, question: str) -> tuple[dict[str, float], set[str]]:
    """Return the terms of a question with their weights, and those that the documents have.

    One that they do not have weighs most: it is what the question is about, perhaps.
    """
    lexical = index.opened.lexical
    readings = index.opened.analyzer.readings(question)
    resolved = lexical.resolve([term for terms in readings.values() for term in terms])
    pairs = list(zip(resolved.words, resolved.terms, strict=True))
    bm25, size = Bm25(), lexical.size
    return {w: bm25.idf(t.df, size) for w, t in pairs}, {w for w, t in pairs if t.df}


def _share(index: Index, passage: Passage, weights: Mapping[str, float]) -> float:
    chunk = passage.chunk
    analyzer = index.opened.analyzer_of(chunk.span.doc_id)
    words = set(analyzer.terms(" ".join((chunk.text, *chunk.path, chunk.locator))))
    return sum(weight for term, weight in weights.items() if term in words)


# Fitted on half of Part 97's sections, each question once with its section and once without.
MODEL = Model({"near": 4.4, "chunk": 1.0, "lead": 1.6}, -3.4)
