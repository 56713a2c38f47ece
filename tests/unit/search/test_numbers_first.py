"""Who looks a number up gets where it stands, whatever else is near in meaning."""

from __future__ import annotations

import random

import pytest

from pincite.api import Index
from pincite.update import embed_index, ingest_files

UNITS = ("MHz", "kHz", "watts", "metres", "dollars")
chance = random.Random(35)
NUMBERS = [
    *(f"{chance.randint(10, 999)}.{chance.randint(100, 999)}" for _ in range(12)),
    *(f"{chance.randint(1, 99)},{chance.randint(100, 999)}" for _ in range(6)),
    *(str(chance.randint(1000, 99999)) for _ in range(6)),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Rules that say the same of many numbers, beside texts that speak of units at length."""
    folder = tmp_path_factory.mktemp("numbers")
    rules = folder / "rules.md"
    sections = [
        f"## {at} Limit\n\nNo station shall exceed {number} in the band that follows it.\n"
        for at, number in enumerate(NUMBERS, 1)
    ]
    talk = [
        f"## {100 + at} About {unit}\n\nWhat {unit} are, how {unit} are measured, and which "
        f"{unit} are allowed, is said of all {unit} here.\n"
        for at, unit in enumerate(UNITS)
    ]
    rules.write_text("# Rules\n\n" + "\n".join(sections + talk), "utf-8")
    list(ingest_files([(rules, rules.name)], folder / "index"))
    list(embed_index(folder / "index"))
    return Index.open(folder / "index")


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_that_is_looked_up_comes_first(index: Index, number: str) -> None:
    for asked in (number, f"{number} {UNITS[len(number) % 5]}", f"what is allowed at {number}?"):
        assert number in index.search(asked, 1)[0].chunk.text, asked


def test_a_number_in_a_longer_question_is_one_word_of_it(index: Index) -> None:
    question = f"How are watts measured and which watts are allowed, for example {NUMBERS[-1]}?"
    assert index.search(question, 1)[0].chunk.locator == "102"
