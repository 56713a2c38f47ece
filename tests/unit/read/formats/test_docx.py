"""DOCX: what Word shows, with the numbers it computes, from files that may be hostile."""

from __future__ import annotations

import io
import os
import re
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path

import docx
import pytest
from lxml import etree

from pincite.model.errors import SourceError
from pincite.read.extracted import Clause, ExtractedText
from pincite.read.formats import archive
from pincite.read.formats import docx as reader
from pincite.read.structure.clauses import clause_tree

ROOT = Path(__file__).resolve().parents[4]
DATA = Path(os.environ.get("PINCITE_DATA", ROOT.parent / "shared" / "data"))
FILES = sorted((DATA / "docx").glob("*.docx"))

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
KINDS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def made(body: str, *, namespace: str = W, **parts: str) -> bytes:
    """Return a DOCX with this body and, by name, the inside of other parts."""
    stream = io.BytesIO()
    roots = {"styles": "styles", "numbering": "numbering", "footnotes": "footnotes"}
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        named = "".join(
            f'<Relationship Id="{part}" Type="{KINDS}/{part}" Target="{part}.xml"/>'
            for part in parts
        )
        main = f'<Relationship Id="m" Type="{KINDS}/officeDocument" Target="word/document.xml"/>'
        file.writestr("_rels/.rels", f"<Relationships>{main}</Relationships>")
        file.writestr("word/_rels/document.xml.rels", f"<Relationships>{named}</Relationships>")
        document = f"<w:document {namespace}><w:body>{body}</w:body></w:document>"
        file.writestr("word/document.xml", document)
        for part, words in parts.items():
            file.writestr(
                f"word/{part}.xml", f"<w:{roots[part]} {namespace}>{words}</w:{roots[part]}>"
            )
    return stream.getvalue()


def p(words: str, *, style: str = "", num: int | None = None, level: int | None = None) -> str:
    """Return a paragraph; ``words`` are text, or runs if they begin with ``<``."""
    numbering = ""
    if num is not None:
        place = f'<w:ilvl w:val="{level}"/>' if level is not None else ""
        numbering = f'<w:numPr>{place}<w:numId w:val="{num}"/></w:numPr>'
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    inner = words if words.startswith("<") else f"<w:r><w:t>{words}</w:t></w:r>"
    return f"<w:p><w:pPr>{named}{numbering}</w:pPr>{inner}</w:p>"


