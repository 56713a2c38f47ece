"""The graph of an index in a server: whole documents are read once, and looked around in here."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from pincite.model.types import Link, Span
from pincite.store.segment import RecentCache
from pincite.store.snapshot import PARTS, WINDOW, GraphRows, Place

LINK = ("document", "source", "relation", "target", "start", "stop")


def link_of(row: Sequence[Any]) -> Link:
    """Return a link from a row of a server's table."""
    return Link(row[1], row[2], row[3], Span(row[0], row[4], row[5]))


_PLACE = ("document", "id", "start", "stop", "kind", "locator", "title", "parent", "searched")
KEPT_PLACES = 200_000


class _Tree:
    """The places of one document in order, and which are below which."""

    def __init__(self, places: Sequence[Place]) -> None:
        self.places = places
        self.at = {place.id: number for number, place in enumerate(places)}
        self.below: dict[str | None, list[int]] = {}
        for number, place in enumerate(places):
            self.below.setdefault(place.parent, []).append(number)

    def inside(self, chunk_id: str, window: int) -> list[Place]:
        """Return a place and what it covers, as far as the window behind it, in order."""
        last = self.at[chunk_id] + window
        found, waiting = [], [self.at[chunk_id]]
        while waiting:
            number = waiting.pop()
            found.append(number)
            waiting += [n for n in self.below.get(self.places[number].id, ()) if n <= last]
        return [self.places[number] for number in sorted(found)]

    def above(self, chunk_id: str) -> list[Place]:
        """Return the places that hold one, nearest first, up to a searched one."""
        found: list[Place] = []
        parent = self.places[self.at[chunk_id]].parent
        while parent is not None and len(found) < WINDOW:
            place = self.places[self.at[parent]]
            found.append(place)
            parent = None if place.searched else place.parent
        return found

    def parts(self, chunk_id: str) -> list[Place]:
        """Return the searched places directly below one; cut ones by their introductions."""
        last = self.at[chunk_id] + WINDOW
        found = []
        for number in self.below.get(chunk_id, ()):
            place = self.places[number]
            if number > last:
                continue
            if place.searched:
                found.append(place)
                continue
            inner = (self.places[n] for n in self.below.get(place.id, ()))
            found += [p for p in inner if p.kind == "piece" and p.start == place.start]
        return sorted(found, key=lambda place: place.start)

    def beside(self, chunk_id: str) -> list[tuple[str, str]]:
        """Return a searched place with the searched one before it, and with the one after it."""
        order = self._searched
        at = order.get(chunk_id)
        if at is None:
            return []
        names = list(order)
        around = names[max(0, at - 1) : at + 2]
        return list(pairwise(around))

    @cached_property
    def _searched(self) -> dict[str, int]:
        names = (place.id for place in self.places if place.searched)
        return {name: number for number, name in enumerate(names)}


