"""Measures as values: ``parse("nDCG@10").of(grades)`` is one number for each question.

A measure is written as it is named, ``nDCG@10``, ``Recall@5``, ``RR``, and ``parse(str(measure)) ==
measure``. Each is a pure function of ``Grades``. Every question counts: one without hits gets 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from pincite.core.errors import ConfigError
from pincite.evaluate.grades import Array, Counts, Flags, Grades, Line, ideal_gains, tabulated

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


def value(measure: str, found: Sequence[str], gold: Set[str]) -> float:
    """Return a measure of one ranking of places, where each place in ``gold`` answers.

    >>> value("recall@2", ["b", "a", "c"], {"a", "c"})
    0.5
    """
    numbers = {place: number for number, place in enumerate(sorted(gold))}
    meets = [{numbers[place]: 1.0} if place in numbers else {} for place in found]
    ideal = ideal_gains([{number: 1.0} for number in numbers.values()])
    return float(parse(measure).of(tabulated([Line(meets, ideal, len(gold))]))[0])


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
    depth = measure.depth or 1
    return _share(
        _cut(grades.judged, depth).sum(axis=1), np.minimum(grades.lengths, depth).astype(float)
    )


def _contamination(grades: Grades, measure: Measure) -> Array:
    """Share of the first hits that come from documents which none of the gold is in."""
    depth = measure.depth or 1
    astray = grades.flags.get("astray")
    if astray is None:
        return np.zeros(len(grades))
    return _share(_cut(astray, depth).sum(axis=1), np.minimum(grades.lengths, depth).astype(float))


def _cell(grades: Grades, measure: Measure) -> Array:
    """1 if a passage among the first shows the very row that is asked for, not just its table."""
    exact = grades.flags.get("cell")
    if exact is None:
        return np.zeros(len(grades))
    return np.asarray(_cut(exact, measure.depth).any(axis=1), dtype=float)


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
    "cell": _cell,
}
_OTHER_NAMES = {"mrr": "RR", "map": "AP", "r": "Recall", "success": "hit", "precision": "P"}
_NAMES = {**{name.casefold(): name for name in MEASURES}, **_OTHER_NAMES}


def parse_all(written: Iterable[str]) -> list[Measure]:
    """Return the measures of these names, each once."""
    return list(dict.fromkeys(map(parse, written)))
