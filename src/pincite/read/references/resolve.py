"""References of a document, each with the place that it leads to."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from pincite.model.locators import EVERYDAY, INNER, NAMED, TABLE_WORDS, locator_key
from pincite.model.types import Chunk, Document, Link, ReaderWarning, Span
from pincite.read.extracted import spared
from pincite.read.references.citations import (
    Cited,
    CitedPlaces,
    citations,
    french_citations,
    is_french,
    labels_of,
)
from pincite.read.references.places import PlaceLookup, names
from pincite.read.structure.numbering import readings

ROW = re.compile(r"^[ \t]*\|[^\n]*", re.MULTILINE)
_BAR = re.compile(r"(?<!\\)\|")
_LAW = re.compile(r"(?<![\d.])\d{1,3}\s{1,4}(?:U\.? ?S\.? ?C\.?|CFR|C\.F\.R\.)(?![\w.])")
_MARKED = re.compile(r"(?P<mark>(?:\\?\*){1,4}|[†‡]{1,3})[ \t]*$")
_NOTE = re.compile(r"^[ \t]*(?P<mark>(?:\\?\*){1,4}|[†‡]{1,3})[ \t]+(?P<words>[^\n]{1,2000})", re.M)
_NOTES_CHARS = 4_000  # notes stand right below their table

Stretch = tuple[int, int, str]  # start, end and the law


def row_cells(row: re.Match[str]) -> list[tuple[int, int]]:
    """Return where the cells of a row stand."""
    bars = [row.start() + match.start() for match in _BAR.finditer(row.group())]
    return [(left + 1, right) for left, right in pairwise(bars)]


def law_stretches(text: str, tables: Sequence[Chunk]) -> list[Stretch]:
    """Return where bare numbers are of another law, because a table says so, in order."""
    return sorted(
        stretch
        for table in tables
        if _LAW.search(text, table.span.start, table.span.end)
        for stretch in (*_columns(text, table), *_notes(text, table))
    )


def _columns(text: str, table: Chunk) -> Iterator[Stretch]:
    """Yield the cells below heads that name a law."""
    rows = [row_cells(row) for row in ROW.finditer(text, table.span.start, table.span.end)]
    for column, cell in enumerate(rows[0] if rows else ()):
        if found := _LAW.search(text, *cell):
            for cells in rows[1:]:
                if column < len(cells):
                    yield (*cells[column], _name(found))


def _notes(text: str, table: Chunk) -> Iterator[Stretch]:
    """Yield the notes below a table whose mark stands behind the name of a law."""
    laws: dict[str, str] = {}
    for row in ROW.finditer(text, table.span.start, table.span.end):
        for cell in row_cells(row):
            mark, found = _MARKED.search(text[slice(*cell)]), _LAW.search(text, *cell)
            if mark and found:
                laws[mark["mark"].replace("\\", "")] = _name(found)
    for note in _NOTE.finditer(text, table.span.start, table.span.end + _NOTES_CHARS):
        if law := laws.get(note["mark"].replace("\\", "")):
            yield (*note.span("words"), law)


def _name(found: re.Match[str]) -> str:
    return " ".join(found.group().split()).casefold()


INSIDE, OUTSIDE = "refers_to", "refers_outside"
# Before a bare number: what makes it a place, and what makes it a quantity.
_POINTER = re.compile(
    r"\b(?:see|also|refer to|under|per|(?:comply(?:ing)?|complies|accordance) with|at|in|FAR"
    r"|(?:required|permitted|prescribed) by)[\s*_]*$",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"(?:\b(?:than|exceeds?|exceeding|about|approximately|nearly|equals?|version|of at least|at"
    r" (?:least|most)|by|times)|[=<>≥≤×±+$€£])\s*$",
    re.IGNORECASE,
)
_FAR = 30
_LARGE = 10  # a smaller number before the point is more often a quantity than a section


class ReferenceTarget(NamedTuple):
    """A place that is meant: its key, whether it is outside, and the words that say so."""

    key: str
    relation: str
    start: int
    end: int


class Resolver:
    """Resolves what the clauses of one document cite."""

    def __init__(self, text: str, places: PlaceLookup, title: str) -> None:
        self.text = text
        self.places = places
        self.title = title.casefold()
        self.citations = french_citations if is_french(text) else citations
        self.laws = law_stretches(text, places.tables)

    def targets(self, citation: CitedPlaces, chunk: Chunk) -> list[ReferenceTarget]:
        """Return the places that a citation in a chunk means; none if it is no reference."""
        if citation.is_own:
            key = locator_key(self.places.own(citation.word, chunk))
            return [ReferenceTarget(key, INSIDE, citation.start, citation.end)] if key else []
        if citation.is_bare and not self._is_place(citation.cited[0], chunk):
            return []
        whole = _completed(citation.cited)
        if not whole[0].number:
            located = self._located(citation, whole, chunk)
        else:
            located = [(self._absolute(citation, each, chunk), each) for each in whole]
        found = [self._of_law(each) for each in self._linked(citation, located)]
        if not found and citation.word in EVERYDAY and citation.tail.place:
            return self.targets(citation.tail.place, chunk)  # "Division II of Part VI of the Act"
        return found

    def _of_law(self, target: ReferenceTarget) -> ReferenceTarget:
        """Return a number as of another law, where a table says that it is."""
        if target.relation != INSIDE or not target.key[:1].isdigit() or self.places.has(target.key):
            return target
        at = bisect_right(self.laws, target.start, key=lambda stretch: stretch[0]) - 1
        if at < 0 or self.laws[at][1] <= target.start:
            return target
        return target._replace(key=f"{self.laws[at][2]} {target.key}", relation=OUTSIDE)

    def _linked(
        self, citation: CitedPlaces, located: Sequence[tuple[str, Cited]]
    ) -> Iterator[ReferenceTarget]:
        """Yield the targets of named places, with ranges as their members."""
        tail, last = citation.tail, len(located) - 1
        for position, (name, cited) in enumerate(located):
            key = locator_key(name)
            if not name or (cited.is_doubtful and not self.places.has(key)):
                continue
            if position < last and located[position + 1][1].is_inner:
                continue
            start = cited.start
            if position and (cited.is_inner or cited.ends_range):
                start = located[position - 1][1].start
            end = max(cited.end, tail.end) if position == last else cited.end
            relation, key = self._relation(citation, cited, key)
            keys = [key]
            if cited.ends_range and position and located[position - 1][0]:
                keys = self.places.between(locator_key(located[position - 1][0]), key)[1:]
            if position == last and citation.aside:
                whole = locator_key(f"{keys[0]} {citation.aside}")
                keys, end = [whole if self.places.has(whole) else keys[0]], citation.end
            for each in keys:
                yield ReferenceTarget(each, relation, start, end)

    def _is_place(self, cited: Cited, chunk: Chunk) -> bool:
        """Return whether a bare number is a place and no quantity."""
        before = self.text[max(0, cited.start - 40) : cited.start]
        known = self.places.has(locator_key(cited.number + "".join(cited.labels)))
        if known and (cited.labels or _POINTER.search(before)):
            return True
        if _POINTER.search(before) and self.places.parts:
            # The number of a section looks like "702.5", "2.106", "4.2(b)".
            whole, _, rest = cited.number.partition(".")
            is_shaped = bool(cited.labels) or len(whole) >= 3 or len(rest) >= 3
            return self._is_alike(cited) or is_shaped
        if cited.labels:
            return "." in cited.number and self._is_alike(cited)
        if chunk.kind in ("table", "row"):  # of numbers, mostly
            return False
        large = int(cited.number.split(".")[0]) >= _LARGE
        return large and self._is_alike(cited) and not _AMOUNT.search(before)

    def _is_alike(self, cited: Cited) -> bool:
        """Return whether sections of this document are numbered alike."""
        return cited.number.split(".")[0] in self.places.parts or "-" in cited.number

    def _absolute(self, citation: CitedPlaces, cited: Cited, chunk: Chunk) -> str:
        """Return the locator of a numbered place."""
        word, labels = citation.word, "".join(cited.labels)
        number = cited.number + labels
        if citation.law and not ("CFR" in citation.law.replace(".", "") and "." in number):
            name = word if word in NAMED else ""
            return " ".join(f"{citation.law} {name} {number}".split())
        if word in TABLE_WORDS:
            named = self._table(citation, number, chunk)
            known = word == "table" or self.places.has(locator_key(named))
            return named if known else f"{word} {number}"
        if word in NAMED:
            name = f"{word} {number}"
            is_section = word in ("article", "articolo") and not self.places.has(locator_key(name))
            return number if is_section and self.places.has(number) else name
        if word and INNER.get(word, 0) and not labels and "." not in number:
            base = self.places.climb(chunk, (f"({number})",))
            if base is not None:
                return f"{base}({number})"
            return number if word in ("subsection", "clause") else ""
        return f"section {number}" if number[:1].isalpha() else number

    def _table(self, citation: CitedPlaces, number: str, chunk: Chunk) -> str:
        place = citation.tail.place
        if place and not place.cited[0].number:
            base = self._located(place, _completed(place.cited), chunk)
            if base and base[0][0] and f"{base[0][0]} Table {number}" in self.places.exact:
                return f"{base[0][0]} Table {number}"
        return self.places.table_named(number, chunk)

    def _located(
        self, citation: CitedPlaces, whole: Sequence[Cited], chunk: Chunk
    ) -> list[tuple[str, Cited]]:
        """Return the locators of places that are cited by their labels alone."""
        base = self._base(citation, whole[0], chunk)
        if base is None:
            return []
        names = [base + "".join(each.labels) for each in whole]
        if base and base == self.places.alternate(chunk):  # what it leaves alone stands outside it
            clause = self.places.section(chunk).locator
            names = [
                name if name in self.places.exact else clause + name.removeprefix(base)
                for name in names
            ]
        return list(zip(names, whole, strict=True))

    def _base(self, citation: CitedPlaces, first: Cited, chunk: Chunk) -> str | None:
        """Return the locator that labels are to be added to, None if they are of something else."""
        tail, places = citation.tail, self.places
        if tail.kind in ("other", "name"):
            return None
        if tail.place:
            inner = self.targets(tail.place, chunk)
            return inner[0].key if inner else None
        climbed = places.climb(chunk, first.labels)
        section = places.section(chunk).locator
        if tail.word == "section" or (tail.word == "subsection" and climbed is None):
            return section
        if tail.word in ("clause", "provision"):  # as it reads with the alternate in it
            alternate = places.alternate(chunk)
            if alternate and alternate + "".join(first.labels) in places.exact:
                return alternate
        own = places.own(tail.word, chunk) if tail.word in INNER else ""
        if own and own + "".join(first.labels) in places.exact:
            return own
        if climbed is not None:
            return climbed
        is_cell = chunk.kind in ("table", "row") and not tail.kind
        return None if first.is_doubtful or is_cell else section

    def _relation(self, citation: CitedPlaces, cited: Cited, key: str) -> tuple[str, str]:
        """Return whether a place is outside this document, and the key under which it is."""
        tail = citation.tail
        if tail.place and citation.word in NAMED:
            within = self._relation_of_place(citation, key)
            if self.places.has(within[1]):
                return within
        if self.places.has(key) and not (tail.kind == "name" and not self._is_own(tail.name)):
            return INSIDE, key
        if citation.law:
            return OUTSIDE, key
        if tail.place:
            return self._relation_of_place(citation, key)
        if tail.kind == "name" and not self._is_own(tail.name):
            return OUTSIDE, key if "." in cited.number else f"{key} of the {tail.name.casefold()}"
        if tail.kind == "this" and tail.word in ("chapter", "title", "subchapter", "act"):
            own = any(key.startswith(f"{tail.word} ") for key in self.places.by_key)
            return (INSIDE if own else OUTSIDE), key
        return (OUTSIDE if self.places.is_foreign(cited.number) else INSIDE), key

    def _relation_of_place(self, citation: CitedPlaces, key: str) -> tuple[str, str]:
        place = citation.tail.place
        assert place is not None
        last = place.cited[-1] if place.cited else None
        if last is None or not last.number:
            return INSIDE, key
        name = locator_key(f"{place.word if place.word in NAMED else ''} {last.number}")
        relation, name = self._relation(place, last, name)
        if self.places.has(f"{name} > {key}"):
            return INSIDE, f"{name} > {key}"
        if citation.word in NAMED and not self.places.has(name):
            return relation, f"{key} of {name}"
        return relation, key

    def _is_own(self, name: str) -> bool:
        return name.casefold() in self.title


def _completed(cited: Sequence[Cited]) -> list[Cited]:
    """Return the places with what their neighbours let them leave out: "(c)(2) or (3)"."""
    whole: list[Cited] = []
    for each in cited:
        if whole and not each.number:
            number, before = whole[-1].number, whole[-1].labels
            labels = before + each.labels if each.is_inner else merged(before, each.labels)
            flags = each.ends_range, each.is_inner, each.is_doubtful
            each = Cited(each.start, each.end, number, labels, *flags)
        whole.append(each)
    return whole


def merged(before: Sequence[str], labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels with those of the place before that they go on from.

    >>> merged(("(c)", "(3)", "(i)"), ("(ii)",)), merged(("(a)", "(1)"), ("(b)", "(2)"))
    (('(c)', '(3)', '(ii)'), ('(b)', '(2)'))
    """
    if len(labels) > 1 and labels[0] in before:
        return (*before[: list(before).index(labels[0])], *labels)
    first = dict(readings(labels[0]))
    for depth in range(len(before) - 1, -1, -1):
        steps = [first[style] - value for style, value in readings(before[depth]) if style in first]
        if any(0 < step < _FAR for step in steps):  # "(c)" is not the hundredth of "(i)"
            return (*before[:depth], *labels)
    return labels if len(before) <= len(labels) else (*before[: len(before) - len(labels)], *labels)


