"""Window scores equal a definition that anybody can read."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pincite.index.lexical import window_scores

K1 = 0.2


def slow_score(row: list[int], query: list[int], weights: list[float], width: int) -> float:
    """Return the best window: every stretch of two half-windows, at each half-window."""
    half = max(1, width // 2)
    best = 0.0
    for start in range(0, max(1, len(row)), half):
        window = row[start : start + 2 * half]
        counts = [window.count(term) for term in query]
        parts = zip(weights, counts, strict=True)
        best = max(best, sum(weight * tf / (tf + K1) for weight, tf in parts if tf))
    return best


@pytest.mark.parametrize("width", [0, 1, 2, 3, 4, 10, 100])
def test_equal_to_the_plain_definition(width: int) -> None:
    chance = random.Random(width)
    vocabulary = 12
    rows = [chance.choices(range(vocabulary), k=chance.choice([0, 1, 2, 7, 30])) for _ in range(40)]
    offsets = np.cumsum([0, *map(len, rows)])
    stream = np.array([term for row in rows for term in row], dtype=np.uint32)
    query = [3, -1, 0, 11, 5]
    weights = [1.5, 9.0, 0.25, 2.0, 1.0]
    asked = [4, 0, 39, *chance.sample(range(40), 20)]
    found = window_scores(
        stream,
        offsets,
        np.array(asked),
        vocabulary=vocabulary,
        positions=np.array(query),
        weights=np.array(weights),
        width=width,
        k1=K1,
    )
    expected = [slow_score(rows[row], query, weights, width) for row in asked]
    assert found == pytest.approx(expected, abs=1e-12)


def test_the_sum_does_not_depend_on_what_else_is_asked_of_the_segment() -> None:
    """A row's score has the same bits alone and among others, with unknown terms or without."""
    chance = random.Random(5)
    terms = 40
    row = [chance.randrange(terms) for _ in range(300)]
    others = [[chance.randrange(terms) for _ in range(chance.randint(1, 400))] for _ in range(9)]
    weights = np.array([chance.uniform(0.1, 9.0) for _ in range(terms)])

    def score(rows: list[list[int]], number: int, positions: list[int]) -> float:
        found = window_scores(
            np.array([term for each in rows for term in each], dtype=np.uint32),
            np.cumsum([0, *map(len, rows)]),
            np.arange(len(rows)),
            vocabulary=terms,
            positions=np.array(positions),
            weights=weights,
            width=60,
            k1=K1,
        )
        return float(found[number])

    known = list(range(terms))
    alone = score([row], 0, known)
    for at in range(9):
        assert score([*others[:at], row, *others[at:]], at, known) == alone
    kept = set(row)
    assert score([row], 0, [term if term in kept else -1 for term in known]) == alone
