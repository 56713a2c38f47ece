"""What the ranks of many questions bring: tables with a line for each question.

This is the one place where grades are assigned. A question has needs; a hit may meet some of them.
Each need is credited once, at the first hit that meets it. Where every hit meets at most one need,
the measures over these tables are those of trec_eval.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]

# For each hit, best first: the grade that it has for each need it meets. None: nobody judged it.
Meets = Sequence[Mapping[int, float] | None]


@dataclass(frozen=True, slots=True)
class Grades:
    """Tables of questions by ranks, as deep as the longest ranking, and what could be had."""

    gains: Array  # grades of the needs that a rank is the first to meet
    met: Counts  # how many needs a rank is the first to meet
    relevant: Flags  # the hit meets a need, credited before or not
    judged: Flags
    ideal: Array  # the gains of the best possible order
    needs: Counts  # how many needs each question has
    lengths: Counts  # how many hits each question got
    # Ranks with something to say beyond needs: "astray" (a document that none of the gold is in),
    # "cell" (the very row that is asked for).
    flags: Mapping[str, Flags] = field(default_factory=dict)
    # Values that need the texts of hits and were taken while they were at hand, by measure.
    taken: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.needs)


@dataclass(frozen=True, slots=True)
class Line:
    """One question's part of the tables."""

    meets: Meets
    ideal: Sequence[float]  # see ``ideal_gains``
    needs: int
    flags: Mapping[str, Sequence[bool]] = field(default_factory=dict)
    taken: Mapping[str, float] = field(default_factory=dict)


def ideal_gains(covers: Sequence[Mapping[int, float]]) -> list[float]:
    """Return the gains of the best order of hits, each given by the needs it meets.

    The next best hit is taken again and again (Clarke 2008), which is exact where every hit meets
    one need. A hit that meets two needs is worth both, so that long chunks are not punished.

    >>> ideal_gains([{0: 1.0}, {0: 2.0}, {1: 1.0}])
    [2.0, 1.0]
    """
    met: set[int] = set()
    heap = [(-sum(cover.values()), at) for at, cover in enumerate(covers) if cover]
    heapq.heapify(heap)
    gains = []
    while heap:
        promised, at = heapq.heappop(heap)
        gain = sum(grade for need, grade in covers[at].items() if need not in met)
        if gain <= 0:
            continue
        # What is left of a hit only shrinks, so the first that keeps its promise is the best.
        if -promised > gain:
            heapq.heappush(heap, (-gain, at))
            continue
        gains.append(gain)
        met.update(covers[at])
    return gains


def tabulated(lines: Sequence[Line]) -> Grades:
    """Return the tables of many questions."""
    width = max((len(line.meets) for line in lines), default=0)
    shape = len(lines), width
    gains, met = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    relevant, judged = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    for row, line in enumerate(lines):
        credited: set[int] = set()
        for rank, needs in enumerate(line.meets):
            if needs is None:
                continue
            judged[row, rank] = True
            if not needs:
                continue
            relevant[row, rank] = True
            new = [need for need in needs if need not in credited]
            gains[row, rank] = sum(needs[need] for need in new)
            met[row, rank] = len(new)
            credited.update(new)
    return Grades(
        gains,
        met,
        relevant,
        judged,
        padded([line.ideal for line in lines]),
        np.array([line.needs for line in lines], dtype=np.int64),
        np.array([len(line.meets) for line in lines], dtype=np.int64),
        _flags(lines, shape),
        _taken(lines),
    )


def padded(rows: Sequence[Sequence[float]]) -> Array:
    """Return lists of unequal length as a table that is filled up with zeros."""
    table = np.zeros((len(rows), max(map(len, rows), default=0)))
    for at, row in enumerate(rows):
        table[at, : len(row)] = row
    return table


def _flags(lines: Sequence[Line], shape: tuple[int, int]) -> dict[str, Flags]:
    flags: dict[str, Flags] = {}
    for row, line in enumerate(lines):
        for name, values in line.flags.items():
            table = flags.setdefault(name, np.zeros(shape, dtype=bool))
            table[row, : len(values)] = values
    return flags


def _taken(lines: Sequence[Line]) -> dict[str, Array]:
    names = dict.fromkeys(name for line in lines for name in line.taken)
    return {name: np.array([line.taken.get(name, 0.0) for line in lines]) for name in names}
