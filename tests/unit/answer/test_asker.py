"""Questions answered from small indexes, without a language model and with one on a socket."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.indexes import make_index as make_with_vectors
from pincite.answer.asker import Asker, Message
from pincite.answer.values import (
    Answer,
    CitationEvent,
    CompleteEvent,
    ErrorEvent,
    GenerationEvent,
    RejectedEvent,
    TokenEvent,
)
from pincite.api import Index
from pincite.model.settings import Answering, Settings
from pincite.model.types import Filters

OLD = """\
# Harbour Code, 2021 Edition

## 12.1 Rods

(a) Rods shall be at least 1.8 m apart.

## 12.2 Flags

A flag shall be red.
"""
NEW = """\
# Harbour Code, 2024 Edition

## 12.1 Rods

(a) Rods shall be at least 2.4 m apart.

## 12.3 Noise

No boat shall sound:

(a) a horn at night;

(b) a bell in fog, except as Table 9.9 allows.

## 12.4 Cables

**Table 12.4 Cables for Berths**

| Rating of the berth, not exceeding (A) | Copper (mm²) | Aluminium (mm²) |
|---|---|---|
| 16 | 2.5 | Not permitted |
| 32 | 6 | 10^1^ |
| 63 | 16 | 25^1^ |

^1^ Only above the water line.

## 12.5 Terms

**Berth.** A place where a boat is made fast.

**Pontoon.** A floating deck that is held by piles.
"""
FEES = """\
# Permit Rules

## 4.3 Fees

The fees are given in Table 3.

Table 3: Fees of permits

| Kind of permit | Area (m²) | Fee (€) |
|---|---|---|
| Hot work | Up to 50 | 40 |
| Hot work | Over 50 through 100 | 60 |
| Hot work | Over 100 | 90 |
| Confined space | Any | 120^1^ |
| Work at height | Any | 80 |

