"""Figures of statements: the right cell of the right company and year, or none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pincite.answer.figures import FigureAnswer, figure_answer
from pincite.answer.quotes import Quoter
from pincite.answer.statements import fiscal_columns
from pincite.answer.values import Source
from pincite.api import Index
from pincite.index.builder import IndexBuilder
from pincite.model.settings import SearchSettings, Settings
from pincite.model.tables import Table
from pincite.model.types import Filters
from pincite.read.load import parse

COVER = """\
UNITED STATES SECURITIES AND EXCHANGE COMMISSION

FORM 10-K

For the fiscal year ended {day}

{issuer}

(Exact name of registrant as specified in its charter)

{more}

"""
HARBOUR = f"""\
{COVER.format(day="December 31, 2021", issuer="HARBOUR WORKS, INC.", more="Cranes.")}
# Selected Financial Data

| (In millions) | 2021 | 2020 |
|---|---|---|
| Net sales of cranes | 7 | 6 |

# Consolidated Statements of Income

| (In millions, except per share data) | 2021 | 2020 | 2019 |
|---|---|---|---|
| Net sales | $ 400 | $ 320 | $ 300 |
| Membership fees | 100 | 80 | 60 |
| Total revenues | 500 | 400 | 360 |
| Cost of sales | 300 | 250 | 220 |
| Operating income | 80 | 60 | 50 |
| Income before income taxes | 75 | 50 | 45 |
| Income tax expense | (15) | (10) | (9) |
| Net income | 60 | 40 | 36 |
| Less: net income attributable to noncontrolling interests | 5 | 4 | 3 |
| Net income attributable to Harbour Works | $ 55 | $ 36 | $ 33 |
| Diluted earnings per share | $ 1.10 | $ 0.72 | $ 0.66 |

# Consolidated Balance Sheets

(In millions)

| | December 31, 2021 | December 31, 2020 |
|---|---|---|
| Cash and cash equivalents | $ 30 | $ 20 |
| Inventories | 40 | 44 |
| Total current assets | 90 | 80 |
| Property and equipment | 250 | 240 |
| Property and equipment, net | 150 | 140 |
| Total assets | 300 | 280 |
| Accounts payable | 32 | 28 |
| Total current liabilities | 60 | 50 |
| Total equity | 120 | 110 |
| Total liabilities and equity | 300 | 280 |

# Consolidated Statements of Cash Flows

(In millions)

| Years ended December 31, | 2021 | 2020 | 2019 |
|---|---|---|---|
| Net cash provided by operating activities | $ 70 | $ 60 | $ 50 |
| Depreciation and amortization | 10 | 9 | 8 |
| Purchases of property and equipment | (20) | (10) | (9) |
| Net cash used in investing activities | (20) | (10) | (9) |
"""
# Its fiscal 2022 ends in January 2023.
TOWED = "In fiscal 2022 we towed. " * 6
TUGBOAT = f"""\
{COVER.format(day="January 28, 2023", issuer="TUGBOAT HOLDINGS, INC.", more=TOWED)}
# Consolidated Statements of Operations

(In thousands)

| | January 28, 2023 | January 29, 2022 |
|---|---|---|
| Revenue | $ 9,000 | $ 8,000 |
| Loss from operations | (700) | (50) |
| Loss before income taxes | (800) | (90) |
| Provision for income taxes | 1 | 1 |
| Net loss | $ (801) | $ (91) |
| Net loss per share, diluted | $ (0.10) | $ (0.01) |

# Consolidated Balance Sheets

(In thousands)

