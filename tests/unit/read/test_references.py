"""Cross references: what own sentences mean, seen from the clause that holds them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pincite.model.locators import keys_of, locator_key
from pincite.model.settings import IngestSettings, Settings
from pincite.model.types import Chunk, Document, Link
from pincite.read.load import parse
from pincite.read.references.resolve import references

SAMPLES = Path(__file__).parents[3] / "samples"
CODE = """# Part 40 Harbour Code

## Subpart J Berths

### § 40.1 Scope.

{scope}

### § 40.2 Fees.

Every owner pays, except as stated here.

(a) Ships pay:

(1) ten in May; and

(2) twenty in June:

(i) in coin; or

(ii) by letter.

(b) Boats pay:

(1) {boats}

(2) one in June.

(c) Rafts pay nothing.

Exception: {exception}

Table 40.2 Fees by Length

| Length | Fee |
|---|---|
| 0.5 | 40.1 |

### § 40.3 Lights.

{lights}

## Appendix 1 to Part 40 Signals

None.
"""


def found(
    scope: str = "", *, boats: str = "", exception: str = "", lights: str = ""
) -> dict[str, list[str]]:
    """Return the targets by relation, for sentences put into a small code."""
    text = CODE.format(
        scope=scope or "All.",
        boats=boats or "one in May; and",
        exception=exception or "Lifeboats pay nothing.",
        lights=lights or "Red.",
    )
    targets: dict[str, list[str]] = {}
    for link in links_of(text)[2]:
        targets.setdefault(link.relation, []).append(link.target)
    return targets


def links_of(text: str, name: str = "code.md") -> tuple[Document, list[Chunk], list[Link]]:
    loaded = parse(text.encode(), name, Settings().ingest)
    chunks = list(loaded.chunks)
    return loaded.document, chunks, references(loaded.document, chunks)


def inside(scope: str = "", **places: str) -> list[str]:
    return found(scope, **places).get("refers_to", [])


def outside(scope: str) -> list[str]:
    assert not inside(scope)
    return found(scope).get("refers_outside", [])


@pytest.mark.parametrize(
    ("sentence", "targets"),
    [
        ("See § 40.2(a)(2) first.", ["40.2(a)(2)"]),
        ("Berths under 40.2 are long.", ["40.2"]),
        ("As section 40.2(a) says.", ["40.2(a)"]),
        ("As sections 40.2 and 40.3 say.", ["40.2", "40.3"]),
        ("Under §§ 40.2(a) and 40.3(b), pay.", ["40.2(a)", "40.3(b)"]),
        ("Under § 40.2 (a) or (b) of this part, pay.", ["40.2(a)", "40.2(b)"]),
        ("See 40.2(a) through (c).", ["40.2(a)", "40.2(b)", "40.2(c)"]),
        ("See §§ 40.1–40.3 here.", ["40.1", "40.2", "40.3"]),
        ("See 40.7(a) through (c).", ["40.7(a)", "40.7(c)"]),
        ("Use Table 40.2 or Table\n40.9.", ["table 40.2", "table 40.9"]),
        ("Tables 40.2 and 40.9 differ.", ["table 40.2", "table 40.9"]),
        ("Article 250 and Chapter 4 apply.", ["article 250", "chapter 4"]),
        ("Chapters 1 to 3 apply.", ["chapter 1", "chapter 3"]),
        ("Chapters 1-3 apply.", ["chapter 1", "chapter 3"]),
        ("Sections 13a-14(a) and 15d-14 apply.", ["13a-14(a)", "15d-14"]),
        ("Sections 4a-4c apply.", ["4a-4c"]),
        ("See Appendix 1 and Annex C.", ["appendix 1", "annex c"]),
        ("See appendix 1 to part 40.", ["appendix 1"]),
        ("Words of part 40 and of this part.", ["part 40", "part 40"]),
        ("Berths of this subpart.", ["subpart j"]),
        ("See paragraph (c) of § 40.2 first.", ["40.2(c)"]),
        ("See § 40.2, paragraph (b) first.", ["40.2(b)"]),
        ("See 40.2(c), Exception for boats.", ["40.2(c) exception"]),
        ("See item (ii) of paragraph (a)(2) of § 40.2 first.", ["40.2(a)(2)(ii)"]),
        ("Selon l’article 40.2 et l’annexe 3.", ["40.2", "annexe 3"]),
        ("This section is short.", ["40.1"]),
    ],
)
def test_places_by_number(sentence: str, targets: list[str]) -> None:
    assert inside(sentence) == targets


@pytest.mark.parametrize(
    ("sentence", "targets"),
    [
        ("as in paragraph (a) of this section;", ["40.2(a)"]),
        ("as in paragraphs (a)(1) and (a)(2)(i) of this section;", ["40.2(a)(1)", "40.2(a)(2)(i)"]),
        ("as in paragraph (a)(2)(i), (ii), or (iii) of this section;",
         ["40.2(a)(2)(i)", "40.2(a)(2)(ii)", "40.2(a)(2)(iii)"]),
        ("as in paragraphs (a)(2) or (3) of this section;", ["40.2(a)(2)", "40.2(a)(3)"]),
        ("as in paragraphs (a)(1), (a)(2) and (c) of this section;",
         ["40.2(a)(1)", "40.2(a)(2)", "40.2(c)"]),
        ("as in paragraphs (a) through (c) of this section;", ["40.2(a)", "40.2(b)", "40.2(c)"]),
        ("as in paragraph (a), item\n(2) of this section;", ["40.2(a)(2)"]),
        ("as in (c) of this section;", ["40.2(c)"]),
        ("as listed in (a) through (c) here;", ["40.2(a)", "40.2(b)", "40.2(c)"]),
        ("as in paragraph (a)(2)(i);", ["40.2(a)(2)(i)"]),
        ("as in subparagraph (2);", ["40.2(b)(2)"]),
        ("as in item (2) above;", ["40.2(b)(2)"]),
        ("as in paragraph (z);", ["40.2(z)"]),
        ("as in this paragraph;", ["40.2(b)(1)"]),
        ("as in this paragraph (b)(1);", ["40.2(b)(1)"]),
        ("as in this section;", ["40.2"]),
        ("as in the following table;", ["table 40.2"]),
        ("as in the table below;", ["table 40.2"]),
        ("as the table above says;", []),
    ],
)  # fmt: skip
def test_places_by_label_are_seen_from_the_clause(sentence: str, targets: list[str]) -> None:
    assert inside(boats=sentence) == targets


@pytest.mark.parametrize(
    ("sentence", "targets"),
    [
        ("See 47 CFR 2.104, 2.105, and 2.106.", ["2.104", "2.105", "2.106"]),
        ("See § 1.1310 of this chapter.", ["1.1310"]),
        ("See § 2.106.", ["2.106"]),
        ("As part 17 of this chapter says.", ["part 17"]),
        ("As subpart K of part 2 of this chapter says.", ["subpart k of part 2"]),
        ("Under section 706 of the Ports Act of 1934, pay.", ["706 of the ports act of 1934"]),
        ("Under subsections 5(1) and (2) of the Act, pay.", ["5(1) of the act", "5(2) of the act"]),
        ("En vertu du paragraphe 5(1) de la Loi, payez.", ["5(1) of the loi"]),
        ("Under 47 U.S.C. 316(a), pay.", ["47 u.s.c. 316(a)"]),
        ("See CSA C360-03, Table 10 for more.", ["csa c360-03 table 10"]),
        ("See Appendix 4 and Rule No. 6 of the ITU Regulations.",
         ["appendix 4 of the itu regulations"]),
    ],
)  # fmt: skip
def test_places_in_other_works_are_outside(sentence: str, targets: list[str]) -> None:
    assert outside(sentence) == targets


@pytest.mark.parametrize(
    "sentence",
    [
        "A rope of 40.2 m and a beam of 2.5 mm.",
        "The 40.1–40.3 kHz band and 40.3 percent.",
        "More than 40.2 is too long; about 40.3 will do.",
        "It costs $40.20 or 40.20 euros.",
        "Paid on 21 March 1987, or on 3.4.1987.",
        "Version 40.2 of the form.",
        "All or part of it, and part A of me.",
        "A cross-section 40 mm wide, in sections (s).",
        "Either (a) a rope or (b) a chain.",
        "Two parts (m), four tables (long), the schedule (A).",
        "Paragraph (a) of footnote 3 is void.",
        "Element 2 and Class A.",
    ],
)
def test_look_alikes_are_no_references(sentence: str) -> None:
    assert inside(sentence) == []
    assert "refers_outside" not in found(sentence)


def test_headings_captions_and_reserved_numbers_are_no_references() -> None:
    assert found() == {"exception_to": ["40.2(c)"]}
    assert inside("§§ 40.5–40.7 [Reserved]") == []


def test_an_exception_is_one_to_its_clause() -> None:
    document, chunks, links = links_of(CODE.format(scope="", boats="", exception="No.", lights=""))
    (link,) = [link for link in links if link.relation == "exception_to"]
    assert link.target == "40.2(c)"
    assert document.text[link.span.start : link.span.end] == "Exception:"
    assert {chunk.id: chunk.locator for chunk in chunks}[link.source] == "40.2(c) Exception"
    assert inside(exception="Those of item (2) of paragraph (a) pay.") == ["40.2(a)(2)"]


def test_the_span_holds_the_words_and_the_source_is_the_deepest_clause() -> None:
    text = CODE.format(
        scope="", boats="as §§ 40.1(a) and 40.3 of this part say;", exception="No.", lights=""
    )
    document, chunks, links = links_of(text)
    names = {chunk.id: chunk.locator for chunk in chunks}
    told = [
        (names[link.source], document.text[link.span.start : link.span.end])
        for link in links
        if link.relation == "refers_to"
    ]
    assert told == [("40.2(b)(1)", "§§ 40.1(a)"), ("40.2(b)(1)", "40.3 of this part")]


def test_labels_in_a_column_belong_to_the_section_that_its_head_names() -> None:
    lights = (
        "| Band | Sharing, see § 40.2 (paragraph) |\n|---|---|\n"
        "| (i) 2 m | (a), (c). |\n| (ii) 6 m | (b)(1), (2). |\n"
    )
    expected = ["40.2", "40.2(a)", "40.2(c)", "40.2(b)(1)", "40.2(b)(2)"]
    assert inside(lights=lights) == expected


RULES = """# Tidewater Rules

