"""Laws in USLM, Akoma Ntoso, Formex and the eCFR's XML: places, quotations, identifiers."""

from __future__ import annotations

from pathlib import Path

import pytest

import pincite
from pincite.model.settings import IngestSettings
from pincite.model.types import ParsedDocument
from pincite.read.load import parse

USLM = """<bill xmlns="http://schemas.gpo.gov/xml/uslm" xml:lang="en"><meta id="m1"/>
<main><section identifier="/us/bill/1/s1" id="H1"><num value="1">SECTION 1. </num>
<heading>SHORT TITLE.<footnote id="f1"><sup>1</sup><p>So called.</p></footnote></heading>
<content>This is the “<shortTitle>Berths Act</shortTitle>”.<toc><heading>Contents</heading></toc>
</content></section>
<title identifier="/us/bill/1/tI"><num value="I">TITLE I—</num><heading>FEES</heading>
<section identifier="/us/bill/1/tI/s101"><num>SEC. 101. </num><heading>FEES.</heading>
<subsection identifier="/us/bill/1/tI/s101/a"><num>(a) </num><heading>In General.—</heading>
 <paragraph identifier="/us/bill/1/tI/s101/a/1"><num>(1) </num><chapeau>A fee—</chapeau>
  <subparagraph identifier="/us/bill/1/tI/s101/a/1/A"><num>(A)</num>
   <content>is due; and</content></subparagraph>
  <continuation>within a day.</continuation></paragraph></subsection>
<subsection identifier="/us/bill/1/tI/s101/b"><num>(b) </num><content>The Harbours Act is amended by
 adding: <quotedContent id="Q1"><section id="Q2"><num>“SEC. 9. </num><heading>DUES.</heading>
 <subsection id="Q3"><num>“(a) </num><content>None.”</content></subsection></section>
 </quotedContent>.</content></subsection></section></title></main></bill>"""
AKN = """<an:akomaNtoso xmlns:an="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><an:act><an:meta>
<an:identification><an:FRBRExpression><an:FRBRdate date="2020-05-01"/>
<an:FRBRlanguage language="eng"/></an:FRBRExpression></an:identification></an:meta><an:body>
<an:part eId="part_1"><an:num>Part 1</an:num><an:heading>Berths</an:heading>
<an:section eId="sec_1"><an:num>1</an:num><an:heading>Fees</an:heading>
 <an:subsection eId="sec_1__subsec_1"><an:num>1</an:num><an:intro><an:p>A fee is
  due</an:p></an:intro>
  <an:paragraph eId="sec_1__subsec_1__para_a"><an:num>(a)</an:num><an:content><an:p>in
   <an:b>winter</an:b>, and</an:p></an:content></an:paragraph>
  <an:wrapUp eId="sec_1__subsec_1__wrap"><an:p>at noon.</an:p></an:wrapUp></an:subsection>
 <an:subsection eId="sec_1__subsec_2"><an:num>2</an:num><an:content><an:table><an:tr>
  <an:th>Size</an:th><an:th>Fee</an:th></an:tr><an:tr><an:td>1</an:td><an:td>20</an:td></an:tr>
 </an:table></an:content></an:subsection></an:section></an:part></an:body></an:act></an:akomaNtoso>"""
FORMEX = """<ACT><BIB.INSTANCE><DATE ISO="20240101">x</DATE></BIB.INSTANCE>
<TITLE><TI><P>Regulation on berths</P></TI></TITLE>
<PREAMBLE><GR.CONSID><CONSID><NP><NO.P>(1)</NO.P><TXT>Ships need berths.</TXT></NP></CONSID>
</GR.CONSID></PREAMBLE><ENACTING.TERMS><DIVISION><TITLE><TI><P>CHAPTER I</P></TI>
<STI><P>General</P></STI></TITLE>
<ARTICLE IDENTIFIER="001"><TI.ART>Article 1</TI.ART><STI.ART><P>Scope</P></STI.ART>
<PARAG IDENTIFIER="001.001"><NO.PARAG>1.</NO.PARAG><ALINEA><P>This applies to:</P>
<LIST TYPE="alpha"><ITEM><NP><NO.P>(a)</NO.P><TXT>ships;</TXT></NP></ITEM>
<ITEM><NP><NO.P>(b)</NO.P><TXT>boats.</TXT></NP></ITEM></LIST></ALINEA></PARAG></ARTICLE>
</DIVISION></ENACTING.TERMS></ACT>"""
ECFR = """<DIV5 N="9" NODE="47:5.0.1" TYPE="PART"><HEAD>PART 9—BERTHS</HEAD>
<AUTH><HED>Authority:</HED><PSPACE>47 U.S.C. 1.</PSPACE></AUTH>
<DIV6 N="A" NODE="47:5.0.1.1" TYPE="SUBPART"><HEAD>Subpart A—General</HEAD>
<DIV8 N="9.1" NODE="47:5.0.1.1.1" TYPE="SECTION"><HEAD>§ 9.1   Fees.</HEAD>
<P>(a) <I>Amount.</I> Ten.</P><P>(1) In winter.</P><P>(b) See § 9.2.</P></DIV8></DIV6></DIV5>"""


