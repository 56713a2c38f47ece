"""The clients: one waits for each answer, the other does other things meanwhile.

Both make the calls of :mod:`pincite.client.calls`, whose signatures are theirs.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO, Concatenate, Generic, ParamSpec, Self, TypeVar

import httpx

import pincite.client.calls as calls
from pincite.answer.values import Event
from pincite.client.calls import NOTHING, EventReader, RequestCall
from pincite.client.errors import Unreachable, broken_off, refusal
from pincite.client.values import ClientJob
from pincite.model.types import Filters

P = ParamSpec("P")
T = TypeVar("T")
Http = TypeVar("Http", httpx.Client, httpx.AsyncClient)
POLL_SECONDS = 0.2
# The service says these before it has begun with anything.
NOT_BEGUN = (429, 503)


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call is tried, and how long at most is waited before each time."""

    tries: int = 4
    most_seconds: float = 20.0
    first_seconds: float = 0.25  # doubled each time, where the service names no time


class Attempts:
    """The tries of one call; each method says how long to wait, or raises what went wrong."""

    def __init__(self, patience: Patience, *, is_read: bool) -> None:
        self.patience = patience
        self.is_read = is_read
        self.made = 0

    def after_refusal(self, status: int, headers: Mapping[str, str], body: bytes) -> float:
        """Return how long to wait after an error of the service."""
        wait = self._wait(headers.get("retry-after", ""))
        if status not in NOT_BEGUN or wait is None:
            raise refusal(status, body)
        return wait

    def after_error(self, error: httpx.TransportError, url: str) -> float:
        """Return how long to wait after the connection failed.

        What may have been done is not asked for again, unless it only reads.
        """
        is_safe = self.is_read or isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
        wait = self._wait("")
        if is_safe and wait is not None and not isinstance(error, httpx.UnsupportedProtocol):
            return wait
        is_late = isinstance(error, httpx.TimeoutException)
        told = "did not answer in time" if is_late else f"cannot be reached: {error}"
        raise Unreachable(f"{url} {told}", hint="is it running? see: pincite serve") from error

    def _wait(self, told: str) -> float | None:
        """Return the seconds to wait; None after the last try, or if it would be too long."""
        self.made += 1
        if self.made >= self.patience.tries:
            return None
        if told.isascii() and told.isdecimal():
            seconds = float(told)
            return seconds if seconds <= self.patience.most_seconds else None
        # Callers that were refused together should not come back together.
        longest = self.patience.first_seconds * 2.0 ** (self.made - 1)
        return float(min(self.patience.most_seconds, longest * random.uniform(0.5, 1.0)))


def _waiting(make: Callable[P, RequestCall[T]]) -> Callable[Concatenate[Client, P], T]:
    """Return a call as a method of the client that waits."""

    @wraps(make)
    def method(self: Client, /, *args: P.args, **named: P.kwargs) -> T:
        return self._send(make(*args, **named))

    return method


