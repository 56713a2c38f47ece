"""Since when a document is in force, as it says itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from pincite.model.dates import as_iso, stated_dates
from pincite.model.settings import Settings
from pincite.model.types import Pages
from pincite.read.load import parse

DATA = Path(__file__).parents[4] / "shared" / "data"


def meta(text: str, name: str = "a.md") -> dict[str, str]:
    return dict(parse(text.encode(), name, Settings().ingest).document.meta)


@pytest.mark.parametrize(
    ("words", "effective", "until"),
    [
        ("Effective January 1, 2024", "2024-01-01", ""),
        ("**Effective date:** 2024-07-15", "2024-07-15", ""),
        ("| Effective date | 15 July 2024 |", "2024-07-15", ""),
        ("This code is in force from 1st March 2023.", "2023-03-01", ""),
        ("comes into force on 3 Sept. 2019", "2019-09-03", ""),
        ("effective 2023", "2023", ""),
        ("Effective 1 May 2023 through 30 April 2025", "2023-05-01", "2025-04-30"),
        ("Valid until 31 December 2025.", "", "2025-12-31"),
        ("Règlement en vigueur depuis le 1er janvier 2024", "2024-01-01", ""),
        ("entre en vigueur le 12 août 2022", "2022-08-12", ""),
        ("Date d’entrée en vigueur : 03/04/2024", "2024-04-03", ""),
        ("en vigueur du 2 février 2021 jusqu'au 1er mars 2022", "2021-02-02", "2022-03-01"),
        ("In vigore dal 1° luglio 2023", "2023-07-01", ""),
        ("Data di entrata in vigore: 15.10.2020", "2020-10-15", ""),
        ("in vigore dal 1 gennaio 2020 fino al 31 dicembre 2021", "2020-01-01", "2021-12-31"),
        ("Coverage was effective 21 August 1966.", "", ""),
        ("Effective July 1, 2019, the Board may ask for more.", "", ""),
        ("Coming into operation 4th December 1980 2nd February 1981", "", ""),
        ("Effective date: 03/04/2024", "", ""),
        ("Effective February 30, 2024", "", ""),
        ("effective treatment of 2019 cases", "", ""),
    ],
)  # fmt: skip
def test_dates_in_words(words: str, effective: str, until: str) -> None:
    expected = {"effective": effective, "until": until}
    assert stated_dates(words, Pages()) == {name: day for name, day in expected.items() if day}


def test_only_the_beginning_counts() -> None:
    late = "x " * 1500 + "Effective January 1, 2024"
    assert stated_dates(late, Pages()) == {}
    assert stated_dates(late, Pages([0, 4000], [1, 2])) == {"effective": "2024-01-01"}
    assert stated_dates(late, Pages([0, 100], [1, 2])) == {}


def test_front_matter_is_read_and_is_no_heading() -> None:
    front = "---\ntitle: X\ndate: 2020\nEffective_Date: '2024-07-01'\nuntil: 2025-06-30\n---\n"
    text = f"{front}\n# Code\n\n## 1.1 A\n\nWords.\n"
    loaded = parse(text.encode(), "a.md", Settings().ingest)
    assert loaded.document.meta["effective"] == "2024-07-01"
    assert loaded.document.meta["until"] == "2025-06-30"
    assert loaded.document.title == "X"  # its own word for it counts
    assert [chunk.locator for chunk in loaded.chunks if chunk.kind == "section"] == ["1.1"]
    assert loaded.document.text == text
    assert meta("---\ndate: 2020\n---\n\n# Code\n")["effective"] == "2020"
    assert "effective" not in meta("---\ntitle: Code\n---\n\n# Code\n")
    assert "effective" not in meta("# Code\n\n---\ndate: 2020\n---\n")


def test_a_law_says_when_it_was_amended() -> None:
    law = (
        '<Regulation xmlns:lims="http://justice.gc.ca/lims" lims:inforce-start-date="2016-12-09"{}>'
        "<Identification><ShortTitle>Act</ShortTitle></Identification><Body/></Regulation>"
    )
    assert meta(law.format(""), "a.xml")["effective"] == "2016-12-09"
    amended = law.format(' lims:lastAmendedDate="2025-10-09"')
    assert meta(amended, "a.xml")["effective"] == "2025-10-09"


@pytest.mark.skipif(not (DATA / "canada-regs").exists(), reason="the laws are not here")
def test_real_laws_in_both_languages_have_the_same_date() -> None:
    for english, french in (("SOR-86-304", "DORS-86-304"), ("SOR-97-130", "DORS-97-130")):
        days = []
        for folder, name in (("eng", english), ("fra", french)):
            file = DATA / "canada-regs" / folder / f"{name}.xml"
            loaded = parse(file.read_bytes(), file.name, Settings().ingest)
            days.append(loaded.document.meta["effective"])
        assert days[0] == days[1]


def test_dates_are_read_in_linear_time() -> None:
    assert stated_dates("effective " * 200 + "*" * 2000, Pages()) == {}
    assert as_iso("1" * 100_000) == ""
