"""What the graph reads: places by id and by name, what surrounds them, and links, in batches.

Links name their targets; the places of a name are looked up when somebody asks. All answers leave
out documents that were dropped, so they do not depend on how documents are spread over segments.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from pincite.core.types import Link, Span
from pincite.store.segment import Segment
from pincite.store.snapshot import MAX_VALUES, Snapshot

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

    def __init__(self, snapshot: Snapshot) -> None:
        self.segments = snapshot.segments

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
                names = _padded([row[0] for row in rows])
                marks = ", ".join("?" * len(names))
                by_document = f"SELECT {key}, COUNT(*), {document} {where}, 3".format(marks)
                rows = segment.select(by_document, names)
            for name, count, doc_id in rows:
                found[name] += 0 if doc_id in segment.dropped else count
        return found

    def _places(self, sql: str, values: Sequence[str]) -> Iterator[tuple[Place, str]]:
        """Yield live places, each with what the statement says it belongs to."""
        for segment, rows in self._select(sql, values):
            for row in rows:
                if row[1] not in segment.dropped:
                    yield Place(*row[:9]), row[-1]

    def _select(
        self, sql: str, values: Sequence[str]
    ) -> Iterator[tuple[Segment, list[tuple[Any, ...]]]]:
        for at in range(0, len(values), MAX_VALUES):
            some = _padded(values[at : at + MAX_VALUES])
            statement = sql.format(", ".join("?" * len(some)))
            for segment in self.segments:
                yield segment, segment.select(statement, some)


def _padded(values: Sequence[str]) -> Sequence[str]:
    """Return the values, the last one repeated up to a power of two.

    A statement is prepared once for each number of values, and that takes longer than running it.
    """
    missing = (1 << max(0, len(values) - 1).bit_length()) - len(values)
    return [*values, *(values[-1] for _ in range(missing if values else 0))]


def _grouped(pairs: Iterator[tuple[Place, str]]) -> dict[str, list[Place]]:
    groups: dict[str, list[Place]] = {}
    for place, name in pairs:
        groups.setdefault(name, []).append(place)
    return groups