Columns = Mapping[int, ReferenceTarget]  # what the head of a column refers to, by its position
_LABELS = re.compile(r"(?:\([0-9A-Za-z]{1,5}\))+")


def head_columns(text: str, table: Chunk, found: Sequence[ReferenceTarget]) -> Columns:
    """Return the columns of a table whose head says that they hold paragraphs of a place."""
    head = ROW.search(text, table.span.start, table.span.end)
    columns: dict[int, ReferenceTarget] = {}
    for column, (start, end) in enumerate(row_cells(head) if head else []):
        target = next((each for each in found if start <= each.start < end), None)
        if target is not None and "paragraph" in text[start:end].lower():
            columns[column] = target
    return columns


def cell_targets(text: str, chunk: Chunk, columns: Columns) -> Iterator[ReferenceTarget]:
    """Yield what the labels in these columns refer to, in a row or in a table's own rows."""
    for row in ROW.finditer(text, chunk.span.start, chunk.own_end):
        cells = row_cells(row)
        for column, head in columns.items():
            if column < len(cells) and cells[column][0] > head.start:
                yield from _cell(text, cells[column], head)


def _cell(text: str, cell: tuple[int, int], head: ReferenceTarget) -> Iterator[ReferenceTarget]:
    before: tuple[str, ...] = ()
    for match in _LABELS.finditer(text, *cell):
        if labels := labels_of(match.group()):
            before = merged(before, labels) if before else labels
            yield ReferenceTarget(head.key + "".join(before).lower(), head.relation, *match.span())


