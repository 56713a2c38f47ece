"""Laws of the calculator: it agrees with Python's fractions, and never fails in an unknown way."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from pincite.answer.agent.calculate import calculate
from pincite.model.units import CalculationError, find_unit

NUMBERS = st.integers(0, 10**6).map(str) | st.decimals(0, 1000, places=3).map(str)
LENGTHS = ["mm", "cm", "m", "km", "in", "ft"]


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> tuple[str, Fraction]:
    """An expression in our grammar with what Python's fractions make of it."""
    if depth == 0 or draw(st.booleans()):
        number = draw(NUMBERS)
        return number, Fraction(number)
    left, a = draw(expressions(depth=depth - 1))
    right, b = draw(expressions(depth=depth - 1))
    sign = draw(st.sampled_from(["+", "-", "*", "/"]))
    if sign == "/" and b == 0:
        sign = "+"
    value = {"+": a + b, "-": a - b, "*": a * b}[sign] if sign != "/" else a / b
    return f"({left}) {sign} ({right})", value


@given(expressions())
def test_agrees_with_fractions(pair: tuple[str, Fraction]) -> None:
    text, value = pair
    assert calculate(text).number == value


@given(NUMBERS, NUMBERS, st.sampled_from(LENGTHS), st.sampled_from(LENGTHS))
def test_sums_of_lengths_do_not_depend_on_the_unit(a: str, b: str, one: str, other: str) -> None:
    first, second = find_unit(one), find_unit(other)
    assert first is not None
    assert second is not None
    expected = (Fraction(a) * first.size + Fraction(b) * second.size) / second.size
    assert calculate(f"({a} {one} + {b} {other}) to {other}").number == expected


@given(NUMBERS, NUMBERS)
def test_share_is_what_percent_says(share: str, whole: str) -> None:
    result = calculate(f"{share} % of {whole} A")
    assert result.number == Fraction(share) * Fraction(whole) / 100
    assert result.unit.name == "A"


@given(st.text("0123456789.+-*/^() %AVWmkgins²°C,ofpert", max_size=60) | st.text(max_size=60))
def test_any_text_gives_a_result_or_an_explanation(text: str) -> None:
    try:
        assert calculate(text).text
    except CalculationError as error:
        assert error.message
        assert error.hint
