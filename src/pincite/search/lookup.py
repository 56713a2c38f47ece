"""Looking places up by their names: a part of an index that needs no model and no scorer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

from pincite.model.addresses import CellAddress, cell_address, cell_at, place_in
from pincite.model.editions import in_force, when
from pincite.model.errors import StoreError
from pincite.model.locators import locator_key
from pincite.model.settings import Settings
from pincite.model.tables import Cell, Table, find_cells, has_words, is_named, parse_table
from pincite.model.types import Chunk, PageRef
from pincite.search.browse import OutlineEntry, outline
from pincite.search.citing import CONTEXT_CHARS, PlaceToCite
from pincite.store.location import open_snapshot
from pincite.store.snapshot import Snapshot

if TYPE_CHECKING:
    from pincite.search.passages import Passage

SEPARATOR = " > "  # between a table, its row and its column


_parsed = lru_cache(maxsize=16)(parse_table)  # one cell after the other is asked for


def tables_at(
    snapshot: Snapshot, address: CellAddress
) -> Iterator[tuple[Chunk, Table, tuple[int, int]]]:
    """Yield the tables of a workbook that have a cell, and its row and column in them."""
    sheets = [c for c in snapshot.found_by([locator_key(address.sheet)]) if c.kind == "section"]
    for chunk in (each for sheet in sheets for each in snapshot.children(sheet.id)):
        table = _parsed(chunk.text) if chunk.kind == "table" else None
        if table is not None and (place := place_in(table, address)):
            yield chunk, table, place


def rows_of_cell(snapshot: Snapshot, locator: str) -> list[Chunk]:
    """Return the rows that have the cell: "Table 4 > E-07 > What to do", "Rates!B7"."""
    if address := cell_address(locator):
        found = []
        for table, _, (at, _) in tables_at(snapshot, address):
            rows = [chunk for chunk in snapshot.children(table.id) if chunk.kind == "row"]
            found.append(rows[at] if 0 <= at < len(rows) else table)
        if found:
            return found
    row, _, column = locator.rpartition(SEPARATOR)
    while row:
        found = [chunk for chunk in snapshot.found_by([locator_key(row)]) if chunk.kind == "row"]
        if rows := [chunk for chunk in found if _has_column(snapshot, chunk, column)]:
            return rows
        # The name of a column may have the sign itself: "Load > 5 kW".
        row, sign, last = row.rpartition(SEPARATOR)
        column = f"{last}{sign}{column}"
    return []


def _has_column(snapshot: Snapshot, row: Chunk, column: str) -> bool:
    tables = snapshot.get([row.parent] if row.parent else [])
    parsed = [table for each in tables if (table := parse_table(each.text))]
    return any(locator_key(column) in map(locator_key, table.columns) for table in parsed)


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell with its table, and how to cite it."""

    table: Chunk
    cell: Cell

    @property
    def value(self) -> str:
        """What stands in the cell, without its unit."""
        return self.cell.value

    @property
    def unit(self) -> str:
        """The unit of the value; empty if it has none."""
        return self.cell.unit

    @property
    def citation(self) -> str:
        """The table, the row as its place is named, the column; ``Index.show`` takes it."""
        names = (self.table.locator, self.cell.row_name, self.cell.column_name)
        return SEPARATOR.join(filter(None, names))


