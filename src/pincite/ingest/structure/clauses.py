"""Blocks to clauses: sections, lettered items, exceptions, notes and tables with their locators."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pincite.core.types import Kind
from pincite.ingest.structure.alternates import alternates, announced_first
from pincite.ingest.structure.captions import Table, find_tables
from pincite.ingest.structure.numbering import LINE, PAREN, Mark, is_wrapped, marks
from pincite.ingest.structure.outline import Section, outline
from pincite.ingest.structure.sequence import AGAIN, TEXT, depths, readings
from pincite.ingest.structure.terms import defined, term_mark
from pincite.ingest.structure.titles import run_in_title
from pincite.ingest.tree import Block, Clause, Opening, closed

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
    table: Table | None = None
    known: Block | None = None  # an item whose reader says where it belongs

    @property
    def depth(self) -> int:
        return self.known.level if self.known else TEXT


def clause_tree(text: str, blocks: Sequence[Block], title: str) -> list[Clause]:
    """Return the clauses of a document in order, each with its locator; the first is the root.

    >>> from pincite.ingest.formats.markdown import markdown_blocks
    >>> text = "## § 4.2 Fees.\\n\\n(a) None.\\n(b) Some:\\n(1) Ten.\\n"
    >>> [clause.locator for clause in clause_tree(text, markdown_blocks(text), "Fees")]
    ['', '4.2', '4.2(a)', '4.2(b)', '4.2(b)(1)']
    """
    opening, sections = outline(text, blocks)
    grown = [Opening("document", "", "", title, 0, -1, ())]
    _Items(text, grown, 0).add(opening, is_numbered=False)
    places: list[int] = []
    for section in sections:
        places.append(len(grown))
        parent = places[section.parent] if section.parent >= 0 else 0
        names = section.label, section.locator, section.title
        grown.append(Opening("section", *names, section.start, parent, section.path))
        _add_items(text, grown, section)
    return closed(grown, len(text))


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

    def add(
        self, blocks: Sequence[Block], *, is_numbered: bool, announced: frozenset[str] = frozenset()
    ) -> None:
        """Open a clause for each item, exception, note and table of the blocks."""
        events = _events(self.text, blocks, is_numbered)
        found = _with_context(self.text, [event.mark for event in events if event.mark])
        reading = iter(depths(announced_first(found, announced)))
        read = [next(reading) if event.mark else event.depth for event in events]
        opened = {
            event.start
            for event, depth in zip(events, read, strict=True)
            if depth != TEXT or event.aside or event.table
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
        self._labelled(mark.label, start, parent, title)

    def _known(self, block: Block) -> None:
        """Open an item at the depth its reader gives, under its label or the term it defines."""
        self.aside = -1
        self.chain = self.chain[: block.level]
        title = run_in_title(self.text, block.start + len(block.label))
        self._labelled(block.label, block.start, self._deepest, title)

    def _labelled(self, label: str, start: int, parent: int, title: str) -> None:
        """Open an item under its label, or under the term it defines."""
        term = defined(label)
        name = f" > {term}" if term else f"({label.strip('().')})"
        locator = (self.grown[parent].locator + name).removeprefix(" > ")
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
        if self.leaf >= 0 and self.grown[self.leaf].kind == "table":
            parent = self.grown[self.leaf].parent
            self.leaf = self._open("text", "", self.grown[parent].locator, start, parent)

    def _table(self, table: Table) -> None:
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