class ServerGraphRows(GraphRows):
    """The same answers from an index in a server, a whole set of ids with one question.

    What surrounds a place is worked out here, from the places of its document: one question to the
    server for all documents concerned, and none for those that were asked for before.
    """

    def __init__(self, select: Callable[..., list[tuple[Any, ...]]]) -> None:
        """``select`` is that of :class:`ServerSnapshot`."""
        self._rows = select
        self._trees: RecentCache[str, _Tree] = RecentCache(KEPT_PLACES, lambda t: len(t.places))
        self._homes: RecentCache[str, str] = RecentCache(KEPT_PLACES)  # documents by chunk

    def places(self, ids: Sequence[str]) -> dict[str, Place]:
        rows = self._rows("chunks", _PLACE, "id", ids)
        return {place.id: place for place in map(_place, rows)}

    def inside(self, ids: Sequence[str]) -> dict[str, list[Place]]:
        return self._around(ids, lambda tree, chunk_id: tree.inside(chunk_id, WINDOW))

    def parts(self, ids: Sequence[str]) -> dict[str, list[Place]]:
        def searched(tree: _Tree, chunk_id: str) -> list[Place]:
            return [place for place in tree.inside(chunk_id, PARTS) if place.searched]

        return self._around(ids, searched)

    def below(self, ids: Sequence[str]) -> dict[str, list[Place]]:
        return self._around(ids, _Tree.parts)

    def above(self, ids: Sequence[str]) -> dict[str, list[Place]]:
        return self._around(ids, _Tree.above)

    def beside(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        trees = self._trees_of(ids)
        pairs = (pair for i in dict.fromkeys(ids) if i in trees for pair in trees[i].beside(i))
        return list(dict.fromkeys(pairs))

    def _around(
        self, ids: Sequence[str], look: Callable[[_Tree, str], list[Place]]
    ) -> dict[str, list[Place]]:
        trees = self._trees_of(ids)
        found = {chunk_id: look(trees[chunk_id], chunk_id) for chunk_id in ids if chunk_id in trees}
        return {chunk_id: places for chunk_id, places in found.items() if places}

    def _trees_of(self, ids: Sequence[str]) -> dict[str, _Tree]:
        """Return for each chunk the tree of its document."""
        homes = self._homes.get(ids)
        missing = [chunk_id for chunk_id in ids if chunk_id not in homes]
        found = {place.id: place.doc_id for place in self.places(missing).values()}
        self._homes.put(found)
        homes |= found
        trees = self._trees.get(homes.values())
        others = [doc_id for doc_id in homes.values() if doc_id not in trees]
        rows = self._rows("chunks", ("document", "ordinal", *_PLACE), "document", others)
        groups: dict[str, list[Place]] = {}
        for row in sorted(rows, key=lambda each: each[:2]):
            groups.setdefault(row[0], []).append(_place(row[2:]))
        read = {doc_id: _Tree(places) for doc_id, places in groups.items()}
        self._trees.put(read)
        trees |= read
        return {chunk_id: trees[doc_id] for chunk_id, doc_id in homes.items()}

    def named(self, keys: Sequence[str]) -> dict[str, list[Place]]:
        rows = self._rows("keys", ("document", "key", "chunk"), "key", keys)
        places = self.places([row[2] for row in rows])
        groups: dict[str, list[Place]] = {}
        for _, key, chunk_id in rows:
            groups.setdefault(key, []).append(places[chunk_id])
        return {key: sorted(found, key=_in_order) for key, found in groups.items()}

    def name_counts(self, keys: Sequence[str]) -> Counter[str]:
        return Counter(key for _, key in self._rows("keys", ("document", "key"), "key", keys))

    def terms(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        rows = self._rows("chunks", ("document", "id", "facts"), "id", ids)
        return [
            (chunk_id, name)
            for _, chunk_id, facts in rows
            if facts is not None
            for known in [json.loads(facts)]
            for name in (*known["terms"], *known["aliases"])
        ]

    def links_from(self, ids: Sequence[str], skipped: Sequence[str] = ()) -> list[Link]:
        return self._linked("source", ids, skipped)

    def links_to(self, keys: Sequence[str], skipped: Sequence[str] = ()) -> list[Link]:
        return self._linked("target", keys, skipped)

    def links_with(self, relation: str, limit: int) -> list[Link]:
        rows = self._rows("links", LINK, "relation", [relation], limit)
        return [link_of(row) for row in rows[:limit]]

    def _linked(self, by: str, values: Iterable[str], skipped: Sequence[str]) -> list[Link]:
        rows = self._rows("links", ("document", "ordinal", *LINK), by, values)
        return [link_of(row[2:]) for row in sorted(rows) if row[4] not in skipped]

    @cached_property
    def describes(self) -> bool:
        return bool(self.links_with("describes", 1))

    def described(self, keys: Sequence[str]) -> set[str]:
        return {link.target for link in self.links_to(keys) if link.relation == "describes"}

    def link_counts(self, keys: Sequence[str]) -> Counter[str]:
        rows = self._rows("links", ("document", "target"), "target", keys)
        return Counter(target for _, target in rows)


def _place(row: Sequence[Any]) -> Place:
    doc_id, chunk_id, start, end, kind, locator, title, parent, searched = row
    return Place(chunk_id, doc_id, start, end, kind, locator, title, parent, bool(searched))


def _in_order(place: Place) -> tuple[str, int, str]:
    return place.doc_id, place.start, place.id
