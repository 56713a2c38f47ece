"""Figures as places: captions that the page's own text has at the start of a line.

Documents: pdf/manuals, pdf/government, pdf/tables and FinanceBench's filings (which have none),
parted by a hash of the file's name; one half was looked at while the rules were written. A caption
is a line of pypdfium2's text that begins with "Figure", "Fig." or "Chart", a number and a mark
(: . — –) or a capital letter, without dots that lead to a page; each name counts once a document.
It is found if a place of kind "figure" has that name and stands on one of the pages that have such
a line. How many have a box of their own besides the caption's is printed, too.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pypdfium2 as pdfium

from checks import Figure
from pincite.model.settings import load_settings
from pincite.read.load import parse

_LINE = re.compile(
    r"^(?:Figure|FIGURE|Fig\.|Chart|CHART|Figura)\s(?P<number>[A-Z]?[.-]?\d+(?:[.-]\d+)*)"
    r"(?=\s?[:.—–]\s|\s?[:.—–]?$|\s[A-Z“(])(?!.*\.{4})(?!.*(?:\. ){4})",
    re.MULTILINE,
)
_WORD = {"fig.": "Figure"}


def captions(file: Path) -> dict[str, set[int]]:
    """Return the names of captions in the text of a PDF's pages, with those pages."""
    found: dict[str, set[int]] = {}
    try:
        document = pdfium.PdfDocument(file)
    except pdfium.PdfiumError:
        return {}  # damaged, or locked
    for number, page in enumerate(document, 1):
        for match in _LINE.finditer(page.get_textpage().get_text_range().replace("\r\n", "\n")):
            word = match[0].split()[0].lower()
            name = f"{_WORD.get(word, word.capitalize())} {match['number']}"
            found.setdefault(name, set()).add(number)
    return found


def of_half(data: Path, is_open: bool) -> Iterator[Path]:
    """Yield the files of one half."""
    folders = ("pdf/manuals", "pdf/government", "pdf/tables", "financebench")
    files = [file for name in folders for file in (data / name).rglob("*.pdf")]
    yield from (f for f in sorted(files) if (zlib.crc32(f.name.encode()) % 2 == 0) == is_open)


def run(data: Path) -> list[Figure]:
    """Return the share of captions that are places."""
    figures: list[Figure] = []
    for half, is_open in (("half looked at", True), ("other half", False)):
        wanted = right = boxed = places = 0
        for file in of_half(data, is_open):
            if named := captions(file):
                parsed = parse(file.read_bytes(), file.name, load_settings().ingest)
                found = [c for c in parsed.chunks if c.kind == "figure"]
                starts = [box.start for box in parsed.boxes]
                names = {(c.locator, c.page) for c in found}
                wanted += len(named)
                right += sum(
                    any((name, page) in names for page in at) for name, at in named.items()
                )
                places += len(found)
                boxed += sum(starts.count(c.span.start) > 1 for c in found)
        share, has_box = right / max(1, wanted), boxed / max(1, places)
        figures += [
            Figure(f"captions that are places, {half}", share, "", wanted),
            Figure(f"figures with the box of a picture, {half}", has_box, "", places),
        ]
    return figures