_NEAR = re.compile(
    r"\b(?:the\s+)?(?:(?P<next>following|accompanying|next)|(?P<last>preceding|previous))\s+table\b"
    r"|\b(?:the\s+)?table\s+(?:(?P<below>below|that\s+follows|following)|(?P<above>above))\b",
    re.IGNORECASE,
)
_RESERVED = re.compile(r"[.\s]*\[reserved\]", re.IGNORECASE)
_LABEL_END = re.compile(r"[:—]")
_EXCEPTION = re.compile(r"^(?P<of>.*?)\s*\bExceptions?(?: .*)?$")
_LINE = re.compile(r"[^\n]*")


def references(
    document: Document, chunks: Sequence[Chunk], findings: list[ReaderWarning] | None = None
) -> list[Link]:
    """Return the cross references of a document, and what its exceptions are exceptions to.

    The source is the deepest clause that holds the words. The target is a key as
    ``locator_key`` makes it; whether there is such a place, the store knows.
    """
    places = PlaceLookup(chunks)
    resolver = Resolver(document.text, places, document.title)
    columns: dict[str, Columns] = {}  # of tables, for their rows
    links: dict[Link, None] = {}
    for chunk in places.chunks:
        with spared("references", findings, chunk.page):
            if chunk.kind == "exception":
                links.update(dict.fromkeys(_exception(document, chunk, places)))
            found = _targets(document.text, chunk, resolver)
            if chunk.kind == "table":
                columns[chunk.id] = head_columns(document.text, chunk, found)
            if heads := columns.get(chunk.id) or columns.get(chunk.parent or ""):
                found += cell_targets(document.text, chunk, heads)
            for target in found:
                span = Span(document.id, target.start, target.end)
                links[Link(chunk.id, target.relation, target.key, span)] = None
    return list(links)


