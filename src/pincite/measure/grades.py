"""Grades in rank order, and measures of them."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from pincite.model.errors import ConfigError

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
    # "home" (one that some of it is in), "cell" (the very row that is asked for).
    flags: Mapping[str, Flags] = field(default_factory=dict)
    # Values that need the texts of hits and were taken while they were at hand, by measure.
    taken: Mapping[str, Array] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.needs)


@dataclass(frozen=True, slots=True)
class GradedQuestion:
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


def tabulated(lines: Sequence[GradedQuestion]) -> Grades:
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
    flags: dict[str, Flags] = {}
    for row, line in enumerate(lines):
        for name, values in line.flags.items():
            flags.setdefault(name, np.zeros(shape, dtype=bool))[row, : len(values)] = values
    names = dict.fromkeys(name for line in lines for name in line.taken)
    return Grades(
        gains,
        met,
        relevant,
        judged,
        padded([line.ideal for line in lines]),
        np.array([line.needs for line in lines], dtype=np.int64),
        np.array([len(line.meets) for line in lines], dtype=np.int64),
        flags,
        {name: np.array([line.taken.get(name, 0.0) for line in lines]) for name in names},
    )


def padded(rows: Sequence[Sequence[float]]) -> Array:
    """Return lists of unequal length as a table that is filled up with zeros."""
    table = np.zeros((len(rows), max(map(len, rows), default=0)))
    for at, row in enumerate(rows):
        table[at, : len(row)] = row
    return table


_WRITTEN = re.compile(r"\s*(?P<name>[A-Za-z]+)(?:\((?P<variant>\w+)\))?(?:@(?P<depth>\d{1,6}))?\s*")


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured, how deep the ranking is looked at, and in which variant."""

    name: str
    depth: int | None = None
    variant: str = ""

    def __str__(self) -> str:
        variant = f"({self.variant})" if self.variant else ""
        return f"{self.name}{variant}" + (f"@{self.depth}" if self.depth is not None else "")

    @property
    def is_of_text(self) -> bool:
        """Whether it needs the words of the hits, so that it is taken during a run."""
        return self.name in OF_TEXT

    @property
    def is_better_low(self) -> bool:
        return self.name == "Contamination"

    def of(self, grades: Grades) -> Array:
        """Return the measure of every question."""
        if self.is_of_text:
            if str(self) not in grades.taken:
                raise ConfigError(
                    f"{self} was not taken in this run", hint=f"run again with --measure '{self}'"
                )
            return grades.taken[str(self)]
        return _FORMULAS[self.name](grades, self)


def parse(written: str) -> Measure:
    """Return the measure of this name; ConfigError with the nearest name if there is none.

    >>> parse("mrr@10"), str(parse("ndcg@10")), parse("nDCG(exp)@5").variant
    (Measure(name='RR', depth=10, variant=''), 'nDCG@10', 'exp')
    """
    match = _WRITTEN.fullmatch(written)
    name = _NAMES.get(match["name"].casefold()) if match else None
    if match is None or name is None:
        near = get_close_matches(written.casefold().partition("@")[0], _NAMES, n=1)
        hint = f"did you mean {_NAMES[near[0]]}?" if near else f"known: {', '.join(MEASURES)}"
        raise ConfigError(f"no measure {written!r}", hint=hint)
    measure = Measure(name, int(match["depth"]) if match["depth"] else None, match["variant"] or "")
    needs_depth, variants = MEASURES[name]
    if measure.variant and measure.variant not in variants:
        known = ", ".join(f"{name}({each})" for each in variants) or "none"
        raise ConfigError(f"no variant {measure.variant!r} of {name}", hint=f"variants: {known}")
    if measure.depth == 0 or (needs_depth and measure.depth is None):
        raise ConfigError(f"{written!r} needs a depth above 0", hint=f"write {name}@10")
    return measure


def _cut(table: Array | Counts | Flags, depth: int | None) -> Array:
    return np.asarray(table if depth is None else table[:, :depth], dtype=float)