class PlaceReader:
    """The places of an index by name: show them, cite them, look up a cell."""

    location: str | Path = ""  # empty if something else opened it
    shown_generation: int | None = None  # what is told to those who do not see all; None: the own
    snapshot: Snapshot

    @classmethod
    def open(cls, location: str | Path, settings: Settings | None = None) -> Self:
        """Return the current generation of the index in a folder, or in the server of a URL."""
        index = cls.__new__(cls)
        index.location = location
        index.snapshot = open_snapshot(location, (settings or Settings()).store)
        return index

    def show(
        self, locator: str, document: str | None = None, *, as_of: date | None = None
    ) -> list[Chunk]:
        """Return the places with this locator or heading; StoreError if there are none.

        With a day, only places of documents that are in force on that day. Of a cell as
        ``TableCell.citation`` names it, the row.
        """
        found = self.snapshot.found_by([locator_key(locator)]) or rows_of_cell(
            self.snapshot, locator
        )
        named = [chunk for chunk in found if document is None or chunk.span.doc_id == document]
        valid = in_force(self.snapshot.editions(), as_of) if as_of else None
        found = [chunk for chunk in named if valid is None or chunk.span.doc_id in valid]
        if named and not found and as_of:
            raise self._not_in_force(locator, named, as_of)
        # A piece stands for a part of a place of the same name, which is here as well.
        wholes = [chunk for chunk in found if chunk.kind not in ("text", "piece")] or found
        exact = [chunk for chunk in wholes if chunk.locator == locator.strip()]
        if not wholes:
            raise self._no_place(locator, document)
        return exact or wholes

    def _not_in_force(self, locator: str, named: Sequence[Chunk], as_of: date) -> StoreError:
        """Return the error for a place that only other editions have, with which."""
        others = [self.snapshot.edition(d) for d in sorted({c.span.doc_id for c in named})]
        works = {each.work for each in others}
        editions = [each for each in self.snapshot.editions() if each.work in works]
        valid = in_force(editions, as_of)
        elsewhere = ", ".join(map(when, others))
        current = ", ".join(when(each) for each in editions if each.doc_id in valid)
        return StoreError(
            f"no place {locator!r} in force on {as_of}; it is in {elsewhere}"
            + (f", and the edition in force is {current}" if current else ""),
            hint=f'try: pincite show "{locator}" --document {others[-1].doc_id}',
        )

    def _no_place(self, locator: str, document: str | None) -> StoreError:
        """Return the error for a place that is not there, with where it is instead."""
        if document is None:
            return StoreError(f"no place {locator!r}", hint=f'try: pincite search "{locator}"')
        if document not in self.documents():
            return StoreError(f"no document {document!r} in the index", hint="see: pincite list")
        elsewhere = sorted({c.span.doc_id for c in self.snapshot.found_by([locator_key(locator)])})
        if not elsewhere:
            return StoreError(
                f"no place {locator!r} in {document}", hint=f'try: pincite search "{locator}"'
            )
        return StoreError(
            f"no place {locator!r} in {document}; it is in {', '.join(elsewhere)}",
            hint=f'try: pincite show "{locator}" --document {elsewhere[-1]}',
        )

    def cells(
        self, table: str, row: str, column: str = "", document: str | None = None
    ) -> list[TableCell]:
        """Return the cells that a row's name or number and a column's name mean in a table.

        Of a workbook's sheet, the row may also be the address of a cell: "B7".
        """
        address = cell_address(row, table) if not column else None
        at = tables_at(self.snapshot, address) if address else ()
        if found := [TableCell(chunk, cell_at(known, *place)) for chunk, known, place in at]:
            return [each for each in found if document in (None, each.table.span.doc_id)]
        for chunk in self._tables(table, document):
            parsed = parse_table(chunk.text)
            if parsed is None:
                raise StoreError(f"{table!r} is not a table", hint=f'see: pincite show "{table}"')
            # A heading may tell the units: "Balance sheets (in millions)".
            parsed = replace(parsed, title=" ".join((*chunk.path[-1:], parsed.title)))
            found += [TableCell(chunk, cell) for cell in find_cells(parsed, row, column)]
        # Of several tables under one title the one that has a row of just that name is meant.
        return [each for each in found if is_named(each.cell, row)] or found

    def _tables(self, name: str, document: str | None) -> list[Chunk]:
        """Return the tables of a name: their own, or that of the section that they stand in.

        In a document, a part of the name is enough: the words of its title, or of its heading.
        """
        failure: StoreError | None = None
        places: list[Chunk] = []
        try:
            places = self.show(name, document)
        except StoreError as error:
            failure = error
        inside = [
            each
            for place in places
            for each in self.snapshot.chunks_within(
                place.span.doc_id, place.span.start, place.span.end
            )
            if each.kind == "table" and each.span.start >= place.span.start
        ]
        if not inside and document in self.documents():
            every = (each for each in self.snapshot.chunks(document) if each.kind == "table")
            inside = [each for each in every if has_words(each.title or each.locator, name)]
        if failure and not inside:
            raise failure
        return list({each.id: each for each in inside}.values()) or places

    def children(self, chunk: Chunk) -> list[Chunk]:
        """Return the places directly below a place."""
        return [each for each in self.snapshot.children(chunk.id) if each.kind != "piece"]

    def documents(self) -> list[str]:
        """Return the ids of all documents."""
        return self.snapshot.documents()

    def outline(self, document: str, depth: int = 2, place: str = "") -> list[OutlineEntry]:
        """Return the tree of a document, or of a place in it, to a depth, with sizes."""
        return outline(self.snapshot, document, depth, place)

    def cell(
        self, table: str, row: str, column: str = "", document: str | None = None
    ) -> TableCell:
        """Return the one cell that is meant; StoreError if there is none, or more than one."""
        found = self.cells(table, row, column, document)
        if len(found) == 1:
            return found[0]
        which = f"row {row!r} and column {column!r} in {table}"
        if not found:
            raise StoreError(f"no cell for {which}", hint=f"see: index.show({table!r})")
        places = ", ".join(f"{each.citation} ({each.table.span.doc_id})" for each in found)
        raise StoreError(
            f"{len(found)} cells for {which}: {places}",
            hint="name the document or the column, or take them all: index.cells(…)",
        )

    def cite(
        self,
        place: Passage | Chunk | str,
        style: str = "plain",
        document: str | None = None,
        *,
        links: str = "",
    ) -> str:
        """Return how to cite a passage or a place, also one by its locator.

        Styles are plain, markdown, html, bibtex, ris, csl-json, bluebook, oscola and annotation;
        ``links`` is where the documents stand on the web.
        """
        return self.cited(place, document, links=links).cite(style)

    def cited(
        self, place: Passage | Chunk | str, document: str | None = None, *, links: str = ""
    ) -> PlaceToCite:
        """Return a place with everything that a citation may say of it."""
        if isinstance(place, str):
            place = self.show(place, document)[0]
        if isinstance(place, Chunk):
            chunk, page = place, self.snapshot.page_of(place)
        else:
            chunk, page = place.place, PageRef(place.page, place.page_label)
        span, text = chunk.span, self.snapshot.text(chunk.span.doc_id)
        return PlaceToCite(
            self.snapshot.title(span.doc_id),
            chunk,
            page,
            meta=self.snapshot.meta(span.doc_id) or {},
            identifiers=self._identifiers(chunk),
            before=text[max(0, span.start - CONTEXT_CHARS) : span.start],
            after=text[span.end : span.end + CONTEXT_CHARS],
            links=links,
        )

    def _identifiers(self, chunk: Chunk) -> tuple[str, ...]:
        """Return what a place's source calls it: USLM, Akoma Ntoso, ELI; then its work."""
        above = self.snapshot.chunks_within(chunk.span.doc_id, 0, 1)
        works = [each.id for each in above if each.kind == "document" and each.id != chunk.id]
        facts = self.snapshot.facts([chunk.id, *works])
        own = facts[chunk.id].identifiers if chunk.id in facts else ()
        whole = [name for each in works if each in facts for name in facts[each].identifiers]
        # Of a whole document, only what is a name everywhere: not "body", not "main".
        return tuple(dict.fromkeys((*own, *(name for name in whole if "/" in name))))

    def close(self) -> None:
        if "snapshot" in vars(self):
            self.snapshot.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
