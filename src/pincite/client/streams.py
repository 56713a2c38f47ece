"""Events of an answer from the bytes of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator

from pincite.ask.events import Event
from pincite.client.answers import event_of
from pincite.client.errors import Unreadable, unreadable
from pincite.core.errors import MALFORMED

MAX_EVENT_BYTES = 32_000_000


class EventReader:
    """Takes bytes as they come and gives the events that are whole.

    Lines end at line feeds alone: a text may hold the other characters that Python takes for ends.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events that these bytes complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            event = self._line(line.rstrip(b"\r"))
            if event is not None:
                yield event
        if len(self._rest) + sum(map(len, self._data)) > MAX_EVENT_BYTES:
            raise Unreadable("an event of the answer is too long")

    def _line(self, line: bytes) -> Event | None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            self._name = value.decode("utf-8", "replace")
        elif name == b"data":
            self._data.append(value)
        elif not line and self._data:
            told, self._data = b"\n".join(self._data), []
            try:
                return event_of(self._name, json.loads(told))
            except MALFORMED as error:
                raise unreadable(error) from error
        return None
