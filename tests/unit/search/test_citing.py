"""Citations are read by other people's parsers, and lead back to the words."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import bibtexparser
import pytest
import rispy
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from pincite.api import Index
from pincite.cli.main import app
from pincite.model.errors import ConfigError
from pincite.model.types import Chunk, PageRef, Span
from pincite.search.citing import STYLES, PlaceToCite, text_fragment
from pincite.update import ingest_files

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from citeproc import (
        Citation,
        CitationItem,
        CitationStylesBibliography,
        CitationStylesStyle,
        Locator,
        formatter,
    )
    from citeproc.source.json import CiteProcJSON

STYLE = """<style xmlns="http://purl.org/net/xbiblio/csl" class="in-text" version="1.0">
<info><title>Ours</title><id>ours</id><updated>2026-01-01T00:00:00Z</updated></info>
<citation><layout delimiter="; "><group delimiter=", "><names variable="author"/>
<text variable="title"/><date variable="issued"><date-part name="year"/></date>
<group delimiter=" "><label variable="locator" form="short"/><text variable="locator"/></group>
</group></layout></citation>
<bibliography><layout><text variable="title"/></layout></bibliography></style>"""
CODE = """---
title: Harbour Code
author: Harbour Board & Sons
type: code
effective: 2024-03-01
---
# Harbour Code

## 5.2 Moorings

(a) Every mooring line shall be tested at least once a year.

(b) No line of less than 40 mm may be used.

Table 5-1 Lines

| size | load |
|---|---|
| 40 mm | 20 kN |

## Lanterns

