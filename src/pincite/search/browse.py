"""What a document has: its tree to a depth, and where words or a pattern stand."""

from __future__ import annotations

import re
import time
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from pincite.model.errors import ConfigError, StoreError
from pincite.model.locators import locator_key
from pincite.model.markup import shown_stretch
from pincite.model.profiles import WINDOW, Pattern, compiled_pattern, windows
from pincite.model.types import Chunk
from pincite.store.snapshot import Snapshot

STRETCH = 20 * WINDOW  # characters that a pattern is tried on at once, cut between paragraphs
GREP_SECONDS = 10.0  # of all documents; what was not read by then is named
AROUND = 80  # characters shown before and behind a match
MAX_MARKED = 20  # matches of one place that are shown
_PARTS = ("piece", "text")  # stretches of a place, with no name of their own
_SPACE = r"[\s*_`]+"  # between words may stand signs of Markdown


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """One place in the tree of a document."""

    place: Chunk
    level: int  # 0 for what was asked for
    below: int  # places below it that this outline does not tell

    @property
    def characters(self) -> int:
        """How long the place is, with all that is below it."""
        return len(self.place.span)


def outline(
    snapshot: Snapshot, document: str, depth: int = 2, place: str = ""
) -> list[OutlineEntry]:
    """Return the places of a document, or below one of them, to a depth, in document order.

    Rows are told only of a table that was asked for. StoreError if there is no such document, or
    no such place in it.
    """
    chunks = snapshot.chunks(document)
    if not chunks:
        raise StoreError(f"no document {document!r} in the index", hint="see: pincite list")
    top = _top(chunks, document, place) if place else None
    hidden = _PARTS if top is not None and top.kind == "table" else (*_PARTS, "row")
    # Where the file itself has a chunk, it holds all others.
    first = top or next((each for each in chunks if each.kind == "document"), None)
    levels: dict[str | None, int] = {first.id: 0} if first else {None: -1}
    shown: dict[str, Chunk] = {first.id: first} if first else {}
    nearest: dict[str | None, str] = {}  # of each place that is not shown, the one above that is
    below: dict[str, int] = {}
    for chunk in chunks:
        if chunk.kind in hidden or chunk.id in levels or chunk.parent not in levels:
            continue
        level = levels[chunk.id] = levels[chunk.parent] + 1
        if level <= depth:
            shown[chunk.id] = chunk
            continue
        above = nearest[chunk.id] = nearest.get(chunk.parent, chunk.parent or "")
        below[above] = below.get(above, 0) + 1
    return [OutlineEntry(each, levels[each.id], below.get(each.id, 0)) for each in shown.values()]


def _top(chunks: Sequence[Chunk], document: str, place: str) -> Chunk:
    wanted = locator_key(place)
    named = [c for c in chunks if wanted in (locator_key(c.locator), locator_key(c.title))]
    whole = [chunk for chunk in named if chunk.kind not in _PARTS]
    if not whole:
        hint = f"see: pincite outline {document}"
        raise StoreError(f"no place {place!r} in {document}", hint=hint)
    return min(whole, key=lambda chunk: chunk.locator != place.strip())


@dataclass(frozen=True, slots=True)
class GrepHit:
    """A place whose own words match, with the first matches as a reader sees them."""

    place: Chunk
    count: int
    line: str
    marks: tuple[tuple[int, int], ...]  # where the matches stand in the line


@dataclass(frozen=True, slots=True)
class GrepResult(Sequence[GrepHit]):
    """Places whose own words match, in the order of documents and places."""

    hits: tuple[GrepHit, ...]
    counts: dict[str, int]  # matches of every document that has any
    more: bool  # there are places behind these: go on with start
    unread: tuple[str, ...] = ()  # documents for which there was no time

    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        return self.hits[at]

    def __len__(self) -> int:
        return len(self.hits)

    @property
    def matches(self) -> int:
        """How many matches all documents have together."""
        return sum(self.counts.values())


