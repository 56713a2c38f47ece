"""Short answers of the shipped reader, and what it may never answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from experiments.indexes import make_index
from pincite.answer.asker import Asker
from pincite.answer.reader import best_stretch
from pincite.answer.wanted import Wanted, asks_yes_or_no
from pincite.answer.windows import WindowPiece
from pincite.api import Index
from pincite.model.sentences import TextUnit
from pincite.model.settings import Answering, Settings
from pincite.model.tables import Table, cell_at
from pincite.model.types import Filters, Span

RULES = """\
# Harbour Rules

## 3 Opening

The harbour is open from 06:00 to 22:00. The gate of the north pier is closed on Sundays.

## 4 Fees

A berth costs 45 euros a night. Boats of the rescue service pay nothing.

## 5 Fires

No person shall light a fire on a pontoon.

## 7 Boats

No boat shall carry:

(1) Fireworks, whatever their size, unless the harbour master has seen them and has given leave
in writing, which is kept on board with the papers of the boat and is shown to whoever asks:

(i) in the outer harbour, where this holds between sunset and sunrise on every day of the year, and
on Sundays all day, and where boats that are longer than twelve metres keep away from the pier;

(ii) in the inner harbour, where it always holds, and where nobody may go ashore with any of them;

(2) Amplified music, other than for the safety of those on board.

## 6 Figures

