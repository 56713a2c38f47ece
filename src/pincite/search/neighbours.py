"""Which searched chunks stand beside a chunk in the graph of the documents, and why.

Links start at the deepest clause that holds the words and name what they mean. Here both ends are
carried to the chunks that retrieval ranks:

- a clause inside a searched chunk stands for that chunk;
- a section that is cut stands for its first searched chunks: the first one counts fully, the
  others share one more;
- a name means the places of the link's own document, and those of others only if its own has none;
  a number of a chapter that its own document has never means a place of another.

Whole documents are no neighbours, nor are names that very many places have. Every rule holds from
both ends: what leads from A to B out leads from B to A in.

What stands beside hits (companions) and what leads to a place or away from it (references) are
chosen among these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Literal, NamedTuple

from pincite.model.locators import locator_key, means_own
from pincite.model.types import Chunk, Link, Span, by_id
from pincite.store.snapshot import GraphRows, Place, Snapshot

Direction = Literal["out", "in"]
# The nearest and least crowded ones of a node are kept.
MAX_NEIGHBOURS = 32
# A name that more places use than this is a hub: it is followed to its home, not back to all.
MAX_USES = 16
# A name with more homes than this, none of them in the link's own document, means nothing.
MAX_HOMES = 8
# How many searched chunks a reference to a whole section leads to.
MAX_PARTS = 8
REMEMBERED = 4096
# Names of the chunk itself; places outside; and traits, which hundreds of chunks share.
NOT_FOLLOWED = ("describes", "defines", "alias_of", "refers_outside", "has_trait")
_key = lru_cache(maxsize=20_000)(locator_key)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One end of an edge, seen from the other."""

    chunk_id: str
    relation: str  # "refers_to", "exception_to", "uses", "contains", "next", or a profile's own
    direction: Direction  # "out": as the relation reads; "in": against it
    share: float = 1.0  # less than 1 for the further parts of a section that is meant as a whole
    degree: int = 1  # how many edges meet in the name or place that makes this one
    evidence: Span | None = None  # the words that say so


