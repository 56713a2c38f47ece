"""What the graph reads: places by id and by name, what surrounds them, and links, in batches.

Links name their targets; the places of a name are looked up when somebody asks. All answers leave
out documents that were dropped, so they do not depend on how documents are spread over segments.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from pincite.model.types import Link, Span
from pincite.store.segment import RecentCache, Segment

# How many places behind a chunk are looked at for what is inside it: bounds every statement.
WINDOW = 64
# The same for the searched chunks that stand for a section.
PARTS = 16
# A place and the tables that its columns come from, for a chunk that a statement calls c.
_COLUMNS = """c.id, d.id, c.start, c.end, w.text, c.locator, c.title,
    (SELECT id FROM chunks WHERE ordinal = c.parent), c.searched"""
_WITH = "JOIN documents d ON d.number = c.document JOIN words w ON w.number = c.kind"
_LINKS = """links l JOIN chunks c ON c.ordinal = l.source JOIN documents d ON d.number = c.document
    JOIN words w ON w.number = l.relation"""


LINK = ("document", "source", "relation", "target", "start", "stop")


def link_of(row: Sequence[Any]) -> Link:
    """Return a link from a row of a server's table."""
    return Link(row[1], row[2], row[3], Span(row[0], row[4], row[5]))


class Place(NamedTuple):
    """A chunk without its words."""

    id: str
    doc_id: str
    start: int
    end: int
    kind: str
    locator: str
    title: str
    parent: str | None
    searched: bool


