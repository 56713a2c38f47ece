"""Laws in XML: nothing is guessed, so counts and places are those of the file."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from lxml import etree

from pincite.model.errors import SourceError
from pincite.model.settings import IngestSettings
from pincite.read.extracted import Clause
from pincite.read.formats import laws_xml
from pincite.read.load import parse
from pincite.read.structure.clauses import clause_tree

ROOT = Path(__file__).resolve().parents[4]
DATA = Path(os.environ.get("PINCITE_DATA", ROOT.parent / "shared" / "data"))
FILES = sorted((DATA / "canada-regs").glob("*/*.xml"))
LABELLED = ("Subsection", "Paragraph", "Subparagraph", "Clause", "Subclause")

LAW = """<Regulation xml:lang="en"><Identification><InstrumentNumber>SOR/1-2</InstrumentNumber>
<LongTitle>Harbour Regulations</LongTitle></Identification><Body>
<Heading level="1"><Label>PART 1</Label><TitleText>General</TitleText></Heading>
<Section><MarginalNote>Definitions</MarginalNote><Label>1</Label>
 <Subsection><Label>(1)</Label><Text>In these Regulations,</Text>
  <Definition><Text><DefinedTermEn>berth</DefinedTermEn> means
   (<DefinedTermFr>poste</DefinedTermFr>)</Text>
   <Paragraph><Label>(a)</Label><Text>a quay; or</Text></Paragraph>
   <Paragraph><Label>(b)</Label><Text>a buoy.</Text></Paragraph></Definition>
  <Definition><Text><DefinedTermEn>Act</DefinedTermEn><Repealed>[Repealed]</Repealed></Text>
  </Definition>
 </Subsection>
 <Subsection><MarginalNote>Exception</MarginalNote><Label>(2)</Label>
  <Text>Not in<FootnoteRef>a</FootnoteRef></Text>
  <Footnote><Label>a</Label><Text>See below.</Text></Footnote>
  <Paragraph><Label>(a)</Label><Text>winter:</Text>
   <Subparagraph><Label>(i)</Label><Text>day,</Text></Subparagraph></Paragraph></Subsection>
 <HistoricalNote><HistoricalNoteSubItem>SOR/9-9</HistoricalNoteSubItem></HistoricalNote></Section>
<Section><Label>2.1</Label><Text>Area in m<Sup>2</Sup>:</Text>
 <TableGroup><Caption>TABLE 1</Caption><table><title>Sizes</title><tgroup cols="3">
  <colspec colname="1"/><colspec colname="b"/><colspec colname="c"/>
  <thead><row><entry morerows="1">Item</entry><entry namest="b" nameend="c">Depth</entry></row>
   <row><entry colname="b">mm</entry><entry colname="c">in</entry></row></thead>
  <tbody><row><entry>1</entry><entry>5</entry><entry/></row>
   <row><entry colname="c">x|y</entry></row></tbody></tgroup></table></TableGroup></Section>