def r(words: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{words}</w:t></w:r>'


def lvl(level: int, style: str, text: str, more: str = "", start: int = 1) -> str:
    return (
        f'<w:lvl w:ilvl="{level}"><w:start w:val="{start}"/><w:numFmt w:val="{style}"/>{more}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


def abstract(id_: int, *levels: str) -> str:
    return f'<w:abstractNum w:abstractNumId="{id_}">{"".join(levels)}</w:abstractNum>'


def num(id_: int, of: int, override: str = "") -> str:
    return f'<w:num w:numId="{id_}"><w:abstractNumId w:val="{of}"/>{override}</w:num>'


def style(id_: str, inner: str, based: str = "", name: str = "") -> str:
    on = f'<w:basedOn w:val="{based}"/>' if based else ""
    named = f'<w:name w:val="{name or id_}"/>'
    return f'<w:style w:type="paragraph" w:styleId="{id_}">{named}{on}{inner}</w:style>'


def read(data: bytes) -> ExtractedText:
    return reader.read(data, "rules.docx")


def lines(data: bytes) -> list[str]:
    return [line for line in read(data).text.split("\n") if line]


RULES = abstract(
    0,
    lvl(0, "lowerLetter", "(%1)"),
    lvl(1, "decimal", "(%2)"),
    lvl(2, "lowerRoman", "(%3)"),
    lvl(3, "upperLetter", "(%4)"),
)


def test_labels_of_rules_are_in_the_text_and_make_clauses() -> None:
    body = p("4.2 Fees", style="H2") + "".join(
        p(f"Item {at}.", num=1, level=level)
        for at, level in enumerate([0, 1, 1, 2, 2, 3, 1, 0, 1, 2])
    )
    styles = style("H2", '<w:pPr><w:outlineLvl w:val="1"/></w:pPr>')
    parsed = read(made(body, styles=styles, numbering=RULES + num(1, 0)))
    tree = clause_tree(parsed.text, parsed.blocks, "")
    assert [clause.locator.removeprefix("4.2") for clause in tree][2:] == [
        "(a)",
        "(a)(1)",
        "(a)(2)",
        "(a)(2)(i)",
        "(a)(2)(ii)",
        "(a)(2)(ii)(A)",
        "(a)(3)",
        "(b)",
        "(b)(1)",
        "(b)(1)(i)",
    ]


@pytest.mark.parametrize(
    ("levels", "used", "expected"),
    [
        (
            [lvl(0, "decimal", "%1."), lvl(1, "decimal", "%1.%2")],
            [0, 1, 1, 0, 1],
            "1. 1.1 1.2 2. 2.1",
        ),
        ([lvl(0, "upperRoman", "%1."), lvl(1, "decimal", "%1.%2")], [0, 0, 1], "I. II. II.1"),
        (
            [lvl(0, "upperRoman", "%1."), lvl(1, "decimal", "%1.%2", "<w:isLgl/>")],
            [0, 0, 1],
            "I. II. 2.1",
        ),
        ([lvl(0, "ordinal", "%1"), lvl(1, "none", "Sub")], [0, 0, 0, 1], "1st 2nd 3rd Sub"),
        ([lvl(0, "decimal", "Article %1:", start=4)], [0, 0], "Article 4: Article 5:"),
        ([lvl(0, "lowerLetter", "(%1)", start=26)], [0, 0, 0], "(z) (aa) (bb)"),
        (
            [lvl(0, "decimal", "%1."), lvl(1, "lowerLetter", "(%2)", '<w:lvlRestart w:val="0"/>')],
            [0, 1, 0, 1],
            "1. (a) 2. (b)",
        ),
        ([lvl(0, "decimal", "%1."), lvl(1, "decimal", "%1.%2")], [1, 1, 0], "1.1 1.2 1."),
        ([lvl(0, "decimalZero", "%1)"), lvl(0, "bullet", "x")], [0, 0], "01) 02)"),
    ],
)
def test_numbers_as_word_counts(levels: list[str], used: list[int], expected: str) -> None:
    body = "".join(p("x", num=1, level=level) for level in used)
    found = lines(made(body, numbering=abstract(0, *levels) + num(1, 0)))
    assert " ".join(line.strip().removesuffix(" x") for line in found) == expected


def test_lists_go_on_together_unless_one_starts_anew() -> None:
    anew = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="3"/></w:lvlOverride>'
    other = f'<w:lvlOverride w:ilvl="0">{lvl(0, "upperLetter", "%1)")}</w:lvlOverride>'
    numbering = RULES + num(1, 0) + num(2, 0) + num(3, 0, anew) + num(4, 0, other)
    body = "".join(p("x", num=at, level=0) for at in (1, 2, 3, 3, 4))
    assert lines(made(body, numbering=numbering)) == ["(a) x", "(b) x", "(c) x", "(d) x", "E) x"]


def test_numbering_by_style_and_its_base_and_by_list_style() -> None:
    linked = [
        lvl(0, "decimal", "%1.", '<w:pStyle w:val="Item"/>'),
        lvl(1, "lowerLetter", "(%2)", '<w:pStyle w:val="Sub"/>'),
    ]
    by_num = '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'
    styles = (
        style("Item", by_num)
        + style("Sub", by_num, based="Item")
        + style("Special", "", based="Sub")
        + style("Off", '<w:pPr><w:numPr><w:numId w:val="0"/></w:numPr></w:pPr>', based="Item")
        + style("ListStyle", '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>')
    )
    link = '<w:abstractNum w:abstractNumId="7"><w:numStyleLink w:val="ListStyle"/></w:abstractNum>'
    numbering = abstract(0, *linked) + link + num(1, 0) + num(2, 7)
    used = ["Item", "Sub", "Special", "Off"]
    body = "".join(p("x", style=name) for name in used) + p("y", num=2, level=1)
    body += p("z", style="Item", num=0)
    assert lines(made(body, styles=styles, numbering=numbering)) == [
        "1. x",
        "(a) x",
        "(b) x",
        "x",
        "(c) y",
        "z",
    ]


def test_labels_that_are_typed_as_well_are_not_doubled() -> None:
    body = "".join(p(f"({letter}) x", num=1, level=0) for letter in "abc")
    assert lines(made(body, numbering=RULES + num(1, 0))) == ["(a) x", "(b) x", "(c) x"]


def test_headings_by_outline_with_their_numbers_and_the_title() -> None:
    styles = (
        style("Title", "", name="Title")
        + style("H1", '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>')
        + style("Mine", "", based="H1")
        + style("h2", "", name="heading 2")
    )
    numbering = abstract(0, lvl(0, "decimal", "Chapter %1"), lvl(1, "decimal", "%1.%2")) + num(1, 0)
    body = p("Rules", style="Title") + p("Fees", style="Mine", num=1, level=0)
    body += p("Boats", style="h2", num=1, level=1) + p("Text.")
    parsed = read(made(body, styles=styles, numbering=numbering))
    assert parsed.text == "# Rules\n\n# Chapter 1 Fees\n\n## 1.1 Boats\n\nText.\n"
    assert parsed.title == "Rules"
    locators = [clause.locator for clause in clause_tree(parsed.text, parsed.blocks, "")]
    assert locators == ["", "Chapter 1", "1.1"]


def test_runs_changes_fields_marks_and_hidden_words() -> None:
    words = (
        r("(a) ", "<w:b/>")
        + r("Title. ", "<w:i/>")
        + '<w:ins w:id="1">'
        + r("kept ")
        + "</w:ins>"
        + '<w:del w:id="2"><w:r><w:delText>gone</w:delText></w:r></w:del>'
        + '<w:moveFrom w:id="3">'
        + r("gone")
        + "</w:moveFrom>"
        + r("secret", "<w:vanish/>")
        + r("shown ", '<w:vanish w:val="0"/>')
        + '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>REF x</w:instrText></w:r>'
        + '<w:r><w:fldChar w:fldCharType="separate"/></w:r>'
        + r("see 4 ")
        + '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
        + "<w:r><w:t>5 m</w:t></w:r>"
        + r("2", '<w:vertAlign w:val="superscript"/>')
        + "<w:r><w:tab/><w:t>a</w:t><w:noBreakHyphen/><w:t>b</w:t><w:br/><w:t>(1) next</w:t></w:r>"
        + "<w:hyperlink>"
        + r(" link")
        + "</w:hyperlink>"
    )
    parsed = read(made(p(words)))
    assert parsed.text == "**(a)** *Title.* kept shown see 4 5 m² a-b\n(1) next link\n"
    assert [(f.kind, f.message[:12]) for f in parsed.findings] == [("hidden_text", "6 characters")]


def test_footnotes_stand_below_what_they_belong_to() -> None:
    note = '<w:r><w:footnoteReference w:id="{}"/></w:r>'
    notes = "".join(f'<w:footnote w:id="{at}">{p(f"Note {at}")}</w:footnote>' for at in (5, 6))
    table = f"<w:tbl><w:tr><w:tc>{p('a')}</w:tc><w:tc>{p(r('b') + note.format(6))}</w:tc></w:tr>"
    table += f"<w:tr><w:tc>{p('1')}</w:tc><w:tc>{p('2')}</w:tc></w:tr></w:tbl>"
    body = p(r("Text") + note.format(5)) + table + p("After")
    parsed = read(made(body, footnotes=notes))
    assert parsed.text == (
        "Text[^1]\n\n[^1]: Note 5\n\n| a | b[^2] |\n| --- | --- |\n| 1 | 2 |\n\n"
        "[^2]: Note 6\n\nAfter\n"
    )
    (table_,) = (c for c in clause_tree(parsed.text, parsed.blocks, "") if c.kind == "table")
    assert parsed.text[table_.start : table_.end].rstrip().endswith("Note 6")


def test_merged_cells_are_read_once_and_stand_wherever_they_reach() -> None:
    document = docx.Document()
    document.add_paragraph("Before")
    table = document.add_table(3, 3)
    for row in range(3):
        for column in range(3):
            table.cell(row, column).text = f"{row}{column}"
    table.cell(0, 1).merge(table.cell(0, 2)).text = "wide"
    table.cell(1, 0).merge(table.cell(2, 0)).text = "tall | x"
    document.add_paragraph("After")
    stream = io.BytesIO()
    document.save(stream)
    assert read(stream.getvalue()).text == (
        "Before\n\n| 00 | wide | wide |\n| --- | --- | --- |\n"
        "| tall \\| x | 11 | 12 |\n| tall \\| x | 21 | 22 |\n\nAfter\n"
    )


def test_heads_boxes_and_text_boxes() -> None:
    def row(*cells: str, properties: str = "") -> str:
        return f"<w:tr>{properties}{''.join(f'<w:tc>{p(cell)}</w:tc>' for cell in cells)}</w:tr>"

    head = "<w:trPr><w:tblHeader/></w:trPr>"
    table = row("Size", "Size", properties=head) + row("mm", "in", properties=head) + row("1", "2")
    box = f"<w:tbl><w:tr><w:tc>{p('(a) boxed')}</w:tc></w:tr></w:tbl>"
    drawn = f"<w:r><w:pict><w:txbxContent>{p('Drawn')}</w:txbxContent></w:pict></w:r>"
    assert read(made(f"<w:tbl>{table}</w:tbl>{box}{p(drawn)}")).text == (
        "| Size – mm | Size – in |\n| --- | --- |\n| 1 | 2 |\n\n(a) boxed\n\nDrawn\n"
    )


def test_a_table_of_contents_is_left_out_and_reported() -> None:
    styles = style("H1", '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>')
    headings = ["1.1 Fees", "1.2 Boats", "1.3 Night"]
    body = "".join(map(p, headings)) + "".join(p(h, style="H1") + p("Text.") for h in headings)
    parsed = read(made(body, styles=styles))
    assert parsed.text.startswith("# 1.1 Fees\n\nText.")
    assert [finding.kind for finding in parsed.findings] == ["skipped_content"]


def test_the_strict_form_of_the_format() -> None:
    strict = 'xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"'
    assert read(made(p("Text"), namespace=strict)).text == "Text\n"


def zipped(*members: tuple[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members:
            file.writestr(name, data)
    return stream.getvalue()


def claimed(data: bytes, size: int) -> bytes:
    """Return the archive with another size claimed for its last member."""
    at = data.rindex(b"PK\x01\x02") + 24
    return data[:at] + size.to_bytes(4, "little") + data[at + 4 :]


GOOD = made(p("Text"))
LAUGHS = (
    b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><w:document '
    + W.encode()
    + b">&b;</w:document>"
)
DEEP = f"<w:document {W}><w:body>{'<w:sdt>' * 200}{'</w:sdt>' * 200}</w:body></w:document>"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a whole DOCX"),
        (b"PK\x03\x04 nonsense", "not a whole DOCX"),
        (GOOD[: len(GOOD) // 2], "not a whole DOCX"),
        (b"\xd0\xcf\x11\xe0" + b"x" * 600, "encrypted, or of the old format"),
        (zipped(("other.txt", b"x")), "has no word/document.xml"),
        (zipped(("word/document.xml", b"<w:document")), "not well-formed"),
        (zipped(("word/document.xml", LAUGHS)), "entities"),
        (zipped(("word/document.xml", DEEP.encode())), "nests more than"),
        (zipped(("word/document.xml", b" " * 40_000_000)), "expands [0-9,]+ times"),
        (claimed(GOOD, 1_000_000_000), "expands to 1,00. MB"),
        (claimed(GOOD, 10), "not a whole DOCX"),
        (zipped(*((f"{at}", b"") for at in range(10_001))), "10,001 members"),
        (made(""), "has no text"),
    ],
)
def test_hostile_and_broken_files_are_explained(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        read(data)


def test_damaged_bytes_never_end_in_anything_but_an_explanation() -> None:
    good = made(p("Text", num=1, level=0) * 5, numbering=RULES + num(1, 0))
    for at in range(0, len(good), 7):
        damaged = good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :]
        try:
            read(damaged)
        except SourceError:
            continue


def test_limits_are_those_promised() -> None:
    assert (archive.MAX_EXPANDED, archive.MAX_MEMBERS, archive.MAX_RATIO) == (
        500_000_000,
        10_000,
        200,
    )


@cache
def far(file: Path) -> tuple[ExtractedText, list[Clause]]:
    parsed = reader.read(file.read_bytes(), file.name)
    return parsed, clause_tree(parsed.text, parsed.blocks, parsed.title)


def own_counts(file: Path) -> tuple[list[str], int, int]:
    """Return headings, labelled paragraphs and tables, counted in the XML itself."""
    root = etree.fromstring(zipfile.ZipFile(file).read("word/document.xml"))
    w = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
    headings, labelled = [], 0
    for paragraph in root.iter(f"{w}p"):
        words = "".join(text.text or "" for text in paragraph.iter(f"{w}t")).strip()
        named = paragraph.find(f"{w}pPr/{w}pStyle")
        if named is not None and named.get(f"{w}val").startswith("Heading"):
            headings.append(words)
        labelled += bool(re.match(r"\([0-9A-Za-z]{1,4}\)\s", words))
    return headings, labelled, len(root.findall(f"{w}body/{w}tbl"))


@pytest.mark.skipif(not FILES, reason="the FAR parts are absent")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_counts_of_the_far_equal_those_of_the_file(file: Path) -> None:
    _, tree = far(file)
    headings, labelled, tables = own_counts(file)
    sections = [clause for clause in tree if clause.kind == "section"]
    assert len(sections) == len(headings)
    numbers = {re.split(r" - | ", heading, maxsplit=1)[0] for heading in headings}
    named = {
        clause.locator.split()[-1] if " " in clause.locator else clause.locator
        for clause in sections
    }
    assert {number for number in numbers if number[0].isdigit()} <= named
    assert Counter(clause.kind for clause in tree)["table"] == tables
    clauses = [clause for clause in tree if clause.kind == "clause"]
    assert len(clauses) >= 0.95 * labelled


@pytest.mark.skipif(not FILES, reason="the FAR parts are absent")
@pytest.mark.parametrize(
    ("stem", "locator", "words"),
    [
        ("Part1", "1.102-2(a)(1)", "(1) The principal customers"),
        ("Part15", "15.404-1(b)(2)(i)", "(i) Comparison of proposed prices"),
        ("Part15", "Table 15-1", "**Table 15-1 - Uniform Contract Format**"),
        ("Part15", "Table 15-2", "**Table 15-2—Instructions"),
        ("Part52", "52.202-1", "#### 52.202-1 Definitions."),
        ("Part52", "52.204-21(b)(1)(ii)", "(ii) Limit information system access"),
    ],
)
def test_places_in_the_far(stem: str, locator: str, words: str) -> None:
    (file,) = (file for file in FILES if file.stem == stem)
    parsed, tree = far(file)
    found = [parsed.text[c.start :] for c in tree if c.locator == locator]
    assert found and found[0].startswith(words), (
        found[0][:60]
        if found
        else sorted(c.locator for c in tree if c.locator.startswith(locator[:8]))
    )
