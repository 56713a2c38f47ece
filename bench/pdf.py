"""PDF reading beside other readers: pages per CPU-second, words and headings found, one run.

    python bench/pdf.py [--data DIR] [--folder pdf/manuals] [--most-pages N]
                        [--python docling=PATH] [--python llama-index=PATH] [--json FILE]

Each reader has its own process, which reads every document once; the processor time of that
process and its threads counts, without the time to import. Pincite reads with tables, headings and
boxes; pypdfium2, which it reads characters with, and pypdf give text; pdfplumber gives text, and
in a second run text and tables. Word recall is the share of the words of pdfium's raw text, with
their number, that a reader's text has: running heads and hidden text, which Pincite leaves out on
purpose, count as missing. Headings are the share of the bookmarks' titles that are headings (lines
with `#`) in what the reader gives. A reader that is not installed or fails is named with the
reason. docling needs models that it downloads; docling-parse is the part of it that takes the
characters out of the pages, before any model: docling as a whole cannot be faster than that.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from pathlib import Path

import pypdfium2

FOLDERS = ("pdf/manuals", "pdf/government")
SECONDS = 900  # for one reader
_WORD = re.compile(r"\w+")

# Runs in the reader's process: paths on standard input, one JSON line with the texts' file.
PROLOGUE = """
import json, logging, os, sys, time, warnings
warnings.simplefilter("ignore"); logging.disable(logging.CRITICAL)
def run(name, version, text_of):
    start, texts, failed = time.process_time(), {}, {}
    for path in sys.stdin.read().split("\\n"):
        try:
            texts[path] = text_of(path)
        except Exception as error:
            failed[path] = f"{type(error).__name__}: {error}"[:200]
    seconds = time.process_time() - start
    with open(sys.argv[1], "w") as out:
        json.dump({"version": version, "seconds": seconds, "texts": texts, "failed": failed}, out)
"""
READERS = {
    "pincite": """
import pincite
from pathlib import Path
from pincite.read.pdf.reader import read
run("pincite", pincite.__version__, lambda path: read(Path(path).read_bytes(), path).text)
""",
    "pypdfium2": """
import pypdfium2
run("pypdfium2", pypdfium2.version.PYPDFIUM_INFO.version, lambda path: "\\n".join(
    page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(path)))
""",
    "pypdf": """
import pypdf
run("pypdf", pypdf.__version__,
    lambda path: "\\n".join(page.extract_text() for page in pypdf.PdfReader(path).pages))
""",
    "pdfplumber": """
import pdfplumber
def text_of(path):
    with pdfplumber.open(path) as document:
        texts = []
        for page in document.pages:
            texts.append(page.extract_text() or "")
            page.close()
        return "\\n".join(texts)
run("pdfplumber", pdfplumber.__version__, text_of)
""",
    "pdfplumber, tables": """
import pdfplumber
def text_of(path):
    with pdfplumber.open(path) as document:
        texts = []
        for page in document.pages:
            texts.append(page.extract_text() or "")
            page.extract_tables()
            page.close()
        return "\\n".join(texts)
run("pdfplumber", pdfplumber.__version__, text_of)
""",
    "llama-index": """
import importlib.metadata
from pathlib import Path
from llama_index.readers.file import PDFReader
reader = PDFReader()
run("llama-index", importlib.metadata.version("llama-index-readers-file"),
    lambda path: "\\n".join(page.text for page in reader.load_data(Path(path))))
""",
    "docling-parse": """
import importlib.metadata
from docling_parse.pdf_parser import DoclingPdfParser
parser = DoclingPdfParser()
def text_of(path):
    lines = []
    document = parser.load(path)
    for _, page in document.iterate_pages():
        lines += (cell.text for cell in page.textline_cells)
    document.unload()
    return "\\n".join(lines)
run("docling-parse", importlib.metadata.version("docling-parse"), text_of)
""",
    "docling": """
import importlib.metadata
from docling.document_converter import DocumentConverter
converter = DocumentConverter()
def text_of(path):
    return converter.convert(path).document.export_to_markdown()
