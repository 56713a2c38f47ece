"""Is the page that is cited the page of the words, and is it called as it is printed?

Documents: the PDFs of FinanceBench, CUAD, `pdf/manuals` and `pdf/government`, halved by a hash of
the file's name. One half was looked at while page numbers were read, the other was not.

- Spans: 500 sentences and rows of a half, by a fixed seed. The page is the one that the facts of
  the document give for the span's first character, as interfaces do. It is right if pdfium's own
  text of that page has the sentence's first 40 letters and figures (white space, hyphens and signs
  do not count), or, of a sentence over two pages, its beginning there and what follows on the next.
  A sentence that pdfium has on no page (ligatures, cells in another order) is not counted.
- Hits: sentences of eight documents are searched for in an index; the page of the first hit whose
  snippet has no row of a table has to have the snippet's beginning.
- Labels: facts below, read by eye from drawn heads and feet of pages of the half that was not
  looked at, drawn by a fixed seed: all that show a number (texts with the pages of an older print
  on theirs are left out). A label is right if it is what a citation would say.
- Numbers left: paragraphs that are nothing but a number of at most three figures, or "- 12 -".
"""

from __future__ import annotations

import hashlib
import random
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pypdfium2 as pdfium

from checks import Figure
from pincite.api import Index
from pincite.model.errors import PinciteError
from pincite.model.sentences import units
from pincite.model.types import Pages
from pincite.read.load import find_files
from pincite.read.pdf.reader import read
from pincite.update import ingest_files

FOLDERS = ("financebench/pdfs", "cuad/pdf", "pdf/manuals", "pdf/government")
HALVES = {"looked at": 0, "not looked at": 1}
SPANS, HITS, INDEXED = 500, 100, 8
BEGINNING = 40  # letters and figures of a sentence that are looked for
_SIGNS = re.compile(r"[\W_]+")
_MARK = re.compile(r"^\W*\w{1,4}\W+")
_NUMBER = re.compile(r"[-–—\s]{0,4}\d{1,3}[-–—\s]{0,4}")

# Name of the file (its beginning), page of the file, what is printed on it.
PRINTED = """
ADOBE_2015_10K 116 116|ADOBE_2016_10K 93 93|ADOBE_2017_10K 88 88|ADOBE_2022_10K 99 99
AMCOR_2023_10K 67 67|BOEING_2018_10K 26 24|CORNING_2020_10K 84 84|CORNING_2022_10K 147 8
GENERALMILLS_2019_10K 7 7|GENERALMILLS_2020_10K 53 53|GENERALMILLS_2022_10K 53 53
JPMORGAN_2021Q1_10Q 20 20|JPMORGAN_2023Q2_10Q 27 27|LOCKHEEDMARTIN_2020_10K 33 33
LOCKHEEDMARTIN_2022_10K 82 82|PEPSICO_2021_10K 486 142|PEPSICO_2023Q1_EARNINGS 15 A-12
PEPSICO_2023_8K_dated-2023-05-30 106 22|VERIZON_2021_10K 27 27|VERIZON_2022_10K 26 26
WALMART_2020_10K 82 76|ADOBE_2015_10K 81 81|ADOBE_2016_10K 88 88|ADOBE_2017_10K 43 43
ADOBE_2022_10K 43 43|AMCOR_2023_10K 24 24|CORNING_2020_10K 126 126|CORNING_2022_10K 104 104
GENERALMILLS_2019_10K 53 53|GENERALMILLS_2020_10K 74 74|GENERALMILLS_2022_10K 32 32
BIOCEPTINC_08_19_2013 7 7|ConformisInc_20191101 7 7|EuromediaHoldingsCorp_20070215 4 4
FIBROGENINC_10_01_2014 17 11|FuseMedicalInc_20190321 10 9
HUBEIMINKANGPHARMACEUTICALLTD_09_19_2006 3 3|IdeanomicsInc_20160330 9 9
KIROMICBIOPHARMA_INC_05_11_2020 2 2|MERITLIFEINSURANCECO_06_19_2020 10 10
PacificapEntertainmentHoldingsInc_20051115 3 3|RUBIOSRESTAURANTSINC_03_31_2008 4 2
ThriventVariableInsuranceAccountB_20190701 1 TL-1|ULTRAGENYXPHARMACEUTICALINC_12_23_2013 1 1
VARIABLESEPARATEACCOUNT_04_30_2014 5 5|ZEBRATECHNOLOGIESCORP_04_16_2014 9 9
issue-71-duplicate-chars-2 15 85|bashref 43 37|issue-316-example 4 165|R-intro 78 72
R-data 34 30|it-lshort 112 88|bashref 45 39|R-intro 101 95|R-data 21 17
"""


@dataclass(frozen=True, slots=True)
class ReadPdf:
    """A document as Pincite reads it and as pdfium has the text of its pages."""

    path: Path
    text: str
    pages: Pages
    spans: list[tuple[int, int]]  # of sentences and rows
    raw: list[str]  # letters and figures of each page