class GraphRows:
    """Reads a snapshot's places and links, a whole set of ids or names with one statement."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = segments

    def places(self, ids: Sequence[str]) -> dict[str, Place]:
        """Return the places with these ids."""
        sql = f"SELECT {_COLUMNS} FROM chunks c {_WITH} WHERE c.id IN ({{}})"
        return {place.id: place for place, _ in self._places(sql, ids)}

    def inside(self, ids: Sequence[str]) -> dict[str, list[Place]]:
        """Return for each id itself and what it covers, up to WINDOW places, in document order."""
        return self._below(ids, WINDOW, "")

    def parts(self, ids: Sequence[str]) -> dict[str, list[Place]]:
        """Return for each id the searched chunks among the first PARTS places that it covers."""
        return self._below(ids, PARTS, "WHERE c.searched")

    def _below(self, ids: Sequence[str], window: int, where: str) -> dict[str, list[Place]]:
        sql = f"""WITH RECURSIVE down(of, last, ordinal) AS (
                SELECT id, ordinal + {window}, ordinal FROM chunks WHERE id IN ({{}})
                UNION ALL SELECT down.of, down.last, c.ordinal FROM down JOIN chunks c
                ON c.parent = down.ordinal AND c.ordinal <= down.last)
            SELECT {_COLUMNS}, down.of FROM down JOIN chunks c ON c.ordinal = down.ordinal {_WITH}
            {where} ORDER BY c.ordinal"""
        return _grouped(self._places(sql, ids))

    def below(self, ids: Sequence[str]) -> dict[str, list[Place]]:
        """Return for each id the searched chunks directly below it, in document order.

        A clause below it that is cut stands there by its introduction.
        """
        child = "JOIN chunks {0} ON {0}.parent = a.ordinal AND {0}.ordinal <= a.ordinal + "
        child += str(WINDOW)
        sql = f"""WITH whole(id, ordinal) AS (SELECT id, ordinal FROM chunks WHERE id IN ({{}}))
            SELECT {_COLUMNS}, a.id FROM whole a {child.format("c")} {_WITH} WHERE c.searched
            UNION ALL SELECT {_COLUMNS}, a.id FROM whole a {child.format("m")}
            JOIN chunks c ON c.parent = m.ordinal AND c.start = m.start {_WITH}
            WHERE NOT m.searched AND w.text = 'piece' ORDER BY 3"""
        return _grouped(self._places(sql, ids))

    def above(self, ids: Sequence[str]) -> dict[str, list[Place]]:
        """Return for each id the places that hold it, nearest first, up to a searched one."""
        sql = f"""WITH RECURSIVE up(of, ordinal, step) AS (
                SELECT id, parent, 1 FROM chunks WHERE id IN ({{}})
                UNION ALL SELECT up.of, c.parent, up.step + 1 FROM up
                JOIN chunks c ON c.ordinal = up.ordinal WHERE NOT c.searched AND up.step < {WINDOW})
            SELECT {_COLUMNS}, up.of FROM up JOIN chunks c ON c.ordinal = up.ordinal {_WITH}
            ORDER BY up.step"""
        return _grouped(self._places(sql, ids))

    def beside(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """Return pairs of a searched chunk and the next one of its document, around these ids."""
        near = "(SELECT c.id FROM chunks c WHERE c.searched AND c.ordinal"
        sql = f"""SELECT d.id,
            {near} BETWEEN d.first AND a.ordinal - 1 ORDER BY c.ordinal DESC LIMIT 1), a.id,
            {near} BETWEEN a.ordinal + 1 AND d.last ORDER BY c.ordinal LIMIT 1)
            FROM chunks a JOIN documents d ON d.number = a.document
            WHERE a.searched AND a.id IN ({{}})"""
        pairs: dict[tuple[str, str], None] = {}
        for segment, rows in self._select(sql, ids):
            for doc_id, *row in rows:
                if doc_id not in segment.dropped:
                    pairs.update(dict.fromkeys(pair for pair in pairwise(row) if all(pair)))
        return list(pairs)

    def named(self, keys: Sequence[str]) -> dict[str, list[Place]]:
        """Return for each normalised name the places that have it."""
        sql = f"""SELECT {_COLUMNS}, k.key FROM keys k JOIN chunks c ON c.ordinal = k.ordinal
            {_WITH} WHERE k.key IN ({{}})"""
        return _grouped(self._places(sql, keys))

    def name_counts(self, keys: Sequence[str]) -> Counter[str]:
        """Return how many places have each name; cheap also where there are very many."""
        return self._counts("keys", "key", "ordinal", keys)

    def terms(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """Return (id, term or alias) of the chunks that define one or have one."""
        sql = """SELECT c.id, json_extract(f.text, '$.terms'), json_extract(f.text, '$.aliases')
            FROM chunks c JOIN words f ON f.number = c.facts WHERE c.id IN ({})
            AND json_array_length(f.text, '$.terms') + json_array_length(f.text, '$.aliases') > 0"""
        return [
            (chunk_id, name)
            for _, rows in self._select(sql, ids)
            for chunk_id, terms, aliases in rows
            for name in (*json.loads(terms), *json.loads(aliases))
        ]

    def links_from(self, ids: Sequence[str], skipped: Sequence[str] = ()) -> list[Link]:
        """Return the links that start at one of these chunks, but for the skipped relations."""
        return list(self._links("c.id", ids, skipped))

    def links_to(self, keys: Sequence[str], skipped: Sequence[str] = ()) -> list[Link]:
        """Return the links that name one of these keys, but for the skipped relations."""
        return list(self._links("l.target", keys, skipped))

    def links_with(self, relation: str, limit: int) -> list[Link]:
        """Return at most so many links of one relation."""
        sql = """SELECT c.id, l.target, d.id, l.start, l.end FROM links l
            JOIN chunks c ON c.ordinal = l.source JOIN documents d ON d.number = c.document
            WHERE l.relation IN (SELECT number FROM words WHERE text = ?)"""
        found: list[Link] = []
        for segment in self.segments:
            # Links of dropped documents must not take the places of others.
            rest = "" if segment.dropped else f" LIMIT {limit - len(found)}"
            found += [
                Link(source, relation, target, Span(doc_id, start, end))
                for source, target, doc_id, start, end in segment.select(sql + rest, (relation,))
                if doc_id not in segment.dropped
            ]
        return found[:limit]

    @cached_property
    def describes(self) -> bool:
        """Whether any chunk describes a thing: profiles of rulebooks know such, others do not."""
        sql = "SELECT 1 FROM links l JOIN words w ON w.number = l.relation WHERE w.text = ? LIMIT 1"
        return any(segment.select(sql, ("describes",)) for segment in self.segments)

    def described(self, keys: Sequence[str]) -> set[str]:
        """Return which of these names are those of things that a chunk describes."""
        sql = f"""SELECT DISTINCT l.target, d.id FROM {_LINKS}
            WHERE l.target IN ({{}}) AND w.text = 'describes'"""
        return {
            target
            for segment, rows in self._select(sql, keys)
            for target, doc_id in rows
            if doc_id not in segment.dropped
        }

    def link_counts(self, keys: Sequence[str]) -> Counter[str]:
        """Return how many links name each key."""
        return self._counts("links", "target", "source", keys)

    def _links(self, column: str, values: Sequence[str], skipped: Sequence[str]) -> Iterator[Link]:
        names = ", ".join(f"'{relation}'" for relation in skipped)  # ours, never a document's
        sql = f"""SELECT c.id, w.text, l.target, d.id, l.start, l.end FROM {_LINKS}
            WHERE {column} IN ({{}}) AND w.text NOT IN ({names})"""
        for segment, rows in self._select(sql, values):
            for source, relation, target, doc_id, start, end in rows:
                if doc_id not in segment.dropped:
                    yield Link(source, relation, target, Span(doc_id, start, end))

    def _counts(self, table: str, key: str, place: str, keys: Sequence[str]) -> Counter[str]:
        """Count by key; the documents are looked at only where some were dropped."""
        document = f"""(SELECT d.id FROM chunks c JOIN documents d ON d.number = c.document
            WHERE c.ordinal = {table}.{place})"""
        found: Counter[str] = Counter()
        where = f"FROM {table} WHERE {key} IN ({{}}) GROUP BY 1"
        for segment, rows in self._select(f"SELECT {key}, COUNT(*), '' {where}", keys):
            if segment.dropped:
                by_document = f"SELECT {key}, COUNT(*), {document} {where}, 3"
                rows = segment.select_in(by_document, [row[0] for row in rows])
            for name, count, doc_id in rows:
                found[name] += 0 if doc_id in segment.dropped else count
        return found

    def _places(self, sql: str, values: Sequence[str]) -> Iterator[tuple[Place, str]]:
        """Yield live places, each with what the statement says it belongs to."""
        for segment, rows in self._select(sql, values):
            for row in rows:
                if row[1] not in segment.dropped:
                    yield Place(*row[:9]), row[-1]

    def _select(self, sql: str, values: Sequence[str]) -> Iterator[tuple[Segment, list[Any]]]:
        for segment in self.segments:
            yield segment, segment.select_in(sql, values)


def _grouped(pairs: Iterator[tuple[Place, str]]) -> dict[str, list[Place]]:
    groups: dict[str, list[Place]] = {}
    for place, name in pairs:
        groups.setdefault(name, []).append(place)
    return groups


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
