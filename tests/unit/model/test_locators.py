"""Places by name: many spellings, one key."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from pincite.model.locators import Mention, in_range, keys_of, locator_key, mentions
from pincite.model.types import Chunk, Document, Enrichment, ParsedDocument, Span
from pincite.read.references.citations import citations


@pytest.mark.parametrize(
    ("spellings", "key"),
    [
        (
            [
                "97.113(a)(4)",
                "§ 97.113(a)(4)",
                "§97.113 (a)(4)",
                "§§ 97.113(a) (4)",
                "section 97.113(a)(4)",
                "Sections 97.113(A)(4)",
                "SEC. 97.113 (a) (4)",
                "  97.113(a)(4). ",
                "97.113(a)(4);",
                "paragraph 97.113(a)(4)",
                "§\xa097.113(a)(4)",
            ],
            "97.113(a)(4)",
        ),
        (["Table 310.16", "TABLE 310.16", "table  310.16:", "Table\n310.16"], "table 310.16"),
        (["Rule 7", "rule 7", "rules 7", "7"], "7"),
        (["Fireball", "FIREBALL", "fireball.", "ﬁreball"], "fireball"),
        (["Article 5 (2)", "article 5(2)"], "article 5(2)"),
        (["Straße", "STRASSE"], "strasse"),
        (["Sectional view"], "sectional view"),
        (["Items"], "items"),
    ],
)
def test_spellings_share_a_key(spellings: list[str], key: str) -> None:
    assert {locator_key(spelling) for spelling in spellings} == {key}


def test_a_key_is_its_own_key() -> None:
    for text in ("97.113(a)(4)", "table 310.16", "fireball", "part ii", "1.1 > note"):
        assert locator_key(locator_key(text)) == locator_key(text)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What does § 97.113(a)(4) say?", ["97.113(a)(4)"]),
        ("Compare 240.4(D) and Table 310.16.", ["240.4(d)", "table 310.16"]),
        ("Is 250.122 about earthing?", ["250.122"]),
        ("see Article IV, Annex B and chapter 3", ["article iv", "annex b", "chapter 3"]),
        ("under section 12 or rule 7", ["12", "7"]),
        ("314.23(F)(2)?", ["314.23(f)(2)"]),
        ("", []),
        ("the box at the table", []),
        ("a part of the title", []),
    ],
)
def test_mentions_in_sentences(query: str, expected: list[str]) -> None:
    assert mentions(query) == [Mention(key) for key in expected]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sections 110.26 to 110.28", Mention("110.26", "110.28")),
        ("110.26 through 110.28", Mention("110.26", "110.28")),
        ("§ 110.26 – § 110.28", Mention("110.26", "110.28")),
        ("97.113(a) to (c)", Mention("97.113(a)", "97.113(c)")),
        ("97.113(a)(1)–(3)", Mention("97.113(a)(1)", "97.113(a)(3)")),
    ],
)
def test_ranges(query: str, expected: Mention) -> None:
    assert mentions(query) == [expected]


def test_a_list_is_not_a_range() -> None:
    assert mentions("110.26 and 110.28") == [Mention("110.26"), Mention("110.28")]


@pytest.mark.parametrize(
    "query",
    [
        "a 2.5 mm conductor",
        "2.5 mm² of copper",
        "2.5mm wire",
        "1.5 kV and 0.4 kW at 3.3 V",
        "7.5 mA, 1.5 MHz, 2.4GHz",
        "1.5 m of 2.5 cm or 6.5 ft",
        "99.5% or 99.5 % or 37.5 percent",
        "costs $1.50 or €2.50 or £3.50",
        "21.5° warm, 21.5 °C",
        "1.5 million people in 2.5 hours",
        "10 feet and 20 amperes",
        "v1.2 x1.5",
    ],
)
def test_quantities_are_not_mentions(query: str) -> None:
    assert mentions(query) == []


def chunk(locator: str, kind: str = "clause", title: str = "") -> Chunk:
    return Chunk(f"id {locator}", Span("d", 0, 1), "x", kind, locator, title, (), 1)  # type: ignore[arg-type]


def test_keys_are_locators_titles_of_headings_terms_and_aliases() -> None:
    chunks = [chunk("§ 1.1", "section", "Scope."), chunk("1.1(a)", "clause", "First"), chunk("")]
    facts = {"id 1.1(a)": Enrichment(terms=("Armour Rating",), aliases=("AR",))}
    assert keys_of(ParsedDocument(Document("d", ""), chunks, facts=facts)) == [
        ("1.1", "id § 1.1"),
        ("scope", "id § 1.1"),
        ("1.1(a)", "id 1.1(a)"),
        ("armour rating", "id 1.1(a)"),
        ("ar", "id 1.1(a)"),
    ]


def test_in_range_takes_the_level_of_the_first() -> None:
    locators = ["1.1", "1.1(a)", "1.1(b)", "1.2", "1.2(a)", "1.3", "1.4"]
    chunks = [chunk(locator, "section" if "(" not in locator else "clause") for locator in locators]

    def found(first: str, last: str) -> list[str]:
        return [each.locator for each in in_range(chunks, first, last)]

    assert found("1.1", "1.3") == ["1.1", "1.2", "1.3"]
    assert found("1.1(a)", "1.1(b)") == ["1.1(a)", "1.1(b)"]
    assert found("1.3", "1.1") == []
    assert found("1.1", "9.9") == []


def test_an_alternate_is_named_with_its_clause() -> None:
    assert mentions("what says 52.203-6 Alternate I(b)?") == [Mention("52.203-6 alternate i(b)")]
    assert mentions("52.203-6 alternate power") == [Mention("52.203-6")]


UNITS = re.findall(
    r"[^,]+",
    "litres,liters,l,L,ml,oz,ounces,kN,N,grams,g,kg,bar,rpm,lb,pounds,gallons,inches,ft,yards,"
    "miles,kWh,lux,lumens,dBm,dB,acres,hectares,knots,mph,km/h,J,kJ,K,°C,° F,%,per cent,tonnes,t,"
    "Nm,hp,psi,Pa,Ω,µF,MB,baud,hours,h,min,days,Meter,Liter,Stunden,mètres,heures,litri,giorni,"
    "metros,años,times,points,million,euros",
)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("number", ["2.5", "12.75"])
def test_a_number_with_a_unit_is_no_place(number: str, unit: str) -> None:
    assert mentions(f"is {number} {unit} enough?") == []
    assert mentions(f"is {number}–{number[:-1]}9 {unit} enough?") == []


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("2.5", "2.5"),
        ("what does 2.5 say?", "2.5"),
        ("section 2.5", "2.5"),
        ("rule 2.5", "2.5"),
        ("paragraph 2.5 in full", "2.5"),
        ("is 250.122 a table?", "250.122"),
        ("does 2.5 apply here", "2.5"),
        ("que dit 2.5 l’annexe", "2.5"),
        ("section 2.5 litres", "2.5"),
    ],
)
def test_a_number_without_a_unit_is_a_place(query: str, key: str) -> None:
    assert mentions(query) == [Mention(key)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("chapters 3 to 5", [Mention("chapter 3", "chapter 5")]),
        ("Chapters 3-5", [Mention("chapter 3", "chapter 5")]),
        ("articles 5 à 8", [Mention("article 5", "article 8")]),
        ("Artikel 5 bis 8", [Mention("artikel 5", "artikel 8")]),
        ("§§ 97.301–97.305", [Mention("97.301", "97.305")]),
        ("sections 12, 14 and 16, 2021 edition", [Mention("12"), Mention("14"), Mention("16")]),
        ("Divisions 2 and 3", [Mention("division 2"), Mention("division 3")]),
        ("articolo 12-bis", [Mention("articolo 12-bis")]),
        ("REGLE 5", [Mention("règle 5")]),
        ("tableau 3 und Tabelle 4", [Mention("table 3"), Mention("table 4")]),
        ("Abschnitt 5.3 und Abschnitt 5", [Mention("5.3"), Mention("abschnitt 5")]),
        ("section IV", [Mention("iv")]),
        ("may I book a room", []),
        ("the section a tenant signs", []),
        ("la partie a le droit", []),
        ("titolo il quale", []),
    ],
)
def test_lists_ranges_and_look_alikes(query: str, expected: list[Mention]) -> None:
    assert mentions(query) == expected


@pytest.mark.parametrize(
    "pump", ["(a) ", "1.1-", "1-", "§", "table ", "chapters 1, ", "1.1.", "a "]
)
def test_mentions_take_time_in_proportion(pump: str) -> None:
    assert _growth(mentions, pump) < 3.2
    assert _growth(lambda text: list(citations(text, 0, len(text))), pump) < 3.2


def _growth(read: Callable[[str], object], pump: str) -> float:
    """Return how much longer twice the text takes, the least of three tries."""
    read(pump)

    def seconds(count: int) -> float:
        started = time.process_time()
        read(pump * count)
        return max(time.process_time() - started, 0.01)

    return min(seconds(4000) / seconds(2000) for _ in range(3))