def read(source: str) -> ParsedDocument:
    return parse(source.encode(), "law.xml", IngestSettings())


def locators(parsed: ParsedDocument) -> list[str]:
    return [chunk.locator for chunk in parsed.chunks if chunk.kind not in ("document", "piece")]


def first_words(parsed: ParsedDocument, identifier: str) -> str:
    (place,) = (c for c in parsed.chunks if identifier in _names(parsed, c.id))
    return " ".join(place.text.split()[:4])


def _names(parsed: ParsedDocument, chunk_id: str) -> tuple[str, ...]:
    facts = parsed.facts.get(chunk_id)
    return facts.identifiers if facts else ()


def test_uslm_has_its_places() -> None:
    parsed = read(USLM)
    assert parsed.document.title == "Berths Act"
    assert locators(parsed) == [
        *("1", "Title I", "101", "101(a)", "101(a)(1)", "101(a)(1)(A)", "101(a)(1)"),
        *("101(b)", "101(b) > SEC. 9.", "101(b) > SEC. 9. > (a)"),
    ]
    assert "Contents" not in parsed.document.text
    assert "[^1]: So called." in parsed.document.text


def test_words_behind_items_belong_to_what_holds_them() -> None:
    parsed = read(USLM)
    (item,) = (c for c in parsed.chunks if c.locator == "101(a)(1)(A)")
    assert item.text.strip() == "(A) is due; and"
    whole = next(c for c in parsed.chunks if c.locator == "101(a)(1)")
    assert whole.text.rstrip().endswith("within a day.")


@pytest.mark.parametrize(
    ("source", "identifier", "words"),
    [
        (USLM, "/us/bill/1/s1", "## SECTION 1. SHORT"),
        (USLM, "H1", "## SECTION 1. SHORT"),
        (USLM, "/us/bill/1/tI", "## TITLE I FEES"),
        (USLM, "/us/bill/1/tI/s101/a", "(a) *In General.* (1)"),
        (USLM, "/us/bill/1/tI/s101/a/1", "(1) A fee— (A)"),
        (USLM, "/us/bill/1/tI/s101/a/1/A", "(A) is due; and"),
        (USLM, "Q2", "“SEC. 9. *DUES.* “(a)"),
        (USLM, "Q3", "“(a) None.”"),
        (USLM, "f1", "## SECTION 1. SHORT"),
        (AKN, "part_1", "## Part 1 Berths"),
        (AKN, "sec_1", "### 1. Fees 1"),
        (AKN, "sec_1__subsec_1", "1 A fee is"),
        (AKN, "sec_1__subsec_1__para_a", "(a) in **winter**, and"),
        (AKN, "sec_1__subsec_1__wrap", "at noon."),
        (FORMEX, "001", "### Article 1 Scope"),
        (FORMEX, "001.001", "1. This applies to:"),
        (ECFR, "47:5.0.1.1", "## Subpart A—General ###"),
        (ECFR, "47:5.0.1.1.1", "### § 9.1 Fees."),
    ],
)
def test_identifiers_lead_to_their_places(source: str, identifier: str, words: str) -> None:
    assert first_words(read(source), identifier) == words


def test_akoma_ntoso_has_its_places_tables_and_date() -> None:
    parsed = read(AKN)
    assert locators(parsed) == [
        *("Part 1", "1", "1(1)", "1(1)(a)", "1(1)", "1(2)", "1(2) Table", "1(2) Table > 1")
    ]
    assert parsed.document.meta["effective"] == "2020-05-01"


def test_formex_has_its_places() -> None:
    parsed = read(FORMEX)
    assert parsed.document.title == "Regulation on berths"
    assert locators(parsed) == [
        *("(1)", "Chapter I", "Article 1", "Article 1(1)", "Article 1(1)(a)", "Article 1(1)(b)")
    ]


def test_the_ecfr_has_its_places() -> None:
    assert locators(read(ECFR)) == [
        *("Part 9", "Subpart A", "9.1", "9.1(a)", "9.1(a)(1)", "9.1(b)")
    ]


def test_an_index_shows_and_finds_places_by_identifiers(tmp_path: Path) -> None:
    (tmp_path / "bill.xml").write_text(USLM)
    with pincite.open(tmp_path / "index") as index:
        index.ingest([tmp_path / "bill.xml"])
        assert [c.locator for c in index.show("/us/bill/1/tI/s101/a/1/A")] == ["101(a)(1)(A)"]
        assert index.search("/us/bill/1/tI/s101/b")[0].place.locator == "101(b)"
