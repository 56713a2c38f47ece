"""Excel workbooks: sheets as they are shown, formulas by the values that were kept of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from pincite.model.addresses import column_number
from pincite.model.types import ReaderWarning
from pincite.read.extracted import ExtractedText
from pincite.read.formats.archive import Archive
from pincite.read.formats.blocks import MAX_CELLS, BlockWriter, titled
from pincite.read.formats.docx_parts import related_parts, whole_office_file
from pincite.read.formats.number_formats import BUILT_IN, is_date, shown_number
from pincite.read.formats.sheets import SheetCell, SheetGrid, SheetWriter
from pincite.read.formats.xml import Element, elements, local_name

_PLACE = re.compile(r"\$?([A-Z]{1,3})\$?([1-9]\d{0,6})")
_MAX_ROW, _MAX_COLUMN = 1_048_576, 16_384


def read(data: bytes, name: str) -> ExtractedText:
    """Return the sheets that are shown, each under its name."""
    whole_office_file(data, name, "xls", "xlsx")
    archive = Archive(data, name, "XLSX")
    main = related_parts(archive, "").first("officeDocument") or "xl/workbook.xml"
    book = archive.part(main)
    if book is None:
        raise archive.broken(f"it has no {main}")
    parts = related_parts(archive, main)
    shared = archive.part(parts.first("sharedStrings"))
    values = _CellValues(
        [_string(each) for each in elements(shared)] if shared is not None else [],
        _formats(archive.part(parts.first("styles"))),
        since_1904=any(e.get("date1904") in ("1", "true") for e in book.iter("{*}workbookPr")),
    )
    writer = BlockWriter(name)
    title = titled(name)
    writer.heading(1, title)
    sheets = SheetWriter(writer)
    for sheet in book.iter("{*}sheet"):
        target = next((v for k, v in sheet.attrib.items() if k.endswith("}id")), "")
        if sheet.get("state", "visible") != "visible":
            message = f"sheet {sheet.get('name', '')!r} is hidden and was left out"
            writer.find(ReaderWarning("hidden_text", message))
        elif (root := archive.part(parts.by_id.get(target, ""))) is not None:
            sheets.sheet(_grid(root, sheet.get("name", ""), values, writer))
    return replace(writer.parsed(title), identifiers=sheets.identifiers)


class _CellValues:
    """Says what a cell shows."""

    def __init__(self, strings: list[str], formats: list[str], *, since_1904: bool) -> None:
        self.strings, self.formats, self.since_1904 = strings, formats, since_1904
        self.kinds: dict[str, Callable[[str], SheetCell]] = {
            "s": lambda words: SheetCell(_at(self.strings, words)),
            "b": lambda words: SheetCell("TRUE" if words.strip() == "1" else "FALSE"),
            "str": SheetCell,
            "e": SheetCell,
            "d": SheetCell,
        }

    def of(self, cell: Element) -> SheetCell:
        words = ""
        for child in cell:  # quicker than a search by name, and there are many cells
            name = local_name(child)
            if name == "is":
                return SheetCell(_string(child))
            words = child.text or "" if name == "v" else words
        kind = cell.get("t", "n")
        if not words or kind in self.kinds:
            return self.kinds[kind](words) if words else SheetCell("")
        try:
            number = float(words)
        except ValueError:
            return SheetCell(words)
        code = _at(self.formats, cell.get("s", "0")) or "General"
        shown = shown_number(number, code, since_1904=self.since_1904)
        return SheetCell(shown, is_number=not is_date(code))


def _at(values: list[str], number: str) -> str:
    at = int(number) if number.strip().isdecimal() and len(number) < 10 else -1
    return values[at] if 0 <= at < len(values) else ""


def _string(element: Element) -> str:
    """Return the words of a string without how they are pronounced."""
    return "".join(
        text.text or "" for text in element.iter("{*}t") if local_name(text.getparent()) != "rPh"
    )


def _formats(styles: Element | None) -> list[str]:
    """Return the format code of each cell style."""
    if styles is None:
        return []
    codes = {str(number): code for number, code in BUILT_IN.items()}
    codes |= {e.get("numFmtId", ""): e.get("formatCode", "") for e in styles.iter("{*}numFmt")}
    return [
        codes.get(e.get("numFmtId", "0"), "General") for e in styles.iterfind("{*}cellXfs/{*}xf")
    ]


def _grid(root: Element, name: str, values: _CellValues, writer: BlockWriter) -> SheetGrid:
    grid = SheetGrid(name)
    for row, column, cell in _cells(root):
        if grid.cells >= MAX_CELLS:
            message = f"sheet {name!r} from row {row + 1:,} on: more than {MAX_CELLS:,} cells"
            writer.find(ReaderWarning("skipped_content", message))
            break
        grid.put(row, column, values.of(cell))
    for merged in root.iterfind("{*}mergeCells/{*}mergeCell"):
        first, _, last = merged.get("ref", "").partition(":")
        if (one := _PLACE.fullmatch(first)) and (other := _PLACE.fullmatch(last)):
            corners = (int(one[2]) - 1, column_number(one[1]))
            grid.merged.append((*corners, int(other[2]) - 1, column_number(other[1])))
    return grid


def _cells(root: Element) -> Iterator[tuple[int, int, Element]]:
    """Yield the cells with row and column, which the file need not write out."""
    row = column = -1
    for line in root.iterfind("{*}sheetData/{*}row"):
        number = line.get("r", "")
        row = int(number) - 1 if number.isdecimal() and len(number) < 8 else row + 1
        column = -1
        for cell in elements(line):
            place = _PLACE.fullmatch(cell.get("r", ""))
            column = column_number(place[1]) if place else column + 1
            if row < _MAX_ROW and column < _MAX_COLUMN:
                yield row, column, cell
