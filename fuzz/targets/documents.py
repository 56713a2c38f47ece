"""Files of documents: whatever the bytes are, a document with true offsets or a SourceError."""

from __future__ import annotations

import importlib.util
import io
import json
import zipfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any

from fuzz.harness import ROOT, Target, sample
from pincite.model.errors import SourceError
from pincite.model.settings import IngestSettings, LimitSettings, Settings
from pincite.model.types import ParsedDocument
from pincite.read.load import parse
from pincite.read.workers import ParseTask, WorkerPool, from_json, to_json

LAW = (
    "every chunk is a stretch of the text, ids and parents are known, links and boxes lie inside, "
    "the text can be stored, and it survives the way from the child"
)
SETTINGS = IngestSettings()
MARKDOWN = (
    b"# Code\n\n## 1.1 Fees\n\n(a) One, see 1.2(b).\n\n(b) Two.\n\n(i) Roman.\n\n## 1.2 More\n\n"
    b"**Table 1.2 Sizes**\n\n| A | B (mm) |\n|---|---|\n| 1 | over 60 through 100 |\n\n"
    b"Exception No. 1: none.\n",
    b"---\naccess: staff\n---\n\n# Title 2021 Edition\n\nEffective July 1, 2021.\n\n- a\n  - b\n",
    b"```\ncode\n```\n\n> quoted (1) text\n\n[link](x.md) ![i](y) <b>html</b> \\| `a|b`\n",
)
HTML = (
    b"<html lang=en><title>T</title><body><h1>Code</h1><h2>1.1 Fees</h2><p>(a) One<br>two"
    b"<ol type=a start=3><li>x<ul><li>y</ul></ol><table><caption>Table 1</caption><tr>"
    b"<th rowspan=2>A<th colspan=2>B<tr><td>1<td>2</table><pre>code</pre><dl><dt>t<dd>d</dl>"
    b"</body></html>",
    b"<div hidden>no</div><p style='display:none'>no<p>yes<sup>2</sup> <a href=#x>see 1.2</a>",
)
XML = (
    b'<Regulation xml:lang="en"><Identification><InstrumentNumber>S</InstrumentNumber><LongTitle>'
    b'Harbour</LongTitle></Identification><Body><Heading level="1"><Label>PART 1</Label><TitleText>'
    b"G</TitleText></Heading><Section><MarginalNote>D</MarginalNote><Label>1</Label><Subsection>"
    b"<Label>(1)</Label><Text>In</Text><Definition><Text><DefinedTermEn>berth</DefinedTermEn> is"
    b"</Text><Paragraph><Label>(a)</Label><Text>q</Text></Paragraph></Definition></Subsection>"
    b'</Section><TableGroup><table><title>S</title><tgroup cols="2"><colspec colname="1"/><thead>'
    b'<row><entry morerows="1">I</entry><entry namest="1" nameend="2">D</entry></row></thead>'
    b"<tbody><row><entry>1</entry></row></tbody></tgroup></table></TableGroup></Body></Regulation>",
    b"<Statute><Body><Section><Label>2</Label><Text>A<Sup>2</Sup></Text></Section></Body></"
    b"Statute>",
    b'<bill><main id="m"><section id="a"><num>SEC. 1.</num><heading>F</heading><subsection id="b">'
    b"<num>(a)</num><content>x<quotedContent><paragraph><num>(1)</num></paragraph></quotedContent>."
    b"</content></subsection><continuation>y</continuation></section></main></bill>",
    b'<ACT><ENACTING.TERMS><ARTICLE IDENTIFIER="001"><TI.ART>Article 1</TI.ART><PARAG><NO.PARAG>1.'
    b"</NO.PARAG><ALINEA><LIST><ITEM><NP><NO.P>(a)</NO.P><TXT>s</TXT></NP></ITEM></LIST></ALINEA>"
    b"</PARAG></ARTICLE></ENACTING.TERMS></ACT>",
    b'<DIV5 NODE="1" TYPE="PART"><HEAD>PART 9</HEAD><DIV8 TYPE="SECTION"><HEAD>1.1 F.</HEAD><'
    b"P>(a) T"
    b"</P><TABLE><TR><TD>1</TD></TR></TABLE></DIV8></DIV5>",
)
REL = b'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'


def _relations(role: bytes, target: bytes) -> bytes:
    return b'<a><Relationship Id="r1" Type="/%s" Target="%s"/></a>' % (role, target)


