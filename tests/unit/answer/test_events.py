"""The stream of events: its order, its end, and that every event is plain JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.answer.asker import Asker
from pincite.answer.values import CompleteEvent, ErrorEvent, ShortEvent, TokenEvent
from pincite.api import Index
from pincite.model.errors import ConfigError
from pincite.update import ingest_files

SAMPLES = Path(__file__).parents[3] / "samples"


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    folder = tmp_path_factory.mktemp("index")
    list(ingest_files([(SAMPLES / "notes.txt", "notes.txt")], folder))
    with Index.open(folder) as index:
        yield Asker(index)


@pytest.mark.parametrize("question", ["What does a lost tool cost?", "zzyzx qwfpg"])
def test_a_stream_is_json_and_its_tokens_are_its_answer(asker: Asker, question: str) -> None:
    events = list(asker.ask(question))
    assert [event.name for event in events[:2]] == ["search", "context"]
    assert isinstance(events[-1], CompleteEvent)
    assert sum(isinstance(event, CompleteEvent) for event in events) == 1
    tokens = "".join(event.text for event in events if isinstance(event, TokenEvent))
    assert tokens == events[-1].answer.text
    answer = events[-1].answer
    told = [(each.short, each.short_spans) for each in events if isinstance(each, ShortEvent)]
    assert told == ([(answer.short, answer.short_spans)] if answer.short else [])
    for event in events:
        assert json.loads(json.dumps(event.plain())) == event.plain()


def test_an_error_ends_the_stream_and_is_raised_by_answer(asker: Asker) -> None:
    (event,) = asker.ask("  ")
    assert isinstance(event, ErrorEvent)
    assert event.plain()["status"] == 400
    with pytest.raises(ConfigError, match="empty"):
        asker.answer("  ")
