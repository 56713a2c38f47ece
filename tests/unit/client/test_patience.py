"""When a client asks again, and what it says when it gives up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from pincite.client.client import AsyncClient, Attempts, Client, Patience
from pincite.client.errors import RequestRefused, Unreachable, Unreadable
from pincite.model.errors import ConfigError, PinciteError
from pincite.model.types import Filters

QUICK = Patience(tries=3, first_seconds=0.001)
BUSY = {"error": {"kind": "Overloaded", "message": "too much to do", "hint": "come back later"}}
JOB = {
    "id": "1",
    "collection": "c",
    "document": "a.md",
    "state": "done",
    "status": "added",
    "chunks": 1,
    "done": 1,
    "total": 1,
    "reason": "",
    "hint": "",
}


class Server:
    """Answers with what it is given, in order, and remembers what it was asked."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, httpx.Response)
        return answer

    async def later(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return self(request)


def busy(status: int = 503, after: str = "0") -> httpx.Response:
    return httpx.Response(status, json=BUSY, headers={"retry-after": after})


def documents() -> httpx.Response:
    line = {"id": "a.md", "title": "A", "effective": None, "until": None, "card": {}, "new": 1}
    return httpx.Response(200, json={"documents": [line]})


def blocking(server: Server) -> Client:
    http = httpx.Client(transport=httpx.MockTransport(server))
    return Client("http://server/", key="secret", patience=QUICK, http=http)


def both(make: Callable[[], Server], check: Callable[[Server, object], None]) -> None:
    """Ask for the documents with either client; an error is a value here."""
    server = make()
    try:
        told: object = blocking(server).documents()
    except PinciteError as error:
        told = error
    check(server, told)

    async def main(server: Server) -> object:
        http = httpx.AsyncClient(transport=httpx.MockTransport(server.later))
        client = AsyncClient("http://server/", key="secret", patience=QUICK, http=http)
        try:
            return await client.documents()
        except PinciteError as error:
            return error

    server = make()
    check(server, asyncio.run(main(server)))


def test_what_was_refused_before_it_began_is_asked_again() -> None:
    def check(server: Server, told: object) -> None:
        assert [each.id for each in told] == ["a.md"]  # type: ignore[attr-defined]
        assert len(server.requests) == 3
        assert {each.headers["authorization"] for each in server.requests} == {"Bearer secret"}

    both(lambda: Server(busy(), busy(429), documents()), check)


def test_a_server_that_stays_busy_is_told_in_its_own_words() -> None:
    def check(server: Server, told: object) -> None:
        assert isinstance(told, RequestRefused) and len(server.requests) == 3
        assert (told.status, told.message, told.hint) == (503, "too much to do", "come back later")
        assert told.kind == "Overloaded"

    both(lambda: Server(busy(), busy(), busy()), check)


def test_nobody_waits_longer_than_wanted() -> None:
    def check(server: Server, told: object) -> None:
        assert isinstance(told, RequestRefused) and len(server.requests) == 1

    both(lambda: Server(busy(after="3600")), check)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500, 504])
def test_other_errors_are_final(status: int) -> None:
    def check(server: Server, told: object) -> None:
        assert isinstance(told, RequestRefused) and told.status == status
        assert len(server.requests) == 1

    both(lambda: Server(httpx.Response(status, json=BUSY)), check)


def test_reading_is_tried_again_when_the_line_breaks() -> None:
    def check(server: Server, told: object) -> None:
        assert [each.id for each in told] == ["a.md"]  # type: ignore[attr-defined]

    both(lambda: Server(httpx.ReadError("gone"), httpx.ConnectError("no"), documents()), check)


def test_a_server_that_is_not_there_is_told() -> None:
    def check(server: Server, told: object) -> None:
        assert isinstance(told, Unreachable) and "pincite serve" in told.hint
        assert len(server.requests) == 3

    both(lambda: Server(*[httpx.ConnectError("refused")] * 3), check)


def test_what_changes_something_is_not_done_twice(tmp_path: Path) -> None:
    """Unless it is sure that it was not begun."""
    server = Server(httpx.ReadError("gone"))
    with pytest.raises(Unreachable):
        blocking(server).remove("a.md")
    assert len(server.requests) == 1
    file = tmp_path / "a.md"
    file.write_text("# A\n\nWords.\n")
    server = Server(busy(), httpx.ConnectError("no"), httpx.Response(202, json=JOB))
    assert [job.state for job in blocking(server).upload(file)] == ["done"]
    assert all(b"Words." in request.content for request in server.requests)  # whole each time


def test_a_rejected_upload_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"\0")
    told = {**JOB, "state": "rejected", "reason": "not text", "hint": "give it its true ending"}
    with pytest.raises(RequestRefused, match="not text") as caught:
        list(blocking(Server(httpx.Response(202, json=told))).upload(file))
    assert caught.value.hint == "give it its true ending"


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"documents": [{}]}', b'{"documents": 1}'])
def test_answers_of_strangers_are_told(body: bytes) -> None:
    def check(server: Server, told: object) -> None:
        assert isinstance(told, Unreadable)

    both(lambda: Server(httpx.Response(200, content=body)), check)

    def refused(server: Server, told: object) -> None:
        assert isinstance(told, RequestRefused) and "status 502" in told.message

    both(lambda: Server(httpx.Response(502, content=body)), refused)


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(blocking(Server()))


def test_a_client_cannot_say_what_it_may_see() -> None:
    with pytest.raises(ConfigError, match="its key does"):
        blocking(Server()).search("rods", filters=Filters(access=("staff",)))


def test_waits_grow_and_are_bounded() -> None:
    attempts = Attempts(Patience(tries=50, most_seconds=4), is_read=True)
    waits = [attempts.after_refusal(503, {}, b"") for _ in range(12)]
    assert all(0 < wait <= 4 for wait in waits) and waits[0] <= 0.25 and waits[-1] >= 2