class Neighbours:
    """Finds the neighbours of searched chunks with about a dozen statements for a whole set.

    A snapshot does not change: what was found once is remembered, up to REMEMBERED chunks.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.rows = snapshot.graph_rows()
        self._known: dict[str, tuple[Neighbour, ...]] = {}

    def of(self, ids: Sequence[str]) -> dict[str, tuple[Neighbour, ...]]:
        """Return the neighbours of each searched chunk, closest first, at most MAX_NEIGHBOURS."""
        known = self._known
        found = {i: known[i] for i in ids if i in known}
        unknown = [i for i in ids if i not in found]
        new = self._find(unknown) if unknown else {}
        # Threads may find the same twice, which is harmless; they never see half of a result.
        if new:
            self._known = ({} if len(known) + len(new) > REMEMBERED else known) | new
        return found | new

    def _find(self, ids: Sequence[str]) -> dict[str, tuple[Neighbour, ...]]:
        seeds = {i: place for i, place in self.rows.places(ids).items() if place.searched}
        if not seeds:
            return {}
        found: dict[str, dict[tuple[str, str, str], Neighbour]] = {i: {} for i in seeds}
        for seed, neighbour in _Search(self.rows, seeds).found():
            # Of several edges of one kind to one neighbour, the strongest.
            kind = (neighbour.chunk_id, neighbour.relation, neighbour.direction)
            kept = found[seed].get(kind)
            if kept is None or _distance(neighbour) < _distance(kept):
                found[seed][kind] = neighbour
        return {
            i: tuple(sorted(each.values(), key=_distance)[:MAX_NEIGHBOURS])
            for i, each in found.items()
        }

    def searched(self, keys: Sequence[str]) -> dict[str, list[tuple[str, float]]]:
        """Return the searched chunks that each name leads to, with their shares."""
        homes = Homes(self.rows, keys)
        places = [place for key in keys for place in homes.of(key)]
        cover = _Cover(self.rows, places)
        return {key: [part for h in homes.of(key) for part in cover.of(h)] for key in keys}


def _distance(neighbour: Neighbour) -> tuple[float, str, str, str, Span]:
    at = neighbour.evidence or Span("", 0, 0)
    crowd = neighbour.degree / neighbour.share
    return crowd, neighbour.relation, neighbour.chunk_id, neighbour.direction, at


class _Search:
    """The edges around some searched chunks."""

    def __init__(self, rows: GraphRows, seeds: dict[str, Place]) -> None:
        self.rows = rows
        self.seeds = seeds
        self.above = rows.above(list(seeds))
        self.inside = rows.inside(list(seeds))

    def found(self) -> Iterator[tuple[str, Neighbour]]:
        """Yield each seed's neighbours; which ones does not depend on the other seeds."""
        for before, after in self.rows.beside(list(self.seeds)):
            yield from self._both(before, after, "next", 1)
        yield from self._parts()
        ids = {place.id for places in self.inside.values() for place in places}
        # The own words of a cut clause are pieces below it: their links start at the clause.
        pieces = {p.parent for p in self.seeds.values() if p.kind == "piece" and p.parent}
        going = self.rows.links_from(sorted(ids | pieces), NOT_FOLLOWED)
        names = self._names()
        targets = {link.target for link in going}
        uses = self.rows.link_counts(sorted(targets.union(names)))
        followed = {name for name in names if 0 < uses[name] <= MAX_USES}
        coming = self.rows.links_to(sorted(followed), NOT_FOLLOWED)
        homes = Homes(self.rows, targets | followed)
        # A link between two seeds is here twice, which changes nothing: the strongest edge is kept.
        for link, source, target, share in self._joined([*going, *coming], homes):
            degree = max(1, uses[link.target])
            if source in self.seeds and (link.source in ids or link.source in pieces):
                neighbour = Neighbour(target, link.relation, "out", share, degree, link.span)
                yield source, neighbour
            if target in self.seeds and link.target in followed and target in names[link.target]:
                yield target, Neighbour(source, link.relation, "in", share, degree, link.span)

    def _both(
        self, source: str, target: str, relation: str, degree: int
    ) -> Iterator[tuple[str, Neighbour]]:
        if source in self.seeds:
            yield source, Neighbour(target, relation, "out", degree=degree)
        if target in self.seeds:
            yield target, Neighbour(source, relation, "in", degree=degree)

    def _parts(self) -> Iterator[tuple[str, Neighbour]]:
        """Yield a clause's introduction with the searched chunks directly below the clause."""
        parents: dict[str, Place] = {}
        for seed, up in self.above.items():
            # A clause's introduction has the clause as its whole, and is a part of the next one.
            is_intro = _is_intro(self.seeds[seed], up[0])
            parents |= {p.id: p for p in up[: 2 if is_intro else 1] if p.kind != "document"}
        for parent, (intro, *parts) in self.rows.below(sorted(parents)).items():
            if _is_intro(intro, parents[parent]):
                for part in parts:
                    yield from self._both(intro.id, part.id, "contains", len(parts))

    def _names(self) -> dict[str, set[str]]:
        """Return the names by which links may mean a seed or a section around it, each with these.

        A name that a seed has only far behind its beginning, beyond the window, is left out.
        """
        owners: dict[str, set[str]] = {}  # seeds by the id of what they are in or hold
        places: dict[str, Place] = {}
        for seed in self.seeds:
            for place in (*self.inside[seed], *self.above.get(seed, ())):
                if place.kind != "document" or place.searched:
                    owners.setdefault(place.id, set()).add(seed)
                    places[place.id] = place
        names: dict[str, set[str]] = {}
        for place in places.values():
            names.setdefault(_key(place.locator), set()).update(owners[place.id])
            if place.title and place.kind in ("section", "table", "document"):
                names.setdefault(_key(place.title), set()).update(owners[place.id])
        for chunk_id, name in self.rows.terms(sorted(places)):
            names.setdefault(_key(name), set()).update(owners[chunk_id])
        names.pop("", None)
        return names

    def _joined(
        self, links: Sequence[Link], homes: Homes
    ) -> Iterator[tuple[Link, str, str, float]]:
        """Yield each link with the chunk that holds its words and those that it means."""
        meant = [(link, homes.of(link.target, link.span.doc_id)) for link in links]
        meant = [(link, places) for link, places in meant if places]
        known = {place.id: place for places in self.inside.values() for place in places}
        known |= {place.id: place for places in self.above.values() for place in places}
        known |= self.rows.places(sorted({link.source for link, _ in meant} - known.keys()))
        sources = (known[link.source] for link, _ in meant)
        cover = _Cover(self.rows, chain(sources, *(places for _, places in meant)))
        for link, places in meant:
            source = cover.holding(known[link.source], link.span)
            for target, share in (part for place in places for part in cover.of(place)):
                if source is not None and target != source:
                    yield link, source, target, share


def _is_intro(place: Place, whole: Place) -> bool:
    return place.kind == "piece" and place.parent == whole.id and place.start == whole.start


class Homes:
    """Which places a name means, seen from a document."""

    def __init__(self, rows: GraphRows, keys: Iterable[str]) -> None:
        self._rows = rows
        wanted = sorted(set(keys))
        self.places = {
            key: [place for place in places if place.kind != "document" or place.searched]
            for key, places in rows.named(wanted).items()
        }

    def of(self, key: str, doc_id: str = "") -> list[Place]:
        """Return the homes in the document, or else all if they are not too many."""
        places = self.places.get(key, [])
        own = [place for place in places if place.doc_id == doc_id]
        if own or not places:
            return own

        def has_any(names: Sequence[str]) -> bool:
            named = self._rows.named(names).values()
            return any(place.doc_id == doc_id for places in named for place in places)

        is_vague = len(places) > MAX_HOMES or (doc_id and means_own(key, has_any))
        return [] if is_vague else places