def _awaited(
    make: Callable[P, RequestCall[T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    """Return a call as a method of the client that does not."""

    @wraps(make)
    async def method(self: AsyncClient, /, *args: P.args, **named: P.kwargs) -> T:
        return await self._send(make(*args, **named))

    return method


class _Connection(Generic[Http]):
    """What both clients know of a service.

    ``timeout`` is for each silence of the server, in seconds. A client of httpx's own may be handed
    in, for proxies and certificates; then it is not closed here.
    """

    _kind: Callable[..., Http]

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        timeout: float = 60.0,
        patience: Patience | None = None,
        http: Http | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        # With each request, not in the client, which may be somebody else's.
        self._with: Any = {"headers": {"authorization": f"Bearer {key}"} if key else {}}
        self._patience = patience or Patience()
        self._owns = http is None
        self._http: Http = type(self)._kind(timeout=timeout) if http is None else http

    def _request(self, call: RequestCall[T], file: BinaryIO | None) -> httpx.Request:
        url, sent = self.url + call.path, call.sent(file)
        return self._http.build_request(call.method, url, **sent, **self._with)


def _streamed(call: RequestCall[T]) -> RequestCall[T]:
    """Return the call of an answer that is to come event by event."""
    return replace(call, body={**(call.body or {}), "stream": True})


@contextmanager
def _whole() -> Iterator[EventReader]:
    """Hand out what reads the events of an answer; Unreachable if that breaks off."""
    reader = EventReader()
    try:
        yield reader
    except httpx.TransportError as error:
        raise broken_off(error) from error
    if not reader.is_ended:
        raise broken_off("it has no end")


class Client(_Connection[httpx.Client]):
    """Calls a service; safe to share between threads."""

    _kind = httpx.Client
    search = _waiting(calls.search)
    show = _waiting(calls.show)
    cite = _waiting(calls.cite)
    cell = _waiting(calls.cell)
    documents = _waiting(calls.documents)
    remove = _waiting(calls.remove)
    answer = _waiting(calls.answer)
    rerank = _waiting(calls.rerank)
    embeddings = _waiting(calls.embeddings)

    def upload(
        self, file: Path | str, name: str = "", *, collection: str = ""
    ) -> Iterator[ClientJob]:
        """Bring a document in; yields how far it is, whenever that changes, up to the end.

        Raises Refused if the document is rejected.
        """
        path = Path(file)
        with path.open("rb") as stream:
            job = self._send(calls.upload(name or path.name, collection), stream)
        yield job
        while not job.is_ended:
            time.sleep(POLL_SECONDS)
            before, job = job, self._send(calls.job(job))
            if job != before:
                yield job
        calls.check_done(job)

    def ask(
        self,
        question: str,
        k: int | None = None,
        filters: Filters = NOTHING,
        *,
        collection: str = "",
    ) -> Iterator[Event]:
        """Yield what happens while a question is answered, as `pincite.ask` does.

        The last event is ``complete`` or ``error``. Closing the iterator ends the work.
        """
        call = _streamed(calls.answer(question, k, filters, collection=collection))
        got = self._response(call, is_stream=True)
        with closing(got), _whole() as reader:
            for data in got.iter_bytes():
                for event in reader.feed(data):
                    yield event
                    if reader.is_ended:
                        return

    def close(self) -> None:
        if self._owns:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, call: RequestCall[T], file: BinaryIO | None = None) -> T:
        return call.answered(self._response(call, file).content)

    def _response(
        self, call: RequestCall[T], file: BinaryIO | None = None, *, is_stream: bool = False
    ) -> httpx.Response:
        """Return the answer to a call, tried again where that is safe."""
        attempts = Attempts(self._patience, is_read=call.is_read)
        while True:
            try:
                got = self._http.send(self._request(call, file), stream=is_stream)
                if got.is_success:
                    return got
                got.read()
                wait = attempts.after_refusal(got.status_code, got.headers, got.content)
            except httpx.TransportError as error:
                wait = attempts.after_error(error, self.url)
            time.sleep(wait)


class AsyncClient(_Connection[httpx.AsyncClient]):
    """Calls a service without blocking; the same calls as `Client`."""

    _kind = httpx.AsyncClient
    search = _awaited(calls.search)
    show = _awaited(calls.show)
    cite = _awaited(calls.cite)
    cell = _awaited(calls.cell)
    documents = _awaited(calls.documents)
    remove = _awaited(calls.remove)
    answer = _awaited(calls.answer)
    rerank = _awaited(calls.rerank)
    embeddings = _awaited(calls.embeddings)

    async def upload(
        self, file: Path | str, name: str = "", *, collection: str = ""
    ) -> AsyncIterator[ClientJob]:
        """Bring a document in, as `Client.upload` does."""
        path = Path(file)
        with path.open("rb") as stream:
            job = await self._send(calls.upload(name or path.name, collection), stream)
        yield job
        while not job.is_ended:
            await asyncio.sleep(POLL_SECONDS)
            before, job = job, await self._send(calls.job(job))
            if job != before:
                yield job
        calls.check_done(job)

    async def ask(
        self,
        question: str,
        k: int | None = None,
        filters: Filters = NOTHING,
        *,
        collection: str = "",
    ) -> AsyncIterator[Event]:
        """Yield what happens while a question is answered, as `Client.ask` does."""
        call = _streamed(calls.answer(question, k, filters, collection=collection))
        got = await self._response(call, is_stream=True)
        async with aclosing(got):
            with _whole() as reader:
                async for data in got.aiter_bytes():
                    for event in reader.feed(data):
                        yield event
                        if reader.is_ended:
                            return

    async def close(self) -> None:
        if self._owns:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, call: RequestCall[T], file: BinaryIO | None = None) -> T:
        return call.answered((await self._response(call, file)).content)

    async def _response(
        self, call: RequestCall[T], file: BinaryIO | None = None, *, is_stream: bool = False
    ) -> httpx.Response:
        """Return the answer to a call, tried again where that is safe."""
        attempts = Attempts(self._patience, is_read=call.is_read)
        while True:
            try:
                got = await self._http.send(self._request(call, file), stream=is_stream)
                if got.is_success:
                    return got
                await got.aread()
                wait = attempts.after_refusal(got.status_code, got.headers, got.content)
            except httpx.TransportError as error:
                wait = attempts.after_error(error, self.url)
            await asyncio.sleep(wait)
