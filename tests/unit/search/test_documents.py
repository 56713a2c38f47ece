"""Which documents a question is about, by the cards of all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.api import Index
from pincite.index.cards import names_of
from pincite.model.settings import Settings
from pincite.model.types import Filters
from pincite.search.documents import AskedTime, CardEvidence

ROWS = "\n\n".join(f"## Note {n}\n\nThe capital expenditure of item {n} was {n}." for n in range(9))


def filing(issuer: str, kind: str, year: int = 0, **more: object) -> str:
    """Return a report that has the same words as all others, but for its card."""
    fields = {"issuer": issuer, "kind": kind, "fiscal_year": year or "", **more}
    front = "\n".join(f"{name}: {value}" for name, value in fields.items() if value)
    return f"---\n{front}\n---\n\n# {issuer}, Form {kind} of {year}\n\n{ROWS}\n"


FILINGS = {
    "01.md": filing("Best Tug Co., Inc.", "10-K", 2019, ticker="BTUG"),
    "02.md": filing("Best Tug Co., Inc.", "10-K", 2020, ticker="BTUG"),
    "03.md": filing("Best Tug Co., Inc.", "10-K", 2021, ticker="BTUG"),
    "04.md": filing("Best Tug Co., Inc.", "10-Q", 2021, ticker="BTUG", quarter=2),
    "05.md": filing("Best Tug Co., Inc.", "8-K", date="2021-05-26"),
    "06.md": filing("Barge Group plc", "10-K", 2020),
    "07.md": filing("Barge Group plc", "10-K", 2021),
    "08.md": filing("Advanced Mooring Devices, Inc.", "10-K", 2021),
    "09.md": filing("Harbour Works Limited", "10-K", 2021),
}
WITHOUT = Settings().changed({"search.without": "documents"})


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    return make_index(FILINGS)


def best(index: Index, text: str, filters: Filters | None = None) -> list[str]:
    """Return the documents that fit a question best; none if it names none."""
    evidence = CardEvidence(index.opened)
    factors = evidence.factors(text, filters or Filters())
    if factors is None:
        return []
    return [evidence.cards.doc_ids[at] for at in np.flatnonzero(factors.values == 1.0)]


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("What was the capital expenditure of Best Tug in FY2020?", "02.md"),
        ("what was best tug's expenditure in fy20", "02.md"),
        ("BESTTUG capital expenditure, fiscal year 2019", "01.md"),
        ("How did BTUG's capital expenditure grow from 2019 to 2021?", "03.md"),
        ("Capital expenditure of Best Tug in Q2 2021", "04.md"),
        ("Capital expenditure of Best Tug in the second quarter of FY2021", "04.md"),
        ("What expenditure does the 10-Q of Best Tug have?", "04.md"),
        ("What capital did Best Tug announce in its 8-K?", "05.md"),
        ("As of May 26, 2021, what capital has Best Tug?", "05.md"),
        ("What expenditure has Best Tug?", "03.md"),  # the newest annual report
        ("What is the capital expenditure of AMD?", "08.md"),
        ("What is Barge's capital expenditure in FY 2020?", "06.md"),
        ("What expenditure does Barge forecast for FY2022?", "07.md"),
    ],
)
def test_the_document_that_a_question_names(index: Index, text: str, document: str) -> None:
    assert best(index, text) == [document]
    assert index.search(text, 1)[0].chunk.span.doc_id == document


@pytest.mark.parametrize(
    "text",
    [
        "What was the capital expenditure of item 3?",
        "which is the best way to tug",  # words of a name, not the name
        "What are the works of the harbour?",
        "WHAT IS AN AMD",  # all is in capitals: nothing is a name for that
        "",
        "?!",
    ],
)
def test_a_question_that_names_none_is_the_same_to_the_byte(index: Index, text: str) -> None:
    assert best(index, text) == []
    one, other = index.steps(text, 9)[0], Index(index.opened, WITHOUT).steps(text, 9)[0]
    assert [(s.table.ids.tobytes(), s.table.score.tobytes()) for s in one] == [
        (s.table.ids.tobytes(), s.table.score.tobytes()) for s in other
    ]
    assert one[-1].table.notes == other[-1].table.notes


def test_names_are_found_together_as_they_are_one_by_one(index: Index) -> None:
    cards = index.opened.cards
    keys = ["btug", "besttug", "best", "tug", "barge", "zzz", ""]
    assert cards.known(keys) == {key for key in keys if len(cards.named(key)[0])}
    assert {"btug", "besttug", "barge"} <= cards.known(keys) < set(keys)
    assert cards.known([]) == set()


def test_the_document_is_switched_off(index: Index) -> None:
    off = Index(index.opened, WITHOUT)
    assert off.searcher.reader.documents is None
    assert "document" not in off.search("Best Tug in FY2020", 1)[0].hit.raw


def test_the_others_of_the_name_are_told_and_none_is_left_out(index: Index) -> None:
    result = index.search("capital expenditure of Best Tug in FY2020", 100)
    (note,) = result.notes
    assert note.startswith("document: Best Tug Co., Inc., Form 10-K of 2020; also: Best Tug Co.")
    assert "of 2021" in note and note.endswith("and 1 more")
    assert {each.chunk.span.doc_id for each in result} == set(FILINGS)


def test_filters_decide_among_what_is_named(index: Index) -> None:
    text = "capital expenditure of Best Tug in FY2020"
    given = Filters(documents=("01.md",))
    assert best(index, text, given) == []  # there is nothing to choose
    assert best(index, text, Filters(documents=("01.md", "07.md"))) == ["01.md"]
    (note,) = index.search(text, 3, Filters(documents=("01.md", "07.md"))).notes
    assert "2019" in note and "2020" not in note


def test_a_name_of_all_documents_tells_nothing(make_index: Callable[..., Index]) -> None:
    index = make_index({name: FILINGS[name] for name in ("01.md", "02.md")})
    assert best(index, "capital expenditure of Best Tug") == []
    assert best(index, "capital expenditure of Best Tug in FY2019") == ["01.md"]


def test_two_names_mean_either_and_a_contract_of_both_more(
    make_index: Callable[..., Index], index: Index
) -> None:
    both = "Does Best Tug or Harbour Works spend more in FY2021?"
    assert best(index, both) == ["03.md", "09.md"]
    parties = ("Tow LLC; Sea Corp.", "Tow LLC; Air Corp.", "Air Corp.; Sea Corp.")
    contracts = {
        f"{at}.md": f"---\nkind: contract\nparties: {each}\n---\n# Lease\n\n{ROWS}"
        for at, each in enumerate(parties)
    }
    assert best(make_index(contracts), "What do Tow and Air agree on?") == ["1.md"]


RULES = {
    "a.md": "# Part 97: Amateur Radio Service\n\n"
    + "\n\n".join(f"## 97.{n} Stations\n\nAn amateur station {n} may transmit." for n in range(9)),
    "b.md": "# Part 95: Personal Radio Services\n\n"
    + "\n\n".join(f"## 95.{n} Stations\n\nA personal station {n} may transmit." for n in range(9)),
    "c.md": "# Life Raft Regulations (SOR/86-304)\n\n"
    + "\n\n".join(f"## {n} Rafts\n\nA life raft {n} may float." for n in range(9)),
    "d.md": "# For the purposes of this Guidance:\n\n"
    + "\n\n".join(f"## {n} Words\n\nFor the purposes of stations {n}." for n in range(9)),
    "e.md": "# Application\n\n"
    + "\n\n".join(f"## {n} Who\n\nEach station {n} may transmit." for n in range(9)),
}


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("What may a station transmit under Part 97?", ["a.md"]),
        ("may a station transmit by SOR/86-304", ["c.md"]),
        ("What do the Life Raft Regulations say of stations?", ["c.md"]),
        ("What may an amateur station transmit?", []),
        ("what do the life raft regulations say of stations", ["c.md"]),
        ("Who sells a personal radio?", []),  # a thing; "Personal Radio" is how a title begins
        ("For the purposes of stations, what is a word?", []),
        ("What of the Application of an Amateur?", []),
        ("What did a station transmit in 1995?", []),
    ],
)
def test_laws_are_named_by_title_and_number(
    make_index: Callable[..., Index], text: str, documents: list[str]
) -> None:
    assert best(make_index(RULES), text) == documents


def test_times_and_forms_identify_no_place(make_index: Callable[..., Index]) -> None:
    index = make_index({"a.md": f"# Log\n\n{ROWS}\n\n## Parts\n\nQ2 of FY2024 in the 10-Q.\n"})

    def identified(text: str) -> int:
        query, words = index.parse(text), index.searcher.words
        assert words is not None
        return len(words.score(query, words.rows.masks(query.filters)).identified())

    assert identified("What was spent in Q2 of FY2024, by the 10-Q?") == 0
    assert identified("Where is the transistor Q2?") == 1


def test_the_newest_edition_unless_another_is_named(make_index: Callable[..., Index]) -> None:
    texts = {f"{year}.md": f"# Quay Code, {year} Edition\n\n{ROWS}" for year in (2018, 2021, 2024)}
    other = {"x.md": f"# Crane Manual\n\n{ROWS.replace('item', 'crane')}"}
    quay = {name: text.replace("item", "quay code item") for name, text in texts.items()}
    index = make_index(quay | other)
    assert best(index, "What does the Quay Code say of item 3?") == ["2024.md"]
    assert best(index, "What does the Quay Code of 2018 say of item 3?") == ["2018.md"]
    assert best(index, "What does the 2021 edition say of item 3?") == ["2021.md"]
    (note,) = index.search("What does the Quay Code of 2018 say of item 3?", 3).notes
    assert note == (
        "document: Quay Code, 2018 Edition; also: Quay Code, 2024 Edition; Quay Code, 2021 Edition"
    )


@pytest.mark.parametrize(
    ("text", "years", "quarter", "days", "kinds"),
    [
        ("sales in FY2018 - FY2020", (2018, 2019, 2020), 0, (), ()),
        ("sales in 2Q22", (2022,), 2, (), ()),
        ("As of FY2023Q1, why?", (2023,), 1, (), ()),
        ("fourth quarter of fiscal 2019", (2019,), 4, (), ()),
        ("the AGM of May 3, 2023", (2023,), 0, (20230503,), ()),
        ("8-K dated 1st July 2022", (2022,), 0, (20220701,), ("8-K", "6-K")),
        ("a charge of $2,019 or 2019.5 for 2000 items", (2000,), 0, (), ()),
        ("section 2019-45", (), 0, (), ()),
        ("the annual report", (), 0, (), ("10-K", "20-F", "40-F")),
    ],
)
def test_what_a_question_says_of_time_and_kind(
    text: str, years: tuple[int, ...], quarter: int, days: tuple[int, ...], kinds: tuple[str, ...]
) -> None:
    asked = AskedTime.of(text)
    assert (asked.years, asked.quarter, asked.days, asked.kinds) == (years, quarter, days, kinds)


def test_names_of_makers_lose_what_the_law_adds() -> None:
    names = dict(names_of("x", {"issuer": "The Coca-Cola Company", "ticker": "KO"}))
    assert set(names) == {"cocacola", "ko"}
    assert "amazon" in dict(names_of("x", {"issuer": "Amazon.com, Inc."}))


TEXTS = st.text(max_size=40) | st.lists(
    st.sampled_from(["Best", "Tug", "Barge", "FY2020", "Q2", "10-K", "May 26, 2021", "the", "AMD"])
).map(" ".join)


def test_factors_are_shares_with_one_for_the_best(index: Index) -> None:
    evidence = CardEvidence(index.opened)

    @given(TEXTS)
    def law(text: str) -> None:
        factors = evidence.factors(text, Filters())
        if factors is not None:
            assert factors.values.max() == 1.0 and factors.values.min() > 0
            assert len(factors.of_rows(slice(None))) == factors.offsets[-1]

    law()
