"""A reader's failure costs the part, never the document."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from pincite.model.errors import SourceError
from pincite.model.settings import IngestSettings, Settings
from pincite.model.types import ParsedDocument, ReaderWarning
from pincite.read import load, workers
from pincite.read.enrich import enrich
from pincite.read.extracted import spared
from pincite.read.formats import docx, html, laws_xml, markdown
from pincite.read.references import resolve
from pincite.read.structure import clauses

TEXT = """# Harbour code

## 1 Fees

(a) Boats pay as § 2 says.

| Boat | Fee |
| --- | --- |
| Tug | 10 |

## 2 Times

The gate opens at dawn.
"""


def broken(*_: Any, **__: Any) -> Any:
    raise ValueError("invalid literal for int() with base 10: '13a'")


def read(name: str = "code.md", data: bytes = TEXT.encode()) -> ParsedDocument:
    return load.parse(data, name, IngestSettings(profile="code"))


def failures(parsed: ParsedDocument) -> list[str]:
    return [each.message for each in parsed.findings if each.kind == "reader_failed"]


@pytest.mark.parametrize(
    ("place", "function", "part"),
    [
        (load, "stated_dates", "dates in force"),
        (markdown, "markdown_blocks", "structure of the text"),
        (load, "clause_tree", "headings and numbering"),
        (clauses, "_events", "numbering and tables below a heading"),
        (load, "with_rows", "rows of tables"),
        (clauses, "_rows", "rows of a table"),
        (load, "references", "references"),
        (resolve, "_targets", "references"),
        (enrich, "_classify", "kinds, terms and traits"),
    ],
)
def test_a_part_that_fails_is_told_and_the_text_is_read(
    monkeypatch: pytest.MonkeyPatch, place: Any, function: str, part: str
) -> None:
    assert not failures(read())
    monkeypatch.setattr(place, function, broken)
    parsed = read()
    assert parsed.document.text == TEXT
    assert "".join(c.text for c in parsed.chunks if c.searched).count("opens at dawn") == 1
    assert [part in message for message in failures(parsed)] == [True]
    assert "please report" in failures(parsed)[0]
    assert isinstance(workers.from_json(workers.to_json(parsed), "code.md"), ParsedDocument)


def test_a_failure_below_one_heading_leaves_the_items_of_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inner: Callable[..., Any] = clauses._add_items
    monkeypatch.setattr(
        clauses, "_add_items", lambda t, g, s: inner(t, g, s) or (s.label == "2" and broken())
    )
    text = TEXT + "\n(a) At night it is shut.\n"
    parsed = read(data=text.encode())
    locators = {chunk.locator for chunk in parsed.chunks}
    assert "1(a)" in locators and "2(a)" not in locators
    assert len(failures(parsed)) == 1


def test_words_of_a_table_that_fails_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    page = b"<h1>Fees</h1><table><tr><th>Boat</th></tr><tr><td>Tug</td></tr></table><p>End."
    monkeypatch.setattr(html, "table_of", broken)
    parsed = read("fees.html", page)
    assert "Tug" in parsed.document.text and "End." in parsed.document.text
    assert ["a table" in message for message in failures(parsed)] == [True]


def test_words_of_a_table_that_fails_are_read_in_word(monkeypatch: pytest.MonkeyPatch) -> None:
    written = pytest.importorskip("docx").Document()
    for boat in ("Tug", "Barge"):
        written.add_table(1, 2).rows[0].cells[1].text = boat
    written.add_paragraph("End.")
    stream = io.BytesIO()
    written.save(stream)
    monkeypatch.setattr(docx, "table_of", broken)
    parsed = read("fees.docx", stream.getvalue())
    assert (
        "Tug" in parsed.document.text
        and "Barge" in parsed.document.text
        and "End." in parsed.document.text
    )
    assert ["rows of a table" in message for message in failures(parsed)] == [True]


def test_limits_and_refusals_still_end_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    findings: list[ReaderWarning] = []
    for error in (SourceError("too deep"), MemoryError(), KeyboardInterrupt()):
        with pytest.raises(type(error)), spared("a part", findings):
            raise error
    with pytest.raises(ValueError), spared("a part", None):
        broken()
    assert not findings
    monkeypatch.setattr(load, "clause_tree", lambda *_: (_ for _ in ()).throw(MemoryError()))
    answer = workers._answer(load.parse, b"words", "a.txt", Settings().ingest, "")
    assert b"limits.memory_mb" in answer


def zipped(**parts: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, words in parts.items():
            archive.writestr(name.replace("__", "/") + ".xml", words)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("reader", "name", "data"),
    [
        (docx, "gate.docx", zipped(word__document="<d><p>The <r>gate</r> opens.</p><p>x</p></d>")),
        (laws_xml, "gate.xml", b"<law><p>The <b>gate</b> opens.</p><p>x</p></law>"),
    ],
)
def test_a_reader_that_fails_as_a_whole_costs_the_structure(
    monkeypatch: pytest.MonkeyPatch, reader: Any, name: str, data: bytes
) -> None:
    monkeypatch.setattr(reader, "read", broken)
    parsed = read(name, data)
    assert parsed.document.text == "The gate opens.\n\nx"
    assert "structure of the text" in failures(parsed)[0]


def test_nothing_is_indexed_where_no_words_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx, "read", broken)
    with pytest.raises(SourceError, match="has no text"):
        read("gate.docx", zipped(word__styles="<d>x</d>"))
