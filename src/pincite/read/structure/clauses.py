"""The clause tree: each clause with its span, path and locator; rows of tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pincite.model.locators import is_quoted, plain_words
from pincite.model.tables import parse_table, row_names, row_spans
from pincite.model.types import Kind, ReaderWarning
from pincite.read.extracted import Block, Clause, Opening, closed, spared
from pincite.read.structure.numbering import (
    AGAIN,
    LINE,
    PAREN,
    TEXT,
    Mark,
    depths,
    is_place,
    is_wrapped,
    marks,
    readings,
)
from pincite.read.structure.outline import (
    CaptionedTable,
    FigureCaption,
    Section,
    figure_caption,
    find_tables,
    first_words,
    outline,
)

_PAGE = re.compile(r"\s[0-9]{1,4}$")
TERM = "“{}”"  # how a term stands where other items have a label
_DEFINITION = re.compile(
    r"(?P<signs>\*{1,3}|_{1,3}|\")?(?P<quoted>“)?(?P<term>[^\s*_\"“”.;:][^*_\"“”.;:\r\n]{0,80})"
    r"(?(quoted)”)(?(signs)(?P=signs)|(?(quoted)|(?!)))"
    r"(?=[^.;:\r\n]{0,120}?(?:\b(?:means?|has the (?:same )?meaning|includes?|refers? to|désigne"
    r"|signifie|s[’']entend)\b|—[ \t]*$))",
    re.MULTILINE,
)


def term_mark(text: str, start: int, end: int) -> Mark | None:
    """Return the term that a paragraph defines as the label of an item, if it defines one.

    >>> term_mark("*Bid sample* means a product sample.", 0, 36).label
    '“Bid sample”'
    >>> term_mark("*Fees.* This includes taxes.", 0, 28)
    """
    match = _DEFINITION.match(text, start, end)
    if match is None:
        return None
    return Mark(start, match.end(), TERM.format(match["term"].strip()), as_text=2.0)


def defined(label: str) -> str:
    """Return the term that a label stands for, empty for a letter or a number."""
    return label[1:-1] if label.startswith("“") else ""


# Words of a title, then a period and more words, or a period or colon and the first sub-item.
_TITLE = re.compile(
    r"[*_]{0,3}[ \t]+(?P<signs>[*_]{0,3})(?P<words>[A-Z0-9À-Þ][^\r\n]{0,90}?)(?:"
    r"[*_]{0,3}[.](?=[*_]{0,3}(?:—|[ \t]+\(?[*_“\"]{0,3}[A-Z0-9À-Þ§]"
    r"|[ \t]*\r?\n[ \t]*[A-ZÀ-Þ][a-z ]))"
    r"|[:.][*_]{0,3}[ \t]*(?=\((?:1|a|A|i|I)\)))"
)
# A short sentence is no title: it has one of these, or an abbreviation made it look short.
_SENTENCE = re.compile(
    r"\b(?:may|must|shall|is|are|was|were|has|have|can|cannot|will|does?|should|see|No|Nos|vs)\b"
    r"|[.;:!?](?:\s|$)",
    re.IGNORECASE,
)


def run_in_title(text: str, start: int, *, is_step: bool = False) -> str:
    """Return the title that opens an item, or nothing when the item begins with a sentence.

    Numbered steps begin with short commands, so a title is believed there only in bold or italics.

    >>> run_in_title("(1) Amateur operator. A person named in a grant.", 3)
    'Amateur operator'
    >>> run_in_title("(d) A repeater may be automatic. It must identify.", 3)
    ''
    """
    match = _TITLE.match(text, start)
    if not match or (is_step and not match["signs"]):
        return ""
    words = plain_words(match["words"])
    is_title = len(words.split()) <= 8 and not _SENTENCE.search(words)
    return words if is_title else ""


# "Alternate II (Feb 2009). As prescribed in ..., substitute the following paragraph (b) for ..."
_ALTERNATE = re.compile(
    r"[*_]{0,3}(?P<name>Alternate [IVX]{1,5})[*_]{0,3} ?"
    r"(?:[(] ?[A-Z][a-z]{2,8}\.? ?\d{4}|\[Reserved\])"
)


@dataclass(frozen=True, slots=True)
class Alternate:
    """The blocks of one alternate, or of the clause itself, which has no name here."""

    name: str
    blocks: Sequence[Block]
    announced: frozenset[str] = frozenset()  # labels that its first words speak of


def alternates(text: str, blocks: Sequence[Block]) -> list[Alternate]:
    """Return the blocks below a heading, parted where alternates begin."""
    starts = [
        (at, found)
        for at, block in enumerate(blocks)
        if (found := _ALTERNATE.match(text, block.start, block.end))
    ]
    ends = [*(at for at, _ in starts), len(blocks)]
    parts = [Alternate("", blocks[: ends[0]])]
    for (at, found), end in zip(starts, ends[1:], strict=True):
        told = PAREN.finditer(text, blocks[at].start, blocks[at].end)
        announced = frozenset(f"({match['core']})" for match in told)
        parts.append(Alternate(found["name"], blocks[at:end], announced))
    return parts


def announced_first(marks: Sequence[Mark], announced: frozenset[str]) -> list[Mark]:
    """Return the labels, where the first that was announced may open a list in its middle."""
    first = next((at for at, mark in enumerate(marks) if mark.label in announced), len(marks))
    end = first + 1
    while end < len(marks) and marks[end].joined:  # "(g)(4)"
        end += 1
    told = [replace(mark, preceded=True) if mark.label in announced else mark for mark in marks]
    return [*marks[:first], *told[first:end], *marks[end:]]


_ASIDE = re.compile(
    r"[ \t]*(?P<signs>(?:>[ \t]*)*[*_]{0,3})(?P<label>(?:(?P<exception>Exceptions?|EXCEPTIONS?)"
    r"|(?:Informational |INFORMATIONAL )?(?P<note>Notes?|NOTES?))"
    r"(?: (?P<number>(?:No\. ?|NO\. ?)?[0-9]{1,3}))?"
    r"(?P<to> (?:to|TO) [^:\r\n]{1,80}?)?)[*_]{0,3}[:—][*_]{0,3}"
)


@dataclass(frozen=True, slots=True)
class _Event:
    """Something that opens a clause, or words that may have to."""

    start: int
    mark: Mark | None = None
    aside: re.Match[str] | None = None
    table: CaptionedTable | None = None
    figure: FigureCaption | None = None
    known: Block | None = None  # an item whose reader says where it belongs

    @property
    def depth(self) -> int:
        return self.known.level if self.known else TEXT


def clause_tree(
    text: str,
    blocks: Sequence[Block],
    title: str,
    findings: list[ReaderWarning] | None = None,
) -> list[Clause]:
    """Return the clauses of a document in order, each with its locator; the first is the root.

    >>> from pincite.read.formats.markdown import markdown_blocks
    >>> text = "## § 4.2 Fees.\\n\\n(a) None.\\n(b) Some:\\n(1) Ten.\\n"
    >>> [clause.locator for clause in clause_tree(text, markdown_blocks(text), "Fees")]
    ['', '4.2', '4.2(a)', '4.2(b)', '4.2(b)(1)']
    """
    opening, sections = outline(text, blocks)
    grown = [Opening("document", "", "", title, 0, -1, ())]
    with _pruned(grown, findings):
        _Items(text, grown, 0).add(opening, is_numbered=False)
    places: list[int] = []
    for section in sections:
        places.append(len(grown))
        parent = places[section.parent] if section.parent >= 0 else 0
        names = section.label, section.locator, section.title
        start, path = section.start, section.path
        grown.append(Opening("section", *names, start, parent, path, section.body))
        with _pruned(grown, findings):
            _add_items(text, grown, section)
    return closed(list(_told_apart(grown)), len(text))


def _told_apart(grown: Sequence[Opening]) -> Iterator[Opening]:
    """Yield the openings, where a figure whose number an earlier one has is named by its place.

    What only lists a figure with its page is none.
    """
    taken: set[str] = set()
    captions = {(each.locator, each.title) for each in grown if each.kind == "figure"}
    for each in grown:
        around = grown[each.parent].locator
        if each.kind == "figure":
            listed = _PAGE.sub("", each.title)
            if listed != each.title and (each.locator, listed) in captions:
                each = replace(each, kind="text", label="", locator=around, title="")
            elif each.locator in taken:
                each = replace(each, locator=f"{around} > {each.locator}")
            taken.add(each.locator)
        yield each


@contextmanager
def _pruned(grown: list[Opening], findings: list[ReaderWarning] | None) -> Iterator[None]:
    """Let a failure below a heading cost its items, and leave none of them half read."""
    count = len(grown)
    with spared("numbering and tables below a heading", findings):
        try:
            yield
        except Exception:
            del grown[count:]
            raise


def _add_items(text: str, grown: list[Opening], section: Section) -> None:
    """Add what stands below a heading; labels begin anew in an alternate of it."""
    base, is_numbered = len(grown) - 1, bool(section.label)
    clause, *others = alternates(text, section.blocks)
    _Items(text, grown, base).add(clause.blocks, is_numbered=is_numbered)
    for other in others:
        start, locator = other.blocks[0].start, f"{section.locator} {other.name}"
        grown.append(Opening("clause", other.name, locator, "", start, base, section.path))
        items = _Items(text, grown, len(grown) - 1)
        items.add(other.blocks, is_numbered=is_numbered, announced=other.announced)


def _events(text: str, blocks: Sequence[Block], is_numbered: bool) -> list[_Event]:
    """Return what the blocks below one heading hold, in order."""
    events: list[_Event] = []
    tables = iter(find_tables(text, blocks))
    table = next(tables, None)
    # Where "1." makes Markdown lists that are no clauses, a stray "4." must not be one either.
    has_lists = any(block.kind == "list" for block in blocks)
    is_known = any(block.kind == "item" for block in blocks)  # then no label is to be found
    for position, block in enumerate(blocks):
        start, end = block.start, block.end
        if table and table.first <= position <= table.last:
            if position == table.last:
                events.append(_Event(table.start, table=table))
                table = next(tables, None)
            continue
        if table and start < table.start < end:  # the caption is the last line of this block
            end = table.start
        if figure := _figure_of(text, block):
            events.append(_Event(start, figure=figure))
            continue
        events.append(_Event(start, known=block if block.kind == "item" else None))
        if block.kind != "code" and is_known:
            events.extend(_asides(text, start, end))
        elif block.kind != "code":
            dotted = is_numbered or (block.kind == "paragraph" and not has_lists)
            found = marks(text, start, end, dotted=dotted)
            term = term_mark(text, start, end) if block.kind == "paragraph" else None
            events.extend(_Event(mark.start, mark=mark) for mark in (term, *found) if mark)
            events.extend(_asides(text, start, end))
    return sorted(_without_lone_numbers(events), key=lambda event: event.start)


def _figure_of(text: str, block: Block) -> FigureCaption | None:
    """Return what a block says if it is the caption of a figure, below a picture or alone."""
    if block.kind != "paragraph":
        return None
    for line in LINE.finditer(text, block.start, block.end):
        if found := figure_caption(line.group()):
            return found
        if not line.group().lstrip().startswith("!["):
            return None
    return None


def _asides(text: str, start: int, end: int) -> Iterator[_Event]:
    previous = ""
    for line in LINE.finditer(text, start, end):
        match = _ASIDE.match(text, line.start(), line.end())
        if match and not is_wrapped(previous):
            yield _Event(match.start("signs"), aside=match)
        previous = line.group()[-80:]


def _without_lone_numbers(events: Sequence[_Event]) -> list[_Event]:
    """Return the events without labels like ``1.`` or terms that stand alone: those are words."""
    labels = [e.mark.label if e.mark and e.mark.label[0] != "(" else "" for e in events]
    styles = Counter(style for label in labels if label for style, _ in readings(label))
    return [
        event
        for event, label in zip(events, labels, strict=True)
        if not label or any(styles[style] >= 2 for style, _ in readings(label))
    ]


_BEFORE = 4000  # characters in which the words before a list may begin to count


class _Items:
    """Adds the clauses below one heading to a growing tree."""

    def __init__(self, text: str, grown: list[Opening], base: int) -> None:
        self.text = text
        self.grown = grown
        self.base = base
        self.chain: list[int] = []  # the open item of each depth
        self.aside = -1  # an open exception or note
        self.aside_depth = 0  # the depth of items inside it
        self.leaf = -1  # an open table, or the words that go on after it
        self.tables: Counter[int] = Counter()
        self.named: dict[tuple[int, str], str] = {}  # locators of items by parent and label
        self.elders: dict[int, dict[str, float]] = {}  # by parent, the last value of each style
        self.is_announced = False  # an alternate, which says where it begins
        # Places below which the numbering is not understood.
        self.lost: set[int] = {base} if is_quoted(grown[base].locator) else set()

    def add(
        self, blocks: Sequence[Block], *, is_numbered: bool, announced: frozenset[str] = frozenset()
    ) -> None:
        """Open a clause for each item, exception, note and table of the blocks."""
        self.is_announced = bool(announced)
        events = _events(self.text, blocks, is_numbered)
        found = _with_context(self.text, [event.mark for event in events if event.mark])
        reading = iter(depths(announced_first(found, announced)))
        read = [next(reading) if event.mark else event.depth for event in events]
        opened = {
            event.start
            for event, depth in zip(events, read, strict=True)
            if depth != TEXT or event.aside or event.table or event.figure
        }
        pending = -1  # where a repeated label stands, for the item behind it
        following = [0] * len(read)  # for each event the depth of the next item
        for at in range(len(read) - 1, 0, -1):
            following[at - 1] = read[at] if read[at] >= 0 else following[at]
        for event, depth, after in zip(events, read, following, strict=True):
            if event.mark:
                if depth >= 0:
                    self._item(event.mark, depth, pending)
                pending = event.start if depth == AGAIN else -1
            elif event.aside:
                self._aside(event.aside, event.start, after)
            elif event.table:
                self._table(event.table)
            elif event.figure:
                self._figure(event.figure, event.start)
            elif event.known:
                self._known(event.known)
            elif event.start not in opened:
                self._words(event.start)

    @property
    def _deepest(self) -> int:
        return self.chain[-1] if self.chain else self.base

    @property
    def _inside_aside(self) -> bool:
        return self.aside >= 0 and len(self.chain) == self.aside_depth

    def _open(self, kind: Kind, label: str, locator: str, start: int, parent: int) -> int:
        path = self.grown[self.base].path
        self.grown.append(Opening(kind, label, locator, "", start, parent, path))
        self.leaf = -1
        return len(self.grown) - 1

    def _item(self, mark: Mark, depth: int, pending: int) -> None:
        """Open an item; it belongs to an exception only if that one announces a list."""
        if self._inside_aside:
            words = self.text[self.grown[self.aside].start : mark.start].rstrip(" \t\r\n*_")
            self.aside = self.aside if words.endswith((":", "—")) else -1
        if depth < self.aside_depth:
            self.aside = -1
        self.chain = self.chain[:depth]
        parent = self.aside if self._inside_aside else self._deepest
        start = pending if pending >= 0 and mark.joined else mark.start
        is_step = not mark.label.startswith("(")
        title = run_in_title(self.text, mark.end, is_step=is_step)
        if self._is_understood(mark, parent):
            self._labelled(mark.label, start, parent, title)
        else:
            self.lost.add(parent)
            section, words = self.grown[self.base].locator, first_words(self.text, start)
            locator = f"{section} > {words}" if section and not is_quoted(section) else words
            self._labelled(mark.label, start, parent, title, locator)
            self.lost.add(self._deepest)

    def _is_understood(self, mark: Mark, parent: int) -> bool:
        """Return whether the labels down to an item name a place; behind a lost one none do."""
        labels = [self.grown[place].label for place in self.chain]
        if "" in labels:  # a term, below which labels begin anew
            labels = labels[len(labels) - labels[::-1].index("") :]
        elders = self.elders.setdefault(parent, {})
        is_late = not any(style in elders or value < 2 for style, value in readings(mark.label))
        before = self.text[max(self.grown[parent].start, mark.start - _BEFORE) : mark.start]
        is_announced = (
            mark.preceded or self.is_announced or (is_late and _announces(before, mark.label))
        )
        is_known = parent not in self.lost and is_place(
            [*labels, mark.label], elders, is_announced=is_announced
        )
        for style, value in readings(mark.label):
            elders[style] = max(value, elders.get(style, 0.0))
        return is_known or bool(defined(mark.label))

    def _known(self, block: Block) -> None:
        """Open an item at the depth its reader gives, under its label or the term it defines."""
        self.aside = -1
        self.chain = self.chain[: block.level]
        if not block.label:
            parent = self._deepest
            self._open("text", "", self.grown[parent].locator, block.start, parent)
            return
        title = run_in_title(self.text, block.start + len(block.label))
        self._labelled(block.label, block.start, self._deepest, title)

    def _labelled(self, label: str, start: int, parent: int, title: str, locator: str = "") -> None:
        """Open an item under its label, or under the term it defines."""
        term = defined(label)
        name = f" > {term}" if term else f"({label.strip('().')})"
        locator = locator or (self.grown[parent].locator + name).removeprefix(" > ")
        place = self._open("clause", "" if term else label, locator, start, parent)
        self.grown[place] = replace(self.grown[place], title=term or title)
        self.named[parent, label] = locator
        self.chain.append(place)

    def _aside(self, match: re.Match[str], start: int, following: int) -> None:
        """Open an exception or a note below the clause it speaks of, if that one is open."""
        kind: Kind = "exception" if match["exception"] else "note"
        level = len(self.chain) - 1
        named = ""
        if self.aside >= 0 and level >= self.aside_depth and self.grown[self.aside].kind == kind:
            level = self.aside_depth - 1  # the next exception to the same clause
        if match["to"]:
            level, named = self._addressee(match["to"], kind, level)
        # A parent of the next item must stay open.
        level = min(max(level, following - 1), len(self.chain) - 1)
        self.chain = self.chain[: level + 1]
        parent = self._deepest
        number = (match["number"] or "").replace("NO.", "No.")
        if kind == "note":
            number = number.removeprefix("No.").strip()
        around = named or self.grown[parent].locator
        locator = f"{around} {kind.capitalize()} {number}".strip()
        self.aside = self._open(kind, match["label"], locator, start, parent)
        self.aside_depth = len(self.chain)

    def _addressee(self, words: str, kind: Kind, level: int) -> tuple[int, str]:
        """Return the level that an "Exception to (3)" or "Note to § 5" belongs to, and its name."""
        labels = [f"({match['core']})" for match in PAREN.finditer(words)]
        for depth in range(len(self.chain), -1, -1) if len(labels) == 1 else ():
            parent = self.chain[depth - 1] if depth else self.base
            if named := self.named.get((parent, labels[0])):
                return depth - 1, named
        return (-1 if kind == "note" else level), ""

    def _words(self, start: int) -> None:
        """Let words after a table be a piece of the clause around it, not of the table."""
        if self.leaf >= 0 and self.grown[self.leaf].kind in ("table", "figure"):
            parent = self.grown[self.leaf].parent
            self.leaf = self._open("text", "", self.grown[parent].locator, start, parent)

    def _figure(self, figure: FigureCaption, start: int) -> None:
        parent = self.aside if self._inside_aside else self._deepest
        self.leaf = self._open("figure", figure.name, figure.name, start, parent)
        self.grown[-1] = replace(self.grown[-1], title=figure.title)

    def _table(self, table: CaptionedTable) -> None:
        parent = self.aside if self._inside_aside else self._deepest
        around = self.grown[parent].locator
        label = f"Table {table.number}" if table.number else ""
        if table.number and not table.is_local:
            locator = label
        elif table.number:
            locator = f"{around} {label}".strip()
        else:
            self.tables[parent] += 1
            count = self.tables[parent]
            locator = f"{around} Table {count}" if count > 1 else f"{around} Table"
        place = self._open("table", label, locator.strip(), table.start, parent)
        self.grown[place] = replace(self.grown[place], title=table.title)
        self.leaf = place


def _announces(before: str, label: str) -> bool:
    """Return whether words hold the label before this one: "(A) …, (B) …" in running text."""
    named = {level for match in PAREN.finditer(before) for level in readings(f"({match['core']})")}
    return any((style, value - 1) in named for style, value in readings(label))


def _with_context(text: str, found: Sequence[Mark]) -> list[Mark]:
    """Return the labels, with those marked whose predecessor stands in the words before."""
    done: list[Mark] = []
    for position, mark in enumerate(found):
        since = found[position - 1].end if position else mark.start
        before = text[since : mark.start]
        cores = (match["core"] for match in PAREN.finditer(before))
        named = {level for core in cores for level in readings(f"({core})")}
        wanted = {(style, value - 1) for style, value in readings(mark.label)}
        done.append(replace(mark, preceded=True) if named & wanted else mark)
    return done


# A table of data, not of rules: its rows are found by their table alone.
MAX_ROWS = 2000


def with_rows(
    text: str, clauses: Sequence[Clause], findings: list[ReaderWarning] | None = None
) -> list[Clause]:
    """Return the clause tree with a child for every row of every table.

    A table's own words are then its caption and its header; what follows the rows (footnotes) is a
    child as well, so own spans still join to the text.
    """
    parents = {clause.parent for clause in clauses}
    grown: list[Clause] = []
    place: list[int] = []  # where each of the old clauses stands among the grown ones
    for i, clause in enumerate(clauses):
        place.append(len(grown))
        parent = place[clause.parent] if clause.parent >= 0 else -1
        is_leaf = clause.kind == "table" and i not in parents
        rows: list[Clause] = []
        with spared("rows of a table", findings):
            rows = _rows(text, clause, len(grown)) if is_leaf else []
        own_end = rows[0].start if rows else clause.own_end
        if (parent, own_end) != (clause.parent, clause.own_end):
            clause = replace(clause, parent=parent, own_end=own_end)
        grown.append(clause)
        grown += rows
    return grown


def _rows(text: str, table: Clause, parent: int) -> list[Clause]:
    words = text[table.start : table.end]
    spans, parsed = row_spans(words), parse_table(words)
    if parsed is None or not spans or len(spans) > MAX_ROWS or len(spans) != len(parsed.rows):
        return []
    starts = [table.start + start for start, _ in spans]
    last_end = table.start + spans[-1][1]
    has_notes = bool(text[last_end : table.end].strip())
    ends = [*starts[1:], last_end if has_notes else table.end]
    rows = [
        Clause("row", "", f"{table.locator} > {name}", name, start, end, end, parent, table.path)
        for name, start, end in zip(row_names(parsed), starts, ends, strict=True)
    ]
    if has_notes:
        end = table.end
        rows.append(Clause("text", "", table.locator, "", last_end, end, end, parent, table.path))
    return rows
