"""The service itself, without a network: any request gets an answer that the service documents."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import Any

from fuzz.harness import Target, halves
from fuzz.targets.places import index
from pincite.model.settings import Settings, merged
from pincite.serve.app import create_app
from pincite.serve.requests import ERRORS

_POSTS = (
    *("search", "show", "cell", "explain", "similar", "ask", "rerank", "chat/completions"),
    *("embeddings", "feedback"),
)
_GETS = (
    "/v1/documents",
    "/d/x.md/1",
    "/",
    "/v1/models/x",
    "/why",
    "/library",
    "/v1/jobs/x",
    "/judge",
)
PATHS = [
    *(f"POST /v1/{name}" for name in _POSTS),
    *(f"GET {path}" for path in _GETS),
    *("POST /rerank", "POST /v2/rerank", "GET /v1/sessions/x", "DELETE /v1/documents/x"),
]
STATUSES = {200, 201, 202, 204, 303, 307, 404, 405, *map(int, ERRORS)}


class _Served:
    """The application with a loop of its own, started once."""

    def __init__(self) -> None:
        own = {
            "embedding": {"model": "none"},
            "search": {"meaning_weight": 0.0},
            "rerank": {"enabled": False},
            "serve": {"rate_per_minute": 0},
        }
        folder = index().snapshot.folder
        self.app = create_app(folder, merged(Settings(), own, origin="fuzz"))
        self.loop = asyncio.new_event_loop()
        self.life = self.app.router.lifespan_context(self.app)
        self.loop.run_until_complete(self.life.__aenter__())

    def ask(
        self, method: str, target: bytes, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> int:
        path, _, query = target.partition(b"?")
        scope: dict[str, Any] = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
            "scheme": "http", "path": path.decode("utf-8", "replace"), "raw_path": path,
            "query_string": query, "root_path": "", "headers": [(b"host", b"localhost"), *headers],
            "client": ("127.0.0.1", 1), "server": ("localhost", 80), "state": {},
        }  # fmt: skip
        sent: list[Any] = []
        asked = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive() -> Any:
            return next(asked, {"type": "http.disconnect"})

        async def send(message: Any) -> None:
            sent.append(message)

        work = asyncio.wait_for(self.app(scope, receive, send), 60)
        self.loop.run_until_complete(work)
        status = int(sent[0]["status"])
        if status >= 400:
            told = b"".join(each.get("body", b"") for each in sent[1:])
            kinds = dict(sent[0]["headers"])
            if kinds.get(b"content-type") == b"application/json":
                assert json.loads(told)["error"]["message"]
        return status


@cache
def _served() -> _Served:
    return _Served()


def request(data: bytes) -> None:
    """One request: a path by number, what is behind it, a header, the body."""
    head, body = halves(data)
    number = head[0] if head else 0
    method, _, path = PATHS[number % len(PATHS)].partition(" ")
    more, _, header = head[1:].partition(b"\n")
    headers = [(b"content-type", b"application/json")]
    name, colon, value = header.partition(b":")
    if colon and name and name.lower() not in (b"host", b"content-type"):
        headers.append((name.strip().lower(), value.strip()))
    status = _served().ask(method, path.encode() + more, headers, body)
    assert status in STATUSES and status != 500, status


TARGETS = [
    Target(
        "http",
        "a status that the service documents, never 500; an error says what is wrong",
        request,
        lambda: [
            b'\0\0{"query": "earth rod", "k": 2}',
            b'\1\0{"locator": "1.1"}',
            b'\2\0{"table": "Table 1", "row": "5"}',
            b'\x03\0{"query": "rod", "place": "1.1"}',
            b'\x05\0{"question": "what is a rod?"}',
            b'\7\0{"messages": [{"role": "user", "content": "what is a rod?"}]}',
            b"\x0b?doc=rulebook.md&at=10-50\nx-parts: hits\0",
            b"\x0c?q=rod&k=5\nauthorization: Bearer pk_a_b\0",
            b'\x09\0{"query": "x", "chunk": "y", "grade": 1}',
        ],
        ("?q=", "&doc=", "%2e%2e/", "%00", '"query":', "\\ud800", "x-api-key:", "null", "1e999"),
        2000,
        smoke=40,
        seconds=20.0,
    ),
]
