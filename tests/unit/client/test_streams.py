"""Events survive the wire, however it cuts them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.answer import values
from pincite.answer.asker import Asker
from pincite.answer.values import Abstention, Answer, Citation, CitedPlace, Sentence, Source, Usage
from pincite.api import Index
from pincite.client.calls import EventReader
from pincite.client.errors import RequestRefused, Unreadable
from pincite.model.errors import StoreError
from pincite.model.types import Span

SPAN = Span("a.md", 3, 9)
# Characters that Python takes for ends of lines, and others that spoil careless readers.
ODD = 'one\u2028two\x85three\x0bfour\r\n\n: "five" data: é\U0001f600'
SOURCE = Source(1, "c1", "Rules", "1(a)", ("One", "Two"), 4, SPAN, ODD, "table", "see 2")
CITED = Citation(1, "1(a)", 4, ODD, SPAN)
BARE = Citation(1, "1(a)", ok=False, reason="not said there")
ANSWER = Answer(
    "why?",
    ODD,
    (Sentence(ODD, (CITED, BARE), "unsupported", ("7 is not there",)),),
    (SOURCE,),
    Abstention("low_confidence", "unsure", (CitedPlace("a.md", "Rules", "2", None),)),
    0.25,
    "some-model",
    Usage(5, 6, 0.5, True),
    {"total": 0.5},
    ("a note",),
    "ten",
    (SPAN, Span("b.md", 0, 3)),
)
ALL = [
    values.SearchEvent("why?", "why", 3, 0.5, {"wy": "why"}),
    values.ContextEvent((SOURCE,), 12),
    values.GenerationEvent("some-model"),
    values.ShortEvent("ten", (SPAN, Span("b.md", 0, 3))),
    values.TokenEvent(ODD),
    values.CitationEvent(CITED, 0),
    values.RejectedEvent(BARE, 0),
    values.AbstainEvent(ANSWER.abstention or Abstention("low_confidence", "")),
    values.CompleteEvent(ANSWER),
    values.CompleteEvent(Answer("why?", "")),
]


def wire(each: values.Event, number: int = 1, end: str = "\n") -> bytes:
    lines = [f"id: {number}", f"event: {each.name}", "data: " + json.dumps(each.plain()), "", ""]
    return end.join(lines).encode()


def raw_wire(each: values.Event) -> bytes:
    """The same with all characters as they are, as the service writes them."""
    data = json.dumps(each.plain(), ensure_ascii=False)
    return f"event: {each.name}\ndata: {data}\n\n".encode()


@pytest.mark.parametrize("each", ALL, ids=lambda each: each.name)
def test_every_event_is_read_as_it_was_written(each: values.Event) -> None:
    assert list(EventReader().feed(wire(each))) == [each]
    assert list(EventReader().feed(raw_wire(each))) == [each]
    assert list(EventReader().feed(wire(each, end="\r\n"))) == [each]


def test_every_kind_of_event_is_known() -> None:
    kinds = {type(each) for each in ALL} | {values.ErrorEvent}
    assert kinds == set(values.Event.__args__)  # type: ignore[attr-defined]


def test_an_error_keeps_the_words_of_the_server() -> None:
    told = values.ErrorEvent(StoreError("no place '9'", hint="search for it"))
    (event,) = EventReader().feed(wire(told))
    assert isinstance(event, values.ErrorEvent) and isinstance(event.error, RequestRefused)
    assert (event.error.message, event.error.hint) == ("no place '9'", "search for it")
    assert (event.error.kind, event.error.status) == ("StoreError", 404)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(ALL), max_size=4), st.data())
def test_where_the_wire_cuts_changes_nothing(sent: list[values.Event], data: st.DataObject) -> None:
    stream = b"".join(b": still working\n\n" + raw_wire(each) for each in sent)
    at = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader, read = EventReader(), []
    for start, end in zip([0, *at], [*at, len(stream)], strict=True):
        read += reader.feed(stream[start:end])
    assert read == sent


def test_what_is_new_is_overlooked_and_what_is_broken_is_told() -> None:
    new = b'event: mood\ndata: {"is": "good"}\n\n'
    more = b'event: token\ndata: {"text": "a", "colour": "red"}\n\n'
    assert list(EventReader().feed(new + more)) == [values.TokenEvent("a")]
    for bad in (
        b"event: token\ndata: {\n\n",
        b"event: token\ndata: {}\n\n",
        b"event: token\ndata: 1\n\n",
    ):
        with pytest.raises(Unreadable, match="not understood"):
            list(EventReader().feed(bad))


def test_an_endless_event_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pincite.client.calls.MAX_EVENT_BYTES", 100)
    with pytest.raises(Unreadable, match="too long"):
        list(EventReader().feed(b"data: " + b"x" * 101))


def test_a_real_answer_survives(make_index: Callable[..., Index]) -> None:
    index = make_index(
        {"a.md": "# Rules\n\n## 1 Rods\n\nRods are 2 m apart.\n\n## 2 Wires\n\nThin.\n"}
    )
    for question in ("how far apart are rods?", "zzz qqq"):
        made = list(Asker(index).ask(question))
        assert list(EventReader().feed(b"".join(map(raw_wire, made)))) == made
