"""Tables beside other readers: the ICDAR 2013 documents, one run, CPU seconds.

    python bench/tables.py [--data DIR] [--half eu|us] [--peer pdfplumber] [--peer camelot]
                           [--camelot-python PATH] [--documents] [--json FILE]

The measure is the competition's (Göbel 2013): relations between neighbouring cells that are not
blank, right and below, with white space removed. All tables of a document are pooled, so a table
that is none costs precision. A relation that stands twice in the gold must be found twice.
Our cells know what they span; `pincite, flat` is the same without that, as the peers give theirs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pypdfium2

from pincite.read.pdf.characters import frame_of, words_of
from pincite.read.pdf.hidden import visible_words
from pincite.read.pdf.page import FoundTable, Word
from pincite.read.pdf.tables.find import find_tables
from pincite.read.pdf.tables.geometry import CellBox

SET = Path("pdf/tables/tests/files/tabula/icdar2013-dataset")
CAMELOT = """
import json, logging, sys, warnings
warnings.simplefilter("ignore"); logging.disable(logging.CRITICAL)
import camelot
for path in sys.stdin.read().split("\\n"):
    try:
        found = camelot.read_pdf(path, pages="all", flavor="hybrid", suppress_stdout=True)
        rows = [table.df.values.tolist() for table in found]
    except Exception as error:
        print(path, repr(error), file=sys.stderr)
        rows = []
    print(json.dumps(rows), flush=True)