</Body><Schedule><ScheduleFormHeading><Label>SCHEDULE I</Label>
<OriginatingRef>(Section 2)</OriginatingRef></ScheduleFormHeading>
<Section><Label>1</Label><Text>Again.</Text></Section>
</Schedule></Regulation>"""


def clauses(data: bytes, name: str = "law.xml") -> tuple[str, list[Clause]]:
    parsed = laws_xml.read(data, name)
    tree = clause_tree(parsed.text, parsed.blocks, parsed.title)
    assert "".join(parsed.text[c.start : c.own_end] for c in tree) == parsed.text
    return parsed.text, tree


def test_every_place_has_its_locator() -> None:
    text, tree = clauses(LAW.encode())
    assert [clause.locator for clause in tree] == [
        "",
        "Part 1",
        "1",
        "1(1)",
        "1(1) > berth",
        "1(1) > berth(a)",
        "1(1) > berth(b)",
        "1(1) > Act",
        "1(2)",
        "1(2)(a)",
        "1(2)(a)(i)",
        "2.1",
        "Table 1",
        "Schedule I",
        "Schedule I > 1",
    ]
    found = {clause.locator: clause for clause in tree}
    assert (tree[0].title, found["1"].title) == ("Harbour Regulations", "Definitions")
    assert (found["1(2)"].title, found["Table 1"].title) == ("Exception", "Sizes")
    assert "SOR/9-9" not in text and "[^a]: See below." in text and "in m²:" in text
    assert "**Act** [Repealed]" in text


def test_a_table_of_several_levels() -> None:
    text, _ = clauses(LAW.encode())
    assert (
        "**TABLE 1 Sizes**\n\n| Item | Depth – mm | Depth – in |\n| --- | --- | --- |\n"
        "| 1 | 5 |  |\n|  |  | x\\|y |\n"
    ) in text


def test_other_xml_and_hostile_xml_are_refused() -> None:
    laughs = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><Regulation>&b;</Regulation>'
    outside = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><Statute>&a;</Statute>'
    deep = "<Regulation>" + "<Provision>" * 200 + "x" + "</Provision>" * 200 + "</Regulation>"
    deeper = "<Regulation>" * 100_000
    for source, reason in [
        ("<html><p>x</p></html>", "unknown kind: <html>"),
        (laughs, "entities"),
        (laughs.encode("utf-16"), "entities"),
        (outside, "entities"),
        (deep, "nests more than"),
        (deeper, "not well-formed"),
        ("<Regulation><Body>", "not well-formed"),
        ("<Regulation/>", "no text|x"),
    ]:
        data = source if isinstance(source, bytes) else source.encode()
        if reason.startswith("no text"):
            assert laws_xml.read(data, "x.xml").title == "x"
            continue
        with pytest.raises(SourceError, match=reason):
            laws_xml.read(data, "x.xml")


@pytest.mark.skipif(not FILES, reason="the regulations are absent")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_counts_equal_those_of_the_file(file: Path) -> None:
    data = file.read_bytes()
    _, tree = clauses(data, file.name)
    root = etree.fromstring(data)
    kinds = Counter(clause.kind for clause in tree)
    sections = [c for c in tree if c.kind == "section" and c.label.lstrip("§ ")[:1].isdigit()]
    assert len(sections) == len(root.findall(".//Section"))
    assert kinds["table"] == len(root.findall(".//table"))
    items = [e for e in root.iter(*LABELLED) if e.find("Label") is not None]
    ends = Counter(clause.label for clause in tree if clause.kind == "clause")
    wanted = Counter("".join(e.find("Label").itertext()) for e in items)
    assert {label: ends[label] >= count for label, count in wanted.items()} == dict.fromkeys(
        wanted, True
    )


@pytest.mark.skipif(not FILES, reason="the regulations are absent")
@pytest.mark.parametrize(
    ("stem", "locator", "words"),
    [
        ("SOR-86-304", "1.2 > high voltage", "**high voltage** means a voltage of 751 volts"),
        ("SOR-86-304", "1.2 > Act(b)", "(b) in Part XX"),
        ("SOR-86-304", "6.11(4)", "(4) In a building the construction"),
        ("SOR-2016-311", "11(b)", "(b) the motor is at least as energy efficient"),
        ("DORS-86-304", "1.2 > haute tension", "**haute tension** Tension de 751 V ou plus"),
    ],
)
def test_places_in_real_laws(stem: str, locator: str, words: str) -> None:
    (file,) = (file for file in FILES if file.stem == stem)
    text, tree = clauses(file.read_bytes())
    starts = [text[clause.start :] for clause in tree if clause.locator == locator]
    assert starts and starts[0].startswith(words), starts[0][:80] if starts else locator


def test_identifiers_lead_to_places_and_words_behind_items_to_what_holds_them() -> None:
    lims = 'xmlns:lims="http://justice.gc.ca/lims"'
    law = f"""<Regulation {lims}><Body><Section lims:id="11"><Label>1</Label><Text>A fee</Text>
<Paragraph lims:id="12" lims:fid="7"><Label>(a)</Label><Text>in winter</Text></Paragraph>
<ContinuedSectionSubsection lims:id="13"><Text>is due.</Text></ContinuedSectionSubsection>
</Section></Body></Regulation>"""
    parsed = parse(law.encode(), "law.xml", IngestSettings())
    found = {
        name: chunk
        for chunk in parsed.chunks
        if chunk.id in parsed.facts
        for name in parsed.facts[chunk.id].identifiers
    }
    assert {name: chunk.locator for name, chunk in found.items()} == {
        "11": "1",
        "12": "1(a)",
        "7": "1(a)",
        "13": "1",
    }
    assert found["12"].text.strip() == "(a) in winter"
    assert found["13"].text.strip() == "is due."
