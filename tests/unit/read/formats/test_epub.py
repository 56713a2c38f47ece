"""EPUB and gzip: chapters in the order of the spine, one document; packed files by their ending."""

from __future__ import annotations

import gzip
import io
import zipfile

import pytest

from pincite.model.errors import SourceError
from pincite.model.settings import IngestSettings
from pincite.read.formats import epub
from pincite.read.load import find_files, parse, reader_of
from pincite.read.structure.clauses import clause_tree

CONTAINER = "<container><rootfiles><rootfile full-path='OEBPS/x.opf'/></rootfiles></container>"
PACKAGE = """<package xmlns:dc='http://purl.org/dc/elements/1.1/'><metadata>
<dc:title>Harbour Rules</dc:title><dc:language>en</dc:language></metadata><manifest>
<item id='two' href='b%20b.xhtml' media-type='application/xhtml+xml'/>
<item id='one' href='../a.xhtml' media-type='application/xhtml+xml'/>
<item id='nav' href='nav.xhtml' media-type='application/xhtml+xml'/>
<item id='css' href='x.css' media-type='text/css'/></manifest>
<spine><itemref idref='nav'/><itemref idref='one'/><itemref idref='css'/><itemref idref='two'/>
</spine></package>"""
FIRST = "<html><head><title/></head><body><h1>1. Berths</h1><h2>1.1. Fees</h2><p>Ten.</p></body>"
SECOND = "<html><body><h1>2. Crews</h1><p>Two<a id='x'/> hands.</p></body></html>"
NAV = "<html><body><nav><ol><li><a href='a.xhtml'>1. Berths</a></li></ol></nav></body></html>"


def book(**changed: str | None) -> bytes:
    parts = {
        "META-INF/container.xml": CONTAINER,
        "OEBPS/x.opf": PACKAGE,
        "a.xhtml": FIRST,
        "OEBPS/b b.xhtml": SECOND,
        "OEBPS/nav.xhtml": NAV,
    }
    named = {"container": "META-INF/container.xml", "package": "OEBPS/x.opf", "first": "a.xhtml"}
    parts |= {named[name]: words for name, words in changed.items()}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, words in parts.items():
            if words is not None:
                archive.writestr(name, words)
    return stream.getvalue()


def test_chapters_in_the_order_of_the_spine_are_one_document() -> None:
    found = epub.read(book(), "x.epub")
    assert found.title == "Harbour Rules" and found.language == "en"
    assert found.text == "# 1. Berths\n\n## 1.1. Fees\n\nTen.\n\n# 2. Crews\n\nTwo hands.\n"
    clauses = clause_tree(found.text, found.blocks, found.title)
    assert [clause.locator for clause in clauses if clause.kind == "section"] == ["1", "1.1", "2"]


def test_a_chapter_that_is_missing_is_told_and_costs_no_other() -> None:
    found = epub.read(book(first=None), "x.epub")
    assert "2. Crews" in found.text
    assert any("it has no a.xhtml" in each.message for each in found.findings)


def test_a_book_without_an_order_has_its_pages() -> None:
    found = epub.read(book(package=PACKAGE.split("<spine>")[0] + "</package>"), "x.epub")
    assert "2. Crews" in found.text and "1.1. Fees" in found.text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04", "not a whole EPUB"),
        (book(container=None), "what it is made of"),
        (book(container="<container/>"), "what it is made of"),
        (book(package="<package/>"), "has no text"),
        (book(first="a" * 5_000_000), "expands [0-9,]+ times"),
        (book(package='<!DOCTYPE x [<!ENTITY a "b">]><package/>'), "entities"),
    ],
)
def test_hostile_and_broken_books_are_explained(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        epub.read(data, "x.epub")


def test_a_path_cannot_lead_out_of_the_archive() -> None:
    assert epub._inside("OEBPS", "../../../etc/passwd") == "etc/passwd"
    assert epub._inside("OEBPS", "%2e%2e/a.xhtml") == "a.xhtml"


def test_a_packed_file_is_read_as_what_it_is(tmp_path) -> None:
    text = b"HARBOUR RULES\n\n1.1 Fees\n\nTen.\n"
    packed = parse(gzip.compress(text[:9]) + gzip.compress(text[9:]), "h.txt.gz", IngestSettings())
    plain = parse(text, "h.txt", IngestSettings())
    assert packed.document.text == plain.document.text
    assert [each.locator for each in packed.chunks] == [each.locator for each in plain.chunks]
    for name in ("h.txt.gz", "h.tar.gz", "change.gz", "H.HTML.GZ"):
        (tmp_path / name).write_bytes(b"")
    assert [name for _, name in find_files(tmp_path)] == ["H.HTML.GZ", "h.txt.gz"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"(a) words", "not a whole gzip file"),
        (gzip.compress(b"words" * 100, mtime=0)[:-9], "not a whole gzip file"),
        (gzip.compress(bytes(5_000_000), mtime=0), "more than 1 MB"),
        (b"", "is empty"),
    ],
)
def test_packed_files_that_are_broken_or_bombs_are_explained(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        reader_of("x.txt.gz")(data, "x.txt.gz")
