"""Answers over HTTP: events in their order, the same answer as JSON, chats, and broken streams."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from pincite.answer import asker
from pincite.answer.values import Event
from pincite.model.errors import ModelError
from pincite.serve import ask_routes

from .conftest import client, run, served, settings

RODS = "how far apart do two earth rods have to be"
SSE = {"accept": "text/event-stream"}


def events_of(text: str) -> list[tuple[str, Any]]:
    """Return names and values of the events in a stream."""
    found = []
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


def asked(folder: Path, path: str, body: dict[str, Any], **headers: str) -> httpx.Response:
    async def ask() -> httpx.Response:
        async with client(folder) as opened:
            return await opened.post(path, json=body, headers=headers)

    return run(ask())


@pytest.mark.parametrize("path", ["/v1/ask", "/api/ruleslawyer/query"])
def test_a_stream_has_its_events_in_order(sample_index: Path, path: str) -> None:
    told = asked(sample_index, path, {"question": RODS}, **SSE)
    assert told.headers["content-type"].startswith("text/event-stream")
    events = events_of(told.text)
    names = [name for name, _ in events]
    assert names[:2] == ["search", "context"] and names[-1] == "complete"
    assert names[2] == "short"
    assert set(names[3:]) <= {"generation", "token", "citation", "complete"}
    context, complete = dict(events)["context"], events[-1][1]
    assert context["message"].startswith("Found ")
    tokens = "".join(values["text"] for name, values in events if name == "token")
    assert tokens == complete["text"]
    known = {source["number"] for source in context["sources"]}
    cited = [values["source"] for name, values in events if name == "citation"]
    assert cited and set(cited) <= known


def test_the_same_answer_comes_as_json(sample_index: Path) -> None:
    whole = asked(sample_index, "/v1/ask", {"question": RODS})
    stream = asked(sample_index, "/v1/ask", {"question": RODS, "stream": True})
    answer, complete = whole.json(), events_of(stream.text)[-1][1]
    assert whole.status_code == 200 and "2.4 m" in answer["text"]
    for name in ("text", "sentences", "sources", "abstention"):
        assert answer[name] == complete[name]


def test_who_is_not_answered_is_told_so(sample_index: Path) -> None:
    nowhere = {"question": RODS, "filters": {"documents": ["nothing.md"]}}
    events = events_of(asked(sample_index, "/v1/ask", nowhere, **SSE).text)
    assert "abstain" in [name for name, _ in events]
    assert events[-1][1]["abstention"]["reason"] and events[-1][1]["text"]


def test_a_mistake_is_a_status_and_not_a_stream(sample_index: Path) -> None:
    bad = {"question": RODS, "filters": {"as_of": "soon"}}
    assert asked(sample_index, "/v1/ask", bad, **SSE).status_code == 400
    assert asked(sample_index, "/v1/ask", {"question": " "}, **SSE).status_code == 422
    assert asked(sample_index, "/v1/ask", {"question": "x", "collection": "no"}).status_code == 404


def test_a_chat_remembers_and_forgets(sample_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[list[str]] = []
    real = asker.Asker.ask

    def listening(self: Any, question: str, **rest: Any) -> Iterator[Event]:
        heard.append([message.text for message in rest.get("history", ())])
        return real(self, question, **rest)

    monkeypatch.setattr(asker.Asker, "ask", listening)

    async def talk() -> list[Any]:
        async with client(sample_index) as opened:
            path = "/sessions/s-1/messages"
            first = await opened.post(path, json={"content": RODS, "match_count": 3})
            second = await opened.post(path, json={"message": "and plates?"}, headers=SSE)
            other = await opened.post("/sessions/s-2/messages", json={"content": "earth plates"})
            told = await opened.get(path)
            gone = await opened.delete("/sessions/s-1")
            empty = await opened.get(path)
            again = await opened.delete("/sessions/s-1")
            return [first, second, other, told, gone, empty, again]

    first, second, other, told, gone, empty, again = run(talk())
    assert first.status_code == other.status_code == gone.status_code == 200
    assert events_of(second.text)[-1][0] == "complete"
    assert heard[0] == [] and heard[2] == []
    assert heard[1] == [RODS, first.json()["text"]]
    said = told.json()["messages"]
    assert [each["role"] for each in said] == ["user", "assistant"] * 2
    assert empty.json()["messages"] == [] and again.status_code == 404


def test_a_threshold_leaves_out_what_hardly_answers(sample_index: Path) -> None:
    path = "/sessions/t/messages"
    all_in = asked(sample_index, path, {"content": "earth rods", "match_count": 8})
    strict = asked(
        sample_index, path, {"content": "earth rods", "match_count": 8, "match_threshold": 0.6}
    )
    assert strict.status_code == 200
    assert len(strict.json()["sources"]) < len(all_in.json()["sources"])
    assert asked(sample_index, path, {"content": "x", "match_threshold": 7}).status_code == 422


def test_a_failure_in_the_middle_is_an_event(
    sample_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = asker.Asker.ask

    def failing(self: Any, question: str, **rest: Any) -> Iterator[Event]:
        events = real(self, question, **rest)
        yield next(events)
        raise ModelError("no model") if "known" in question else RuntimeError("secret words")

    monkeypatch.setattr(asker.Asker, "ask", failing)
    known = events_of(asked(sample_index, "/v1/ask", {"question": "known"}, **SSE).text)
    strange = events_of(asked(sample_index, "/v1/ask", {"question": "strange"}, **SSE).text)
    assert [name for name, _ in known] == ["search", "error"]
    assert known[-1][1]["message"] == "no model"
    assert strange[-1][0] == "error" and "secret" not in json.dumps(strange)


def test_a_slow_answer_sends_signs_of_life_and_ends_in_time(
    sample_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = asker.Asker.ask

    def slow(self: Any, question: str, **rest: Any) -> Iterator[Event]:
        events = real(self, question, **rest)
        yield next(events)
        time.sleep(1.0)
        yield from events

    monkeypatch.setattr(asker.Asker, "ask", slow)
    monkeypatch.setattr(ask_routes, "HEARTBEAT_SECONDS", 0.1)

    async def ask(seconds: float) -> str:
        async with client(sample_index, settings(ask_seconds=seconds)) as opened:
            body = {"question": RODS}
            return (await opened.post("/v1/ask", json=body, headers=SSE)).text

    patient = run(ask(30.0))
    assert ": still working" in patient and events_of(patient)[-1][0] == "complete"
    hurried = events_of(run(ask(0.4)))
    assert hurried[-1][0] == "error" and hurried[-1][1]["status"] == 500
    assert "seconds" in hurried[-1][1]["message"]


def test_who_goes_away_stops_the_work(sample_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that closes the connection frees the thread, the stream and the index."""
    closed = threading.Event()
    real = asker.Asker.ask

    def endless(self: Any, question: str, **rest: Any) -> Iterator[Event]:
        events = real(self, question, **rest)
        first = next(events)
        try:
            while True:
                time.sleep(0.02)
                yield first
        finally:
            closed.set()

    monkeypatch.setattr(asker.Asker, "ask", endless)
    with served(sample_index, settings()) as address:
        with (
            httpx.Client(base_url=address, timeout=30) as opened,
            opened.stream("POST", "/v1/ask", json={"question": RODS}, headers=SSE) as told,
        ):
            next(told.iter_lines())
        assert closed.wait(15)
        with httpx.Client(base_url=address, timeout=30) as opened:
            until = time.monotonic() + 10
            while time.monotonic() < until:
                if "\npincite_streams 0.0\n" in opened.get("/metrics").text:
                    break
                time.sleep(0.05)
            assert "\npincite_streams 0.0\n" in opened.get("/metrics").text


def test_only_so_many_streams_at_once(sample_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    real = asker.Asker.ask

    def waiting(self: Any, question: str, **rest: Any) -> Iterator[Event]:
        events = real(self, question, **rest)
        yield next(events)
        go_on.wait(20)
        yield from events

    monkeypatch.setattr(asker.Asker, "ask", waiting)

    async def ask() -> list[httpx.Response]:
        async with client(sample_index, settings(streams=2)) as opened:
            body, path = {"question": RODS}, "/v1/ask"
            begun = [asyncio.create_task(opened.post(path, json=body, headers=SSE)) for _ in "ab"]
            while "\npincite_streams 2.0\n" not in (await opened.get("/metrics")).text:
                await asyncio.sleep(0.02)
            refused = await opened.post(path, json=body, headers=SSE)
            go_on.set()
            return [refused, *(await asyncio.gather(*begun))]

    refused, *done = run(ask())
    assert refused.status_code == 503 and int(refused.headers["retry-after"]) >= 1
    assert [events_of(each.text)[-1][0] for each in done] == ["complete"] * 2
