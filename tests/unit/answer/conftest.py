"""A language model's service on this machine that speaks OpenAI's protocol, with faults."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class Model:
    """Answers with the words it is told, in events; remembers what it was asked."""

    words: list[str] = field(default_factory=lambda: ["Yes", " [1]", "."])
    usage: Mapping[str, int] | None = None
    faults: list[tuple[int, dict[str, str]]] = field(default_factory=list)  # before it answers
    pause: float = 0.0  # before each word
    drop_after: int | None = None  # words
    raw: bytes | None = None  # instead of events
    is_plain: bool = False  # answers in one piece
    has_end: bool = True
    on_ask: Callable[[dict[str, Any]], list[str]] | None = None
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    sent: int = 0
    closed: threading.Event = field(default_factory=threading.Event)
    url: str = ""


def event(**values: Any) -> bytes:
    return b"data: " + json.dumps(values).encode() + b"\n\n"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model: Model

    def do_POST(self) -> None:
        model = self.model
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model.bodies.append(body)
        model.headers.append({name.lower(): value for name, value in self.headers.items()})
        assert self.path == "/v1/chat/completions"
        if model.faults:
            code, headers = model.faults.pop(0)
            self._whole(code, b'{"error": {"message": "not now"}}', headers)
            return
        words = model.on_ask(body) if model.on_ask else model.words
        if model.is_plain:
            message = {"choices": [{"message": {"content": "".join(words)}}], "usage": model.usage}
            self._whole(200, json.dumps(message).encode(), {"Content-Type": "application/json"})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            self._events(words)
        except OSError:
            model.closed.set()

    def _events(self, words: list[str]) -> None:
        model = self.model
        if model.raw is not None:
            self.wfile.write(model.raw)
            return
        self._put(b": a comment\n\n")
        self._put(event(choices=[{"delta": {"role": "assistant"}}]))
        for number, word in enumerate(words):
            if number == model.drop_after:
                return
            time.sleep(model.pause)
            self._put(event(choices=[{"delta": {"content": word}}]))
            model.sent += 1
        if model.has_end:
            self._put(event(choices=[{"delta": {}, "finish_reason": "stop"}]))
            if model.usage:
                self._put(event(choices=[], usage=model.usage))
            self._put(b"data: [DONE]\n\n")

    def _put(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def _whole(self, code: int, data: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def model() -> Iterator[Model]:
    state = Model()
    handler = type("Handler", (_Handler,), {"model": state})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield state
    server.shutdown()
    server.server_close()
    thread.join()
