"""Pages of PDF that one core reads in a second, beside other readers, in one run.

Documents: of FinanceBench, CUAD and `pdf/manuals` those of at most 130 pages, in the order of a
hash of their names, until there are 200 pages. Each reader reads all of them in a process of its
own, whose processor time counts; Pincite does so three times, in turns with the checkout that it is
compared with, and the best of each counts (`bench/pdf.py` says what each reader does).
`PINCITE_PEERS` names the Python in whose environment pdfplumber and docling-parse are installed,
`PINCITE_BEFORE` a checkout of Pincite to be compared with.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pdf
from checks import Figure

FOLDERS = ("financebench/pdfs", "cuad/pdf", "pdf/manuals")
PAGES, LONGEST, ROUNDS = 200, 130, 3


def run(data: Path) -> list[Figure]:
    """Return pages a second of processor time for every reader that is there."""
    every = pdf.chosen(data, FOLDERS, LONGEST)
    pages: dict[str, int] = {}
    for path in sorted(every, key=lambda path: hashlib.sha256(Path(path).name.encode()).digest()):
        if sum(pages.values()) < PAGES:
            pages[path] = every[path]
    peers = os.environ.get("PINCITE_PEERS", sys.executable)
    readers = {"pincite": ("pincite", sys.executable, os.environ.get("PYTHONPATH", ""))}
    if before := os.environ.get("PINCITE_BEFORE"):
        readers["pincite before"] = ("pincite", sys.executable, str(Path(before) / "src"))
    readers["pypdfium2, text alone"] = ("pypdfium2", sys.executable, "")
    for name in ("pdfplumber", "pdfplumber, tables", "docling-parse"):
        readers[name] = (name, peers, "")
    seconds: dict[str, list[float]] = {name: [] for name in readers}
    why: dict[str, str] = {}
    for number in range(ROUNDS):
        for name, (reader, python, path) in readers.items():
            if number and reader != "pincite":
                continue
            found = pdf.read_all(reader, python, list(pages), PYTHONPATH=path)
            if "why" in found or found["failed"]:
                why[name] = str(found.get("why") or found["failed"])[:100]
            else:
                seconds[name].append(float(str(found["seconds"])))
    total = sum(pages.values())
    note = f"{total} pages of {len(pages)} documents"
    return [
        Figure(f"pages a second, {name}", round(total / min(times), 1), note=note)
        if (times := seconds[name])
        else Figure(f"pages a second, {name}", 0, note=f"not measured: {why.get(name, '')}")
        for name in readers
    ]