def run(data: Path) -> list[Figure]:
    """Return the figures of both halves; none where the documents are not there."""
    files = [path for folder in FOLDERS for path in sorted((data / folder).rglob("*.pdf"))]
    if not files:
        return [Figure("no PDFs", 0, note=f"none below {data}")]
    return [figure for name, half in HALVES.items() for figure in _half(name, half, files)]


def _half(name: str, half: int, files: list[Path]) -> Iterator[Figure]:
    mine = [path for path in files if hashlib.sha256(path.name.encode()).digest()[0] % 2 == half]
    readable = [each for each in map(_read, mine) if each is not None]
    yield Figure(f"documents, {name}", len(readable), count=len(mine), note="read, of all")
    right, decided, crossing = _spans_right(readable)
    note = f"{crossing} of them over two pages"
    yield Figure(f"spans cited with their page, {name}", right, "all", decided, note)
    right, decided = _hits_right(readable)
    yield Figure(f"hits with the page of their snippet, {name}", right, "all", decided)
    left = sum(
        bool(_NUMBER.fullmatch(part)) for each in readable for part in each.text.split("\n\n")
    )
    pages = sum(len(each.raw) for each in readable)
    yield Figure(f"numbers left as paragraphs, {name}", left, note=f"on {pages:,} pages")
    if half:
        yield from _labels(readable)


def _read(path: Path) -> ReadPdf | None:
    """Return a document; None if it cannot be read."""
    try:
        document = read(path.read_bytes(), path.name)
    except PinciteError:
        return None
    pdf = pdfium.PdfDocument(path)
    raw = [_bare(page.get_textpage().get_text_range()) for page in pdf]
    pdf.close()
    spans = [
        (unit.start, unit.end)
        for unit in units(document.text)
        if unit.kind in ("sentence", "row")
        and len(_bare(document.text[unit.start : unit.end])) > 25
    ]
    return ReadPdf(path, document.text, document.pages, spans, raw)


def _bare(text: str) -> str:
    return _SIGNS.sub("", text.replace("\x02", "")).casefold()


def _spans_right(read: list[ReadPdf]) -> tuple[int, int, int]:
    """Return how many spans are cited right, of how many, and how many go over two pages."""
    rng = random.Random(20)
    every = [(each, span) for each in read for span in each.spans]
    right = decided = crossing = 0
    for each, (start, end) in rng.sample(every, min(len(every), 3 * SPANS)):
        page = each.pages.at(start)
        verdict = _is_on(each, page, each.text[start:end])
        if page is None or verdict is None:
            continue
        decided += 1
        right += verdict
        crossing += each.pages.at(end - 1) != page
        if decided == SPANS:
            break
    return right, decided, crossing


def _is_on(each: ReadPdf, page: int | None, words: str) -> bool | None:
    """Return whether words begin on a page; None if they are on no page of the document."""
    bare = _bare(words)
    beginning = bare[:BEGINNING]
    # The raised mark of a note stands elsewhere in pdfium's text.
    unmarked = _bare(_MARK.sub("", words))[:BEGINNING]
    if page is not None and (beginning in each.raw[page - 1] or unmarked in each.raw[page - 1]):
        return True
    if page is not None and page < len(each.raw):
        for size in range(BEGINNING - 1, 3, -1):
            here, there = beginning[:size], bare[size : size + 20]
            if here in each.raw[page - 1] and there and there in each.raw[page]:
                return True
    return False if any(beginning in raw for raw in each.raw) else None


def _hits_right(read: list[ReadPdf]) -> tuple[int, int]:
    """Return how many first hits name the page of their snippet, of how many."""
    rng = random.Random(20)
    some = rng.sample(sorted(read, key=lambda each: each.path.name), min(INDEXED, len(read)))
    with tempfile.TemporaryDirectory(prefix="pages-") as folder:
        ingest_files(find_files([each.path for each in some]), Path(folder))
        by_name = {each.path.name: each for each in some}
        asked = [(each, span) for each in some for span in each.spans]
        right = decided = 0
        with Index.open(folder) as index:
            for each, (start, end) in rng.sample(asked, min(HITS, len(asked))):
                for hit in index.search(each.text[start:end], k=1):
                    found = by_name[Path(hit.place.span.doc_id).name]
                    is_row = hit.snippet.lstrip().startswith("|")
                    verdict = None if is_row else _is_on(found, hit.page, hit.snippet)
                    decided += verdict is not None
                    right += bool(verdict)
    return right, decided


def _labels(read: list[ReadPdf]) -> Iterator[Figure]:
    """Yield how many printed labels are right, of all and of those that are no page of the file."""
    facts = [fact.split() for fact in PRINTED.replace("\n", "|").split("|") if fact]
    known = [
        (each, int(page), label)
        for name, page, label in facts
        for each in read
        if each.path.name.startswith(name)
    ]
    said = [each.pages.labels.get(page, str(page)) for each, page, _ in known]
    right = [told == label for told, (_, _, label) in zip(said, known, strict=True)]
    yield Figure("printed labels right", sum(right), ">= 95 %", len(known))
    other = [ok for ok, (_, page, label) in zip(right, known, strict=True) if label != str(page)]
    yield Figure("of these not the page of the file", sum(other), count=len(other))
