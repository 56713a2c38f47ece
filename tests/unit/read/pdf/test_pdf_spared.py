"""A failure at a part or a page of a PDF costs that part alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pdf_writer import Pdf

from pincite.model.errors import SourceError
from pincite.model.settings import IngestSettings
from pincite.model.types import ParsedDocument
from pincite.read import load
from pincite.read.pdf import reader as pdf


def broken(*_: Any, **__: Any) -> Any:
    raise ValueError("invalid literal for int() with base 10: '13a'")


def failures(parsed: ParsedDocument) -> list[str]:
    return [each.message for each in parsed.findings if each.kind == "reader_failed"]


def _pages() -> bytes:
    made = Pdf().page().text(72, 72, "The gate opens at dawn.")
    return made.page().text(72, 72, "It is shut at night.").bytes()


@pytest.mark.parametrize(
    ("function", "part"),
    [
        ("bookmarks_of", "bookmarks"),
        ("find_tables", "tables of page"),
        ("without_furniture", "heads and feet"),
        ("mark_bookmarked", "bookmarks name"),
        ("mark_continued", "tables over several pages"),
        ("contents_span", "table of contents"),
        ("mark_typographic", "looks"),
        ("settle_footnotes", "footnotes"),
    ],
)
def test_a_part_of_a_pdf_that_fails_is_told(
    monkeypatch: pytest.MonkeyPatch, function: str, part: str
) -> None:
    data = _pages()
    monkeypatch.setattr(pdf, function, broken)
    parsed = load.parse(data, "code.pdf", IngestSettings())
    assert "opens at dawn" in parsed.document.text and "shut at night" in parsed.document.text
    assert failures(parsed) and all(part in message for message in failures(parsed))


def test_a_page_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    inner: Callable[..., Any] = pdf.page_lines
    monkeypatch.setattr(
        pdf,
        "page_lines",
        lambda *a, page, **k: broken() if page == 1 else inner(*a, page=page, **k),
    )
    data = _pages()
    parsed = load.parse(data, "code.pdf", IngestSettings())
    assert "shut at night" in parsed.document.text
    assert [(each.kind, each.page) for each in parsed.findings] == [("reader_failed", 1)]
    monkeypatch.setattr(pdf, "page_lines", broken)
    with pytest.raises(SourceError) as caught:
        load.parse(data, "code.pdf", IngestSettings())
    assert "Pincite failed at page 1" in caught.value.hint
