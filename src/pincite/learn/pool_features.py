"""Features of a candidate among the others: who else of its document was found, and next to it.

As in ``word_features``: the first line is the formula, then the range, and the value of nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pincite.index.postings import Array
from pincite.learn.matches import share

NOWHERE = -1


@dataclass(frozen=True)
class Pool:
    """All candidates of a question, best first; features are asked of the first ``k``."""

    k: int
    scores: Array  # by words
    rows: Array  # of the index; NOWHERE for a place that is not searched itself
    documents: Array  # numbers; NOWHERE without a row
    pages: Array
    before: Array  # the row before, if it is of the same document, else NOWHERE
    after: Array

    @cached_property
    def best(self) -> float:
        return float(self.scores.max(initial=0.0))

    @cached_property
    def same_document(self) -> Array:
        """Which candidates (columns) are of the document of each of the first k (rows)."""
        mine = self.documents[: self.k, None]
        return np.asarray((mine == self.documents[None, :]) & (mine != NOWHERE))

    def score_of(self, rows: Array) -> Array:
        """Return the scores of rows that are candidates, 0 of others."""
        found = np.zeros(len(rows))
        known = self.rows != NOWHERE
        order = np.argsort(self.rows[known])
        ordered, scores = self.rows[known][order], self.scores[known][order]
        if len(ordered):
            at = np.minimum(np.searchsorted(ordered, rows), len(ordered) - 1)
            found = np.where(ordered[at] == rows, scores[at], 0.0)
        return found


def score_share(p: Pool) -> Array:
    """Score by words / the best of the pool. 0 to 1; 0."""
    return share(p.scores[: p.k], p.best)


def score_lead(p: Pool) -> Array:
    """(Score by words - that of the next candidate) / the best of the pool. -1 to 1; 0."""
    after = np.append(p.scores, 0.0)[1 : len(p.scores[: p.k]) + 1]
    return share(p.scores[: p.k] - after, p.best)


def document_votes(p: Pool) -> Array:
    """Candidates of the same document / all candidates. 0 to 1; 0."""
    return share(p.same_document.sum(axis=1), len(p.scores))


def document_share(p: Pool) -> Array:
    """Scores of the candidates of the same document / scores of all. 0 to 1; 0."""
    return share(p.same_document @ p.scores, float(p.scores.sum()))


def document_best(p: Pool) -> Array:
    """Best score of the same document / the best of the pool. 0 to 1; 0."""
    return share((p.same_document * p.scores).max(axis=1, initial=0.0), p.best)


def document_rank(p: Pool) -> Array:
    """1 / (1 + candidates of the same document that stand before). 0 to 1; 1 for the first."""
    return np.asarray(1 / (1 + np.tril(p.same_document, -1).sum(axis=1)))


def document_place(p: Pool) -> Array:
    """1 / (1 + documents whose best candidate stands before that of this one). 0 to 1."""
    _, first, number = np.unique(p.documents, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return 1 / (1 + order[number][: p.k])


def page_votes(p: Pool) -> Array:
    """Other candidates of the same page of the document, at most 3, / 3. 0 to 1; 0."""
    same = p.same_document & (p.pages[: p.k, None] == p.pages[None, :])
    return np.asarray(np.clip(same.sum(axis=1) - 1, 0, 3) / 3)


def before_share(p: Pool) -> Array:
    """Score of the place just before, if it is a candidate / the best of the pool. 0 to 1; 0."""
    return share(p.score_of(p.before[: p.k]), p.best)


def after_share(p: Pool) -> Array:
    """Score of the place just after, if it is a candidate / the best of the pool. 0 to 1; 0."""
    return share(p.score_of(p.after[: p.k]), p.best)


OF_POOL: dict[str, Callable[[Pool], Array]] = {
    each.__name__: each
    for each in (
        score_share,
        score_lead,
        document_votes,
        document_share,
        document_best,
        document_rank,
        document_place,
        page_votes,
        before_share,
        after_share,
    )
}