BOOK_PARTS = (
    *("xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/worksheets/sheet1.xml"),
    *("xl/sharedStrings.xml", "xl/styles.xml"),
)
BOOK = (
    b"\0".join(
        (
            b'<workbook %s><sheets><sheet name="Rates" r:id="r1"/></sheets></workbook>' % REL,
            _relations(b"worksheet", b"worksheets/sheet1.xml"),
            b'<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>Size</t></is></c>'
            b'<c r="B1" t="str"><v>Fee</v></c></row><row r="2"><c r="A2"><v>1</v></c><c r="B2'
            b'" s="1">'
            b'<f>1+1</f><v>2.5</v></c></row><row r="9"><c><v>45413</v></c></row></sheetData>'
            b'<mergeCells><mergeCell ref="A1:A2"/></mergeCells></worksheet>',
            b"<sst><si><t>a</t></si></sst>",
            b'<styleSheet><numFmts><numFmt numFmtId="170" formatCode="0.0&quot; mm&quot;;[h]:mm"/>'
            b'</numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs></styleSheet>',
        )
    ),
)
DECK_PARTS = (
    *("ppt/presentation.xml", "ppt/_rels/presentation.xml.rels", "ppt/slides/slide1.xml"),
)
DECK = (
    b"\0".join(
        (
            b'<p:p xmlns:p="p" %s><p:sldIdLst><p:sldId r:id="r1"/></p:sldIdLst></p:p>' % REL,
            _relations(b"slide", b"slides/slide1.xml"),
            b'<p:sld xmlns:p="p" xmlns:a="a"><p:cSld><p:spTree><p:sp><p:nvSpPr><p:nvPr>'
            b'<p:ph type="title"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>T</a:t></a:r></a:p>'
            b"</p:txBody></p:sp><p:graphicFrame><a:tbl><a:tr><a:tc gridSpan='2'><a:txBody><a"
            b":p><a:r>"
            b"<a:t>x</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></p:graphicFrame></p:spTree>"
            b"</p:cSld></p:sld>",
        )
    ),
)
ODF = b'xmlns:o="o" xmlns:t="t" xmlns:x="x" xmlns:s="s"'
ODS = (
    b'<o:c %s><o:body><o:spreadsheet><t:table t:name="R"><t:table-row t:number-rows-repeated="3">'
    b'<t:table-cell t:number-columns-spanned="2"><x:p>A</x:p></t:table-cell><t:covered-table-cell/>'
    b'<t:table-cell o:value-type="float" t:number-columns-repeated="2"><x:p>1<x:s x:c="2"/>2</x:p>'
    b"</t:table-cell></t:table-row></t:table></o:spreadsheet></o:body></o:c>" % ODF,
)
ODT_PARTS = ("content.xml", "styles.xml")
ODT = (
    b'<o:c %s><x:list-style s:name="L"><x:list-level-style-number x:level="1" s:num-format="a" '
    b's:num-suffix=")"/></x:list-style><o:body><o:text><x:h x:outline-level="1">Fees</x:h><x:p>Ten'
    b"<x:note><x:note-citation>1</x:note-citation><x:note-body><x:p>n</x:p></x:note-body></x:note>"
    b'</x:p><x:list x:style-name="L"><x:list-item><x:p>one</x:p></x:list-item></x:list><t:table>'
    b"<t:table-row><t:table-cell><x:p>A</x:p></t:table-cell></t:table-row></t:table></o:text>"
    b"</o:body></o:c>\0<o:s %s/>" % (ODF, ODF),
)
RTF = (
    b"{\\rtf1\\ansi\\ansicpg1252{\\fonttbl{\\f0\\fcharset0 A;}}{\\stylesheet{\\s1 heading 1;}"
    b"}{\\info"
    b"{\\title T}}\\pard\\s1 Fees\\par\\pard{\\listtext (a)\\tab}Ten {\\b per} m{\\super 2}"
    b"{\\footnote N.}"
    b"\\u8364?\\'e9\\par\\trowd\\intbl A\\cell B\\cell\\row\\pard End\\par}",
)
JSON = (
    json.dumps([{"text": "Page one. (a) x", "page_idx": 0}, {"text": "Two", "page_idx": 1}]),
    json.dumps(
        {
            "title": "C",
            "chapters": [
                {
                    "number": 1,
                    "title": "G",
                    "articles": [
                        {
                            "number": "2",
                            "title": "H",
                            "sections": [
                                {
                                    "number": "2.1",
                                    "text": "Words",
                                    "items": [
                                        {"label": "(a)", "text": "One", "sub_items": {"1": "deep"}}
                                    ],
                                    "tables": [
                                        {
                                            "id": "Table 2.1",
                                            "title": "T",
                                            "headers": ["A", "B"],
                                            "rows": [["1", "2"]],
                                        }
                                    ],
                                    "referenced_tables": ["2.1"],
                                }
                            ],
                        }
                    ],
                }
            ],
        }
    ),
)
CSV = (
    b"Size,Load (A)\n1.5,16\n2.5,21\n",
    b'a;b;c\n"x;y";2;3\n',
    b"Table 1\tx\n1\t=2+3\n",
)
PLAIN = (
    b"RULES\n\n1. GENERAL\n\n1.1 Fees. The fee is 5.\n(a) one;\n(b) two.\n\fPART II\n\nSection 2.",
    b"TABLE OF CONTENTS\n1 Intro ..... 2\n\nA  B  C\n1  2  3\n4  5  6\n\n  * item\n  * item\n",
)
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
WORD_PARTS = ("word/document.xml", "word/styles.xml", "word/numbering.xml", "word/footnotes.xml")


