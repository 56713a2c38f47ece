"""Statements in annual and quarterly reports: figures that are cells, cells that can be asked for.

Documents: the FinanceBench PDFs. Companies whose name has an even SHA-256 were looked at while the
tables were written (development half), and one of the three reports of a bank, whose tables are of
kinds that the others lack; later those of Corning, whose titles share their line with the name of
the company. Of the rest only the totals were read, and the pages of the cells below, after the code
was finished.

- rejected: files that the reader refuses.
- figures: of the numbers >= 1,000 on statement pages (balance sheet, income, cash flows by their
  title among the first lines; of the other half a sample of 60) those that stand in a cell with a
  label to its left and a head that names exactly one year. Numbers in running text (10,000 shares)
  are no figures of a table and are left out.
- "$" columns: columns of any table of which most filled cells are a currency sign alone.
- cells: 20 that were read off the pages after the code was finished, asked of an index as a user
  would: the statement's title, the row's label, the year. Right if only that value comes back.
- peers: camelot (stream) and pdfplumber on the same pages; `PINCITE_PEERS` names their Python.
  They know no titles, so they are told the page of a cell.
"""

from __future__ import annotations

import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import pypdfium2

import pincite
from checks import Figure
from pincite.model.errors import SourceError, StoreError
from pincite.model.settings import Settings
from pincite.model.tables import Table, parse_table
from pincite.read.extracted import ExtractedText
from pincite.read.pdf.reader import read
from reading_checks._peers import READERS, tables_of

FOLDER = Path("financebench/pdfs")
ALSO_SEEN = ("JPMORGAN_2021Q1", "CORNING")
SAMPLE, SEED = 60, 20
TITLE = re.compile(
    r"balance sheets?|statements? of (?:consolidated )?financial (?:position|condition)"
    r"|statements? of (?:consolidated )?(?:income|earnings|operations)|income statements?"
    r"|statements? of (?:consolidated )?cash flows?|cash flows? statements?",
    re.I,
)
NO_TITLE = re.compile(r"\.{4,}|see |notes to", re.I)
CONTENT = re.compile(
    r"total (?:current )?assets|per (?:common )?share|income tax|before taxes"
    r"|(?:operating|investing|financing) activities",
    re.I,
)
FIGURE = re.compile(r"(?<![\w,.])\d{1,3}(?:,\d{3})+(?![\w,;]|\.\d)(?! [a-z])")
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)|(?<![\w.])[1-4]Q\d\d(?!\d)")
Page = tuple[Path, int]  # from 1
OPERATIONS, POSITION = "Statements of Operations", "Statements of Financial Position"
INCOME, CASH, BALANCE = "Statements of Income", "Statements of Cash Flows", "Balance Sheets"
Asked = tuple[str, int, str, str, str, str]
# Document, page, title without "Consolidated", row, year, value. Read off the pages before the
# index was asked, of documents that nobody had looked at.
CELLS: list[Asked] = [
    ("PEPSICO_2022_10K", 66, "Balance Sheet", "Inventories", "2022", "5,222"),
    ("PEPSICO_2022_10K", 66, "Balance Sheet", "Total Current Liabilities", "2021", "26,220"),
    ("PEPSICO_2022_10K", 66, "Balance Sheet", "Retained earnings", "2022", "67,800"),
    ("PEPSICO_2021_10K", 65, "Balance Sheet", "Goodwill", "2020", "18,757"),
    ("PEPSICO_2021_10K", 65, "Balance Sheet", "Long-Term Debt Obligations", "2021", "36,026"),
    ("PEPSICO_2021_10K", 65, "Balance Sheet", "Short-term investments", "2020", "1,366"),
    ("PEPSICO_2023Q1_EARNINGS", 6, CASH, "Depreciation and amortization", "2023", "590"),
    ("PEPSICO_2023Q1_EARNINGS", 6, CASH, "Capital spending", "2022", "(522)"),
    ("PEPSICO_2023Q1_EARNINGS", 6, CASH, "Income taxes payable", "2023", "290"),
    ("JPMORGAN_2022Q2_10Q", 90, BALANCE, "Deposits with banks", "2022", "642,045"),
    ("JPMORGAN_2022Q2_10Q", 90, BALANCE, "Retained earnings", "2021", "272,268"),
    ("JPMORGAN_2022Q2_10Q", 90, BALANCE, "Premises and equipment", "2022", "26,770"),
    ("JPMORGAN_2023Q2_10Q", 100, CASH, "Provision for credit losses", "2023", "5,174"),
    ("JPMORGAN_2023Q2_10Q", 100, CASH, "Dividends paid", "2022", "(6,774)"),
    ("JPMORGAN_2023Q2_10Q", 100, CASH, "Payments of long-term borrowings", "2023", "(32,003)"),
    ("BOEING_2018_10K", 53, CASH, "Unbilled receivables", "2017", "(1,600)"),
    ("BOEING_2018_10K", 53, CASH, "Debt repayments", "2018", "(7,183)"),
    ("BOEING_2018_10K", 53, CASH, "Dividends paid", "2016", "(2,756)"),
    ("BOEING_2022_10K", 57, POSITION, "Goodwill", "2021", "8,068"),
    ("BOEING_2022_10K", 57, POSITION, "Long-term debt", "2022", "51,811"),
]
# Those of an earlier time: what they got wrong is known, and mended.
EARLIER: list[Asked] = [
    ("BOEING_2018_10K", 50, OPERATIONS, "Sales of services", "2017", "10,265"),
    ("BOEING_2018_10K", 50, OPERATIONS, "Income tax expense", "2018", "(1,144)"),
    ("BOEING_2018_10K", 52, POSITION, "Inventories", "2018", "62,567"),
    ("BOEING_2018_10K", 52, POSITION, "Goodwill", "2017", "5,559"),
    ("BOEING_2018_10K", 53, CASH, "Depreciation and amortization", "2018", "2,114"),
    ("BOEING_2022_10K", 55, OPERATIONS, "Total revenues", "2021", "62,286"),
    ("BOEING_2022_10K", 55, OPERATIONS, "Interest and debt expense", "2020", "(2,156)"),
    ("BOEING_2022_10K", 57, POSITION, "Accounts payable", "2022", "10,200"),
    ("BOEING_2022_10K", 59, CASH, "Share-based plans expense", "2021", "833"),
    ("CORNING_2020_10K", 72, BALANCE, "Total assets", "2020", "30,775"),
    ("CORNING_2020_10K", 72, BALANCE, "Accounts payable", "2019", "1,587"),
    ("CORNING_2020_10K", 73, CASH, "Capital expenditures", "2019", "(1,978)"),
    ("CORNING_2022_10K", 58, INCOME, "Gross margin", "2021", "5,063"),
    ("CORNING_2022_10K", 58, INCOME, "Operating income", "2022", "1,438"),
    ("PEPSICO_2021_10K", 61, INCOME, "Net revenue", "2020", "70,372"),
    ("PEPSICO_2021_10K", 63, CASH, "Depreciation and amortization", "2019", "2,432"),
    ("PEPSICO_2021_10K", 64, CASH, "Payments of long-term debt", "2021", "(3,455)"),
    ("PEPSICO_2022_10K", 62, INCOME, "Operating profit", "2022", "11,512"),
    ("PEPSICO_2022_10K", 62, INCOME, "Cost of sales", "2021", "37,075"),
    ("PEPSICO_2022_10K", 64, CASH, "Share-based compensation expense", "2022", "343"),
]