def _targets(text: str, chunk: Chunk, resolver: Resolver) -> list[ReferenceTarget]:
    """Return what the own words of a chunk refer to, in their order."""
    start, heading_end = _words(text, chunk)
    found = [
        target
        for citation in resolver.citations(text, start, chunk.own_end)
        if not _RESERVED.match(text, citation.end)
        for target in resolver.targets(citation, chunk)
    ]
    found += _named(text, start, chunk, resolver)
    told = (t for t in found if t.key and not _names_itself(text, chunk, t, heading_end))
    return sorted(told, key=lambda target: target.start)


def _names_itself(text: str, chunk: Chunk, target: ReferenceTarget, heading_end: int) -> bool:
    """Return whether the words are the label of a heading or caption, or repeat its place."""
    if target.start >= heading_end:
        return False
    is_first = not text[chunk.span.start : target.start].strip("#*_ \t")
    return is_first or locator_key(chunk.locator).startswith(target.key)


def _named(text: str, start: int, chunk: Chunk, resolver: Resolver) -> Iterator[ReferenceTarget]:
    """Yield references by the name of a heading, and to a table above or below."""
    places = resolver.places
    for name in names(text, start, chunk.own_end, places):
        yield ReferenceTarget(name.key, INSIDE, name.start, name.end)
    for match in _NEAR.finditer(text, start, chunk.own_end):
        is_above = bool(match["last"] or match["above"])
        key = locator_key(places.table_near(chunk, match.start(), is_above=is_above))
        yield ReferenceTarget(key, INSIDE, *match.span())


def _words(text: str, chunk: Chunk) -> tuple[int, int]:
    """Return where the words of a chunk begin behind its label, and where its heading ends."""
    start, end = chunk.span.start, chunk.own_end
    if chunk.kind in ("exception", "note"):
        label = _LABEL_END.search(text, start, min(end, start + 120))
        return (label.end() if label else start), start
    if chunk.kind in ("section", "table", "document"):
        line = _LINE.match(text, start, end)
        heading_end = line.end() if line else start
        return start, heading_end if chunk.kind != "table" or text[start] != "|" else start
    return start, start


def _exception(document: Document, chunk: Chunk, places: PlaceLookup) -> Iterator[Link]:
    """Yield the link from an exception to the clause it modifies."""
    match = _EXCEPTION.match(chunk.locator)
    of = match["of"] if match else ""
    if not of and chunk.parent:
        of = places.by_id[chunk.parent].locator
    if of:
        end = _words(document.text, chunk)[0]
        span = Span(document.id, chunk.span.start, end)
        yield Link(chunk.id, "exception_to", locator_key(of), span)