def lawful(loaded: ParsedDocument) -> None:
    """Raise AssertionError where what was read breaks a law of documents."""
    text, doc_id = loaded.document.text, loaded.document.id
    ids = {chunk.id for chunk in loaded.chunks}
    assert len(ids) == len(loaded.chunks), "a chunk's id stands twice"
    text.encode(), loaded.document.title.encode()
    for chunk in loaded.chunks:
        assert 0 <= chunk.span.start <= chunk.own_end <= chunk.span.end <= len(text), chunk
        assert text[chunk.span.start : chunk.span.end] == chunk.text
        assert chunk.span.doc_id == doc_id and (chunk.parent is None or chunk.parent in ids)
        f"{chunk.locator}{chunk.title}{chunk.context}{chunk.path}".encode()
    searched = sorted(chunk.span for chunk in loaded.chunks if chunk.searched)
    assert all(a.end <= b.start for a, b in pairwise(searched)), "overlap"
    for link in loaded.links:
        assert link.source in ids and 0 <= link.span.start <= link.span.end <= len(text), link
        link.target.encode()
    assert set(loaded.facts) <= ids
    for box in loaded.boxes:
        assert 0 <= box.start <= box.end <= len(text) and box.page >= 1, box
    assert from_json(to_json(loaded)) == loaded


def read(name: str, data: bytes) -> ParsedDocument:
    """Read bytes as a file of this name, in this process."""
    loaded = parse(data, name, SETTINGS)
    lawful(loaded)
    return loaded


def read_zipped(ending: str, names: Sequence[str], data: bytes) -> None:
    """Read a file whose parts are these: bytes that begin as an archive are one as it is."""
    if data[:2] == b"PK":
        read(f"x.{ending}", data)
        return
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, part in zip(names, data.split(b"\0"), strict=False):
            archive.writestr(name, part)
    read(f"x.{ending}", stream.getvalue())


@cache
def _pool() -> WorkerPool:
    limits = LimitSettings(seconds=30, memory_mb=1500)
    return WorkerPool(Settings(limits=limits), workers=1)


def read_pdf_in_child(data: bytes) -> None:
    """Read a PDF as the program does: in a child, which may die of it."""
    (_, result), *rest = _pool().parse([ParseTask("x.pdf", data, "", len(data))])
    assert not rest and result is not None
    if isinstance(result, SourceError):
        assert "could not be read: " not in result.message, result.message  # a bug of the reader
        raise result
    lawful(result)


