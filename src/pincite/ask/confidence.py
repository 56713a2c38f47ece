"""How probable it is that what is quoted answers the question: one cosine, one logistic curve.

``bench/abstention.py --fit`` fits it, on questions whose answers were taken out of the documents
beside the same questions with them. What else was tried adds nothing (decision 14): the share of
the question's words that was found, the nearest hit's cosine, its lead over other places, whether
words and meaning agree, matches word by word, and a cross-encoder.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pincite.ask.extract import Candidate

FEATURES = ("near",)


@dataclass(frozen=True, slots=True)
class Model:
    """A logistic model by names of features."""

    weights: Mapping[str, float]
    offset: float

    def probability(self, features: Mapping[str, float]) -> float:
        """Return the probability that features stand for; 1 where there are none to judge by."""
        if not features:
            return 1.0
        value = self.offset + sum(w * features[name] for name, w in sorted(self.weights.items()))
        return 1 / (1 + math.exp(-max(-500.0, min(500.0, value))))


def features(candidates: Sequence[Candidate]) -> dict[str, float]:
    """Return what is known of what was found; nothing if no meanings were compared.

    near: cosine of the question and the unit that is nearest to it.
    """
    near = max((each.meaning for each in candidates), default=0.0)
    return {"near": near} if near else {}


MODEL = Model({"near": 8.25}, -5.49)
