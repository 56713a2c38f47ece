"""Tables of comma-separated values."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice

from pincite.model.errors import SourceError
from pincite.read.extracted import ExtractedText, decode
from pincite.read.formats.blocks import MAX_CELLS, MAX_COLUMNS, BlockWriter, Row, TableText, titled

MAX_ROWS = 200_000
_DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 50
_SAMPLE_CHARS = 100_000
_NUMBERED = re.compile(r"^(table \d[\w.-]*) (?=\w)", re.IGNORECASE)
_NUMERIC = re.compile(r"[-+]?[\d.,]+%?")


def read(data: bytes, name: str) -> ExtractedText:
    """Return the table; its first row is the head unless it holds nothing but numbers."""
    text = decode(data, name)
    title = _NUMBERED.sub(r"\1. ", re.sub(r"[_\s]+", " ", titled(name)).strip())
    rows: list[Row] = []
    cells = 0
    try:
        for row in _rows(text, _delimiter(text)):
            rows.append(row)
            cells += len(row)
            if len(row) > MAX_COLUMNS or len(rows) > MAX_ROWS or cells > MAX_CELLS:
                raise SourceError(
                    f"{name} has more than {MAX_COLUMNS:,} columns, {MAX_ROWS:,} rows "
                    f"or {MAX_CELLS:,} cells",
                    hint="split it; such a table belongs into a database",
                )
    except csv.Error as error:
        raise SourceError(f"{name} is not a table: {error}", hint="check its quotes") from error
    width = max(map(len, rows), default=0)
    full = [row + [""] * (width - len(row)) for row in rows]
    has_head = len(full) > 1 and not all(_NUMERIC.fullmatch(cell) for cell in full[0] if cell)
    head = full[:1] if has_head else [[f"Column {place + 1}" for place in range(width)]]
    writer = BlockWriter(name)
    writer.table(TableText(head, full[1:] if has_head else full, title))
    return writer.parsed(title)


def _rows(text: str, delimiter: str) -> Iterator[Row]:
    """Yield the rows that have any words, one at a time."""
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
        cells = [" ".join(cell.split()) for cell in row]
        if any(cells):
            yield cells


def _delimiter(text: str) -> str:
    """Return the sign that cuts most of the first rows into the same number of cells.

    >>> _delimiter("size;depth\\n1,5;20\\n2,5;30\\n")
    ';'
    """

    def regularity(delimiter: str) -> tuple[float, int]:
        try:
            rows = _rows(text[:_SAMPLE_CHARS], delimiter)
            widths = [len(row) for row in islice(rows, _SAMPLE_ROWS)]
        except csv.Error:
            return 0.0, 0
        if not widths or widths[0] < 2:
            return 0.0, 0
        return sum(width == widths[0] for width in widths) / len(widths), widths[0]

    return max(_DELIMITERS, key=regularity)
