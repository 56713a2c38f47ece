"""A run and grades as trec_eval reads them, as the tables that measures are taken of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set

import numpy as np

from pincite.measure.grades import (
    Array,
    GradedQuestion,
    Grades,
    ideal_gains,
    padded,
    parse,
    tabulated,
)

# Grades by question and document; scores by question and document.
Qrels = Mapping[str, Mapping[str, int]]
Scores = Mapping[str, Mapping[str, float]]
UNJUDGED = -math.inf  # not relevant as far as we know; a grade of 0 or less is somebody's word


def ranked(scores: Mapping[str, float]) -> list[str]:
    """Return documents in the order of trec_eval: by score, ties by id, both downwards.

    It keeps scores in single precision, so that two which differ less than that are tied.

    >>> ranked({"a": 1.0, "b": 1.0, "c": 2.0})
    ['c', 'b', 'a']
    """
    if not scores:
        return []
    rounded = np.fromiter(scores.values(), dtype=np.float32, count=len(scores)).tolist()
    pairs = sorted(zip(rounded, scores, strict=True), reverse=True)
    return [document for _, document in pairs]


def graded(qrels: Qrels, run: Scores) -> Grades:
    """Return the tables of a run against grades; a judged question without hits is a line too.

    Here every document is a need of its own, so no document has to be looked for twice and the
    tables are filled with whole lines at a time.
    """
    rows = [
        [grades.get(d, UNJUDGED) for d in ranked(run.get(q, {}))] for q, grades in qrels.items()
    ]
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    filled = np.full((len(rows), int(lengths.max(initial=0))), UNJUDGED)
    for at, row in enumerate(rows):
        filled[at, : len(row)] = row
    relevant = filled > 0
    gains: Array = np.where(relevant, filled, 0.0)
    ideal = [sorted((g for g in each.values() if g > 0), reverse=True) for each in qrels.values()]
    return Grades(
        gains,
        relevant.astype(np.int64),
        relevant,
        np.isfinite(filled),
        padded(ideal),
        np.array([len(each) for each in ideal], dtype=np.int64),
        lengths,
    )


def value(measure: str, found: Sequence[str], gold: Set[str]) -> float:
    """Return a measure of one ranking of places, where each place in ``gold`` answers.

    >>> value("recall@2", ["b", "a", "c"], {"a", "c"})
    0.5
    """
    numbers = {place: number for number, place in enumerate(sorted(gold))}
    meets = [{numbers[place]: 1.0} if place in numbers else {} for place in found]
    ideal = ideal_gains([{number: 1.0} for number in numbers.values()])
    return float(parse(measure).of(tabulated([GradedQuestion(meets, ideal, len(gold))]))[0])