| | 2021 | 2020 |
|---|---|---|
| Visiting boats | 4,310 | 3,977 |
| Rescue calls | 61 | 58 |
| Lost anchors | 4 | 9 |
"""


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    folder = tmp_path_factory.mktemp("harbour")
    (folder / "rules.md").write_text(RULES, encoding="utf-8")
    make_index([(folder / "rules.md", "rules.md")], folder / "index", [Settings()])
    with Index.open(folder / "index") as index:
        yield Asker(index, Answering(min_confidence=0.0))


@pytest.mark.parametrize(
    ("question", "short"),
    [
        ("How much does a berth cost a night?", "45 euros"),
        ("When is the gate of the north pier closed?", "Sundays"),
        ("How many visiting boats were there in 2020?", "3,977"),
        ("How many rescue calls were there in 2021?", "61"),
        ("May a person light a fire on a pontoon?", "no"),
        ("May a boat carry amplified music?", "no"),
    ],
)
def test_the_short_answer_is_found(asker: Asker, question: str, short: str) -> None:
    answer = asker.answer(question)
    assert short in answer.short
    assert answer.state == "found"


@pytest.mark.parametrize(
    ("question", "short", "calculation"),
    [
        ("Did visiting boats increase or decrease from 2020 to 2021?", "increase", ""),
        ("Did lost anchors rise or fall from 2020 to 2021?", "fall", ""),
        ("What was the change in visiting boats from 2020 to 2021?", "333", "4310 - 3977 = 333"),
        (
            "What was the percentage increase in rescue calls from 2020 to 2021?",
            "5.17%",
            "(61 - 58) / 58 * 100 = 5.17%",
        ),
        ("How many rescue calls were there in 2020 and 2021 combined?", "119", "58 + 61 = 119"),
        ("Which of the figures was the lowest in 2021?", "Lost anchors", ""),
    ],
)
def test_cells_are_reckoned_with(asker: Asker, question: str, short: str, calculation: str) -> None:
    answer = asker.answer(question)
    assert answer.short == short
    assert answer.notes == ((calculation,) if calculation else ())
    cells = {RULES[span.start : span.end] for span in answer.short_spans}
    assert cells and cells <= {"4,310", "3,977", "61", "58", "4", "9", "Lost anchors"}


def test_what_the_cells_do_not_say_is_not_reckoned(asker: Asker) -> None:
    answer = asker.answer("What was the change in visiting boats from 2017 to 2021?")
    assert not any("4310" in note for note in answer.notes)


def test_a_short_answer_stands_inside_its_quotation(asker: Asker) -> None:
    answer = asker.answer("How much does a berth cost a night?")
    (span,) = answer.short_spans
    assert RULES[span.start : span.end] == answer.short
    assert any(c.span and c.span.overlap(span) == len(span) for c in answer.citations)


def test_a_figure_of_another_year_is_never_the_answer(asker: Asker) -> None:
    answer = asker.answer("How many visiting boats were there in 2017?")
    assert answer.short not in ("4,310", "3,977")


def test_words_that_no_document_has_are_asked_about_too(asker: Asker) -> None:
    index = asker.index
    for question in ("Who won the chess tournament?", "What is the fine for spitting?"):
        evidence = asker.found(question)
        assert evidence.features["words"] < 0.5
        assert Asker(index).answer(question).state != "found"


def test_a_document_that_was_chosen_need_not_say_its_name(asker: Asker) -> None:
    question = "How many visiting boats did the port of Northhaven's count in 2020?"
    named = asker.found(question, filters=Filters(documents=("rules.md",)))
    assert named.read[0].short.text == "3,977"
    assert named.features["words"] > asker.found(question).features["words"]
    assert asker.found(question, filters=Filters(documents=("*.md",))).features["words"] < 1


@pytest.mark.parametrize(
    ("question", "about", "is_allowed"),
    [
        ("Net income in the third quarter of 2017?", "2017 > Net income | Q3", True),
        ("Net income in the third quarter of 2017?", "2018 > Net income | Q3", False),
        ("Net income in the third quarter of 2017?", "Net income | Quarter Ended June 30", False),
        ("Net income in 2017?", "Net income | Quarter Ended June 30", True),
        ("Net income in 2017?", "Net income | 2016", False),
        ("Net income?", "2018 > Net income | 2018", True),
    ],
)
def test_cells_of_other_years_and_quarters_are_no_answer(
    question: str, about: str, is_allowed: bool
) -> None:
    unit = TextUnit(0, 3, "row")
    piece = WindowPiece(0, 3, Span("report.md", 0, 3), unit, 1, 0, None, about)
    assert Wanted.by(question).allows(piece) is is_allowed


def test_a_day_names_no_row_of_a_table(tmp_path: Path) -> None:
    rows = "| Length (feet) | Fee |\n|---|---|\n| 20 | 11 |\n| 30 | 14 |\n"
    text = f"# Fees\n\n## Jetties\n\n{rows}\n## Fines\n\nAs of June 30, the fine for speed is 95.\n"
    (tmp_path / "fees.md").write_text(text, encoding="utf-8")
    make_index([(tmp_path / "fees.md", "fees.md")], tmp_path / "index", [Settings()])
    with Index.open(tmp_path / "index") as index:
        asker = Asker(index, Answering(min_confidence=0.0))
        assert "14" in asker.answer("What is the fee for 30 feet?").text
        assert "14" not in asker.answer("What was the fee for speed as of June 30?").text


@pytest.mark.parametrize(
    ("question", "is_told"),
    [
        ("What is the purpose of the gate?", True),
        ("Under what conditions may it be opened?", True),
        ("What must the master do?", True),
        ("What was the amount recorded for the impact of the act?", False),
        ("What does the master use as a signal?", False),
    ],
)
def test_who_asks_for_a_reason_or_a_duty_gets_the_sentence(question: str, is_told: bool) -> None:
    assert Wanted.by(question).is_told is is_told


def test_without_the_reader_sentences_are_quoted(asker: Asker) -> None:
    plain = Asker(asker.index, Answering(min_confidence=0.0, reader="none"))
    answer = plain.answer("How much does a berth cost a night?")
    assert answer.short == ""
    assert "45 euros" in answer.text


@pytest.mark.parametrize(
    ("question", "is_polar"),
    [
        ("May a station transmit music?", True),
        ("Under the rules, does a club need a licence?", True),
        ("Is it allowed to say what one hears?", True),
        ("What is the fee?", False),
        ("When the light is red, who has to wait?", False),
        ("If it is closed, where do boats go?", False),
    ],
)
def test_questions_for_yes_or_no_are_known_by_their_form(question: str, is_polar: bool) -> None:
    assert asks_yes_or_no(question) is is_polar


def test_a_question_of_many_words_reads_a_document_no_more_often(tmp_path: Path) -> None:
    lines = "\n\n".join(f"Pontoon {n} is painted in the colour {n}." for n in range(8000))
    (tmp_path / "long.md").write_text(f"# Rules\n\n{lines}\n", encoding="utf-8")
    make_index([(tmp_path / "long.md", "long.md")], tmp_path / "index", [Settings()])
    with Index.open(tmp_path / "index") as index:
        asker = Asker(index)
        reader = asker._reader
        assert reader is not None
        few, many = ("colour " + " ".join(f"x{n}y" for n in range(size)) for size in (60, 600))

        def seconds(question: str) -> float:
            query = index.parse(question)
            found = asker.found("What is the colour of pontoon 7?").read[0]
            started = time.thread_time()
            reader._about(query, found)
            return time.thread_time() - started

        seconds(few)
        assert seconds(many) < 4 * seconds(few)


def test_a_stretch_stays_within_its_piece() -> None:
    starts, ends = np.log([0.7, 0.1, 0.1, 0.1]), np.log([0.1, 0.1, 0.1, 0.7])
    first, last, _ = best_stretch(starts, ends, np.array([0, 0, 1, 1]))
    assert (first < 2) == (last < 2)


def test_a_cell_says_its_unit_and_scale() -> None:
    rows = (("Revenue", "$ 17,606", "4 %"), ("Employees", "29,239", "2 %"))
    table = Table("Statements of income (in millions)", ("", "2022", "Change"), rows)
    assert cell_at(table, 0, 1).shown == "$ 17,606 million"
    assert cell_at(table, 1, 1).shown == "29,239 million"
    assert cell_at(table, 0, 2).shown == "4 %"
