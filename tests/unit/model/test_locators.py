"""Places by name: many spellings, one key."""

from __future__ import annotations

import pytest

from pincite.core.types import Chunk, Document, Facts, Loaded, Span
from pincite.model.locators import Mention, in_range, keys_of, locator_key, mentions


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
    facts = {"id 1.1(a)": Facts(terms=("Armour Rating",), aliases=("AR",))}
    assert keys_of(Loaded(Document("d", ""), chunks, facts=facts)) == [
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
