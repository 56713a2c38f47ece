"""What an index says to a question, as a person who asks it sees it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from checks import Figure
from finding_checks._halves import by_half
from pincite.answer.asker import Asker
from pincite.answer.values import Answer
from pincite.api import Index
from pincite.measure.words import area_under_roc, holds, is_exact, polar, token_f1
from pincite.model.settings import Settings, load_settings
from pincite.model.types import Filters
from pincite.search.calibration import calibration_error

COVERAGES = (0.25, 0.5, 0.75, 1.0)


def risk_at(scores: Sequence[float], is_right: Sequence[bool], coverage: float) -> float:
    """Return the share of wrong ones among the surest answers, of which so many are given.

    >>> round(risk_at([0.9, 0.8, 0.2, 0.1], [True, True, False, True], 0.75), 3)
    0.333
    """
    order = np.argsort(-np.asarray(scores, dtype=float), kind="stable")
    count = max(1, round(coverage * len(order)))
    return float(1 - np.asarray(is_right, dtype=float)[order[:count]].mean())


@dataclass(frozen=True, slots=True)
class Said:
    """An answer in the parts that are judged."""

    short: str  # the answer itself; where there is none, the first quotation
    quotation: str  # all that is quoted
    confidence: float
    is_found: bool  # False where it only names places, or says that nothing is there
    answer: Answer


@dataclass(frozen=True, slots=True)
class Judged:
    """A question with the right answers and what was said."""

    key: str  # whose hash says which half it is of: a document, a paragraph
    right: Sequence[str]
    said: Said

    @property
    def f1(self) -> float:
        return token_f1(self.said.short, self.right) if self.said.is_found else 0.0

    @property
    def is_right(self) -> bool:
        """Whether the short answer says what it should, in other words perhaps."""
        wanted = polar(self.right[0])
        if wanted:
            return self.said.is_found and polar(self.said.short) == wanted
        return self.f1 >= 0.5 or self.is_exact

    @property
    def is_exact(self) -> bool:
        return self.said.is_found and is_exact(self.said.short, self.right)

    @property
    def is_quoted(self) -> bool:
        """Whether the answer stands in what is quoted, word for word."""
        return self.said.is_found and holds(self.said.quotation, self.right)

    @property
    def words(self) -> float:
        """How many words are quoted."""
        return float(len(self.said.quotation.split()))


def settings_here() -> Settings:
    """Return the settings as the environment has them."""
    return load_settings(None, os.environ, [])


def said(asker: Asker, question: str, filters: Filters | None = None) -> Said:
    """Ask a question and return what a person sees of the answer."""
    answer = asker.answer(question, filters=filters or Filters())
    quotes = [citation.quote for citation in answer.citations if citation.quote]
    # An index that has no short answers says its first quotation.
    short = getattr(answer, "short", None)
    words = getattr(short, "text", short) or (quotes[0] if quotes else "")
    state = getattr(answer, "state", "not found" if answer.abstention else "found")
    return Said(str(words), " ".join(quotes), answer.confidence, state == "found", answer)


def asker_of(index: Index) -> Asker:
    """Return what answers from an index."""
    return Asker(index)


def short_figures(judged: Sequence[Judged], name: str, asked: str = "") -> list[Figure]:
    """Return how good the short answers of a kind of questions are, over all and in halves."""
    keys = [each.key for each in judged]
    return by_half(f"{name}: F1 of the short answer", [each.f1 for each in judged], keys, asked)


def quoted_figures(judged: Sequence[Judged], asked: str = "") -> list[Figure]:
    """Return how often what is quoted holds the answer, and in how many words."""
    keys = [each.key for each in judged]
    found = [each.words for each in judged if each.said.is_found] or [0.0]
    return [
        *by_half("quotation holds the answer", [float(e.is_quoted) for e in judged], keys, asked),
        Figure("words quoted", sum(found) / len(found), "<= 45", len(found)),
    ]


def confidence_figures(judged: Sequence[Judged]) -> list[Figure]:
    """Return what confidence tells of right and wrong; refused answers are left out."""
    given = [each for each in judged if each.said.is_found]
    scores = [each.said.confidence for each in given]
    right = [each.is_right for each in given]
    if len(set(right)) < 2:
        return []
    return [
        Figure("AUC of confidence", area_under_roc(scores, right), ">= .88", len(given)),
        Figure("calibration error", calibration_error(scores, right), "<= .06", len(given)),
        *(
            Figure(f"wrong among the surest {share:.0%}", risk_at(scores, right, share))
            for share in COVERAGES
        ),
    ]
