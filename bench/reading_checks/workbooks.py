"""Workbooks: is every cell found by sheet, row and column, with what the workbook shows?

Documents: `xlsx`, and the workbooks that other readers bring for their tests, if a folder with them
is named by `PINCITE_WORKBOOKS`. Each is read a second time by openpyxl (values that formulas were
kept with) in an environment of its own, whose Python is named by `PINCITE_PEERS`; without it
that is said and nothing is measured. Counted is every cell that shows something on a sheet that is
shown: `index.cell(SHEET, "B7")`, or `index.show("SHEET!B7")` where words stand in no table, has to
give its words. Numbers are the same where the number that is shown, percent and thousands taken
into account, is within the rounding of its format; the words of all others letter by letter.

Of `xlsx` the first half by the SHA-256 of the names was looked at.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pincite
from checks import Figure

PEER = """
import datetime, json, sys, warnings
warnings.simplefilter("ignore")
import openpyxl
book = openpyxl.load_workbook(sys.argv[1], data_only=True)
found = []
for sheet in book.worksheets:
    if sheet.sheet_state != "visible":
        continue
    for row in sheet.iter_rows():
        for cell in row:
            value = cell.value
            if value is None or str(value).strip() == "":
                continue
            kind = "text" if isinstance(value, (str, bool)) else "number"
            if isinstance(value, (datetime.date, datetime.time, datetime.timedelta)):
                kind = "date"
            found.append([sheet.title, cell.coordinate, kind, str(value), cell.number_format])
print(json.dumps(found))
"""
_SPACE = re.compile(r"\s+")
_FIGURE = re.compile(r"\d[\d,]*\.?\d*(?:E[+-]?\d+)?|\.\d+")


def run(data: Path) -> list[Figure]:
    """Return the share of cells that are found, for both halves and for other workbooks."""
    python = Path(os.environ.get("PINCITE_PEERS", ""))
    if not python.is_file():
        return [Figure("no openpyxl: name its Python by PINCITE_PEERS", 0.0)]
    files = sorted((data / "xlsx").glob("*.xlsx"), key=_digest)
    half = (len(files) + 1) // 2
    figures = _figures("xlsx, looked at", files[:half], python)
    figures += _figures("xlsx, not looked at", files[half:], python)
    if others := os.environ.get("PINCITE_WORKBOOKS", ""):
        figures += _figures("others' test files", sorted(Path(others).glob("**/*.xlsx")), python)
    return figures


def _digest(file: Path) -> str:
    return hashlib.sha256(file.name.encode()).hexdigest()


def _figures(name: str, files: list[Path], python: Path) -> list[Figure]:
    right = total = rejected = unread = 0
    for file in files:
        peer = subprocess.run(
            [python, "-c", PEER, file], capture_output=True, text=True, check=False, timeout=300
        )
        if peer.returncode:
            unread += 1
            continue
        cells = json.loads(peer.stdout)
        with tempfile.TemporaryDirectory() as folder, pincite.open(folder) as index:
            index.ingest([file])
            if cells and not index.documents():
                rejected += 1
                continue
            for sheet, place, *expected in cells:
                total += 1
                found = _is_found(index, sheet, place, expected)
                right += found
                if not found and "PINCITE_SHOW" in os.environ:
                    print(file.name, sheet, place, expected, _shown(index, sheet, place)[:2])
    note = f"{unread} that openpyxl does not read" if unread else ""
    return [
        Figure(f"{name}: cells by sheet, row and column", right / max(1, total), "1.0", total),
        Figure(f"{name}: rejected", rejected, "0", len(files), note),
    ]


def _shown(index: pincite.Index, sheet: str, place: str) -> list[tuple[str, bool]]:
    """Return what is shown for an address, and whether it is the cell and nothing else."""
    try:
        cells = index.cells(sheet, place)
        if cells:  # of a head the levels are joined
            return [(each.value, each.cell.row >= 0) for each in cells]
    except pincite.PinciteError:
        pass
    try:
        return [(chunk.text, False) for chunk in index.show(f"{sheet}!{place}")]
    except pincite.PinciteError:
        return []


def _is_found(index: pincite.Index, sheet: str, place: str, expected: list[Any]) -> bool:
    kind, value, _ = expected
    for shown, is_cell in _shown(index, sheet, place):
        wanted, words = _plain(value), _plain(shown)
        if kind == "text" and (wanted == words if is_cell else wanted in words):
            return True
        if kind == "number" and _is_same(float(value), shown):
            return True
        if kind == "date" and any(part in shown for part in re.findall(r"\d+", value)):
            return True
    return False


def _plain(words: str) -> str:
    return _SPACE.sub("", words.replace("\\|", "|").replace("*", "")).casefold()


def _is_same(value: float, shown: str) -> bool:
    for words in _FIGURE.findall(shown):
        figure = float(words.replace(",", "") or 0)
        places = len(words.partition(".")[2])
        for scale in (1.0, 100.0, 0.001, 1e-6):
            if abs(abs(value) * scale - figure) <= max(0.51 * 10**-places, 1e-9 * abs(figure)):
                return True
    return False
