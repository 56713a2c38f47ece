"""Formulas in words: read as they are meant, or not at all."""

from __future__ import annotations

import pytest

from pincite.answer.figure_questions import read_question
from pincite.answer.formulas import (
    Constant,
    Formula,
    FormulaError,
    FormulaNames,
    FormulaReader,
    Operation,
    in_year,
)
from pincite.model.vocabulary import load_vocabulary


@pytest.fixture(scope="module")
def names() -> FormulaNames:
    filing = load_vocabulary("filing")
    return FormulaNames(filing.lines, filing.metrics)


def written(formula: Formula) -> str:
    if isinstance(formula, Operation):
        return f"({written(formula.left)} {formula.sign} {written(formula.right)})"
    if isinstance(formula, Constant):
        return formula.text
    return f"{formula.line.names[0]} {formula.year}"


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("revenue - COGS", "(revenue 2020 - COGS 2020)"),
        ("FY2019 revenue less FY2018 revenue", "(revenue 2019 - revenue 2018)"),
        ("average total assets", "((total assets 2019 + total assets 2020) / 2)"),
        ("change in inventories", "(inventory 2020 - inventory 2019)"),
        ("revenue (FY2017)", "revenue 2017"),
        ("100 * (revenue / total assets)", "(100 * (revenue 2020 / total assets 2020))"),
        ("5% of revenue", None),
        ("revenue and something else", None),
        ("(revenue", None),
        ("revenue revenue", None),
    ],
)
def test_a_formula(names: FormulaNames, text: str, formula: str | None) -> None:
    if formula is None:
        with pytest.raises(FormulaError):
            FormulaReader.of(text, names)
    else:
        assert written(in_year(FormulaReader.of(text, names), 2020)) == formula


def test_brackets_without_end_are_refused(names: FormulaNames) -> None:
    with pytest.raises(FormulaError):
        FormulaReader.of("(" * 5000 + "revenue", names)


def test_a_definition_of_itself_is_refused(names: FormulaNames) -> None:
    text = "What is the FY2020 ROA of Acme? ROA is defined as: ROA + ROA."
    assert read_question(text, names, ["Acme"]) is None


def test_every_metric_of_the_field_is_a_formula(names: FormulaNames) -> None:
    filing = load_vocabulary("filing")
    for each in (*filing.metrics, *(line for line in filing.lines if line.formula)):
        assert FormulaReader.of(each.formula, names)
    for line in filing.lines:
        assert not line.near or FormulaReader.of(line.near, names)


@pytest.mark.parametrize(
    ("text", "unit", "scale", "decimals"),
    [
        ("What is Acme's 2020 revenue in USD millions?", "money", "million", None),
        ("What is Acme's 2020 revenue? Answer in $ billions.", "money", "billion", None),
        ("What is Acme's 2020 current ratio? Round to one decimal place.", "ratio", "", 1),
        ("What is the 2020 gross margin of Acme?", "percent", "", None),
        ("What is capex as a percentage of revenue for Acme in 2020?", "percent", "", None),
        ("What is the change in gross margin of Acme from 2019 to 2020?", "points", "", None),
        ("What is Acme's 2020 DSO?", "days", "", None),
    ],
)
def test_unit_scale_and_rounding(
    names: FormulaNames, text: str, unit: str, scale: str, decimals: int | None
) -> None:
    found = read_question(text, names, ["Acme's", "Acme"])
    assert found is not None
    assert (found.unit, found.scale, found.decimals) == (unit, scale, decimals)


@pytest.mark.parametrize(
    "text",
    [
        "Assume that you are a public equities analyst. Using only what the balance sheet shows, "
        "what is the year end FY2020 net PP&E for Acme?",
        "Here's the question: how much net property, plant, and equipment did Acme have at the end "
        "of fiscal 2020? Base your judgments on the statement of financial position.",
        "What is Acme's net PPE as of December 31, 2020?",
    ],
)
def test_who_asks_and_what_for_does_not_matter(names: FormulaNames, text: str) -> None:
    found = read_question(text, names, ["Acme's", "Acme"])
    assert found is not None
    assert written(found.formula) == "PP&E 2020"
