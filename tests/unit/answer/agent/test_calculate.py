"""Arithmetic with units: results by hand, and what is refused in which words."""

from __future__ import annotations

import re

import pytest

from pincite.answer.agent.calculate import calculate
from pincite.model.units import CalculationError


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("80 % of 20 A", "16 A"),
        ("22 W/m² × 150 m²", "3300 W"),
        ("8 * 36 cm^3", "288 cm³"),
        ("32 °C + 18 °C", "50 °C"),
        ("230 V / 10 A", "23 Ω"),
        ("230 V * 16 A in kVA", "3.68 kVA"),
        ("5 in in mm", "127 mm"),
        ("5 in", "5 in"),
        ("6 ft to m", "1.8288 m"),
        ("10 km/h in m/s", "≈ 2.77778 m/s"),
        ("1 m - 1 mm", "0.999 m"),
        ("sqrt(16 m²)", "4 m"),
        ("sqrt(3) * 400 V * 10 A in kW", "≈ 6.9282 kW"),
        ("max(0.8 m, 75 cm)", "0.8 m"),
        ("min(3, 2, 5)", "2"),
        ("5 min in s", "300 s"),
        ("20 % + 5 %", "25 %"),
        ("50 % * 50 %", "0.25"),
        ("-3^2", "-9"),
        ("--2", "2"),
        ("2^-2", "0.25"),
        ("1/3", "≈ 0.333333"),
        ("60 / 2 m", "30 m^-1"),
        ("(2 + 3) * 4 kg", "20 kg"),
        ("0.1 + 0.2", "0.3"),
    ],
)
def test_results(expression: str, expected: str) -> None:
    assert calculate(expression).text == expected


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("10 m + 3 A", "cannot add a length and a current"),
        ("20 A - 5 %", "cannot subtract a current and a plain number"),
        ("max(1 m, 1 s)", "cannot compare a length and a time"),
        ("5 kg in m", "the result is a mass, which cannot be shown in m"),
        ("sqrt(4 A)", "a current has no root with a unit"),
        ("sqrt(-4)", "a negative number has no root"),
        ("²", "did not expect '²'"),
        ("٣", "has no place in a calculation"),
        ("3 parsec", "'parsec' is no unit"),
        ("1 / 0", "division by zero"),
        ("0^-1", "division by zero"),
        ("5 m in 0", "cannot be shown"),
        ("1,500 W", "did not expect ','"),
        ("2^21", "an exponent is a whole number up to 20"),
        ("2^0.5", "an exponent is a whole number up to 20"),
        ("2^99999999999", "an exponent is a whole number"),
        ("(1 + 2", "a ')' is missing"),
        ("1 +", "ends too early"),
        ("", "ends too early"),
        ("1 2", "did not expect '2'"),
        ("__import__('os')", "has no place in a calculation"),
        ("9" * 41, "a number is too long"),
        ("(" * 41 + "1" + ")" * 41, "too many brackets"),
        ("1+" * 300 + "1", "longer than 500 characters"),
        ("((((9^20)^20)^20)^20)", "become too large"),
        ("(1 m^20)^20", "too high a power"),
    ],
)
def test_what_is_refused(expression: str, words: str) -> None:
    with pytest.raises(CalculationError, match=re.escape(words)) as caught:
        calculate(expression)
    assert caught.value.hint
