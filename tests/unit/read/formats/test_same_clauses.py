"""The law of the readers: the same rulebook in any format gives the same clauses."""

from __future__ import annotations

import html
import io
import json

import docx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.model.errors import SourceError
from pincite.read.load import reader_of
from pincite.read.structure.clauses import clause_tree

Piece = tuple[str, int, str]  # kind, level, words; a table's words are rows of cells

RULEBOOK: list[Piece] = [
    ("heading", 1, "Rules of the Harbour"),
    ("text", 0, "These rules apply to all vessels."),
    ("heading", 2, "Part 1 General"),
    ("heading", 3, "4.2 Fees"),
    ("text", 0, "The fees are as follows."),
    ("text", 0, "(a) *Vessels.* Each vessel pays:"),
    ("text", 0, "(1) ten per metre; and"),
    ("text", 0, "(2) for a berth:"),
    ("text", 0, "(i) by day, five;"),
    ("text", 0, "(ii) by night, six."),
    ("text", 0, "(b) Boats under 3 m pay nothing."),
    ("caption", 0, "Table 4.2 Fees by Length"),
    ("table", 0, "Length|Fee\n3 m|none\nover 3 m|30"),
    ("text", 0, "^1^ In the currency of the port."),
    ("heading", 3, "4.3 Notices"),
    ("text", 0, "Exception: Lifeboats."),
    ("list", 0, "1. Red flags\n2. Blue flags"),
    ("heading", 4, "52.202-1 Definitions"),
    ("text", 0, "Terms have their usual meaning."),
]


def as_markdown(pieces: list[Piece]) -> bytes:
    out = []
    for kind, level, words in pieces:
        if kind == "table":
            head, *rows = words.split("\n")
            rule = "|".join("---" for _ in head.split("|"))
            words = "\n".join(f"| {line.replace('|', ' | ')} |" for line in (head, rule, *rows))
        signs = {"heading": f"{'#' * level} {words}", "caption": f"**{words}**"}
        out.append(signs.get(kind, words))
    return "\n\n".join(out).encode()


def as_html(pieces: list[Piece]) -> bytes:
    out, caption = [], ""
    for kind, level, words in pieces:
        shown = html.escape(words)
        if kind == "heading":
            out.append(f"<h{level}>{shown}</h{level}>")
        elif kind == "caption":
            caption = f"<caption>{shown}</caption>"
        elif kind == "table":
            head, *rows = (line.split("|") for line in shown.split("\n"))
            cells = "".join(f"<th>{cell}</th>" for cell in head)
            body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) for row in rows)
            out.append(f"<table>{caption}<thead><tr>{cells}</thead><tbody>{body}</table>")
        elif kind == "list":
            items = (line.partition(". ")[2] for line in shown.split("\n"))
            out.append("<ol>" + "".join(f"<li>{item}" for item in items) + "</ol>")
        else:
            shown = shown.replace("*Vessels.*", "<i>Vessels.</i>")
            out.append(f"<p>{shown.replace('^1^', '<sup>1</sup>')}</p>")
    return f"<!doctype html><title>Rules</title><body>{''.join(out)}".encode()


def as_docx(pieces: list[Piece]) -> bytes:
    document = docx.Document()
    for kind, level, words in pieces:
        if kind == "heading":
            document.add_heading(words, level=level)
        elif kind == "caption":
            document.add_paragraph(words, style="Caption")
        elif kind == "table":
            rows = [line.split("|") for line in words.split("\n")]
            table = document.add_table(len(rows), len(rows[0]))
            for cells, row in zip(table.rows, rows, strict=True):
                for cell, text in zip(cells.cells, row, strict=True):
                    cell.text = text
        elif kind == "list":
            for line in words.split("\n"):
                document.add_paragraph(line.partition(". ")[2], style="List Number")
        else:
            paragraph = document.add_paragraph()
            before, sign, after = words.partition("*Vessels.*")
            paragraph.add_run(before)
            paragraph.add_run("Vessels." if sign else "").italic = True
            paragraph.add_run(after)
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def clauses(data: bytes, name: str) -> list[tuple[str, str, str, str]]:
    """Return kind, locator, title and own words of all clauses."""
    parsed = reader_of(name)(data, name)
    tree = clause_tree(parsed.text, parsed.blocks, "")
    assert "".join(parsed.text[c.start : c.own_end] for c in tree) == parsed.text
    return [
        (c.kind, c.locator, c.title, " ".join(parsed.text[c.start : c.own_end].split()))
        for c in tree
    ]


def test_markdown_html_and_docx_give_the_same_clauses() -> None:
    expected = clauses(as_markdown(RULEBOOK), "rules.md")
    assert [locator for _, locator, _, _ in expected] == [
        "",
        "Part 1",
        "4.2",
        "4.2(a)",
        "4.2(a)(1)",
        "4.2(a)(2)",
        "4.2(a)(2)(i)",
        "4.2(a)(2)(ii)",
        "4.2(b)",
        "Table 4.2",
        "4.3",
        "4.3 Exception",
        "4.3(1)",
        "4.3(2)",
        "52.202-1",
    ]
    assert clauses(as_html(RULEBOOK), "rules.html") == expected
    assert clauses(as_docx(RULEBOOK), "rules.docx") == expected


WORDS = st.text("abcdefghijklmnop <>&|\"'", min_size=1, max_size=30).map(
    lambda words: " ".join(words.split()).replace("|", "/")
)
SENTENCE = WORDS.map(lambda words: f"The {words} end.")


@st.composite
def sections(draw: st.DrawFn) -> list[Piece]:
    number = draw(st.integers(1, 99))
    title = draw(st.sampled_from(["Fees", "Safe water", "Night and day"]))
    found: list[Piece] = [("heading", draw(st.integers(2, 4)), f"{number}.{number} {title}")]
    found += [("text", 0, sentence) for sentence in draw(st.lists(SENTENCE, max_size=2))]
    for place in range(draw(st.integers(0, 4))):
        found.append(("text", 0, f"({'abcd'[place]}) {draw(SENTENCE)}"))
        inner = draw(st.integers(0, 2))
        found += [("text", 0, f"({at + 1}) {draw(SENTENCE)}") for at in range(inner)]
    if draw(st.booleans()):
        cells = st.sampled_from(["one", "two", "3 m", "x < y"])
        rows = draw(st.lists(st.tuples(cells, cells), min_size=2, max_size=4))
        found.append(("caption", 0, f"Table {number} Sizes"))
        found.append(("table", 0, "\n".join("|".join(row) for row in rows)))
    return found


@settings(max_examples=40, deadline=None)
@given(st.lists(sections(), min_size=1, max_size=4))
def test_any_rulebook_gives_the_same_clauses(parts: list[list[Piece]]) -> None:
    pieces: list[Piece] = [("heading", 1, "Rules"), *(piece for part in parts for piece in part)]
    expected = clauses(as_markdown(pieces), "rules.md")
    assert clauses(as_html(pieces), "rules.html") == expected
    assert clauses(as_docx(pieces), "rules.docx") == expected


@pytest.mark.parametrize("ending", ["json", "xml", "csv", "html", "docx"])
def test_no_reader_takes_nothing(ending: str) -> None:
    for data in (b"", b"   ", b"\x00\x01", json.dumps(None).encode()):
        if ending in ("html", "csv") and data == b"null":
            continue
        with pytest.raises(SourceError):
            reader_of(f"x.{ending}")(data, f"x.{ending}")
