"""The PDF reader on real documents, where they are at hand."""

from __future__ import annotations

import os
import re
import unicodedata
from pathlib import Path

import pytest

from pincite.model.errors import SourceError
from pincite.read.extracted import ExtractedText
from pincite.read.pdf.page import Bookmark, bookmarks_of, open_pdf
from pincite.read.pdf.reader import read

ROOT = Path(__file__).parents[4]
DATA = Path(os.environ.get("PINCITE_DATA", ROOT.parent / "shared" / "data")) / "pdf"
MANUALS = sorted((DATA / "manuals").glob("*.pdf"))
ODD = sorted(file for folder in DATA.glob("odd-*") for file in folder.rglob("*.pdf"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not MANUALS, reason="the shared documents are not here"),
]


def bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", unicodedata.normalize("NFKC", text).casefold())


def is_found(bookmark: Bookmark, heads: set[tuple[int | None, str]]) -> bool:
    """Return whether the title is a heading on its page, with or without a number in front."""
    title = bare(bookmark.title)
    words = [head for page, head in heads if page == bookmark.page + 1]
    return any(head.endswith(title) or title.endswith(head) for head in words if head)


def heads_of(found: ExtractedText) -> set[tuple[int | None, str]]:
    return {
        (found.pages.at(block.start), bare(found.text[block.start : block.end]))
        for block in found.blocks
        if block.kind == "heading"
    }


@pytest.mark.parametrize("file", MANUALS, ids=lambda file: file.stem)
def test_bookmarked_headings_are_found_on_their_pages(file: Path) -> None:
    data = file.read_bytes()
    bookmarks = bookmarks_of(open_pdf(data, file.name))
    heads = heads_of(read(data, file.name))
    found = sum(is_found(bookmark, heads) for bookmark in bookmarks)
    assert found >= 0.95 * len(bookmarks)
    assert len(heads) <= 1.25 * len(bookmarks) or not bookmarks


def test_headings_without_bookmarks_are_found_by_their_type() -> None:
    found = read((DATA / "manuals" / "fhs-3.0.pdf").read_bytes(), "fhs-3.0.pdf")
    for heading in ("# Chapter 1. Introduction", "## 1.1. Purpose", "### 3.4.2. Requirements"):
        assert f"\n{heading}\n" in found.text
    assert "\n# 1. Introduction" not in found.text  # of the table of contents


def test_three_columns_are_read_in_order() -> None:
    file = DATA / "government" / "tests" / "pdfs" / "federal-register-2020-17221.pdf"
    found = read(file.read_bytes(), file.name)
    assert "airspeed disagree alert, and altitude disagree alert,^5^ and may affect" in found.text
    assert "VerDate" not in found.text  # printed in white
    assert "Vol. 85, No. 152 / Thursday" not in found.text  # the running head
    assert "from Soekarno-Hatta International Airport" in found.text


@pytest.mark.parametrize("file", ODD, ids=lambda file: file.stem)
def test_odd_files_give_text_or_a_reason(file: Path) -> None:
    try:
        found = read(file.read_bytes(), file.name)
    except SourceError as error:
        assert error.hint
    else:
        assert found.text.strip()
        assert all(0 <= box.start <= box.end <= len(found.text) for box in found.boxes)