def is_development(path: Path) -> bool:
    """Whether the document was looked at: those of half of the companies, and some more."""
    company = path.name.split("_")[0]
    return path.name.startswith(ALSO_SEEN) or int(sha256(company.encode()).hexdigest(), 16) % 2 == 0


def is_statement(text: str) -> bool:
    """Whether the text of a page begins with the title of a statement and holds its figures."""
    lines = [line.strip() for line in text.splitlines() if line.strip()][:14]
    has_title = any(
        len(line) < 110 and TITLE.search(line) and not NO_TITLE.search(line) for line in lines
    )
    return has_title and len(re.findall(r"\d[\d,]*\d", text)) >= 25 and bool(CONTENT.search(text))


def page_texts(path: Path) -> Iterator[tuple[int, str]]:
    """The text of every page as PDFium gives it, which knows nothing of tables."""
    document = pypdfium2.PdfDocument(path)
    for number in range(len(document)):
        yield number + 1, document[number].get_textpage().get_text_bounded()
    document.close()


def tables_by_page(read_text: ExtractedText) -> Iterator[tuple[int, Table]]:
    """Every table with the page it begins on, those over several pages once for each page."""
    for block in read_text.blocks:
        if block.kind != "table":
            continue
        text = read_text.text[block.start : block.end]
        head = text.split("\n")[:2]
        lines: dict[int, list[str]] = {}
        for box in read_text.boxes:
            if block.start <= box.start < block.end:
                lines.setdefault(box.page, []).append(read_text.text[box.start : box.end])
        for number, (page, rows) in enumerate(sorted(lines.items())):
            if table := parse_table("\n".join([*(head if number else ()), *rows])):
                yield page, table


def good_figures(tables: Sequence[Table]) -> Counter[str]:
    """The figures in cells with a label and a head that names one year."""
    found: Counter[str] = Counter()
    for table in tables:
        years = [len(set(YEAR.findall(name))) for name in table.columns]
        for row in table.rows:
            if re.search(r"[^\W\d_]", row[0]):
                cells = zip(row[1:], years[1:], strict=False)
                found.update(f for cell, n in cells if n == 1 for f in FIGURE.findall(cell))
    return found


def sign_columns(table: Table) -> int:
    """How many columns hold little but currency signs."""
    count = 0
    for column in zip(*(row for row in table.rows if len(row) == len(table.columns)), strict=True):
        filled = [cell for cell in column if cell]
        signs = sum(bool(re.fullmatch(r"\(?[$€£¥]\(?", cell)) for cell in filled)
        count += signs > 0.5 * len(filled)
    return count