@cache
def _writer() -> Any:
    file = ROOT / "tests/unit/read/pdf/pdf_writer.py"
    spec = importlib.util.spec_from_file_location("fuzz_pdf_writer", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def pdf_seeds() -> list[bytes]:
    pdf = _writer().Pdf
    made = [pdf(title="Rules").page(), pdf(rotate=90).page(), pdf().page().page()]
    for number, each in enumerate(made):
        each.text(72, 80, "1.1 Fees", size=16, font="Helvetica-Bold")
        each.lines(72, 110, ["(a) One rule, see 1.2.", "(b) Two rules and a long-", "er line."])
        each.draw("72 500 400 20 re S 72 520 400 20 re S 200 500 m 200 540 l S")
        each.text(80, 285, "A").text(210, 285, "B").text(80, 265, "1").text(210, 265, "2")
        if number:
            each.text(72, 700, "hidden", mode=3).picture(10, 10, 50, 50)
    return [each.bytes() for each in made]


def word_seeds() -> list[bytes]:
    body = (
        '<w:p><w:pPr><w:pStyle w:val="H"/></w:pPr><w:r><w:t>1 Fees</w:t></w:r></w:p><w:p><w:pPr>'
        '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>One</w:t>'
        "</w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>A</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    )
    styles = '<w:style w:styleId="H"><w:name w:val="heading 1"/></w:style>'
    numbers = (
        '<w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt '
        'w:val="lowerLetter"/><w:lvlText w:val="(%1)"/></w:lvl></w:abstractNum><w:num w:numId="1">'
        '<w:abstractNumId w:val="0"/></w:num>'
    )
    parts = [
        f"<w:document {W}><w:body>{body}</w:body></w:document>",
        f"<w:styles {W}>{styles}</w:styles>",
        f"<w:numbering {W}>{numbers}</w:numbering>",
        f'<w:footnotes {W}><w:footnote w:id="1"><w:p/></w:footnote></w:footnotes>',
    ]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, part in zip(WORD_PARTS, parts, strict=True):
            archive.writestr(name, part)
    return ["\0".join(parts).encode(), stream.getvalue()]


def _format(name: str, seeds: Sequence[bytes], words: Sequence[str], **more: Any) -> Target:
    ending = name.partition("-")[0]
    check: Callable[[bytes], object] = partial(read, f"x.{ending}")
    more.setdefault("most_bytes", 4096)
    return Target(f"read-{name}", LAW, check, lambda: seeds, words, **more)


def _zipped(
    ending: str, names: Sequence[str], seeds: Callable[[], Sequence[bytes]], words: Sequence[str]
) -> Target:
    check: Callable[[bytes], object] = partial(read_zipped, ending, names)
    return Target(f"read-{ending}", LAW, check, seeds, words, most_bytes=8192)


_NUMBERED = (
    "(a)",
    "(i)",
    "(1)",
    "1.1 ",
    "§ 2",
    "Table 1",
    "Exception:",
    "\n\n",
    "see 1.2(b)",
    "\f",
)
_WORD = ("<w:p>", "<w:tbl>", "<w:tc>", "w:val=", "<w:numId", "w:gridSpan", "w:vMerge", "<w:sdt>")
TARGETS = [
    _format("md", [*MARKDOWN, sample("rulebook.md", 2500)], (*_NUMBERED, "| a |", "|---|", "# ")),
    _format("txt", [*PLAIN, sample("notes.txt", 2500)], (*_NUMBERED, "....", "  ", "ARTICLE I\n")),
    _format(
        "html", HTML, ("<p>", "<td rowspan=9>", "<ol>", "<li>", "<h3>", "&nbsp;", "<!--", "(a)")
    ),
    _format(
        "xml", XML, ("<Section>", "<Label>", "<Text>", "<entry", "namest=", "<!DOCTYPE", "<Body>")
    ),
    _format("json", [each.encode() for each in JSON], ('"text":', '"items":', "[", "{", "1e999")),
    _format("csv", CSV, (",", ";", "\t", '"', "\n", "(mm)", "over 5"), smoke=400),
    _zipped("docx", WORD_PARTS, word_seeds, _WORD),
    _zipped("xlsx", BOOK_PARTS, lambda: BOOK, ("<c r=", "<v>", "<row", "<mergeCell ref=", "A1:B2")),
    _zipped("pptx", DECK_PARTS, lambda: DECK, ("<a:t>", "<a:p>", "<a:tc", "<p:sp>", "gridSpan=")),
    _zipped("ods", ("content.xml",), lambda: ODS, ("<t:table-cell>", "repeated=", "<x:p>", "9999")),
    _zipped(
        "odt", ODT_PARTS, lambda: ODT, ("<x:p>", "<x:list>", "<x:h>", "<t:table-row>", "<x:s>")
    ),
    _format("rtf", RTF, ("{\\*\\", "\\par ", "\\cell ", "\\row ", "\\u-1?", "\\'e9", "{", "}")),
    _format("pdf-here", [], ("BT", "ET", "Tj", "/Kids", "obj"), smoke=15, most_bytes=16384),
    Target(
        "read-pdf",
        f"in a child: {LAW}",
        read_pdf_in_child,
        pdf_seeds,
        ("obj", "/Kids", "Tj"),
        most_bytes=16384,
        smoke=15,
        seconds=40.0,
    ),
]
TARGETS = [
    Target(t.name, t.law, t.check, pdf_seeds, t.words, t.most_bytes, t.seconds, t.smoke)
    if t.name == "read-pdf-here"
    else t
    for t in TARGETS
]


def from_child(data: bytes) -> None:
    """Take what a child says that a hostile document took over."""
    result = from_json(data)
    if isinstance(result, SourceError):
        raise result
    for chunk in result.chunks:
        assert result.document.text[chunk.span.start : chunk.span.end] == chunk.text


TARGETS.append(
    Target(
        "child-answer",
        "what a child sends is a document or a SourceError, whatever took the child over",
        from_child,
        lambda: [
            to_json(parse(MARKDOWN[0], "x.md", SETTINGS)),
            to_json(SourceError("a", hint="b")),
        ],
        ('"error"', "[]", "null", "1e999", "-1", '"chunks":', '{"document":'),
        most_bytes=16384,
    )
)
