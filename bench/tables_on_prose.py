"""Tables found where there are none: pages of prose of manuals and public documents.

    python bench/tables_on_prose.py [--data DIR] [--pages N] [--all]

The pages are chosen by a rule that does not look at the result: at least 200 words, at most one
drawn line, at most one word in twenty with a digit; of these every so-manieth, so that N remain.
Prints each page with a table; look at it, for some are real.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import pypdfium2

from tables import read_words  # isort: skip (pdf_tables cannot be the first to be loaded)

from pincite.read.pdf.tables.find import find_tables
from pincite.read.pdf.tables.rulings import read_rulings

FOLDERS = ("pdf/manuals", "pdf/government")
MIN_WORDS = 200
MAX_RULES = 1
MAX_DIGITS = 0.05


def prose_pages(data: Path) -> Iterator[tuple[Path, int]]:
    """Every page that the rule calls prose."""
    for path in sorted(path for folder in FOLDERS for path in (data / folder).rglob("*.pdf")):
        try:
            document = pypdfium2.PdfDocument(path)
        except pypdfium2.PdfiumError:
            continue
        yield from ((path, number) for number in range(len(document)) if is_prose(document[number]))
        document.close()


def is_prose(page: pypdfium2.PdfPage) -> bool:
    words = read_words(page)
    if len(words) < MIN_WORDS:
        return False
    digits = sum(any(letter.isdigit() for letter in word.text) for word in words)
    rulings = read_rulings(page)
    drawn = len(rulings.horizontal) + len(rulings.vertical)
    return drawn <= MAX_RULES and digits <= MAX_DIGITS * len(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("PINCITE_DATA", Path(__file__).parents[2] / "shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--all", action="store_true", help="all pages of prose, not a sample")
    options = parser.parse_args()
    eligible = list(prose_pages(options.data))
    count = len(eligible) if options.all else min(options.pages, len(eligible))
    chosen = [eligible[n * len(eligible) // count] for n in range(count)]
    hits = 0
    for path, number in chosen:
        page = pypdfium2.PdfDocument(path)[number]
        tables = find_tables(page, read_words(page))
        hits += bool(tables)
        for table in tables:
            print(f"{path.name} p. {number + 1}: {len(table.rows)} rows, first {table.rows[0]}")
    print(f"{hits} of {count} pages have a table ({len(eligible)} pages of prose in all)")


if __name__ == "__main__":
    main()