class _Cover:
    """Which searched chunks stand for places."""

    def __init__(self, rows: GraphRows, places: Iterable[Place]) -> None:
        others = sorted({place.id for place in places if not place.searched})
        self.above = rows.above(others)
        wholes = [i for i in others if not any(up.searched for up in self.above.get(i, ()))]
        self.parts = rows.parts(wholes)

    def of(self, place: Place) -> list[tuple[str, float]]:
        """Return the chunks that a reference to the place leads to, with their shares."""
        if place.searched:
            return [(place.id, 1.0)]
        for up in self.above.get(place.id, ()):
            if up.searched:
                return [(up.id, 1.0)]
        parts = [part.id for part in self.parts.get(place.id, ())[:MAX_PARTS]]
        share = 1 / max(1, len(parts) - 1)
        return [(part, 1.0 if n == 0 else share) for n, part in enumerate(parts)]

    def holding(self, place: Place, span: Span) -> str | None:
        """Return the chunk that holds these words of a place; None if they are in no chunk."""
        if place.searched:
            return place.id
        for part in chain(self.above.get(place.id, []), self.parts.get(place.id, [])):
            if part.searched and part.start <= span.start and span.end <= part.end:
                return part.id
        return None


# What a hit does not stand without comes first.
ORDER = ("table", "exception", "definition", "clause", "introduction")
# Companions of the first hits; further down nobody reads them.
MAX_HITS = 20
EVIDENCE_CHARS = 200
NOWHERE = Span("", 0, 0)
OUTSIDE = "refers_outside"
# A name with more links than this would take too long to read, and nobody would.
MAX_INCOMING = 1000
_SKIPPED = tuple(relation for relation in NOT_FOLLOWED if relation != OUTSIDE)
_PARTS = ("piece", "text")  # stand for a part of a place of the same name


@dataclass(frozen=True, slots=True)
class Companion:
    """A chunk that belongs beside a hit, and the words that say so."""

    chunk_id: str
    of: str  # the hit's chunk id
    relation: str  # one of ORDER
    evidence: str  # as the document has it: "see Table 250.122"; empty for an introduction


class _CompanionCandidate(NamedTuple):
    """Sorts by usefulness, then by the hit's rank, then the less crowded, then by id."""

    usefulness: int
    rank: int
    degree: int
    chunk_id: str
    of: str
    evidence: Span | None


def companions(
    ids: Sequence[str],
    neighbours: Neighbours,
    limit: int,
    keep: Callable[[Sequence[str]], set[str]] | None = None,
) -> list[Companion]:
    """Return at most ``limit`` companions of some hits, the most useful first, each chunk once.

    None of them is a hit itself. ``keep`` says which chunks the query's filters allow.
    """
    hits = ids[:MAX_HITS]
    known = neighbours.of(hits)
    others = {n.chunk_id for edges in known.values() for n in edges} - set(ids)
    if keep is not None:
        others &= keep(sorted(others))
    chunks = by_id(neighbours.snapshot.get(sorted({*hits, *others})))
    found = sorted(
        (
            candidate
            for rank, hit in enumerate(hits)
            for candidate in _candidates(hit, rank, known.get(hit, ()), chunks, others)
        ),
        key=lambda each: (each[:5], each.evidence or NOWHERE),
    )
    best: dict[str, _CompanionCandidate] = {}
    for each in found:
        best.setdefault(each.chunk_id, each)
    return [
        Companion(each.chunk_id, each.of, ORDER[each.usefulness], _words(each.evidence, chunks))
        for each in list(best.values())[:limit]
    ]


def _candidates(
    hit: str,
    rank: int,
    edges: Sequence[Neighbour],
    chunks: dict[str, Chunk],
    allowed: set[str],
) -> Iterator[_CompanionCandidate]:
    for edge in edges:
        # Of a section that is meant as a whole, its beginning is enough.
        if edge.chunk_id in allowed and edge.share == 1:
            relation = _relation(edge, chunks[edge.chunk_id])
            if relation:
                usefulness = ORDER.index(relation)
                yield _CompanionCandidate(
                    usefulness, rank, edge.degree, edge.chunk_id, hit, edge.evidence
                )


def _relation(edge: Neighbour, chunk: Chunk) -> str:
    """Return what a neighbour is to a hit; empty if the hit can be read without it."""
    is_out = edge.direction == "out"
    if edge.relation in ("refers_to", "contains") and is_out and chunk.kind == "table":
        return "table"
    if edge.relation == "exception_to":
        return "clause" if is_out else "exception"
    if edge.relation == "contains":
        return "" if is_out else "introduction"
    if is_out:
        return {"uses": "definition", "refers_to": "clause"}.get(edge.relation, "")
    return ""


def _words(span: Span | None, chunks: dict[str, Chunk]) -> str:
    """Return the words of the evidence, which stand in the hit or in its companion."""
    if span is None:
        return ""
    for chunk in chunks.values():
        if chunk.span.overlap(span) == len(span):
            start = span.start - chunk.span.start
            return " ".join(chunk.text[start : start + len(span)].split())[:EVIDENCE_CHARS]
    return ""


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