def grep(
    snapshot: Snapshot,
    wanted: str,
    *,
    is_pattern: bool = False,
    documents: Collection[str] | None = None,
    limit: int = 20,
    start: int = 0,
) -> GrepResult:
    """Return the places whose own words have these words one after the other, or a pattern.

    Words ignore case, spaces and signs of Markdown; a pattern is a regular expression in which
    case counts, and is tried within paragraphs. It takes time that grows with the text: ConfigError
    if the pattern is one that would take longer.
    """
    if not wanted.strip():
        raise ConfigError("there is nothing to look for", hint="write words, or a pattern")
    pattern = compiled_pattern(
        wanted if is_pattern else "(?i)" + _SPACE.join(map(re.escape, wanted.split())),
        where="grep",
    )
    names = [each for each in snapshot.documents() if documents is None or each in documents]
    counts: dict[str, int] = {}
    hits: list[GrepHit] = []
    places, until = 0, time.monotonic() + GREP_SECONDS
    for number, name in enumerate(names):
        if time.monotonic() > until:
            return GrepResult(tuple(hits[:limit]), counts, len(hits) > limit, tuple(names[number:]))
        text = snapshot.text(name)
        if not (found := list(_matches(pattern, text))):
            continue
        counts[name] = len(found)
        if len(hits) <= limit:
            grouped = _by_place(snapshot.chunks(name), found)
            after = max(0, start - places)
            places += len(grouped)
            for chunk, spans in islice(grouped, after, after + limit + 1 - len(hits)):
                hits.append(_hit(text, chunk, spans))
    return GrepResult(tuple(hits[:limit]), counts, len(hits) > limit)


def _matches(pattern: Pattern, text: str) -> Iterator[tuple[int, int]]:
    for low, high in windows(text, 0, len(text), STRETCH):
        yield from (m.span() for m in pattern.finditer(text, low, high) if m.end() > m.start())


def _by_place(
    chunks: Sequence[Chunk], spans: Sequence[tuple[int, int]]
) -> list[tuple[Chunk, list[tuple[int, int]]]]:
    """Return the matches by the deepest place that each begins in, in document order."""
    nodes = [chunk for chunk in chunks if chunk.kind != "piece"]
    starts = [chunk.span.start for chunk in nodes]
    named = {chunk.id: chunk for chunk in nodes}
    groups: dict[str, list[tuple[int, int]]] = {}
    for span in spans:
        chunk = nodes[max(0, bisect_right(starts, span[0]) - 1)]
        while chunk.span.end <= span[0] and chunk.parent in named:  # the place above goes on here
            chunk = named[chunk.parent]
        groups.setdefault(chunk.id, []).append(span)
    return [(named[name], found) for name, found in groups.items()]


def _hit(text: str, chunk: Chunk, spans: list[tuple[int, int]]) -> GrepHit:
    """Return a place with the words around its first match, and every match in these."""
    start, end = spans[0]
    first, last = chunk.span.start, max(chunk.span.end, end)
    # A paragraph may be many lines; a row of a table is one.
    low = max(first, text.rfind("\n\n", first, start) + 2, text.rfind("\n|", first, start) + 1)
    stops = [at for mark in ("\n\n", "\n|") if (at := text.find(mark, end, last)) >= 0]
    high = min(stops, default=last)
    if start - low > AROUND:
        low = text.find(" ", start - AROUND, start) + 1 or start - AROUND
    if high - end > AROUND:
        cut = text.rfind(" ", end, end + AROUND)
        high = cut if cut >= 0 else end + AROUND
    shown = shown_stretch(text, low, high)
    kept = shown.text.rstrip().replace("\n", " ")
    marks = [
        (shown.at(first), min(shown.at(min(last, high)), len(kept)))
        for first, last in spans[:MAX_MARKED]
        if first < high
    ]
    return GrepHit(chunk, len(spans), kept, tuple(mark for mark in marks if mark[0] < mark[1]))
