"""Answers as they are made: each event in a thread, the stream on the event loop."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, suppress
from typing import Any

from fastapi.responses import StreamingResponse

from pincite.ask.asker import Asker
from pincite.ask.events import CompleteEvent, ErrorEvent, Event
from pincite.core.errors import PinciteError
from pincite.search.reader import IndexReader
from pincite.serve.errors import ServiceError, overloaded, took_too_long
from pincite.serve.reading import generation_of
from pincite.serve.service import Service
from pincite.serve.work import forget

HEARTBEAT_SECONDS = 15.0
Make = Callable[[Asker], Iterator[Event]]
logger = logging.getLogger("pincite.serve")


class _Steps:
    """The events of one answer and the index they are made from; for one thread at a time."""

    def __init__(self, lease: AbstractContextManager[IndexReader], make: Make, guard: Any) -> None:
        self._lease = lease
        self._make = make
        self._guard = guard
        self._events: Iterator[Event] | None = None
        self._is_leased = False
        self.generation = 0  # that the answer is from, once it has begun

    def next(self) -> Event | None:
        """Return the next event; None if there is none."""
        with self._guard():
            if self._events is None:
                index = self._lease.__enter__()
                self._is_leased = True
                self.generation = generation_of(index)
                self._events = self._make(Asker(index))
            event = next(self._events, None)
            if isinstance(event, ErrorEvent):
                raise event.error
            return event

    def close(self) -> None:
        """Stop the work and give the index back."""
        with suppress(Exception):
            close = getattr(self._events, "close", None)
            if close is not None:
                close()
        if self._is_leased:
            self._is_leased = False
            self._lease.__exit__(None, None, None)


class AnswerStream:
    """One answer on its way; the first event is there before the stream begins."""

    def __init__(self, service: Service, steps: _Steps) -> None:
        self._service = service
        self._steps = steps
        self._due = time.monotonic() + service.limits.ask_seconds
        self._pending: asyncio.Future[Event | None] | None = None
        self._first: Event | None = None
        self._is_closed = False

    @property
    def generation(self) -> int:
        return self._steps.generation

    async def begin(self) -> None:
        """Wait for the first event; what goes wrong until then is an error of the request."""
        service = self._service
        if service.streams >= service.limits.streams:
            raise overloaded(2.0)
        service.streams += 1
        try:
            self._pending = service.asking.submit(self._steps.next)
            while not await self._is_there():
                pass
            self._first = self._pending.result()
        except BaseException:
            self.close()
            raise

    async def _is_there(self) -> bool:
        """Wait a while for the next event; ServiceError if the time is up."""
        assert self._pending is not None
        left = self._due - time.monotonic()
        if left <= 0:
            raise took_too_long(self._service.limits.ask_seconds)
        done, _ = await asyncio.wait({self._pending}, timeout=min(HEARTBEAT_SECONDS, left))
        return bool(done)

    async def events(self) -> AsyncIterator[Event | None]:
        """Yield the events; None where nothing happened for a while."""
        try:
            event = self._first
            while event is not None:
                yield event
                if isinstance(event, CompleteEvent | ErrorEvent):
                    return
                if self._service.is_stopping:
                    yield ErrorEvent(ServiceError("the server is stopping", 503))
                    return
                self._pending = self._service.asking.go_on(self._steps.next)
                while not await self._is_there():
                    yield None
                event = self._pending.result()
        except PinciteError as error:
            yield ErrorEvent(error)
        except Exception:
            # The status was sent long ago: the stream itself has to say it.
            logger.exception("an answer failed")
            yield ErrorEvent(ServiceError("something went wrong here", 500))
        finally:
            self.close()

    def close(self) -> None:
        """Give everything back, as soon as the thread that works on it is done."""
        if self._is_closed:
            return
        self._is_closed = True
        self._service.streams -= 1
        pending = self._pending
        if pending is None or pending.done():
            self._give_back()
        else:
            pending.add_done_callback(lambda _: self._give_back())

    def _give_back(self) -> None:
        if self._pending is not None and self._pending.done():
            forget(self._pending)
        try:
            self._service.asking.go_on(self._steps.close).add_done_callback(forget)
        except RuntimeError:  # the threads have ended with the service
            self._steps.close()


async def open_stream(
    service: Service, caller: Any, collection: str, make: Make, threshold: float = 0.0
) -> AnswerStream:
    """Return an answer that has begun, from a collection as the caller sees it."""
    chosen = service.collection(caller, collection)
    steps = _Steps(chosen.lease(caller.access, threshold), make, chosen.discreet)
    stream = AnswerStream(service, steps)
    await stream.begin()
    return stream


def sse(name: str, values: Any, number: int | None = None) -> str:
    """Return one event as it goes over the wire."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {name}\ndata: {json.dumps(values, ensure_ascii=False)}\n\n"


def event_stream(lines: AsyncIterator[str]) -> StreamingResponse:
    headers = {"x-accel-buffering": "no"}  # a proxy that waits would spoil it
    encoded = (line.encode("utf-8", "replace") async for line in lines)
    return StreamingResponse(encoded, headers=headers, media_type="text/event-stream")
