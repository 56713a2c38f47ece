"""Routing: first guess which part of a collection a question is about, then search only there."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pincite.index.filters import Groups
from pincite.index.opened import OpenIndex
from pincite.model.tuning import RoutingTuning
from pincite.model.types import Filters
from pincite.search.query import ParsedQuery
from pincite.search.row_scorers import WordScorer
from pincite.store.files import Array

# A group is judged by its best chunks: one may match by chance, many favour large groups.
BEST_CHUNKS = 3
# How many chunks of the whole index are looked at. The right group is among them, or nowhere.
DEPTH = 100
# Sharpness of the shares: evidence is a sum of few scores, and twice as much is nearly certain.
SHARPNESS = 4.0
# What a word in a group's name is worth beside the same word in its text (tuned: 0, 0.5, 1).
NAME_WEIGHT = 1.0


@dataclass(frozen=True, slots=True)
class Route:
    """Groups with their shares of the evidence, best first, and how clear the choice is."""

    names: tuple[str, ...]
    shares: tuple[float, ...]
    confidence: float  # 1: all evidence in one group; 0: the same in all
    chosen: tuple[str, ...] = ()  # to be searched alone; none: search everything

    def top(self, n: int) -> tuple[str, ...]:
        return self.names[:n]

    def narrowed(self, filters: Filters) -> Filters:
        """Return filters for the chosen groups; those that name groups themselves stay."""
        if not self.chosen or filters.groups:
            return filters
        return replace(filters, groups=tuple(sorted(self.chosen)))


NOWHERE = Route((), (), 0.0)


class Router:
    """Scores the groups of an index by the words of their best chunks and of their names.

    Groups are chosen if that is sure enough. With ``oracle_groups`` they come from whoever knows
    the answer: that is for evaluation alone.
    """

    def __init__(
        self,
        index: OpenIndex,
        words: WordScorer,
        settings: RoutingTuning,
        groups: Groups,
        oracle_groups: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        self.index = index
        self.words = words
        self.settings = settings
        self.groups = groups
        self.oracle_groups = oracle_groups

    def route(self, query: ParsedQuery) -> Route:
        """Return the groups that share words with the query, and which of them to search."""
        run = self.words.score(query, self.words.rows.masks(query.filters))
        rows = run.best(DEPTH)
        evidence: dict[int, list[float]] = {}
        scores = run.parts(rows).sum(axis=1).tolist()
        for score, group in zip(scores, self._group_of[rows].tolist(), strict=True):
            best = evidence.setdefault(group, [])
            if len(best) < BEST_CHUNKS:
                best.append(score)
        route = self._shared(self._judged(query, evidence)) if evidence else NOWHERE
        if self.oracle_groups is not None:
            return replace(route, chosen=tuple(self.oracle_groups(query.text)))
        is_sure = route.confidence >= self.settings.min_confidence
        return replace(route, chosen=route.top(self.settings.top_n)) if is_sure else route

    def shares(self, route: Route, rows: Array) -> Array:
        """Return for each row its group's share of the evidence."""
        shares = dict(zip(route.names, route.shares, strict=True))
        of_group = np.array([shares.get(name, 0.0) for name in self.groups.names] or [0.0])
        return np.asarray(of_group[self._group_of[rows]])

    @cached_property
    def _group_of(self) -> Array:
        """The number of each row's group."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self.groups.rows]).astype(np.int64)

    @cached_property
    def _name_terms(self) -> list[frozenset[str]]:
        """The terms of each group's name, which is a folder, a file or a heading."""
        terms = self.index.analyzer.terms
        return [frozenset(terms(name.partition(":")[2])) for name in self.groups.names]

    def _judged(self, query: ParsedQuery, evidence: dict[int, list[float]]) -> dict[int, float]:
        """Return what each group is worth: its best chunks, and the words of its name."""
        weights: dict[str, float] = {}
        for reading in query.readings:
            own = self.words.scorer.weights(reading.terms.terms)
            weights |= zip(reading.terms.words, own, strict=True)
        return {
            group: sum(best) / BEST_CHUNKS
            + NAME_WEIGHT * sum(weights.get(term, 0.0) for term in self._name_terms[group])
            for group, best in evidence.items()
        }

    def _shared(self, scores: dict[int, float]) -> Route:
        """Return scores as shares that add up to 1, and 1 - entropy / greatest entropy."""
        names = self.groups.names
        order = sorted(scores, key=lambda group: (-scores[group], names[group]))
        top = scores[order[0]] or 1.0
        raw = [(scores[group] / top) ** SHARPNESS for group in order]
        shares = [value / sum(raw) for value in raw]
        entropy = -sum(share * math.log(share) for share in shares if share > 0)
        greatest = math.log(len(names)) if len(names) > 1 else 1.0
        confidence = max(0.0, 1 - entropy / greatest)
        return Route(tuple(names[group] for group in order), tuple(shares), confidence)