| | January 28, 2023 | January 29, 2022 |
|---|---|---|
| Inventories | $ 70 | $ 60 |
| Total assets | 2,000 | 1,900 |
| Total current liabilities | 900 | 800 |
| Total liabilities and equity | 2,000 | 1,900 |
"""


def opened(folder: Path, texts: Mapping[str, str]) -> Index:
    settings = Settings(search=SearchSettings(preset="lexical"))
    with IndexBuilder(folder, settings) as builder:
        for name, text in texts.items():
            builder.put(parse(text.encode(), name, settings.ingest))
        builder.flush()
    return Index.open(folder, settings)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("filings") / "index"
    with opened(folder, {"harbour.md": HARBOUR, "tugboat.md": TUGBOAT}) as found:
        yield found


def asked(index: Index, text: str, filters: Filters | None = None) -> FigureAnswer | None:
    return figure_answer(index, index.parse(text, filters or Filters()))


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("What were Harbour Works' total assets at year end 2021?", "$300 million, fiscal 2021"),
        ("What was the revenue of Harbour Works in FY2020?", "$400 million, fiscal 2020"),
        ("What were Harbour Works' net sales in FY2020?", "$320 million, fiscal 2020"),
        ("What is Harbour Works' 2021 capex (in USD thousands)?", "$20,000 thousand, fiscal 2021"),
        ("What is Harbour Works' FY2021 net PP&E?", "$150 million, fiscal 2021"),
        ("What was the net income of Harbour Works in 2021?", "$55 million, fiscal 2021"),
        ("What was Harbour Works' diluted EPS in fiscal 2020?", "$0.72, fiscal 2020"),
        ("What are Harbour Works' total liabilities for FY2021?", "$180 million, fiscal 2021"),
        ("What is Tugboat's FY2022 revenue?", "$9,000 thousand, fiscal 2022"),
        ("What is Tugboat's FY2021 inventory?", "$60 thousand, fiscal 2021"),
        ("What was Tugboat's operating income in fiscal 2022?", "-$700 thousand, fiscal 2022"),
        ("What is Tugboat's FY2022 revenue in USD billions?",
         "$0.009 billion ($9,000 thousand), fiscal 2022"),
    ],
)  # fmt: skip
def test_a_line_in_a_year(index: Index, text: str, short: str) -> None:
    found = asked(index, text)
    assert found is not None
    assert found.short == short


@pytest.mark.parametrize(
    ("text", "calculation"),
    [
        ("What is the FY2021 free cash flow of Harbour Works?", "70 - 20 = $50 million"),
        ("What is the gross margin of Harbour Works in 2021?", "(500 - 300) / 500 = 40.0%"),
        ("What is Harbour Works' FY2021 effective tax rate?", "15 / 75 = 20.0%"),
        ("What is Tugboat's FY2022 effective tax rate?", "1 / (-800) = -0.1%"),
        (
            "What is the FY2021 inventory turnover ratio for Harbour Works? It is needed by noon.",
            "300 / ((44 + 40) / 2) = 7.14",
        ),
        (
            "What is FY2021 DPO for Harbour Works? DPO is defined as: 365 * (average accounts "
            "payable between FY2020 and FY2021) / (FY2021 COGS + change in inventory between "
            "FY2020 and FY2021). Round your answer to two decimal places.",
            "365 * (28 + 32) / 2 / (300 + 40 - 44) = 36.99 days",
        ),
        (
            "What is the FY2019 - FY2021 3 year average EBITDA % margin for Harbour Works?",
            "((50 + 8) / 360 + (60 + 9) / 400 + (80 + 10) / 500) / 3 = 17.1%",
        ),
        (
            "By what percentage did revenue of Harbour Works grow from FY2020 to FY2021?",
            "(500 - 400) / 400 = 25.0%",
        ),
        (
            "What is the revenue CAGR of Harbour Works from FY2019 to FY2021?",
            "(500 / 360)^(1/2) - 1 = 17.9%",
        ),
        ("How much did Tugboat's inventory increase in FY2022?", "70 - 60 = $10 thousand"),
    ],
)
def test_what_is_calculated_of_lines(index: Index, text: str, calculation: str) -> None:
    found = asked(index, text)
    assert found is not None
    assert found.calculation == calculation


@pytest.mark.parametrize(
    "text",
    [
        "What is the revenue of Ferry Lines in FY2021?",  # nobody knows them
        "What is the revenue of Harbour Works and Tugboat in FY2021?",
        "What is the revenue in FY2021?",  # whose?
        "What is the revenue of Harbour Works in FY2015?",
        "What is the total assets of Harbour Works in FY2019?",  # not in this balance sheet
        "What is the deferred revenue of Harbour Works in FY2021?",
        "What is the revenue of Harbour Works in Norway in FY2021?",
        "What is the crane segment revenue of Harbour Works in FY2021?",
        "What is the revenue of Harbour Works in Q2 of FY2021?",
        "What is the adjusted EBITDA of Harbour Works in FY2021?",
        "What is Harbour Works' R&D expense in FY2021?",  # no such line
        "What is the growth of Tugboat's operating income in FY2022 in percent?",  # from a loss
        "What does Harbour Works say about revenue?",
        "Why did revenue of Harbour Works grow in FY2021?",
        "May a crane be moved at night?",
    ],
)
def test_what_is_not_sure_is_not_answered(index: Index, text: str) -> None:
    assert asked(index, text) is None


def test_every_operand_is_quoted_where_it_stands(index: Index) -> None:
    found = asked(index, "What is the FY2021 operating cash flow ratio for Harbour Works?")
    assert found is not None
    assert found.short == "1.17, fiscal 2021"
    sources: list[Source] = []
    quotes = found.quotes(index, Quoter(index), sources)
    text = index.snapshot.text("harbour.md")
    for quote, words in zip(
        quotes, ("operating activities | $ 70", "liabilities | 60"), strict=True
    ):
        assert words in quote.words
        assert text[quote.span.start : quote.span.end] == quote.words
        (source,) = [each for each in sources if each.number == quote.source]
        assert source.holds(quote.span)
        assert source.find(quote.words) == quote.span


def test_a_row_that_a_source_has_is_quoted_from_it(index: Index) -> None:
    found = asked(index, "What were Harbour Works' total assets at year end 2021?")
    assert found is not None
    sources: list[Source] = []
    found.quotes(index, Quoter(index), sources)
    assert [quote.source for quote in found.quotes(index, Quoter(index), sources)] == [1]
    assert len(sources) == 1


def test_documents_that_filters_leave_out_are_not_read(index: Index) -> None:
    text = "What is Tugboat's FY2022 revenue?"
    assert asked(index, text, Filters(documents=("tugboat.md",))) is not None
    assert asked(index, text, Filters(documents=("harbour.md",))) is None


def test_a_question_of_an_index_about_one_company(tmp_path: Path) -> None:
    index = opened(tmp_path / "index", {"harbour.md": HARBOUR})
    for text in ("What is Harbour Works' FY2021 revenue?", "What is the FY2021 revenue?"):
        found = asked(index, text)
        assert found is not None
        assert found.short == "$500 million, fiscal 2021"
    newest = asked(index, "What is the revenue?")
    assert newest is not None
    assert newest.short == "$500 million, fiscal 2021"
    assert newest.confidence < found.confidence
    assert asked(index, "What is the FY2021 revenue of Ferry Lines?") is None


@pytest.mark.parametrize(
    ("columns", "years"),
    [
        (("", "2021", "2020"), {2021: 1, 2020: 2}),
        (("", "January 28, 2023", "January 29, 2022"), {2022: 1, 2021: 2}),
        (("At January 31,", "2023", "2022"), {2022: 1, 2021: 2}),
        (("", "Three Months Ended March 31, 2021", "2020"), {2020: 2}),
        (("", "2021 Reported", "2021"), {2021: 2}),
        (("", "2021", "2021"), {}),
    ],
)
def test_the_column_of_a_fiscal_year(columns: tuple[str, ...], years: dict[int, int]) -> None:
    card = {"period_end": "2023-01-28", "fiscal_year": "2022"}
    table = Table("", columns, (("Sales", "3", "2"), ("Costs", "2", "1")))
    assert dict(fiscal_columns(table, card)) == years
