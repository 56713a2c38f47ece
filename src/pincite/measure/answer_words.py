"""What a short answer is worth: words shared with the right one, and how sure it was."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NUMBER = re.compile(r"(?<![\w.])[-(]?\s?[$€£]?\s?(\d[\d,]*(?:\.\d+)?|\.\d+)")


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


def figures_in(text: str) -> list[float]:
    """Return the numbers of a text, without signs and units.

    >>> figures_in("$5,813 million, down (3.2)%")
    [5813.0, 3.2]
    """
    return [float(each.replace(",", "")) for each in _NUMBER.findall(text)]


def is_figure_right(said: str, right: str) -> bool:
    """Return whether a number says what the right one says, as exactly as that was rounded.

    Thousands, millions and billions of the same figure are alike: units are another question.

    >>> is_figure_right("12,645.2", "$12645.00"), is_figure_right("0.66", "0.70")
    (True, False)
    """
    wanted, found = figures_in(right), figures_in(said)
    if not wanted or not found:
        return False
    goal = wanted[0]
    scales = (1.0, 1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9)
    slack = max(0.005 * abs(goal), 1e-9)
    return any(abs(found[0] * scale - goal) <= slack for scale in scales)


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


def risk_at(scores: Sequence[float], is_right: Sequence[bool], coverage: float) -> float:
    """Return the share of wrong ones among the surest answers, of which so many are given.

    >>> round(risk_at([0.9, 0.8, 0.2, 0.1], [True, True, False, True], 0.75), 3)
    0.333
    """
    order = np.argsort(-np.asarray(scores, dtype=float), kind="stable")
    count = max(1, round(coverage * len(order)))
    return float(1 - np.asarray(is_right, dtype=float)[order[:count]].mean())
