"""Weights of the chooser, fitted on questions of other sections than those they are used on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from multiple_choice.questions import ExamQuestion
from pincite.store.files import Array

# Eight weights and some hundred questions: without a penalty they would follow single questions.
PENALTY = 3.0
STEPS = 50
CLOSE = 1e-8


def fit(tables: Sequence[Array], correct: Sequence[int], penalty: float = PENALTY) -> Array:
    """Return the weights that make the right options likeliest (a conditional logit, by Newton)."""
    size = tables[0].shape[1] if tables else 0
    weights = np.zeros(size)
    for _ in range(STEPS):
        slope, curve = -penalty * weights, penalty * np.eye(size)
        for table, right in zip(tables, correct, strict=True):
            scores = table @ weights
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            off = table - shares @ table
            slope += off[right]
            curve += (off * shares[:, None]).T @ off
        step = np.linalg.solve(curve, slope)
        weights += step
        if np.abs(step).max(initial=0.0) < CLOSE:
            break
    return weights


def groups(questions: Sequence[ExamQuestion]) -> list[str]:
    """Return a group for each question: those that share a section or their words are together."""
    above: dict[str, str] = {}

    def top(name: str) -> str:
        while above.setdefault(name, name) != name:
            name = above[name]
        return name

    for question in questions:
        first, *others = [*question.sections, f"text {question.text.casefold()}"]
        for name in others:
            above[top(name)] = top(first)
    return [top([*each.sections, f"text {each.text.casefold()}"][0]) for each in questions]


def folds(names: Sequence[str], count: int) -> list[list[int]]:
    """Return which questions are held out together: whole groups, in folds of about one size."""
    sizes = {name: names.count(name) for name in dict.fromkeys(names)}
    parts: list[list[str]] = [[] for _ in range(max(2, min(count, len(sizes))))]
    for name in sorted(sizes, key=lambda each: (-sizes[each], each)):
        min(parts, key=lambda part: sum(sizes[n] for n in part)).append(name)
    return [[at for at, name in enumerate(names) if name in part] for part in parts]