run("docling", importlib.metadata.version("docling"), text_of)
""",
}


def chosen(data: Path, folders: tuple[str, ...], most: int) -> dict[str, int]:
    """The documents that pdfium opens, with their pages; longer ones than `most` are left out."""
    found: dict[str, int] = {}
    for path in sorted(path for folder in folders for path in (data / folder).rglob("*.pdf")):
        try:
            document = pypdfium2.PdfDocument(path)
        except pypdfium2.PdfiumError:
            continue
        if len(document) <= most:
            found[str(path)] = len(document)
        document.close()
    return found


def words_of(text: str) -> Counter[str]:
    # Words broken at the end of a line are joined by some readers: letters alone are compared.
    return Counter(_WORD.findall(text.casefold()))


def raw_words(path: str) -> Counter[str]:
    document = pypdfium2.PdfDocument(path)
    try:
        pages = (page.get_textpage().get_text_bounded() for page in document)
        return words_of("\n".join(pages))
    finally:
        document.close()


def titles_of(path: str) -> list[str]:
    """Return the titles of a document's bookmarks, letters and digits alone."""
    document = pypdfium2.PdfDocument(path)
    try:
        return [title for mark in document.get_toc() if (title := bare(mark.get_title()))]
    finally:
        document.close()


def bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).casefold())


def found_titles(titles: list[str], text: str) -> int:
    """Count the titles that are headings in a text, with or without a number in front."""
    heads = {bare(line) for line in text.splitlines() if line.startswith("#")} - {""}
    return sum(any(h.endswith(title) or title.endswith(h) for h in heads) for title in titles)


def read_all(name: str, python: str, paths: list[str], **places: str) -> dict[str, object]:
    """What a reader made of the documents, or why it could not be run; with an environment."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        try:
            done = subprocess.run(
                [python, "-c", PROLOGUE + READERS[name], str(answer)],
                input="\n".join(paths),
                capture_output=True,
                text=True,
                timeout=SECONDS,
                env={**os.environ, "OMP_NUM_THREADS": "1", **places},
            )
        except subprocess.TimeoutExpired:
            return {"why": f"not done after {SECONDS} seconds"}
        if done.returncode:
            return {"why": (done.stderr.strip().splitlines() or ["no reason given"])[-1]}
        found: dict[str, object] = json.loads(answer.read_text())
        return found


def figures(
    name: str, found: dict[str, object], pages: dict[str, int], raw: dict[str, Counter[str]]
) -> dict[str, object]:
    """One line of the report."""
    if "why" in found:
        return {"reader": name, "why": found["why"]}
    texts, failed = found["texts"], found["failed"]
    assert isinstance(texts, dict) and isinstance(failed, dict)
    if not texts:
        return {"reader": name, "why": next(iter(failed.values()), "no documents")}
    seconds = found["seconds"]
    assert isinstance(seconds, float)
    done = sum(pages[path] for path in texts)
    right = sum((raw[path] & words_of(text)).total() for path, text in texts.items())
    titles = {path: titles_of(path) for path in texts}
    heads = sum(found_titles(titles[path], text) for path, text in texts.items())
    return {
        "reader": name,
        "version": found["version"],
        "documents": len(texts),
        "failed": len(failed),
        "pages": done,
        "cpu_seconds": round(seconds, 2),
        "pages_per_cpu_second": round(done / seconds, 1),
        "word_recall": round(right / max(1, sum(raw[path].total() for path in texts)), 4),
        "headings": round(heads / max(1, sum(map(len, titles.values()))), 4),
    }


def show(line: dict[str, object]) -> None:
    if "why" in line:
        print(f"{line['reader']:20} not measured: {line['why']}", flush=True)
        return
    print(
        f"{line['reader']:20} {line['version']:10} {line['documents']:3} documents "
        f"({line['failed']} failed)  {line['pages']:5} pages  {line['cpu_seconds']:7} CPU s  "
        f"{line['pages_per_cpu_second']:6} pages/CPU s  word recall {line['word_recall']:.3f}  "
        f"headings {line['headings']:.3f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("PINCITE_DATA", Path(__file__).parents[2] / "shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--folder", action="append", help=f"default: {', '.join(FOLDERS)}")
    parser.add_argument("--most-pages", type=int, default=150, help="leave longer documents out")
    parser.add_argument(
        "--python", action="append", default=[], metavar="READER=PATH", help="where a reader is"
    )
    parser.add_argument("--json", type=Path, help="append the figures to this file")
    options = parser.parse_args()
    pythons = dict(each.split("=", 1) for each in options.python)
    pages = chosen(options.data, tuple(options.folder or FOLDERS), options.most_pages)
    raw = {path: raw_words(path) for path in pages}
    for name in READERS:
        python = pythons.get(name, sys.executable)
        line = figures(name, read_all(name, python, list(pages)), pages, raw)
        show(line)
        if options.json:
            with options.json.open("a") as out:
                out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
