"""The graph of an index as a walk sees it: names to start from, and the places next to a place."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pincite.index.tokens import QueryAnalyzer
from pincite.model.locators import locator_key
from pincite.model.traversal import CONTAINS, Follow
from pincite.store.snapshot import Place, Snapshot

MAX_WORDS = 6  # of a name
MAX_QUERY_WORDS = 60
SQL_VALUES = 400
# A hub with more neighbours than this says nothing about any of them.
MAX_NEIGHBOURS = 60
# Nor does a name that more places have.
MAX_NAMED = 200
# Around a name; parentheses belong to it: 110.26(D)(2).
SIGNS = "?!.,;:*_\"'“”"
HEADED = ("section", "clause", "table", "document")


class TraversalIndex:
    """Names, headings and links of one index; what is asked for is looked up."""

    def __init__(self, snapshot: Snapshot, analyzer: QueryAnalyzer) -> None:
        self._snapshot = snapshot
        self._rows = snapshot.graph_rows()
        self._analyzer = analyzer
        self._headed: dict[str, list[str]] = defaultdict(list)  # term → ids of headed places
        self._weight: dict[str, float] = {}  # term → idf among headings
        self._total: dict[str, float] = {}  # id → sum of the weights of its heading's terms

    @classmethod
    def build(cls, snapshot: Snapshot, analyzer: QueryAnalyzer) -> TraversalIndex:
        """Return the index with its headings read, in proportion to their number."""
        built = cls(snapshot, analyzer)
        terms: dict[str, set[str]] = {}
        for segment in snapshot.segments:
            for chunk_id, doc_id, title in segment.titled(HEADED):
                if title and doc_id not in segment.dropped:
                    terms[chunk_id] = set(analyzer.terms(title))
        for chunk_id, words in terms.items():
            for word in words:
                built._headed[word].append(chunk_id)
        for word, ids in built._headed.items():
            built._weight[word] = math.log(1 + len(terms) / len(ids))
        # Exact, so that a total does not depend on the order of a set.
        built._total = {i: math.fsum(built._weight[word] for word in ws) for i, ws in terms.items()}
        return built

    def named(self, text: str) -> dict[str, str]:
        """Return the places whose whole name stands in a text, each with that name.

        A word inside a longer name does not count again.
        """
        words = text.split()[:MAX_QUERY_WORDS]
        names: dict[tuple[int, int], str] = {}
        for size in range(min(MAX_WORDS, len(words)), 0, -1):
            for at in range(len(words) - size + 1):
                if self._analyzer.content_words(" ".join(words[at : at + size])):
                    stretch = " ".join(words[at : at + size])
                    names[at, at + size] = locator_key(stretch.strip(SIGNS))
        known = self._keys(names.values())
        found: dict[str, str] = {}
        taken: set[int] = set()
        for (start, end), name in names.items():  # the longest come first
            if name in known and taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                found |= {chunk_id: found.get(chunk_id, name) for chunk_id in known[name]}
        return found

    def headed(self, text: str) -> dict[str, tuple[float, str]]:
        """Return the places whose headings share words with a text: how much (0 to 1), and which.

        It is the geometric mean of how much of the heading and of the query is shared.
        """
        readings = self._analyzer.readings(text).values()
        words = dict.fromkeys(word for reading in readings for word in reading[:MAX_QUERY_WORDS])
        asked = sum(self._weight.get(word, 0.0) for word in words)
        shared: dict[str, float] = defaultdict(float)
        which: dict[str, list[str]] = defaultdict(list)
        for word in words:
            for chunk_id in self._headed.get(word, ()):
                shared[chunk_id] += self._weight[word]
                which[chunk_id].append(word)
        return {
            chunk_id: (worth / math.sqrt(asked * self._total[chunk_id]), " ".join(which[chunk_id]))
            for chunk_id, worth in shared.items()
        }

    def places(self, ids: Iterable[str]) -> dict[str, Place]:
        """Return what is known of these chunks."""
        return self._rows.places(sorted(set(ids)))

    def steps(
        self, places: Mapping[str, Place], follows: Sequence[Follow]
    ) -> Iterator[tuple[Follow, str, str, bool]]:
        """Yield (kind of step, from, to, forwards) for every step that starts at these places."""
        ids, names = sorted(places), _names(places)
        links_out = self._rows.links_from(ids) if _any(follows, "out") else []
        links_in = self._rows.links_to(sorted(names)) if _any(follows, "in") else []
        known = self._keys(locator_key(link.target) for link in links_out)
        for follow in follows:
            if follow.relation == CONTAINS:
                yield from self._contained(places, follow)
                continue
            for link in links_out if follow.direction != "in" else ():
                if link.relation == follow.relation:
                    for chunk_id in known.get(locator_key(link.target), ()):
                        yield follow, link.source, chunk_id, True
            for link in links_in if follow.direction != "out" else ():
                if link.relation == follow.relation:
                    for chunk_id in names.get(link.target, ()):
                        yield follow, chunk_id, link.source, False

    def _contained(
        self, places: Mapping[str, Place], follow: Follow
    ) -> Iterator[tuple[Follow, str, str, bool]]:
        if follow.direction != "in":
            for parent, inside in self._rows.inside(sorted(places)).items():
                for place in inside:
                    if place.parent == parent and place.kind != "piece":
                        yield follow, parent, place.id, True
        if follow.direction != "out":
            for place in places.values():
                if place.parent is not None:
                    yield follow, place.id, place.parent, False

    def content_kinds(self, ids: Sequence[str]) -> dict[str, str]:
        """Return what enrichment calls the content of these chunks."""
        kinds: dict[str, str] = {}
        for at in range(0, len(ids), SQL_VALUES):
            facts = self._snapshot.facts(ids[at : at + SQL_VALUES])
            kinds |= {chunk_id: each.content_kind for chunk_id, each in facts.items()}
        return kinds

    def _keys(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return the chunks that some names lead to; a name of very many means none of them."""
        counts = self._rows.name_counts(sorted(set(names)))
        few = sorted(name for name, count in counts.items() if count <= MAX_NAMED)
        return {
            key: sorted(place.id for place in found if place.kind not in ("piece", "text"))
            for key, found in self._rows.named(few).items()
        }


def _names(places: Mapping[str, Place]) -> dict[str, list[str]]:
    """Return by which names links lead to some places."""
    names: dict[str, list[str]] = defaultdict(list)
    for place in places.values():
        for name in {place.locator, place.title, locator_key(place.locator)} - {""}:
            names[name.casefold()].append(place.id)
    return names


def _any(follows: Sequence[Follow], direction: str) -> bool:
    """Return whether links are followed in this direction."""
    return any(f.direction in (direction, "both") for f in follows if f.relation != CONTAINS)
