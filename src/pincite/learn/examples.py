"""What a ranker learns from: candidates with features and grades, kept together by document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pincite.index.postings import Array

SEED = 42


@dataclass(frozen=True)
class Examples:
    """The candidates of some questions, one after the other; ``k`` were asked for of each."""

    table: Array  # a line of features for each candidate
    grades: Array  # 0: does not answer; more is better
    sizes: Array  # candidates of each question
    groups: tuple[str, ...]  # the document of each question: never in two folds
    k: int

    def __post_init__(self) -> None:
        lines = int(self.sizes.sum())
        if not lines == len(self.table) == len(self.grades) or len(self.groups) != len(self.sizes):
            raise ValueError("every question has as many lines as candidates, and one group")
        if self.sizes.max(initial=0) > self.k:
            raise ValueError("a question has more candidates than were asked for")

    @property
    def starts(self) -> Array:
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    @property
    def question(self) -> Array:
        """The number of each line's question."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def of(self, chosen: Array) -> Examples:
        """Return those questions that are chosen."""
        lines = chosen[self.question]
        groups = tuple(g for g, keep in zip(self.groups, chosen.tolist(), strict=True) if keep)
        return Examples(self.table[lines], self.grades[lines], self.sizes[chosen], groups, self.k)


def folds_by_group(groups: Sequence[str], count: int, seed: int = SEED) -> Array:
    """Return a fold for each question: those of one group in one, folds about the same size."""
    names, member, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(names))
    order = order[np.argsort(-sizes[order], kind="stable")]
    home, filled = np.zeros(len(names), dtype=np.int64), np.zeros(count)
    for group in order.tolist():
        home[group] = int(np.argmin(filled))
        filled[home[group]] += sizes[group]
    return home[member]


def out_of_fold(
    examples: Examples, fit: Callable[[Examples], Callable[[Array], Array]], folds: Array
) -> Array:
    """Return a score for every line, by a model that saw no question of its document.

    Args:
        fit: learns from examples and returns what scores the lines of one question.
    """
    scores = np.zeros(len(examples.table))
    for fold in np.unique(folds).tolist():
        score = fit(examples.of(folds != fold))
        for number in np.flatnonzero(folds == fold).tolist():
            start = int(examples.starts[number])
            lines = slice(start, start + int(examples.sizes[number]))
            scores[lines] = score(examples.table[lines])
    return scores


def calibration(scores: Array, is_right: Array, steps: int = 50) -> tuple[float, float]:
    """Return slope and offset of the logistic curve from scores to frequencies (Platt 1999).

    Scores are to be out of fold: a model is too sure of what it has learned from. The targets are
    pulled in a little, as there, so that no number of examples makes a curve certain.
    """
    right = float(is_right.sum())
    wrong = len(scores) - right
    target = np.where(is_right > 0, (right + 1) / (right + 2), 1 / (wrong + 2))
    spread = float(scores.std()) or 1.0
    lines = np.stack([scores / spread, np.ones(len(scores))], axis=1)
    weights = np.zeros(2)
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-np.clip(lines @ weights, -35, 35)))
        slope = lines.T @ (chance - target)
        curve = (lines * (chance * (1 - chance))[:, None]).T @ lines + 1e-6 * np.eye(2)
        weights -= np.clip(np.linalg.solve(curve, slope), -2, 2)
    # A curve that falls would turn the ranking round: then scores say nothing.
    return max(float(weights[0]), 1e-3) / spread, float(weights[1])
