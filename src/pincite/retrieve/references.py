"""What a place refers to and what refers to it, place by place, with the words that say so.

`retrieve/neighbours.py` carries both ends of a link to the chunks that are ranked; a reader who
follows a reference wants the very clause that is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pincite.core.types import Chunk, Link, Span
from pincite.model.locators import locator_key
from pincite.retrieve.neighbours import MAX_USES, NOT_FOLLOWED, Homes
from pincite.store.graph import GraphRows, Place
from pincite.store.snapshot import Snapshot

OUTSIDE = "refers_outside"
# A name with more links than this would take too long to read, and nobody would.
MAX_INCOMING = 1000
_SKIPPED = tuple(relation for relation in NOT_FOLLOWED if relation != OUTSIDE)
_PARTS = ("piece", "text")  # stand for a part of a place of the same name


@dataclass(frozen=True, slots=True)
class Reference:
    """One link of a place; ``chunk_id`` is its other end, None if no place has that name."""

    chunk_id: str | None
    name: str
    relation: str
    direction: Literal["out", "in"]
    evidence: Span


def references(snapshot: Snapshot, place: Chunk) -> list[Reference]:
    """Return the links of a place and of what is inside it, outgoing ones first, in text order.

    Of a link that appears several times the first one counts.
    """
    rows = snapshot.graph_rows()
    inside = {each.id for each in rows.inside([place.id]).get(place.id, [])}
    found: dict[tuple[str | None, str, str], Reference] = {}
    for each in (*_outgoing(rows, place, inside), *_incoming(rows, place, inside)):
        name = each.name if each.chunk_id is None else ""
        found.setdefault((each.chunk_id, each.direction + each.relation, name), each)
    return list(found.values())


def _outgoing(rows: GraphRows, place: Chunk, inside: set[str]) -> Iterator[Reference]:
    # The words of a piece are its parent's: links start there.
    sources = inside | ({place.parent} if place.kind in _PARTS and place.parent else set())
    links = _in_order(rows.links_from(sorted(sources), _SKIPPED))
    links = [link for link in links if link.span.overlap(place.span) == len(link.span)]
    homes = Homes(rows, {link.target for link in links})
    for link in links:
        is_outside = link.relation == OUTSIDE
        ends = [] if is_outside else _wholes(homes.of(link.target, link.span.doc_id))
        if any(home.id in inside or _holds(home, place) for home in ends):
            continue  # a place that names itself
        for home in ends:
            yield Reference(home.id, link.target, link.relation, "out", link.span)
        if not ends:
            yield Reference(None, link.target, link.relation, "out", link.span)


def _incoming(rows: GraphRows, place: Chunk, inside: set[str]) -> Iterator[Reference]:
    names = {locator_key(place.locator), *(locator_key(n) for _, n in rows.terms([place.id]))}
    if place.title and place.kind in ("section", "table"):
        names.add(locator_key(place.title))
    counts = rows.link_counts(sorted(names))
    followed = sorted(name for name in names if 0 < counts[name] <= MAX_INCOMING)
    links = [
        link
        for link in _in_order(rows.links_to(followed, NOT_FOLLOWED))
        # A term that very many places use is no reference to the place that defines it.
        if link.source not in inside
        and (link.relation != "uses" or counts[link.target] <= MAX_USES)
    ]
    homes = Homes(rows, {link.target for link in links})
    for link in links:
        if any(home.id == place.id for home in homes.of(link.target, link.span.doc_id)):
            yield Reference(link.source, link.target, link.relation, "in", link.span)


def _wholes(places: Sequence[Place]) -> Sequence[Place]:
    return [place for place in places if place.kind not in _PARTS] or places


def _holds(home: Place, place: Chunk) -> bool:
    span = Span(home.doc_id, home.start, home.end)
    return home.kind != "document" and span.overlap(place.span) == len(place.span)


def _in_order(links: Iterable[Link]) -> list[Link]:
    return sorted(links, key=lambda link: (link.span, link.relation, link.target))