"""

Relations = Counter[tuple[str, str, str]]
Tables = list[Sequence[CellBox]]  # of one document


@dataclass
class Score:
    """Relations found in one document."""

    name: str
    gold: int
    found: int
    right: int

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        total = self.found + self.gold
        return 2 * self.right / total if total else 0.0


def relations(tables: Iterable[Sequence[CellBox]]) -> Relations:
    """The pairs of cells next to each other, blanks skipped, over all tables."""
    found: Relations = Counter()
    for cells in tables:
        place: dict[tuple[int, int], int] = {}
        texts = ["".join(cell.text.split()) for cell in cells]
        for number, cell in enumerate(cells):
            if texts[number]:
                for row in range(cell.row, cell.row + cell.rows):
                    for column in range(cell.column, cell.column + cell.columns):
                        place[row, column] = number
        ways = {"right": sorted(place), "below": sorted(place, key=lambda at: at[::-1])}
        for way, order in ways.items():
            lane = 0 if way == "right" else 1
            pairs = {
                (place[a], place[b])
                for a, b in pairwise(order)
                if a[lane] == b[lane] and place[a] != place[b]
            }
            found.update((way, texts[a], texts[b]) for a, b in pairs)
    return found


def gold_tables(path: Path) -> Tables:
    """The cells of a structure file."""
    tables = []
    for table in ElementTree.parse(path).iter("table"):
        cells = []
        for region in table.iter("region"):
            down, right = (
                int(region.get("row-increment") or 0),
                int(region.get("col-increment") or 0),
            )
            for cell in region.iter("cell"):
                row, column = int(cell.get("start-row", 0)), int(cell.get("start-col", 0))
                rows = int(cell.get("end-row", row)) - row + 1
                columns = int(cell.get("end-col", column)) - column + 1
                text = cell.findtext("content") or ""
                cells.append(CellBox(row + down, column + right, text, rows, columns))
        tables.append(cells)
    return tables


def flat(rows: Sequence[Sequence[str | None]]) -> list[CellBox]:
    """Rows of texts as cells that span nothing."""
    return [
        CellBox(r, c, text or "")
        for r, row in enumerate(rows)
        for c, text in enumerate(row)
        if text
    ]


def read_words(page: pypdfium2.PdfPage) -> list[Word]:
    """The words of a page that a reader sees, as the PDF reader gives them to the table finder."""
    frame = frame_of(page)
    words, _, _ = visible_words(page, words_of(page.get_textpage(), frame), frame)
    return words


def our_tables(path: Path) -> list[FoundTable]:
    document = pypdfium2.PdfDocument(path)
    try:
        return [table for page in document for table in find_tables(page, read_words(page))]
    finally:
        document.close()


def with_pincite(paths: Sequence[Path]) -> tuple[dict[str, list[Tables]], dict[str, float]]:
    start = time.process_time()
    found = [our_tables(path) for path in paths]
    seconds = time.process_time() - start
    spanned = [[getattr(table, "cells", ()) for table in tables] for tables in found]
    plain = [[[CellBox(c.row, c.column, c.text) for c in cells] for cells in t] for t in spanned]
    return {"pincite": spanned, "pincite, flat": plain}, {"pincite": seconds}


def with_pdfplumber(paths: Sequence[Path]) -> tuple[dict[str, list[Tables]], dict[str, float]]:
    import pdfplumber

    start, found = time.process_time(), []
    for path in paths:
        with pdfplumber.open(path) as document:
            found.append([flat(t) for page in document.pages for t in page.extract_tables()])
    return {"pdfplumber": found}, {"pdfplumber": time.process_time() - start}


def with_camelot(
    paths: Sequence[Path], python: str
) -> tuple[dict[str, list[Tables]], dict[str, float]]:
    before = os.times()
    run = subprocess.run(
        [python, "-c", CAMELOT],
        input="\n".join(map(str, paths)),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    after = os.times()
    found = [[flat(rows) for rows in json.loads(line)] for line in run.stdout.splitlines()]
    used = after.children_user + after.children_system - before.children_user
    return {"camelot hybrid": found}, {"camelot hybrid": used - before.children_system}


def score(paths: Sequence[Path], found: Sequence[Tables]) -> list[Score]:
    scores = []
    for path, tables in zip(paths, found, strict=True):
        gold = relations(gold_tables(path.with_name(f"{path.stem}-str.xml")))
        ours = relations(tables)
        scores.append(Score(path.stem, gold.total(), ours.total(), (gold & ours).total()))
    return scores


def summary(scores: Sequence[Score]) -> dict[str, float]:
    """Macro and micro figures of a list of documents."""
    whole = Score("", *(sum(getattr(s, f) for s in scores) for f in ("gold", "found", "right")))
    count = len(scores)
    return {
        "documents": count,
        "macro_p": sum(s.precision for s in scores) / count,
        "macro_r": sum(s.recall for s in scores) / count,
        "macro_f1": sum(s.f1 for s in scores) / count,
        "micro_p": whole.precision,
        "micro_r": whole.recall,
        "micro_f1": whole.f1,
    }


def show(name: str, part: str, figures: dict[str, float], seconds: float | None) -> None:
    numbers = "  ".join(f"{key} {value:.3f}" for key, value in figures.items() if "_" in key)
    clock = "" if seconds is None else f"  CPU {seconds:.1f} s"
    print(f"{name:16} {part:4} {figures['documents']:3.0f}  {numbers}{clock}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("PINCITE_DATA", Path(__file__).parents[2] / "shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--half", choices=["eu", "us"])
    parser.add_argument("--peer", action="append", default=[], choices=["pdfplumber", "camelot"])
    parser.add_argument("--camelot-python", default="python", help="interpreter that has camelot")
    parser.add_argument("--documents", action="store_true", help="also print every document")
    parser.add_argument("--json", type=Path, help="append the figures to this file")
    options = parser.parse_args()
    paths = sorted((options.data / SET).glob(f"*-{options.half or '*'}/*.pdf"))
    engines: list[Callable[[], tuple[dict[str, list[Tables]], dict[str, float]]]]
    engines = [lambda: with_pincite(paths)]
    if "pdfplumber" in options.peer:
        engines.append(lambda: with_pdfplumber(paths))
    if "camelot" in options.peer:
        engines.append(lambda: with_camelot(paths, options.camelot_python))
    for run in engines:
        results, seconds = run()
        for name, found in results.items():
            report(name, score(paths, found), seconds.get(name), options)


def report(
    name: str, scores: list[Score], seconds: float | None, options: argparse.Namespace
) -> None:
    if options.documents:
        for s in scores:
            print(f"  {s.name:8} P {s.precision:.3f} R {s.recall:.3f} F {s.f1:.3f} gold {s.gold}")
    parts = {"eu": "eu-", "us": "us-", "all": ""}
    for part, prefix in parts.items():
        chosen = [s for s in scores if s.name.startswith(prefix)]
        if not chosen or (options.half and part == "all"):
            continue
        figures = summary(chosen)
        show(name, part, figures, seconds if part == "all" or options.half else None)
        if options.json:
            line = {"engine": name, "part": part, "cpu_seconds": seconds, **figures}
            with options.json.open("a") as out:
                out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
