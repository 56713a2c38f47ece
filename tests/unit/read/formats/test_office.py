"""Workbooks, slides, OpenDocument and RTF; the files are written by hand, part by part."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

import pincite
from pincite.model.errors import SourceError
from pincite.model.settings import IngestSettings
from pincite.model.types import ParsedDocument
from pincite.read.formats.xlsx import shown_number
from pincite.read.load import parse

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "urn:oasis:names:tc:opendocument:xmlns:"
NAMES = " ".join(
    f'xmlns:{short}="{OFFICE}{long}:1.0"'
    for short, long in (
        *(("office", "office"), ("text", "text"), ("table", "table"), ("style", "style")),
        ("fo", "xsl-fo-compatible"),
    )
)


def archive(parts: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, words in parts.items():
            file.writestr(name, words)
    return packed.getvalue()


def relations(*parts: tuple[str, str, str]) -> str:
    each = (
        f'<Relationship Id="{key}" Type="{REL}/{role}" Target="{target}"/>'
        for key, role, target in parts
    )
    return f'<Relationships xmlns="{PACKAGE}">{"".join(each)}</Relationships>'


def workbook(rows: str, *, merged: str = "", more: str = "", name: str = "Rates") -> bytes:
    codes = '<numFmt numFmtId="170" formatCode="0.0&quot; mm&quot;"/>'
    formats = "".join(f'<xf numFmtId="{number}"/>' for number in (0, 10, 14, 170))
    strings = "".join(f"<si><t>{word}</t></si>" for word in ("Berth", "Fee", "Since", "Length"))
    sheets = f'<sheet name="{name}" sheetId="1" r:id="r1"/>{more}'
    return archive(
        {
            "_rels/.rels": relations(("a", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{REL}"><sheets>{sheets}</sheets>'
            "</workbook>",
            "xl/_rels/workbook.xml.rels": relations(
                ("r1", "worksheet", "worksheets/sheet1.xml"),
                ("r2", "sharedStrings", "sharedStrings.xml"),
                ("r3", "styles", "/xl/styles.xml"),
            ),
            "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{strings}</sst>',
            "xl/styles.xml": f'<styleSheet xmlns="{MAIN}"><numFmts>{codes}</numFmts>'
            f"<cellXfs>{formats}</cellXfs></styleSheet>",
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData>'
            f"{merged}</worksheet>",
        }
    )


def row(number: int, *cells: str) -> str:
    return f'<row r="{number}">{"".join(cells)}</row>'


def words(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


def number(place: str, value: float, style: int = 0, formula: str = "") -> str:
    return f'<c r="{place}" s="{style}"><f>{formula}</f><v>{value}</v></c>'


def shared(place: str, at: int) -> str:
    return f'<c r="{place}" t="s"><v>{at}</v></c>'


RATES = workbook(
    row(1, words("B1", "Fees of 2024"))
    + row(2, shared("B2", 0), shared("C2", 1), shared("D2", 2), shared("E2", 3))
    + row(3, words("B3", "North"), number("C3", 0.125, 1), number("D3", 45413, 2))
    + row(4, words("B4", "South"), number("C4", 0.25, 1, "1/4"), number("E4", 12.25, 3))
    + row(7, words("A7", "Paid in &lt;advance&gt;."))
    + row(9, number("G9", 1), number("H9", 2))
    + row(10, number("G10", 3), number("H10", 4)),
    more='<sheet name="Secret" sheetId="2" state="hidden" r:id="r9"/>',
)


def read(data: bytes, name: str) -> ParsedDocument:
    return parse(data, name, IngestSettings())


def test_a_workbook_is_its_sheets_tables_and_words() -> None:
    parsed = read(RATES, "book.xlsx")
    assert parsed.document.text == (
        "# book\n\n## Rates\n\n**Fees of 2024 (Rates!B2:E4)**\n\n"
        "| Berth | Fee | Since | Length |\n| --- | --- | --- | --- |\n"
        "| North | 12.50% | 2024-05-01 |  |\n| South | 25.00% |  | 12.3 mm |\n\n"
        "Paid in <advance>.\n\n"
        "**(Rates!G9:H10)**\n\n| G | H |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n"
    )
    assert [f.kind for f in parsed.findings] == ["hidden_text"]


def test_every_cell_is_found_by_its_address(tmp_path: Path) -> None:
    (tmp_path / "book.xlsx").write_bytes(RATES)
    with pincite.open(tmp_path / "index") as index:
        index.ingest([tmp_path / "book.xlsx"])
        assert index.cell("Rates", "D3").value == "2024-05-01"
        assert index.cell("Rates", "c2").value == "Fee"
        assert index.cell("Rates", "H10").value == "4"
        assert index.cell("Rates", "South", "Fee").value == "25.00%"
        assert index.cell("Rates", "C4").citation == "Rates Table > South > Fee"
        for address in ("Rates!C4", "Sheet 'Rates', C4", "'Rates'!$C$4"):
            assert [c.text.strip() for c in index.show(address)] == [
                "| South | 25.00% |  | 12.3 mm |"
            ]
        assert "advance" in index.show("Rates!A7")[0].text
        assert index.show("Rates!B1")[0].kind == "table"
        with pytest.raises(pincite.PinciteError):
            index.show("Rates!Z99")


def test_merged_cells_stand_wherever_they_reach_and_make_heads_of_two_levels() -> None:
    rows = (
        row(1, words("A1", "Size"), words("B1", "Depth"))
        + row(2, words("B2", "mm"), words("C2", "in"))
        + row(3, words("A3", "1"), number("B3", 5), number("C3", 0.2))
    )
    merged = '<mergeCells><mergeCell ref="A1:A2"/><mergeCell ref="B1:C1"/></mergeCells>'
    text = read(workbook(rows, merged=merged), "book.xlsx").document.text
    assert "| Size | Depth – mm | Depth – in |" in text
    assert "| 1 | 5 | 0.2 |" in text


def test_a_table_goes_on_behind_a_blank_row_and_long_ones_are_cut() -> None:
    rows = row(1, words("A1", "Berth"), words("B1", "Fee")) + "".join(
        row(at, number(f"A{at}", at), number(f"B{at}", 7)) for at in range(2, 1502) if at != 5
    )
    text = read(workbook(rows), "book.xlsx").document.text
    assert "(Rates!A1:B4)" in text
    assert "(Rates!A6:B1005)" in text
    assert "(Rates!A1006:B1501)" in text
    assert text.count("| Berth | Fee |") == 3


def test_a_sheet_without_end_is_bounded_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pincite.read.formats.sheets.MAX_ROWS", 1000)
    rows = "".join(row(at, number(f"A{at}", at), number(f"B{at}", 7)) for at in range(1, 2500))
    parsed = read(workbook(rows), "book.xlsx")
    assert "rows" in parsed.findings[0].message
    assert "| 2400 |" not in parsed.document.text


def test_a_merge_over_the_whole_sheet_costs_nothing() -> None:
    rows = row(1, words("A1", "x"), words("B1", "y")) + row(2, words("A2", "z"))
    merged = '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'
    assert "x" in read(workbook(rows, merged=merged), "book.xlsx").document.text


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (1234.5, "General", "1234.5"),
        (1234567, "#,##0", "1,234,567"),
        (1234567, "#,##0,", "1,235"),
        (2.5, "0", "3"),
        (1.005, "0.00", "1.01"),
        (-3, "0.00", "-3.00"),
        (-3, "#,##0_);(#,##0)", "(3)"),
        (0, '0;-0;"–"', "–"),
        (7, "000", "007"),
        (0.5, "#.##", ".5"),
        (3, "0.##", "3"),
        (12345, "0.00E+00", "1.23E+04"),
        (9.5, "[$€-407] #,##0.00", "€ 9.50"),
        (0.5, "# ?/?", "0.5"),
        (45413.75, "yyyy-mm-dd hh:mm", "2024-05-01 18:00"),
        (45413, "d mmm yy", "1 May 24"),
        (45413, "dddd, mmmm dd", "Wednesday, May 01"),
        (1.5, "[h]:mm", "36:00"),
        (59, "yyyy-mm-dd", "1900-02-28"),
        (61, "yyyy-mm-dd", "1900-03-01"),
        (-1, "yyyy-mm-dd", "-1"),
        (float("inf"), "0.00", ""),
        (5, '"a;b" 0', "a;b 5"),
        (5, "0.0 \\k\\g", "5.0 kg"),
    ],
)
def test_numbers_are_shown_in_their_format(value: float, code: str, shown: str) -> None:
    assert shown_number(value, code) == shown


def odf(body: str, styles: str = "", **parts: str) -> bytes:
    root = (
        f"<office:document-content {NAMES}><office:automatic-styles>{styles}"
        f"</office:automatic-styles><office:body>{body}</office:body></office:document-content>"
    )
    return archive({"content.xml": root, **parts})


def test_an_opendocument_workbook_is_read_like_one_of_excel() -> None:
    data = odf(
        '<office:spreadsheet><table:table table:name="My Rates">'
        "<table:table-header-rows><table:table-row>"
        "<table:table-cell><text:p>Berth</text:p></table:table-cell>"
        '<table:table-cell table:number-columns-spanned="2"><text:p>Fee</text:p></table:table-cell>'
        "<table:covered-table-cell/></table:table-row></table:table-header-rows>"
        "<table:table-row><table:covered-table-cell/>"
        "<table:table-cell><text:p>EUR</text:p></table:table-cell>"
        "<table:table-cell><text:p>USD</text:p></table:table-cell></table:table-row>"
        '<table:table-row table:number-rows-repeated="2">'
        "<table:table-cell><text:p>North<text:s/>1</text:p></table:table-cell>"
        '<table:table-cell office:value-type="float" table:number-columns-repeated="2">'
        "<text:p>1,200</text:p></table:table-cell></table:table-row>"
        '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/>'
        '</table:table-row></table:table><table:table table:name="Off" table:style-name="t1"/'
        "></office:spreadsheet>",
        '<style:style style:name="t1" style:family="table">'
        '<style:table-properties table:display="false"/></style:style>',
    )
    parsed = read(data, "book.ods")
    assert "('My Rates'!A1:C4)" in parsed.document.text
    assert "| Berth | Fee – EUR | Fee – USD |" in parsed.document.text
    assert parsed.document.text.count("| North 1 | 1,200 | 1,200 |") == 2
    assert [f.kind for f in parsed.findings] == ["hidden_text"]


ODT = odf(
    "<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
    '<text:h text:outline-level="1">Fees</text:h><text:p>Ten <text:span text:style-name="B">per'
    '</text:span> m<text:span text:style-name="S">2</text:span>.<text:note><text:note-citation>1'
    "</text:note-citation><text:note-body><text:p>Net.</text:p></text:note-body></text:note><"
    "/text:p>"
    '<text:h text:outline-level="2">Berths</text:h>'
    '<text:list text:style-name="L"><text:list-item><text:p>One:</text:p><text:list>'
    "<text:list-item><text:p>deep</text:p></text:list-item></text:list></text:list-item><text"
    ":list-item>"
    "<text:p>Two.</text:p><text:p>More.</text:p></text:list-item></text:list>"
    '<table:table><table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>A'
    "</text:p></table:table-cell><table:covered-table-cell/></table:table-row><table:table-row>"
    "<table:table-cell><text:p>1</text:p></table:table-cell><table:table-cell><text:p>2</text:p>"
    '</table:table-cell></table:table-row></table:table><text:p>A<text:span text:style-name="'
    'H">secret'
    "</text:span>Z</text:p></office:text>",
    '<style:style style:name="B" style:family="text"><style:text-properties fo:font-weight="bold"/>'
    '</style:style><style:style style:name="S" style:family="text">'
    '<style:text-properties style:text-position="super 58%"/></style:style>'
    '<style:style style:name="H" style:family="text"><style:text-properties text:display="none"/>'
    '</style:style><text:list-style style:name="L"><text:list-level-style-number text:level="1" '
    'style:num-prefix="(" style:num-suffix=")" style:num-format="a"/><text:list-level-style-number '
    'text:level="2" style:num-prefix="(" style:num-suffix=")" style:num-format="1"/></text'
    ":list-style>",
    **{
        "styles.xml": f"<office:document-styles {NAMES}><office:styles><text:outline-style>"
        '<text:outline-level-style text:level="1" style:num-format="1"/><text:outline-level-style '
        'text:level="2" style:num-format="1" text:display-levels="2"/></text:outline-style>'
        "</office:styles></office:document-styles>"
    },
)


def test_an_opendocument_text_has_its_numbers_notes_and_tables() -> None:
    parsed = read(ODT, "rules.odt")
    assert parsed.document.text == (
        "# 1 Fees\n\nTen **per** m².[^1]\n\n## 1.1 Berths\n\n(a) One:\n\n(1) deep\n\n(b) Two.\n\n"
        "More.\n\n| A | A |\n| --- | --- |\n| 1 | 2 |\n\nAZ\n\n[^1]: Net.\n"
    )
    assert "1.1(a)(1)" in [chunk.locator for chunk in parsed.chunks]
    assert [f.kind for f in parsed.findings] == ["hidden_text"]


def test_an_encrypted_opendocument_file_is_refused() -> None:
    with pytest.raises(SourceError, match="encrypted"):
        read(odf("", **{"META-INF/manifest.xml": "<encryption-data/>"}), "rules.odt")


DRAW = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    f'xmlns:r="{REL}"'
)


def shape(kind: str | None, *lines: str) -> str:
    place = f'<p:ph type="{kind}"/>' if kind is not None else ""
    return (
        f"<p:sp><p:nvSpPr><p:cNvPr/><p:nvPr>{place}</p:nvPr></p:nvSpPr><p:txBody>"
        + "".join(f"<a:p>{line}</a:p>" for line in lines)
        + "</p:txBody></p:sp>"
    )


def slide(*shapes: str, show: str = "1") -> str:
    inner = "".join(shapes)
    return f'<p:sld {DRAW} show="{show}"><p:cSld><p:spTree>{inner}</p:spTree></p:cSld></p:sld>'


TABLE = (
    "<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>"
    "Size</a:t>"
    "</a:r></a:p></a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>Fee</a:t></a:r></a:p></a:txBody>"
    "</a:tc></a:tr><a:tr><a:tc gridSpan='2'><a:txBody><a:p><a:r><a:t>Any</a:t></a:r></a:p></a"
    ":txBody>"
    "</a:tc><a:tc hMerge='1'/></a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
)
LETTERED = shape(
    None,
    *(
        f'<a:pPr><a:buAutoNum type="alphaLcParenBoth"/></a:pPr><a:r><a:t>{word}</a:t></a:r>'
        for word in ("one", "two")
    ),
)
PPTX = archive(
    {
        "_rels/.rels": relations(("a", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f"<p:presentation {DRAW}><p:sldIdLst>"
        + "".join(f'<p:sldId id="{at}" r:id="r{at}"/>' for at in (2, 1, 3))
        + "</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            *((f"r{at}", "slide", f"slides/slide{at}.xml") for at in (1, 2, 3))
        ),
        "ppt/slides/slide2.xml": slide(
            shape(
                "body", "<a:r><a:t>One</a:t></a:r>", '<a:pPr lvl="1"/><a:r><a:t>deep</a:t></a:r>'
            ),
            shape("title", "<a:r><a:t>Fees of</a:t></a:r><a:br/><a:r><a:t>berths</a:t></a:r>"),
            shape("sldNum", "<a:r><a:t>1</a:t></a:r>"),
        ),
        "ppt/slides/_rels/slide2.xml.rels": relations(("n", "notesSlide", "../notesSlides/n.xml")),
        "ppt/notesSlides/n.xml": slide(shape("body", "<a:r><a:t>Say it.</a:t></a:r>")),
        "ppt/slides/slide1.xml": slide(TABLE, shape(None, "<a:r><a:t>Free</a:t></a:r>"), LETTERED),
        "ppt/slides/slide3.xml": slide(shape(None, "<a:r><a:t>no</a:t></a:r>"), show="0"),
    }
)


def test_slides_are_pages_with_their_titles_notes_and_tables(tmp_path: Path) -> None:
    parsed = read(PPTX, "deck.pptx")
    assert parsed.document.title == "Fees of berths"
    assert parsed.document.text == (
        "## Fees of berths\n\n- One\n   - deep\n\nNote: Say it.\n\n## Slide 2\n\n"
        "| Size | Fee |\n| --- | --- |\n| Any | Any |\n\nFree\n\n(a) one\n\n(b) two\n"
    )
    pages = {chunk.locator: chunk.page for chunk in parsed.chunks if chunk.kind == "section"}
    assert pages == {"Fees of berths": 1, "Slide 2": 2}
    (tmp_path / "deck.pptx").write_bytes(PPTX)
    with pincite.open(tmp_path / "index") as index:
        index.ingest([tmp_path / "deck.pptx"])
        assert index.show("slide 1")[0].title == "Fees of berths"


RTF = (
    rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Cyr;}}"
    rb"{\stylesheet{\s0 Normal;}{\s3 heading 2;}}{\info{\title Fees \'e9}}{\*\generator X;}"
    rb"{\header Page 1}\pard\s3 Berths\par \pard\plain{\listtext (a)\tab}Ten {\b per} m{\super 2}"
    rb"{\footnote Net.}.\par {\listtext (b)\tab}\u8364?5 \u-10179?\u-8704? {\v hidden}\f1"
    rb" \'e4\f0\par"
    rb"\trowd\pard\intbl A\cell B\cell\row\trowd 1\par two\cell 2\cell\row\pard End\line x\par}"
)


def test_rtf_has_headings_printed_labels_tables_and_notes() -> None:
    parsed = read(RTF, "rules.rtf")
    assert parsed.document.title == "Fees é"
    assert parsed.document.text == (
        "## Berths\n\n(a) Ten **per** m²[^1].\n\n(b) €5 😀 д\n\n"
        "| A | B |\n| --- | --- |\n| 1 two | 2 |\n\nEnd\nx\n\n[^1]: Net.\n"
    )
    assert "Berths(a)" in [chunk.locator for chunk in parsed.chunks]
    assert [f.kind for f in parsed.findings] == ["hidden_text"]


@pytest.mark.parametrize("name", ["a.xlsx", "a.ods", "a.odt", "a.pptx", "a.rtf"])
@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"\xd0\xcf\x11\xe0" * 9, archive({"x": "y"})])
def test_what_is_no_such_file_is_refused(name: str, data: bytes) -> None:
    with pytest.raises(SourceError):
        read(data, name)


def test_deep_groups_and_raw_bytes_of_rtf_end() -> None:
    with pytest.raises(SourceError, match="no text"):
        read(b"{\\rtf1" + b"{" * 100_000, "a.rtf")
    assert "after" in read(b"{\\rtf1\\bin3 }}}after\\par}", "a.rtf").document.text