def _share(part: Array, whole: Array | Counts) -> Array:
    """Return part / whole, 0 where there is nothing to have."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=np.asarray(whole) > 0)


def _discounts(width: int) -> Array:
    return np.asarray(1 / np.log2(np.arange(2, width + 2)))


def _ndcg(grades: Grades, measure: Measure) -> Array:
    """Discounted gain as a share of the best there could be (Järvelin 2002; trec_eval).

    The variant ``exp`` gains 2^grade - 1 (Burges 2005).
    """
    gains, ideal = _cut(grades.gains, measure.depth), _cut(grades.ideal, measure.depth)
    if measure.variant == "exp":
        gains, ideal = np.exp2(gains) - 1, np.exp2(ideal) - 1
    reached = gains @ _discounts(gains.shape[1])
    # The best order is found step by step, and may miss the very best where hits meet several.
    best = np.maximum(ideal @ _discounts(ideal.shape[1]), reached)
    return _share(reached, best)


def _recall(grades: Grades, measure: Measure) -> Array:
    """Share of the needs that are met."""
    return _share(_cut(grades.met, measure.depth).sum(axis=1), grades.needs)


def _all(grades: Grades, measure: Measure) -> Array:
    """1 if every need is met."""
    met = _cut(grades.met, measure.depth).sum(axis=1)
    return np.asarray((met >= grades.needs) & (grades.needs > 0), dtype=float)


def _hit(grades: Grades, measure: Measure) -> Array:
    """1 if any need is met."""
    return np.asarray(_cut(grades.met, measure.depth).any(axis=1), dtype=float)


def _precision(grades: Grades, measure: Measure) -> Array:
    """Share of the first ranks whose hits answer; ranks that are not filled count as wrong."""
    found = _cut(grades.relevant, measure.depth).sum(axis=1)
    return np.asarray(found / (measure.depth or 1))


def _reciprocal_rank(grades: Grades, measure: Measure) -> Array:
    """1 / rank of the first hit that answers; 0 if none does."""
    found = _cut(grades.met, measure.depth) > 0
    if not found.shape[1]:
        return np.zeros(len(grades))
    return np.where(found.any(axis=1), 1 / (found.argmax(axis=1) + 1), 0.0)


def _average_precision(grades: Grades, measure: Measure) -> Array:
    """Mean over all needs of the precision where each is met; 0 for one that is not."""
    met = _cut(grades.met, measure.depth)
    ranks = np.arange(1, met.shape[1] + 1)
    precision = np.minimum(met.cumsum(axis=1), ranks) / ranks
    return _share((precision * met).sum(axis=1), grades.needs)


def _judged(grades: Grades, measure: Measure) -> Array:
    """Share of the first hits that somebody judged."""
    return _share_of_hits(grades.judged, grades, measure)


def _contamination(grades: Grades, measure: Measure) -> Array:
    """Share of the first hits that come from documents which none of the gold is in."""
    return _share_of_hits(_flagged(grades, "astray"), grades, measure)


def _document(grades: Grades, measure: Measure) -> Array:
    """1 if one of the first hits is of a document that some of the gold is in."""
    return np.asarray(_cut(_flagged(grades, "home"), measure.depth).any(axis=1), dtype=float)


def _cell(grades: Grades, measure: Measure) -> Array:
    """1 if a passage among the first shows the very row that is asked for, not just its table."""
    return np.asarray(_cut(_flagged(grades, "cell"), measure.depth).any(axis=1), dtype=float)


def _share_of_hits(marked: Flags, grades: Grades, measure: Measure) -> Array:
    depth = measure.depth or 1
    return _share(_cut(marked, depth).sum(axis=1), np.minimum(grades.lengths, depth).astype(float))


def _flagged(grades: Grades, name: str) -> Flags:
    return grades.flags.get(name, np.zeros((len(grades), 0), dtype=bool))


# Name → whether it needs a depth, and its variants.
MEASURES: dict[str, tuple[bool, tuple[str, ...]]] = {
    "nDCG": (False, ("exp",)),
    "Recall": (False, ()),
    "RR": (False, ()),
    "hit": (True, ()),
    "all": (True, ()),
    "P": (True, ()),
    "AP": (False, ()),
    "Judged": (True, ()),
    "Contamination": (True, ()),
    "document": (True, ()),
    "cell": (True, ()),
    # Of the evidence, in order, how much is in the hits: only of those that lie in the gold, of
    # all ("loose"), or of as many drawn at random ("floor").
    "LCS": (True, ("loose", "floor")),
    # The cosine of the reference answer and the nearest hit: a diagnosis. What sounds like the
    # answer need not be it.
    "Similarity": (True, ()),
}
OF_TEXT = {"LCS", "Similarity"}
_FORMULAS: dict[str, Callable[[Grades, Measure], Array]] = {
    "nDCG": _ndcg,
    "Recall": _recall,
    "RR": _reciprocal_rank,
    "hit": _hit,
    "all": _all,
    "P": _precision,
    "AP": _average_precision,
    "Judged": _judged,
    "Contamination": _contamination,
    "document": _document,
    "cell": _cell,
}
_OTHER_NAMES = {"mrr": "RR", "map": "AP", "r": "Recall", "success": "hit", "precision": "P"}
_NAMES = {**{name.casefold(): name for name in MEASURES}, **_OTHER_NAMES}


def parse_all(written: Iterable[str]) -> list[Measure]:
    """Return the measures of these names, each once."""
    return list(dict.fromkeys(map(parse, written)))
