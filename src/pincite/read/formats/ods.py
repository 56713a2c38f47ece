"""OpenDocument workbooks: cells as they are shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pincite.model.types import ReaderWarning
from pincite.read.extracted import ExtractedText
from pincite.read.formats.blocks import MAX_CELLS, BlockWriter, titled
from pincite.read.formats.odf import (
    OdfStyles,
    attribute,
    content,
    document_title,
    plain_words,
    repeated,
)
from pincite.read.formats.sheets import SheetCell, SheetGrid, SheetWriter
from pincite.read.formats.xml import Element, elements, local_name

_NUMBERS = {"float", "currency", "percentage"}
_CELLS = ("table-cell", "covered-table-cell")
_MAX_ROW, _MAX_COLUMN = 1_048_576, 16_384


def read(data: bytes, name: str) -> ExtractedText:
    """Return the sheets that are shown, each under its name."""
    archive, root = content(data, name, "ODS")
    styles = OdfStyles(root)
    title = titled(name, document_title(archive))
    writer = BlockWriter(name)
    writer.heading(1, title)
    sheets = SheetWriter(writer)
    for table in root.iterfind("{*}body/{*}spreadsheet/{*}table"):
        sheet = attribute(table, "name")
        if styles.is_hidden_table(attribute(table, "style-name")):
            message = f"sheet {sheet!r} is hidden and was left out"
            writer.find(ReaderWarning("hidden_text", message))
            continue
        sheets.sheet(_grid(table, sheet, writer))
    return replace(writer.parsed(title), identifiers=sheets.identifiers)


def _grid(table: Element, name: str, writer: BlockWriter) -> SheetGrid:
    grid = SheetGrid(name)
    row = 0
    for line in _rows(table):
        cells = list(_cells(line))
        times = repeated(line, "number-rows-repeated", _MAX_ROW)
        for at in range(row, row + times) if cells else ():
            for column, cell, shown in cells:
                if grid.cells >= MAX_CELLS:
                    message = f"sheet {name!r} from row {at + 1:,} on: over {MAX_CELLS:,} cells"
                    writer.find(ReaderWarning("skipped_content", message))
                    return grid
                grid.put(at, column, shown)
                down = repeated(cell, "number-rows-spanned", _MAX_ROW) - 1
                across = repeated(cell, "number-columns-spanned", _MAX_COLUMN) - 1
                if down or across:
                    grid.merged.append((at, column, at + down, column + across))
        row += times
        if row >= _MAX_ROW:
            break
    return grid


def _rows(parent: Element) -> Iterator[Element]:
    """Yield the rows of a table, also those in groups, but not of tables in cells."""
    for child in elements(parent):
        if local_name(child) == "table-row":
            yield child
        elif local_name(child) in ("table-header-rows", "table-row-group", "table-rows"):
            yield from _rows(child)


def _cells(line: Element) -> Iterator[tuple[int, Element, SheetCell]]:
    """Yield the cells of a row that show something, with their columns."""
    column = 0
    for cell in elements(line):
        if local_name(cell) not in _CELLS:
            continue
        times = repeated(cell, "number-columns-repeated", _MAX_COLUMN)
        words = "\n".join(plain_words(p) for p in cell.iterfind("{*}p"))
        if words.strip() and local_name(cell) == "table-cell":
            shown = SheetCell(words.strip(), attribute(cell, "value-type") in _NUMBERS)
            for at in range(column, min(column + times, _MAX_COLUMN)):
                yield at, cell, shown
        column += times
