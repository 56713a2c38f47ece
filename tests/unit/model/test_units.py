"""Numbers with units: what is the same, and what is not."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.check.support import row_quantities
from pincite.model.units import names, quantities


def same(one: str, other: str) -> bool:
    (a,), (b,) = quantities(one), quantities(other)
    return a.same(b)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.6 m", "1600 mm"),
        ("5 percent", "5 %"),
        ("5 per cent", "5%"),
        ("two rods", "2 rods"),
        ("twenty-five days", "25 days"),
        ("1,500 W", "1.5 kW"),
        ("2,5 m", "2.5 m"),
        ("1 hour", "60 minutes"),
        ("a 20-amp circuit", "20 A"),
        ("$5", "5 dollars"),
        ("3.5 MHz", "3500 kHz"),
        ("90 °C", "90°C"),
        ("two hundred metres", "200 m"),
        ("1.5 million", "1500000"),
        ("5", "5 A"),  # a bare number says less, not something else
    ],
)
def test_the_same(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1.6 m", "1.6 mm"),
        ("1.6 m", "1.61 m"),
        ("5 A", "5 V"),
        ("5 A", "5"),
        ("5 percent", "5"),
        ("90 °C", "90 °F"),
        ("5 mW", "5 MW"),
        ("16 mm", "16 mm²"),
        ("two", "three"),
        ("30 days", "30 hours"),
    ],
)
def test_not_the_same(one: str, other: str) -> None:
    assert not same(one, other)


def test_ranges_share_their_unit() -> None:
    assert [(q.value, q.kind) for q in quantities("10–20 mm and 2 or 3 kg")] == [
        (0.01, "length"),
        (0.02, "length"),
        (2.0, "mass"),
        (3.0, "mass"),
    ]


def test_words_that_look_like_units_are_none() -> None:
    assert [q.kind for q in quantities("5 a day, 3 in all, 2 of them")] == ["", "", ""]
    assert quantities("no one, one of them") == []


def test_cells_have_the_unit_of_their_column() -> None:
    text = "| Rating (A) | Copper (mm²) |\n|---|---|\n| 100 | 16 |\n| 200 | 25 |"
    kinds = {number: [q.kind for q in found] for number, found in row_quantities(text)}
    assert kinds == {0: ["current", "area"], 1: ["current", "area"]}


def test_names_are_no_numbers() -> None:
    assert names("Error E-07, 2d6 damage, IP44, 97.113(a)(4), 5 A and 3.5 m") == [
        "e-07",
        "2d6",
        "ip44",
        "97.113(a)(4)",
    ]


@given(st.integers(0, 10**7), st.sampled_from(["m", "A", "kHz", "days", "percent"]))
def test_a_quantity_is_itself_and_no_other(number: int, unit: str) -> None:
    assert same(f"{number} {unit}", f"about {number:,} {unit}.")
    assert not same(f"{number} {unit}", f"{number + 1} {unit}")


@given(st.text(alphabet="019.,-– mAV%$x(", max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    for each in quantities(text):
        assert 0 <= each.start < each.end <= len(text)
    names(text)


def test_reading_is_linear() -> None:
    for text in ("1" * 20_000, "1," * 10_000, "1.1-" * 5_000, "twenty " * 5_000, "a1." * 7_000):
        start = time.process_time()
        quantities(text)
        names(text)
        assert time.process_time() - start < 5, text[:10]