class Half:
    """What was counted over the documents of one half."""

    def __init__(self) -> None:
        self.rejected = self.tables = self.signs = 0
        self.pages: dict[Page, tuple[int, int]] = {}  # figures in all, and good ones

    def add(self, path: Path) -> None:
        """Read one document and count."""
        try:
            found = read(path.read_bytes(), path.name)
        except SourceError:
            self.rejected += 1
            return
        by_page: dict[int, list[Table]] = {}
        for page, table in tables_by_page(found):
            by_page.setdefault(page, []).append(table)
            self.tables += 1
            self.signs += sign_columns(table)
        for page, text in page_texts(path):
            figures = Counter(FIGURE.findall(text)) if is_statement(text) else Counter[str]()
            if figures:
                good = (figures & good_figures(by_page.get(page, []))).total()
                self.pages[path, page] = figures.total(), good

    def sampled(self, sample: int = 0) -> list[Page]:
        """The pages that chance chooses; all of them without a number."""
        pages = sorted(self.pages)
        return random.Random(SEED).sample(pages, min(sample or len(pages), len(pages)))

    def share(self, sample: int = 0) -> tuple[float, int, int]:
        """The share of good figures, of how many, and on how many pages."""
        pages = self.sampled(sample)
        every, good = (sum(self.pages[page][n] for page in pages) for n in (0, 1))
        return good / max(1, every), every, len(pages)


def asked_cells(folder: Path) -> Iterator[Figure]:
    """Yield how many of the cells an index of their documents gives to who asks for them."""
    with tempfile.TemporaryDirectory() as held:
        for name in {cell[0] for cell in (*CELLS, *EARLIER)}:
            shutil.copy(folder / f"{name}.pdf", held)
        location = Path(held) / "index"
        words_only = Settings().changed({"embedding.model": "none"})
        pincite.open(location, words_only).ingest(str(held))
        with pincite.open(location, words_only) as index:
            yield _asked("cells asked as a user would", ">= 18", CELLS, index)
            yield _asked("cells asked earlier, known by now", "", EARLIER, index)


def _asked(name: str, asked: str, cells: Sequence[Asked], index: pincite.Index) -> Figure:
    wrong = []
    for document, page, title, row, year, value in cells:
        try:
            found = index.cells(f"Consolidated {title}", row, year, f"{document}.pdf")
        except StoreError:
            found = []
        if {each.value.lstrip("$ ") for each in found} != {value}:
            wrong.append(f"{document} p. {page} {row}")
    return Figure(name, len(cells) - len(wrong), asked, len(cells), "; ".join(wrong))


def peers(folder: Path, half: Half) -> Iterator[Figure]:
    """Yield the same figures for other readers, which are told the page of every cell."""
    sample = half.sampled(SAMPLE)
    places = {(folder / f"{cell[0]}.pdf", cell[1]) for cell in CELLS}
    for reader in READERS:
        try:
            found = tables_of(reader, sorted({*sample, *places}))
        except OSError as error:
            yield Figure(f"{reader}: not measured", 0, note=str(error)[:100])
            continue
        right = sum(
            has_cell(found[folder / f"{document}.pdf", page], row, year, value)
            for document, page, _, row, year, value in CELLS
        )
        good = every = 0
        for path, page in sample:
            texts = pypdfium2.PdfDocument(path)
            figures = Counter(FIGURE.findall(texts[page - 1].get_textpage().get_text_bounded()))
            good += (figures & good_figures(found[path, page])).total()
            every += figures.total()
        name = f"figures with label and year, not looked at, {reader}"
        yield Figure(name, good / max(1, every), "", every)
        yield Figure(f"cells on a given page, {reader}", right, "", len(CELLS))


def has_cell(tables: Sequence[Table], row: str, year: str, value: str) -> bool:
    """Whether a table has the value alone in a row of that label, below a head of that year."""
    for table in tables:
        columns = [n for n, name in enumerate(table.columns) if set(YEAR.findall(name)) == {year}]
        for cells in table.rows:
            if cells[0].casefold() == row.casefold():
                values = {cells[n].lstrip("$ ") for n in columns if n < len(cells)} - {""}
                return values == {value}
    return False


def run(data: Path) -> list[Figure]:
    """Return the figures of both halves."""
    folder = data / FOLDER
    halves = {True: Half(), False: Half()}
    for path in sorted(folder.glob("*.pdf")):
        halves[is_development(path)].add(path)
    figures = [
        Figure("files rejected", sum(half.rejected for half in halves.values()), "0"),
        Figure('"$" columns', sum(half.signs for half in halves.values()), "0"),
    ]
    for is_seen, half in halves.items():
        share, count, pages = half.share(0 if is_seen else SAMPLE)
        name = "development" if is_seen else "not looked at"
        asked = "" if is_seen else ">= .93"
        note = f"{pages} pages; {half.tables} tables in all"
        figures.append(Figure(f"figures with label and year, {name}", share, asked, count, note))
    return [*figures, *asked_cells(folder), *peers(folder, halves[False])]
