"""Chooses the option that the evidence supports best, without a language model.

Each option gets a few numbers (FEATURES), each taken from sentences and rows of the evidence; what
counts is how far an option is from the mean of the others. Their weights were fitted by maximum
likelihood (fitting.py). Nothing looks at an option alone: how long it is, or where it stands, says
nothing about the documents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from multiple_choice.questions import ExamQuestion
from multiple_choice.words import Window, Words
from pincite.model.types import Chunk
from pincite.model.units import quantities
from pincite.store.files import Array

FEATURES = (
    # Share of the words that tell the option from the others in one window, times how much of the
    # question is there too; of what the question finds, and of what it finds with all options.
    "by_question",
    "by_both",
    # Share of the option's neighbouring words that are neighbours there.
    "pairs",
    # How much of question and option stands in one window, by weight.
    "together",
    # How well a search for question and option together finds anything at all.
    "searched",
    # A quantity of the option lies in a range of a sentence or row about the question, or a
    # quantity of the question does, and the option stands there.
    "in_range",
    # The option says no, and so do the sentences nearest to the question.
    "says_no",
    # "All of these": chosen where the others are about equally supported.
    "all_of_these",
)
SUPPORT = [FEATURES.index(name) for name in ("by_question", "by_both", "in_range", "says_no")]
# Fitted on the 328 questions of Part 97 (docs/decisions/0017-agent-and-exam.md).
WEIGHTS = (1.74, 1.74, 0.27, 0.66, 0.87, 1.36, 0.44, 0.89)
SCALE = 10.0  # brings weights of words near 1
NEAREST = 3  # sentences nearest to the question
_ALL = re.compile(r"^\W*(?:all|both|any) (?:of )?(?:the |these )?(?:above|choices|answers|these)\b")
_ALL_CORRECT = re.compile(r"^\W*all\b.{0,40}\bcorrect\W*$", re.IGNORECASE)
_NONE = re.compile(r"^\W*none (?:of )?(?:the |these )", re.IGNORECASE)
_DENIES = re.compile(
    r"^\W*(?:never|no|none|not|at no time|under no|in no|there (?:is|are) no)\b", re.IGNORECASE
)
# Exams write it in capitals when the wrong one is asked for.
_REVERSED = re.compile(r"\b(?:NOT|EXCEPT)\b")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found for a question: by its words, with all options, and with each option."""

    by_question: Sequence[Chunk]
    by_both: Sequence[Chunk]
    searched: Sequence[float] = ()  # score of the best hit for question and each option


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice with what speaks for it; ``option`` is None where nothing does."""

    option: int | None
    probability: float = 0.0
    place: Chunk | None = None  # where the best window is
    quote: str = ""
    reason: str = ""  # why nothing was chosen


def features(question: ExamQuestion, evidence: Evidence, words: Words) -> Array:
    """Return a row of FEATURES for each option, as far from the mean of the options."""
    return _centred(question, _supports(question, evidence, words))


def _supports(question: ExamQuestion, evidence: Evidence, words: Words) -> Array:
    """Return what speaks for each option; nothing for those that are about the others."""
    asked = _Asked(question, words)
    table = np.zeros((len(question.options), len(FEATURES)))
    for at in _real(question):
        table[at] = _option(asked, at, evidence)
    return table


def _real(question: ExamQuestion) -> list[int]:
    return [at for at, text in enumerate(question.options) if not is_about_others(text)]


def _centred(question: ExamQuestion, supports: Array) -> Array:
    real = _real(question)
    table = supports - supports[real].mean(axis=0) if real else supports
    for at, text in enumerate(question.options):
        if at not in real:
            table[at] = 0.0
            table[at, -1] = float(not _NONE.match(text))
    return -table if _REVERSED.search(question.text) else table


def is_about_others(option: str) -> bool:
    """Return whether an option speaks of the other options only.

    >>> is_about_others("All of these choices are correct"), is_about_others("All amateurs")
    (True, False)
    """
    return bool(_ALL.match(option.lower()) or _ALL_CORRECT.match(option) or _NONE.match(option))


class _Asked:
    """A question in words, and its options with what tells each from the others."""

    def __init__(self, question: ExamQuestion, words: Words) -> None:
        self.question = question
        self.words = words
        self.terms = words.terms(question.text)
        self.weight = words.weight(self.terms) or 1.0
        self.quantities = [each for each in quantities(question.text) if each.kind]
        options = [words.terms(text) for text in question.options]
        real = [t for t, o in zip(options, question.options, strict=True) if not is_about_others(o)]
        shared = frozenset.intersection(*real) if len(real) > 1 else frozenset()
        self.options = options
        self.telling = [(terms - shared) or terms for terms in options]

    def share(self, terms: frozenset[str]) -> float:
        """Return how much of the question stands among some words."""
        return self.words.weight(self.terms & terms) / self.weight


def _option(asked: _Asked, at: int, evidence: Evidence) -> list[float]:
    words = asked.words
    by_question = [w for chunk in evidence.by_question for w in words.windows(chunk)]
    by_both = [w for chunk in evidence.by_both for w in words.windows(chunk)]
    text = asked.question.options[at]
    joined = asked.terms | asked.options[at]
    pairs = set(_pairs(words, text))
    return [
        max((_support(asked, at, window) for window in by_question), default=0.0),
        max((_support(asked, at, window) for window in by_both), default=0.0),
        max((_paired(asked, pairs, window) for window in by_both), default=0.0),
        max((words.weight(joined & window.terms) for window in by_both), default=0.0) / SCALE,
        evidence.searched[at] / SCALE if evidence.searched else 0.0,
        max((_in_range(asked, at, window) for window in by_both), default=0.0),
        _denied(asked, by_both) if _DENIES.match(text) else 0.0,
        0.0,
    ]


def _support(asked: _Asked, at: int, window: Window) -> float:
    telling = asked.telling[at]
    found = asked.words.weight(telling & window.terms)
    if not found:
        return 0.0
    return found / asked.words.weight(telling) * (0.5 + 0.5 * asked.share(window.terms))


def _pairs(words: Words, text: str) -> list[tuple[str, str]]:
    sequence = words.sequence(text)
    return list(pairwise(sequence))


def _paired(asked: _Asked, pairs: set[tuple[str, str]], window: Window) -> float:
    found = len(pairs & window.pairs) if pairs else 0
    return found / len(pairs) * (0.5 + 0.5 * asked.share(window.terms)) if found else 0.0


def _in_range(asked: _Asked, at: int, window: Window) -> float:
    if not window.ranges:
        return 0.0
    best = 0.0
    own = [each for each in quantities(asked.question.options[at]) if each.kind]
    if any(r.holds(each) for r in window.ranges for each in own):
        best = 3 * asked.share(window.own)
    if any(r.holds(each) for r in window.ranges for each in asked.quantities):
        terms = asked.options[at]
        best = max(best, asked.words.weight(terms & window.own) / (asked.words.weight(terms) or 1))
    return best


def _denied(asked: _Asked, windows: Sequence[Window]) -> float:
    """Return how many of the sentences nearest to the question say no."""
    single = [window for window in windows if window.is_single]
    nearest = sorted(single, key=lambda window: -asked.share(window.terms))[:NEAREST]
    return sum(window.says_no for window in nearest) / NEAREST


def choose(
    question: ExamQuestion,
    evidence: Evidence,
    words: Words,
    weights: Sequence[float] = WEIGHTS,
    least: float = 0.0,
) -> Choice:
    """Return the option that the evidence supports best; none below the least probability."""
    if not evidence.by_question and not evidence.by_both:
        return Choice(None, reason="nothing was found")
    supports = _supports(question, evidence, words)
    if not supports[:, SUPPORT].any():
        return Choice(None, reason="nothing that was found has words of an option")
    shares = probabilities(_centred(question, supports), weights)
    best = int(np.argmax(shares))
    window = _best_window(question, best, evidence, words)
    place, quote = (window.chunk, window.text) if window else (None, "")
    if shares[best] < least:
        reason = f"the best option has a probability of {shares[best]:.2f} only"
        return Choice(None, float(shares[best]), place, quote, reason)
    return Choice(best, float(shares[best]), place, quote)


def probabilities(table: Array, weights: Sequence[float]) -> Array:
    """Return what each option's row makes of it, as shares of one."""
    scores = table @ np.asarray(weights)
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())


def _best_window(
    question: ExamQuestion, at: int, evidence: Evidence, words: Words
) -> Window | None:
    """Return the shortest window that supports an option best; for others, the question."""
    asked = _Asked(question, words)
    windows = [w for chunk in evidence.by_both for w in words.windows(chunk)]
    if is_about_others(question.options[at]):
        return max(windows, key=lambda w: (asked.share(w.terms), -len(w.text)), default=None)
    return max(windows, key=lambda w: (_support(asked, at, w), -len(w.text)), default=None)
