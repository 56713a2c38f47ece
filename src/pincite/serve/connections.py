"""Connections whose clients are slow, or say too much before anybody knows who they are."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

# Headers of browsers have some thousand characters; a key, a cookie and a query are small.
HEAD_BYTES = 65_536
# From the first byte, or from connecting, to the last header; and how long a client may let an
# answer wait that it does not read.
HEAD_SECONDS = 10.0
SEND_SECONDS = 60.0
_Parser: Any = AutoHTTPProtocol
_TOO_MUCH = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)


class BoundedConnection(_Parser):  # type: ignore[misc]
    """A connection that is closed if its headers are too large, or too slow, or nobody reads."""

    head_seconds = HEAD_SECONDS
    send_seconds = SEND_SECONDS

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head_bytes = 0
        self._due: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._begin("head", self.head_seconds)

    def data_received(self, data: bytes) -> None:
        request = self.cycle
        is_head = request is None or request.response_complete or not request.more_body
        super().data_received(data)
        if self.cycle is not request:  # all headers are there
            self._head_bytes = 0
            self._end("head")
        elif is_head and not self.transport.is_closing():
            self._begin("head", self.head_seconds)
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES:
                self.transport.write(_TOO_MUCH)
                self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._begin("send", self.send_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._end("send")

    def connection_lost(self, exc: Exception | None) -> None:
        for name in list(self._due):
            self._end(name)
        super().connection_lost(exc)

    def _begin(self, name: str, seconds: float) -> None:
        if name not in self._due:
            # Closing would wait until what is written was read.
            self._due[name] = self.loop.call_later(seconds, self.transport.abort)

    def _end(self, name: str) -> None:
        if timer := self._due.pop(name, None):
            timer.cancel()