## Chapter 4: Combat

{words}

### Grabbed

You are held.

### Prone [Condition]

You lie.

### Rules & Notes

Few.

Table: Prices

| Thing | Price |
|---|---|
| Rope | 2 |
"""


@pytest.mark.parametrize(
    ("words", "targets"),
    [
        ('You are held. See also "Grabbed".', ["grabbed"]),
        ("*See also* “Grabbed,” “Prone,” and “Speed.”",
         ["grabbed", "prone [condition]", "speed"]),
        ('For more, see "Playing the Game" ("D20 Tests" and "Combat").', ["d20 tests", "combat"]),
        ('A makeshift club (see "Improvised Weapons" in "Rules Glossary").',
         ["improvised weapons"]),
        ('See the crafting rules in "Character Creation" first.', ["character creation"]),
        ("Swing it (see chapter 4).", ["chapter 4"]),
        ("You fall; see Grabbed.", ["grabbed"]),
        ("Look at [the rule](#grabbed) and [notes](#rules--notes).", ["grabbed", "rules & notes"]),
        ("Look at [fire](spells.md#fire-bolt), not at [this](https://example.org/#x).",
         ["fire bolt"]),
        ("Pay by the Prices table.", ["prices"]),
        ('To see the values, open "Log". You can see "Stars".', ["stars"]),
        ("You cast *See Grabbed* once.", []),
        ("You can see Boats and the Weights table.", []),
    ],
)  # fmt: skip
def test_headings_by_name(words: str, targets: list[str]) -> None:
    _, _, links = links_of(RULES.format(words=words), "rules.md")
    assert [link.target for link in links] == targets


@pytest.mark.parametrize(
    ("name", "dangling"),
    [
        ("electrical-code-2021.md", ["table 314.16(c)"]),
        ("electrical-code-2024.md", ["table 314.16(c)"]),
        ("manual.md", []),
        ("rulebook.md", []),
        ("notes.txt", []),
    ],
)
def test_references_of_the_samples_lead_somewhere(name: str, dangling: list[str]) -> None:
    _, chunks, links = links_of((SAMPLES / name).read_text(encoding="utf-8"), name)
    known = {locator_key(chunk.locator) for chunk in chunks}
    known |= {locator_key(chunk.title) for chunk in chunks}
    assert links
    assert [link.target for link in links if link.target not in known] == dangling


@pytest.mark.parametrize("unit", ["(a)", "§", 'see "A", ', "the A ", "in (a) ", "section 1, "])
def test_long_runs_are_read_in_linear_time(unit: str) -> None:
    _, _, links = links_of(f"# Title\n\n## § 4.2 Fees.\n\n{unit * (30_000 // len(unit))}\n")
    assert len(links) <= 30_000


def targets(text: str) -> dict[str, set[tuple[str, str]]]:
    """Return relations and targets by the locator of the source."""
    loaded = parse(text.encode(), "a.md", Settings().ingest)
    sources = {chunk.id: chunk.locator for chunk in loaded.chunks}
    found: dict[str, set[tuple[str, str]]] = {}
    for link in references(loaded.document, loaded.chunks):
        found.setdefault(sources[link.source], set()).add((link.relation, link.target))
    return found


def test_an_alternate_refers_to_itself_first_and_to_its_clause_then() -> None:
    found = targets(
        "# Part 52\n\n## 52.2-6 Sales\n\n(a) One.\n\n(b) Two.\n\n(c) Three.\n\n"
        "Alternate I (Nov 2021). Substitute the following paragraph (b) for paragraph (b):\n\n"
        "(b) As in paragraphs (b) and (c) of this clause; see paragraph (a) of this clause.\n"
    )
    assert found["52.2-6 Alternate I(b)"] == {
        ("refers_to", "52.2-6 alternate i(b)"),
        ("refers_to", "52.2-6(c)"),
        ("refers_to", "52.2-6(a)"),
    }


def test_numbers_in_a_column_or_note_of_another_law_are_of_that_law() -> None:
    text = (
        "# Part 1\n\n## 1.1 Acts\n\n(a) See section 1.2 and section 77.\n\n"
        "| Act | 41 U.S.C. | Here |\n|---|---|---|\n"
        "| Kickbacks | sections 8701 and 8702 | section 1.2 |\n"
        "| Procurement | 40 U.S.C. Div. C* | section 55 |\n\n"
        "* Except sections 3302, 3501(b) and 1.2.\n\n## 1.2 More\n\nWords.\n"
    )
    found = targets(text)
    every = set().union(*found.values())
    assert {("refers_outside", f"41 u.s.c. {number}") for number in (8701, 8702)} <= every
    assert {("refers_outside", f"40 u.s.c. {number}") for number in ("3302", "3501(b)")} <= every
    inside = {target for relation, target in every if relation == "refers_to"}
    assert inside == {"1.2", "77", "55"}


FRENCH = """# Règlement sur le port