A lantern is any light that a vessel shows at night.
"""
LAW = """<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><act>
<meta><identification source="#x"><FRBRWork><FRBRuri value="http://law.example/eli/act/2014/27"/>
</FRBRWork><FRBRExpression><FRBRdate date="2014-07-14"/><FRBRlanguage language="eng"/>
</FRBRExpression></identification></meta>
<preface><longTitle><p><docTitle>Lighthouse Act 2014</docTitle></p></longTitle></preface>
<body><section eId="sec_5"><num>5</num><heading>Keepers</heading>
<subsection eId="sec_5__subsec_2"><num>(2)</num><content><p>A keeper shall keep a log.</p></content>
</subsection></section></body></act></akomaNtoso>"""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("citing")
    (folder / "harbour.md").write_text(CODE)
    (folder / "law.xml").write_text(LAW)
    list(ingest_files([folder / "harbour.md", folder / "law.xml"], folder / "index").outcomes)
    with Index.open(folder / "index") as opened:
        yield opened


def place(title: str = "Code", locator: str = "5(2)", page: PageRef | None = None, **more: Any):
    doc_id = more.pop("doc_id", "code.pdf")
    chunk = Chunk("c", Span(doc_id, 3, 8), "words", "clause", locator, "", (), 8)
    return PlaceToCite(title, chunk, page or PageRef(None), **more)


def test_csl_is_set_by_citeproc_with_its_locator(index: Index, tmp_path: Path) -> None:
    (tmp_path / "ours.csl").write_text(STYLE)
    (item,) = json.loads(index.cite("5.2(b)", "csl-json", links="https://example.org"))
    assert (item["locator"], item["label"], item["type"]) == ("5.2(b)", "section", "legislation")
    assert item["issued"] == {"date-parts": [[2024, 3, 1]]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        style = CitationStylesStyle(str(tmp_path / "ours.csl"), validate=False)
        book = CitationStylesBibliography(style, CiteProcJSON([item]), formatter.plain)
        locator = Locator(item["label"], item["locator"])
        cited = Citation([CitationItem(item["id"], locator=locator)])
        book.register(cited)
        words = str(book.cite(cited, lambda unknown: pytest.fail(str(unknown))))
        listed = str(book.bibliography()[0])
    assert words == "Harbour Board & Sons, Harbour Code, 2024, sec. 5.2(b)"
    assert listed == "Harbour Code"


def test_bibtex_is_read_by_bibtexparser(index: Index) -> None:
    library = bibtexparser.parse_string(index.cite("5.2(a)", "bibtex", links="https://e.org/d/"))
    assert not library.failed_blocks
    fields = {each.key: each.value for each in library.entries[0].fields}
    assert fields["title"] == "Harbour Code" and fields["year"] == "2024"
    assert fields["note"] == "5.2(a)" and fields["url"].startswith("https://e.org/d/harbour.md#")
    assert fields["author"] == r"{Harbour Board \& Sons}"


def test_ris_is_read_by_rispy(index: Index) -> None:
    (record,) = rispy.loads(index.cite("5.2(a)", "ris"))
    assert record["type_of_reference"] == "STAT" and record["title"] == "Harbour Code"
    assert record["year"] == "2024" and record["section"] == "5.2(a)"
    assert record["authors"] == ["Harbour Board & Sons"]


@given(st.text(max_size=80), st.text(min_size=1, max_size=40))
def test_no_title_breaks_a_record(title: str, locator: str) -> None:
    cited = place(title, locator)
    library = bibtexparser.parse_string(cited.cite("bibtex"))
    assert len(library.entries) == 1 and not library.failed_blocks
    assert len(rispy.loads(cited.cite("ris"))) == 1
    for style in ("csl-json", "annotation"):
        json.loads(cited.cite(style))
    assert cited.cite("html").count("<") == 4


def test_an_annotation_finds_the_words_again(index: Index) -> None:
    told = json.loads(index.cite("5.2(b)", "annotation"))
    text = index.snapshot.text("harbour.md")
    quoted, position = told["target"]["selector"][:2]
    assert (quoted["type"], position["type"]) == ("TextQuoteSelector", "TextPositionSelector")
    assert text[position["start"] : position["end"]] == quoted["exact"]
    assert quoted["prefix"] + quoted["exact"] + quoted["suffix"] in text
    assert told["type"] == "Annotation" and told["id"].startswith("urn:uuid:")
    assert told["id"] == json.loads(index.cite("5.2(b)", "annotation"))["id"]


def test_identifiers_of_the_source_are_kept(index: Index) -> None:
    (item,) = json.loads(index.cite("5(2)", "csl-json", "law.xml"))
    known = item["custom"]["identifiers"]
    assert known[0] == "sec_5__subsec_2" and known[-1] == "http://law.example/eli/act/2014/27"
    bodies = json.loads(index.cite("5(2)", "annotation", "law.xml"))["body"]
    assert [each["id"] for each in bodies[1:]] == known
    assert index.cite("5(2)", "oscola", "law.xml") == "Lighthouse Act 2014, s 5(2)"


@pytest.mark.parametrize(
    ("cited", "bluebook", "oscola"),
    [
        (
            place("Radio (47 CFR Part 97, 2025 edition)", "97.113(a)(4)", meta={"kind": "code"}),
            "47 C.F.R. § 97.113(a)(4) (2025)",
            "47 CFR § 97.113(a)(4) (2025)",
        ),
        (
            place("Arbitration", "301", identifiers=("/us/usc/t9/s301",)),
            "9 U.S.C. § 301",
            "9 USC § 301",
        ),
        (
            place("Lifting Regulations 1998", "8(1)"),
            "Lifting Regulations 1998 § 8(1)",
            "Lifting Regulations 1998, reg 8(1)",
        ),
        (
            place("Tug Inc., Form 10-K", "Tug Inc., Form 10-K", PageRef(219, "217"),
                  meta={"issuer": "Tug Inc.", "kind": "10-K", "date": "2022-02-01"}),
            "Tug Inc., Form 10-K, at 217 (2022)",
            "Tug Inc., Form 10-K (2022) 217",
        ),
        (place("Data Act", "Art. 5(2)"), "Data Act art. 5(2)", "Data Act, art 5(2)"),
        (place("Code", "Table 250.66"), "Code tbl. 250.66", "Code, table 250.66"),
        (place("Code", "Grabbed"), "Code, Grabbed", "Code, Grabbed"),
    ],
)  # fmt: skip
def test_lawyers_styles(cited: PlaceToCite, bluebook: str, oscola: str) -> None:
    assert cited.cite("bluebook") == bluebook
    assert cited.cite("oscola") == oscola


def test_a_printed_page_stands_beside_that_of_the_file() -> None:
    cited = place("Report", "Report", PageRef(219, "217"), links="https://example.org/d")
    assert cited.cite() == "Report, p. 217 (PDF 219)"
    assert cited.link == "https://example.org/d/code.pdf#page=219"
    (item,) = json.loads(cited.cite("csl-json"))
    assert (item["locator"], item["label"]) == ("217", "page")
    assert item["custom"] == {"page": "217", "pdf_page": 219}
    assert rispy.loads(cited.cite("ris"))[0]["start_page"] == "217"


def test_a_text_link_has_the_first_and_last_words() -> None:
    text = "| size | load |\n|---|---|\n| 40 mm | twenty-five kN |"
    assert text_fragment(text) == ":~:text=size,twenty%2Dfive%20kN"
    long = "(b) " + " ".join(f"word{n}" for n in range(40))
    first, last = unquote(text_fragment(long)).removeprefix(":~:text=").split(",")
    assert first.split()[0] == "word0" and last.split()[-1] == "word39"
    assert text_fragment("|---|") == ""


def test_the_command_prints_every_style(index: Index) -> None:
    for style in STYLES:
        told = CliRunner().invoke(
            app, ["cite", "5.2(b)", "--as", style, "--index", str(index.location)]
        )
        assert told.exit_code == 0, told.output
        assert told.stdout.splitlines() == index.cite("5.2(b)", style).splitlines()
    with pytest.raises(ConfigError, match="no style 'apa'"):
        index.cite("5.2(b)", "apa")


def test_the_source_folder_is_not_told(index: Index) -> None:
    folder = str(Path(index.location).parent)
    assert not any(folder in index.cite("5.2(b)", style) for style in STYLES)
