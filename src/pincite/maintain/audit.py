"""The gap report: what an index lacks, found before a user asks for it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pincite.model.locators import is_quoted, locator_key, means_own
from pincite.model.tables import parse_table
from pincite.model.types import Chunk
from pincite.read.structure.numbering import readings
from pincite.store.snapshot import Snapshot

# A section with less than this and nothing below it says nothing; "[Reserved]" says why.
SHORT_CHARS = 15
_LABEL = re.compile(r"\([0-9A-Za-z]{1,6}\)$")
_ALTERNATE = re.compile(r" Alternate [IVX]+(?:\(|$)")
_NAMED_SECTION = re.compile(r"refers to (?:§|[Ss]ections?|SECTIONS?) ?([0-9]{1,3}(?:\.[0-9]+)?)\b")
MISREAD = 3  # sections that are named and nowhere: more than that were rather misread
RELATIONS = ("refers_to", "exception_to")


@dataclass(frozen=True, slots=True)
class Gap:
    """One thing that is missing or odd, and where."""

    kind: str
    document: str
    place: str  # locator
    message: str


@dataclass(frozen=True, slots=True)
class Audit:
    """All gaps of an index and the statistics of its chunks."""

    gaps: tuple[Gap, ...]
    statistics: Mapping[str, Any] = field(default_factory=dict)

    def counts(self) -> dict[str, int]:
        """Return how many gaps of each kind there are."""
        return dict(sorted(Counter(gap.kind for gap in self.gaps).items()))


def audit(snapshot: Snapshot, only: Iterable[str] | None = None) -> Audit:
    """Return the gap report of an index, or of some of its documents; reads each once."""
    gaps: list[Gap] = []
    texts: dict[str, list[str]] = defaultdict(list)
    every: list[Chunk] = []
    for doc_id in snapshot.documents() if only is None else sorted(only):
        chunks = snapshot.chunks(doc_id)
        places = [chunk for chunk in chunks if chunk.kind != "piece"]
        digest = hashlib.sha256(chunks[0].text.encode("utf-8", "replace")).hexdigest()
        texts[digest].append(doc_id)
        gaps += _blamed(doc_id, places, list(_dangling(snapshot, doc_id, places)))
        gaps += _quoted(doc_id, places)
        gaps += _holes(doc_id, places)
        gaps += _short(doc_id, places)
        gaps += _tables(doc_id, places)
        gaps += _noticed(snapshot, doc_id)
        every += chunks
    for same in texts.values():
        gaps += [
            Gap("duplicate_document", doc_id, "", f"has the same text as {same[0]}")
            for doc_id in same[1:]
        ]
    return Audit(tuple(dict.fromkeys(gaps)), statistics(every))


def _dangling(snapshot: Snapshot, doc_id: str, places: Sequence[Chunk]) -> Iterator[Gap]:
    """Yield references that lead nowhere, or only into another edition of the document."""
    links = [link for link in snapshot.links(doc_id) if link.relation in RELATIONS]
    known = snapshot.documents_with({link.target for link in links})
    by_id = {chunk.id: chunk for chunk in places}
    own = {locator_key(chunk.locator) for chunk in places}
    work = snapshot.work(doc_id)
    text = places[0].text if places else ""
    for link in links:
        if doc_id in known.get(link.target, ()):
            continue
        source = by_id.get(link.source)
        words = " ".join(text[link.span.start : link.span.end].split())
        where = source.locator if source else ""
        others = known.get(link.target, set())
        siblings = sorted(other for other in others if snapshot.work(other) == work)
        if siblings:
            message = f"refers to {words}, which is only in {', '.join(siblings)}"
            yield Gap("other_edition", doc_id, where, message)
        elif not others or means_own(link.target, lambda names: not own.isdisjoint(names)):
            yield Gap("dangling_reference", doc_id, where, f"refers to {words}, which is nowhere")


def _blamed(doc_id: str, places: Sequence[Chunk], gaps: Sequence[Gap]) -> list[Gap]:
    """Return the gaps, with one of our own for many sections that are named and nowhere.

    A contract that speaks of its Sections 8 to 21 has them: who does not find them misread it.
    """
    named = {match[1]: gap for gap in gaps if (match := _NAMED_SECTION.match(gap.message))}
    known = {chunk.locator for chunk in places if chunk.kind == "section"}
    numbered = sum(locator[:1].isdigit() for locator in known)
    if len(named) < MISREAD or len(named) <= numbered:
        return list(gaps)
    first = min(named, key=lambda number: list(map(int, number.split("."))))
    message = (
        f"names {len(named)} sections that Pincite did not find, such as Section {first}:"
        " its numbering was not understood"
    )
    rest = [gap for gap in gaps if not _NAMED_SECTION.match(gap.message)]
    return [Gap("numbering_not_understood", doc_id, "", message), *rest]


def _quoted(doc_id: str, places: Sequence[Chunk]) -> Iterator[Gap]:
    """Yield that some places have no name but their first words."""
    lost = [chunk for chunk in places if chunk.kind != "row" and is_quoted(chunk.locator)]
    if lost:
        message = f"{len(lost)} places are cited by their first words: labels do not follow"
        yield Gap("numbering_not_understood", doc_id, lost[0].locator, message)


def _holes(doc_id: str, places: Sequence[Chunk]) -> Iterator[Gap]:
    """Yield holes in the numbering of items below one place."""
    siblings: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in places:
        # An alternate of a clause has only the items that it changes.
        if chunk.kind == "clause" and chunk.parent and not _ALTERNATE.search(chunk.locator):
            siblings[chunk.parent].append(chunk)
    for items in siblings.values():
        found = [_LABEL.search(chunk.locator) for chunk in items]
        labels = [match.group() for match in found if match]
        values = _values(labels) if len(labels) == len(items) else None
        if values is None:
            continue  # named items, or items of several kinds
        if values == [1]:
            message = f"{labels[0]} stands alone: a list has more than one item"
            yield Gap("numbering_hole", doc_id, items[0].locator, message)
        previous = 0
        for chunk, value, label in zip(items, values, labels, strict=True):
            if value > previous + 1:
                after = labels[values.index(previous)] if previous else "the start"
                message = f"{label} follows {after}"
                yield Gap("numbering_hole", doc_id, chunk.locator, message)
            previous = value


def _values(labels: Sequence[str]) -> list[int] | None:
    """Return the labels as numbers in the one style that fits all of them."""
    options = [dict(readings(label)) for label in labels]
    shared = [style for style in options[0] if all(style in option for option in options)]
    if not shared:
        return None
    fitting = [[int(option[style]) for option in options] for style in shared]
    return min(fitting, key=lambda values: (values[0], values))


def _short(doc_id: str, places: Sequence[Chunk]) -> Iterator[Gap]:
    """Yield sections without words of their own and without anything below them."""
    parents = {chunk.parent for chunk in places}
    for chunk in places:
        if chunk.kind != "section" or chunk.id in parents or chunk.span.start == 0:
            continue  # the first line is the document's title
        head, _, rest = chunk.text.partition("\n")
        run_in = head.partition(chunk.title)[2] if chunk.title else head.lstrip("# ")
        body = f"{run_in} {rest}".strip()
        if len(body) < SHORT_CHARS and "reserved" not in chunk.text.lower():
            yield Gap("empty_section", doc_id, chunk.locator, f"has {len(body)} characters")


def _tables(doc_id: str, places: Sequence[Chunk]) -> Iterator[Gap]:
    """Yield tables whose rows do not fit their columns."""
    for chunk in places:
        if chunk.kind != "table":
            continue
        table = parse_table(chunk.text)
        if table is None or not table.rows:
            yield Gap("table_not_read", doc_id, chunk.locator, "has no rows")
            continue
        widths = {len(row) for row in (table.columns, *table.rows)}
        if len(widths) > 1:
            message = f"has rows of {min(widths)} to {max(widths)} cells"
            yield Gap("table_not_read", doc_id, chunk.locator, message)


def _noticed(snapshot: Snapshot, doc_id: str) -> Iterator[Gap]:
    """Yield what the reader noticed when the document was read."""
    for finding in snapshot.findings(doc_id):
        page = f"p. {finding.page}" if finding.page is not None else ""
        yield Gap(finding.kind, doc_id, page, finding.message)


def statistics(chunks: Sequence[Chunk]) -> dict[str, Any]:
    """Return counts and sizes of chunks: how many were cut, and how long they are."""
    searched = sorted(len(chunk.text) for chunk in chunks if chunk.searched)
    whole = [chunk for chunk in chunks if chunk.kind == "section" and chunk.searched]
    parents = {chunk.parent for chunk in chunks if chunk.searched and chunk.kind != "section"}
    return {
        "places": dict(sorted(Counter(c.kind for c in chunks if c.kind != "piece").items())),
        "searched": len(searched),
        "sections_whole": len(whole),
        "sections_cut": sum(c.kind == "section" and c.id in parents for c in chunks),
        "chars_p50": _percentile(searched, 0.5),
        "chars_p95": _percentile(searched, 0.95),
        "chars_max": searched[-1] if searched else 0,
    }


def _percentile(ordered: Sequence[int], share: float) -> int:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0