## PARTIE I Droits

### 4. Droits

(1) Les navires paient :

(a) dix en mai;

(b) vingt en juin :

(i) en espèces,

(ii) par lettre.

(2) {}

### 5. Feux

Les navires sont éclairés la nuit et dans la brume.
"""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Selon l’alinéa (1)a), ils paient.", {"4(1)(a)"}),
        ("Selon les alinéas (1)a) et b), ils paient.", {"4(1)(a)", "4(1)(b)"}),
        ("Malgré le paragraphe (1), ils paient.", {"4(1)"}),
        ("Selon le sous-alinéa (1)b)(i) ou (ii), ils paient.", {"4(1)(b)(i)", "4(1)(b)(ii)"}),
        ("Selon les alinéas 4(1)a) à b), ils paient.", {"4(1)(a)", "4(1)(b)"}),
        ("Pour l’application du présent article, ils paient.", {"4"}),
        ("Pour l’application du présent paragraphe, ils paient.", {"4(2)"}),
        ("La présente partie s’applique à tous les navires.", {"partie i"}),
        ("Selon l’alinéa b) du paragraphe (1), ils paient.", {"4(1)(b)"}),
        ("Selon le paragraphe (1) du présent article et l’article 5, ils paient.", {"4(1)", "5"}),
        ("Selon le paragraphe 5(1) de la Loi, ils paient.", {"5(1) of the loi"}),
        ("Selon l’alinéa 3a) du tableau, ils paient.", set()),
        ("Selon le paragraphe (1) de cette norme, ils paient.", set()),
        ("Selon l’article 5, 10 personnes et 2,5 m sont à bord.", {"5"}),
        ("Abrogé, DORS/2020-130, art. 41.", {"dors/2020-130 article 41"}),
        ("Les divisions a) du port et les dispositions prises.", set()),
    ],
)  # fmt: skip
def test_french_references(words: str, expected: set[str]) -> None:
    found = targets(FRENCH.format(words)).get("4(2)", set())
    assert {target for _, target in found} == expected


def test_a_note_to_statements_is_found_by_its_number() -> None:
    text = "# Item 8\n\n## Balance Sheets\n\nx\n\n## NOTE 9 – Leases\n\ny\n\n## Notes\n\nz\n"
    parsed = parse(text.encode(), "report.md", IngestSettings(profile="none"))
    ids = dict(keys_of(parsed))
    (note,) = [chunk for chunk in parsed.chunks if chunk.title.startswith("NOTE")]
    assert ids[locator_key("Note 9")] == note.id
    assert note.locator == "NOTE 9 – Leases"
