"""Tables of PDF pages as other readers see them, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from pincite.model.tables import Table
from pincite.read.pdf.tables.geometry import is_number, is_year

Page = tuple[Path, int]  # from 1
SECONDS = 900
_PROLOGUE = """
import json, logging, sys, warnings
warnings.simplefilter("ignore"); logging.disable(logging.CRITICAL)
def run(tables_of):
    for path, page in json.load(sys.stdin):
        try:
            found = tables_of(path, page)
        except Exception:
            found = []
        print(json.dumps(found), flush=True)
"""
READERS = {
    "camelot, stream": """
import camelot
run(lambda path, page: [table.df.values.tolist() for table in
    camelot.read_pdf(path, pages=str(page), flavor="stream")])
""",
    "pdfplumber": """
import pdfplumber
def tables_of(path, page):
    with pdfplumber.open(path, pages=[page]) as document:
        return [[[cell or "" for cell in row] for row in table]
                for table in document.pages[0].extract_tables()]
run(tables_of)
""",
}


def tables_of(reader: str, pages: Iterable[Page]) -> dict[Page, list[Table]]:
    """Return the tables that a reader finds on pages; `PINCITE_PEERS` names its Python.

    OSError says why it could not be run.
    """
    asked = list(pages)
    done = subprocess.run(
        [os.environ.get("PINCITE_PEERS", sys.executable), "-c", _PROLOGUE + READERS[reader]],
        input=json.dumps([(str(path), number) for path, number in asked]),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        raise OSError((done.stderr.strip().splitlines() or ["no reason given"])[-1])
    found = map(json.loads, done.stdout.splitlines())
    return {
        page: [_table(rows) for rows in tables] for page, tables in zip(asked, found, strict=True)
    }


def _table(rows: list[list[str]]) -> Table:
    """Return rows as a table: what stands above the first figures is the head, column by column."""
    grid = [[" ".join(str(cell).split()) for cell in row] for row in rows]
    first = next((n for n, row in enumerate(grid) if any(map(_is_figure, row[1:]))), len(grid))
    head = tuple(" ".join(filter(None, column)) for column in zip(*grid[:first], strict=False))
    width = max(map(len, grid), default=0)
    return Table("", head or ("",) * width, tuple(map(tuple, grid[first:])))


def _is_figure(cell: str) -> bool:
    return is_number(cell) and any(map(str.isdigit, cell)) and not is_year(cell)