1 Waived for emergency rescue teams.
"""
Make = Callable[..., Index]


@pytest.fixture
def index(make_index: Make) -> Index:
    return make_index({"code-2021.md": OLD, "code-2024.md": NEW})


def answer(index: Index, question: str, **settings: Any) -> Answer:
    chosen = Answering(**{"min_confidence": 0.0, **settings})
    found = Asker(index, chosen).answer(question)
    for citation in found.citations:
        assert citation.span is not None
        text = index.snapshot.text(citation.span.doc_id)
        assert text[citation.span.start : citation.span.end] == citation.quote
        assert found.sources[citation.source - 1].holds(citation.span)
    return found


def test_the_edition_that_counts_is_quoted(index: Index) -> None:
    newest = answer(index, "How far apart shall rods be?")
    assert "2.4 m" in newest.text and "1.8 m" not in newest.text
    named = answer(index, "How far apart shall rods be in the 2021 edition?")
    assert "1.8 m" in named.text and "2.4 m" not in named.text


def test_an_item_is_quoted_with_what_leads_into_it(index: Index) -> None:
    for question in ("May a boat sound a horn at night?", "12.3(a)"):
        found = answer(index, question)
        quotes = [citation.quote for citation in found.citations]
        assert quotes[:2] == ["No boat shall sound:", "(a) a horn at night;"]


def test_a_cell_is_looked_up_by_name_and_by_number(index: Index) -> None:
    for question in (
        "Table 12.4 32 A copper",
        "Which copper cable does a berth of 25 A need?",
    ):
        found = answer(index, question)
        assert found.citations[0].quote == "6", question
        assert found.citations[0].locator == "Table 12.4 > 32 > Copper (mm²)"
    noted = answer(index, "Table 12.4 63 A aluminium")
    assert [each.quote for each in noted.citations] == ["25^1^", "Only above the water line."]


def test_a_row_comes_with_its_footnotes(index: Index) -> None:
    for question in ("Table 12.4 63 A", "Which cables are there for a berth of 60 A?"):
        row, note = answer(index, question).sentences[:2]
        assert row.text.endswith("63; Copper (mm²): 16; Aluminium (mm²): 25"), question
        assert row.citations[0].quote == "| 63 | 16 | 25^1^ |"
        assert note.text == note.citations[0].quote == "Only above the water line."
    bare = answer(index, "Table 12.4 16 A")
    assert [each.quote for each in bare.citations] == ["| 16 | 2.5 | Not permitted |"]


def test_a_ranked_row_comes_with_its_footnotes(make_index: Make) -> None:
    index = make_index({"fees.md": FEES})
    found = answer(index, "How much does a confined space permit cost?", quotes=1)
    assert [each.text for each in found.sentences] == [
        "Kind of permit: Confined space; Area (m²): Any; Fee (€): 120",
        "Waived for emergency rescue teams.",
    ]
    # A footnote that stands behind what is quoted of a long section comes with it all the same.
    long = FEES.replace("Work at height", "Work at height " + "and over water " * 40)
    cut = answer(make_index({"long.md": long}), "4.3")
    assert [each.text.splitlines()[-1] for each in cut.sentences] == [
        "Kind of permit: Confined space; Area (m²): Any; Fee (€): 120¹",
        "Waived for emergency rescue teams.",
    ]


def test_columns_that_repeat_the_question_are_not_asked_for(make_index: Make) -> None:
    found = answer(make_index({"fees.md": FEES}), "How much is a hot work permit for 120 m²?")
    assert found.sentences[0].text == "Kind of permit: Hot work; Area (m²): Over 100; Fee (€): 90"
    assert found.citations[0].locator == "Table 3 > Hot work, Over 100"


def test_what_an_answer_cites_can_be_asked_for(make_index: Make) -> None:
    index = make_index({"fees.md": FEES})
    for question in ("Table 3 > Hot work, Over 100", "Table 3 > Hot work, Over 100 > Fee (€)"):
        found = answer(index, question, min_confidence=1.0)
        assert [each.quote for each in found.citations] == ["| Hot work | Over 100 | 90 |"]
    noted = answer(index, "Table 3 > Confined space")
    assert [each.quote for each in noted.citations] == [
        "| Confined space | Any | 120^1^ |",
        "Waived for emergency rescue teams.",
    ]


def test_a_place_keeps_its_lines(index: Index) -> None:
    noise = answer(index, "12.3")
    assert noise.sentences[0].text.splitlines() == [
        "No boat shall sound:",
        "(a) a horn at night;",
        "(b) a bell in fog, except as Table 9.9 allows.",
    ]
    name = "Rating of the berth, not exceeding (A)"
    lines = answer(index, "12.4").sentences[0].text.splitlines()
    assert lines[-2:] == [
        f"{name}: 63; Copper (mm²): 16; Aluminium (mm²): 25¹",
        "¹ Only above the water line.",
    ]


def test_a_term_is_answered_by_its_definition(index: Index) -> None:
    for question in ("What is a berth?", "define berth", "What does berth mean?"):
        found = answer(index, question)
        quote = "**Berth.** A place where a boat is made fast."
        assert [each.quote for each in found.citations] == [quote], question


@pytest.mark.parametrize(
    ("question", "reason", "said"),
    [
        ("Show me 12.2 of the 2024 edition.", "removed_in_this_edition", "2021 Edition"),
        ("What does Table 9.9 allow?", "referenced_but_missing", "12.3(b) refers to Table 9.9"),
        ("Table 77.1", "not_in_corpus", "no Table 77.1"),
        ("zzyzx qwfpg", "not_in_corpus", "do not answer"),
    ],
)
def test_why_there_is_no_answer(index: Index, question: str, reason: str, said: str) -> None:
    found = answer(index, question)
    assert found.abstention is not None
    assert found.abstention.reason == reason
    assert said in found.text
    assert not found.citations


def test_a_place_of_an_edition_that_is_not_in_force(index: Index) -> None:
    found = Asker(index).answer("12.2", filters=Filters(as_of="2024-06-01"))
    assert found.abstention is not None
    assert found.abstention.reason == "removed_in_this_edition"


def test_nothing_is_quoted_that_the_asker_may_not_see(make_index: Make) -> None:
    index = make_index({"open.md": OLD, "secret.md": NEW.replace("Harbour", "Other")})
    only = Filters(documents=("open.md",))
    for question in ("Table 12.4 32 A copper", "What is a berth?", "12.3(a)", "horn at night"):
        events = list(Asker(index).ask(question, filters=only))
        assert "secret.md" not in str([event.plain() for event in events])


def test_a_question_that_goes_on_is_searched_with_the_one_before(index: Index) -> None:
    history = [Message("user", "Which copper cable does a berth of 16 A need?")]
    events = list(Asker(index).ask("And for 63 A?", history=history))
    assert isinstance(events[-1], CompleteEvent)
    assert events[0].plain()["searched"].startswith("Which copper cable")


def test_low_confidence_is_said_before_anything_is_quoted(tmp_path: Path) -> None:
    """With vectors, a question about something else is left out; one that is answered is not."""
    file = tmp_path / "code-2024.md"
    file.write_text(NEW)
    make_with_vectors([(file, file.name)], tmp_path / "index", [Settings()])
    with Index.open(tmp_path / "index") as index:
        sure = Asker(index).answer("How far apart shall rods be?")
        assert sure.abstention is None and sure.confidence > 0.3
        strange = Asker(index).answer("Which protein inhibits growth of tumour cells in mice?")
        assert strange.abstention is not None
        assert strange.abstention.reason == "not_in_corpus"
        assert strange.abstention.nearest and not strange.citations
        always = Asker(index, Answering(min_confidence=0.0))
        assert always.answer("Which protein inhibits growth of tumour cells?").abstention is None


# With a language model.


def written(index: Index, model: Any, question: str, **settings: Any) -> list[Any]:
    chosen = {"url": model.url, "model": "m", "min_confidence": 0.0, "retries": 0, **settings}
    return list(Asker(index, Answering(**chosen)).ask(question))


QUESTION = "How far apart shall rods be?"


def test_a_written_answer_is_checked_as_it_comes(index: Index, model: Any) -> None:
    model.words = list("Rods shall be 2.4 m apart [1]. They shall be 9 m apart [1]. So [77].")
    events = written(index, model, QUESTION)
    names = [event.name for event in events]
    assert names[:4] == ["search", "context", "short", "generation"]
    assert names[-1] == "complete"
    done = events[-1].answer
    assert [s.verdict for s in done.sentences] == ["supported", "unsupported", "unsupported"]
    assert [each.citation.source for each in events if isinstance(each, CitationEvent)] == [1]
    rejected = [each.citation for each in events if isinstance(each, RejectedEvent)]
    assert [each.source for each in rejected] == [1, 77]
    assert "9 m" in rejected[0].reason
    assert done.text.startswith("Rods shall be 2.4 m apart. [1] They shall be 9 m apart. [not")
    assert "[77]" not in done.text
    tokens = "".join(each.text for each in events if isinstance(each, TokenEvent))
    assert tokens == done.text
    assert done.model == "m" and done.usage.prompt_tokens > 0
    # The citation comes after the words and before those of the next sentence.
    first = next(n for n, each in enumerate(events) if isinstance(each, CitationEvent))
    before = "".join(each.text for each in events[:first] if isinstance(each, TokenEvent))
    assert before == "Rods shall be 2.4 m apart. [1]"


def test_what_is_not_supported_can_be_left_out(index: Index, model: Any) -> None:
    model.words = ["Rods shall be 2.4 m apart [1]. ", "They shall be 9 m apart [1]. ", "OK [1]."]
    done = written(index, model, QUESTION, unsupported="drop")[-1].answer
    assert "9 m" not in done.text
    assert done.text.startswith("Rods shall be 2.4 m apart. [1]")


def test_a_model_that_finds_nothing_abstains(index: Index, model: Any) -> None:
    model.words = ["NOT ", "IN THE", " SOURCES", "."]
    events = written(index, model, QUESTION)
    assert [e.name for e in events] == [
        "search",
        "context",
        "short",
        "generation",
        "abstain",
        "token",
        "complete",
    ]
    assert "NOT IN" not in events[-1].answer.text and not events[-1].answer.short


def test_a_model_that_fails_first_is_replaced_by_quotations(index: Index, model: Any) -> None:
    model.faults = [(500, {})] * 5
    events = written(index, model, QUESTION)
    done = events[-1].answer
    assert "2.4 m" in done.text and done.citations and not done.model
    assert "quoted without a language model" in done.notes[0]
    assert not any(isinstance(event, GenerationEvent) for event in events)
    model.faults = [(500, {})] * 5
    assert isinstance(written(index, model, QUESTION, on_error="raise")[-1], ErrorEvent)


def test_a_model_that_stops_in_the_middle_is_an_error(index: Index, model: Any) -> None:
    model.words, model.drop_after = ["Rods ", "are ", "long."], 2
    events = written(index, model, QUESTION)
    assert isinstance(events[-1], ErrorEvent)
    assert "middle" in events[-1].error.message
    assert not any(isinstance(event, CompleteEvent) for event in events)


def test_closing_the_stream_stops_the_model(index: Index, model: Any) -> None:
    model.words, model.pause = ["word "] * 2000, 0.01
    settings = Answering(url=model.url, model="m", min_confidence=0.0)
    events = Asker(index, settings).ask(QUESTION)
    while not isinstance(next(events), TokenEvent):
        pass
    events.close()
    assert model.closed.wait(10)


def test_the_prompt_has_the_sources_and_the_question_last(index: Index, model: Any) -> None:
    history = [Message("user", "Hello?"), Message("assistant", "Yes.")]
    settings = Answering(url=model.url, model="m", min_confidence=0.0)
    list(Asker(index, settings).ask(QUESTION, history=history))
    messages = model.bodies[0]["messages"]
    assert [each["role"] for each in messages] == ["system", "user", "assistant", "user"]
    asked = messages[-1]["content"]
    assert asked.endswith(f"Question: {QUESTION}")
    assert "\n> (a) Rods shall be at least 2.4 m apart." in asked
    assert asked.startswith("Sources:\n\n[1] Harbour Code, 2024 Edition, 12.1")


def test_settings_of_an_index_are_used(make_index: Make) -> None:
    settings = Settings().changed({"answer.k": 1, "tuning.answer.companions": 0})
    index = make_index({"code-2024.md": NEW}, settings)
    assert len(Asker(index).answer("berth boat cable horn").sources) == 1
