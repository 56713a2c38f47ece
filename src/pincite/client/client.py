"""The clients: one waits for each answer, the other does other things meanwhile.

Both make the calls of :mod:`pincite.client.calls`, whose signatures are theirs.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO, Concatenate, Generic, ParamSpec, Self, TypeVar

import httpx

import pincite.client.calls as calls
from pincite.answer.values import CompleteEvent, ErrorEvent, Event
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

    def _wait_after(self, attempts: Attempts, got: httpx.Response) -> float:
        return attempts.after_refusal(got.status_code, got.headers, got.content)


class Client(_Connection[httpx.Client]):
    """Calls a service; safe to share between threads."""

    _kind = httpx.Client
    search = _waiting(calls.search)
    show = _waiting(calls.show)
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
        form = {"name": name or path.name, "collection": collection}
        with path.open("rb") as stream:
            job = self._send(calls.upload(form), stream)
        yield job
        while not job.is_ended:
            time.sleep(POLL_SECONDS)
            before, job = job, self._send(calls.job(job.id, job.collection))
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
        url = self.url + "/v1/ask"
        body = calls.ask_body(question, k, filters, collection, is_stream=True)
        attempts = Attempts(self._patience, is_read=True)
        while True:
            try:
                with self._http.stream("POST", url, json=body, **self._with) as got:
                    if got.is_success:
                        yield from _events(got)
                        return
                    got.read()
                    wait = self._wait_after(attempts, got)
            except httpx.TransportError as error:
                wait = attempts.after_error(error, self.url)
            time.sleep(wait)

    def close(self) -> None:
        if self._owns:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, call: RequestCall[T], file: BinaryIO | None = None) -> T:
        """Return the answer of a call, tried again where that is safe."""
        attempts = Attempts(self._patience, is_read=call.is_read)
        while True:
            try:
                got = self._http.request(
                    call.method, self.url + call.path, **call.sent(file), **self._with
                )
            except httpx.TransportError as error:
                wait = attempts.after_error(error, self.url)
            else:
                if got.is_success:
                    return call.answered(got.content)
                wait = self._wait_after(attempts, got)
            time.sleep(wait)


class AsyncClient(_Connection[httpx.AsyncClient]):
    """Calls a service without blocking; the same calls as `Client`."""

    _kind = httpx.AsyncClient
    search = _awaited(calls.search)
    show = _awaited(calls.show)
    cell = _awaited(calls.cell)
    documents = _awaited(calls.documents)
    remove = _awaited(calls.remove)
    answer = _awaited(calls.answer)
    rerank = _awaited(calls.rerank)
    embeddings = _awaited(calls.embeddings)

    async def upload(
        self, file: Path | str, name: str = "", *, collection: str = ""
    ) -> AsyncIterator[ClientJob]:
        """Bring a document in; yields how far it is, whenever that changes, up to the end.

        Raises Refused if the document is rejected.
        """
        path = Path(file)
        form = {"name": name or path.name, "collection": collection}
        with path.open("rb") as stream:
            job = await self._send(calls.upload(form), stream)
        yield job
        while not job.is_ended:
            await asyncio.sleep(POLL_SECONDS)
            before, job = job, await self._send(calls.job(job.id, job.collection))
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
        """Yield what happens while a question is answered, as `pincite.ask` does.

        The last event is ``complete`` or ``error``. Closing the iterator ends the work.
        """
        url = self.url + "/v1/ask"
        body = calls.ask_body(question, k, filters, collection, is_stream=True)
        attempts = Attempts(self._patience, is_read=True)
        while True:
            try:
                async with self._http.stream("POST", url, json=body, **self._with) as got:
                    if got.is_success:
                        async for event in _async_events(got):
                            yield event
                        return
                    await got.aread()
                    wait = self._wait_after(attempts, got)
            except httpx.TransportError as error:
                wait = attempts.after_error(error, self.url)
            await asyncio.sleep(wait)

    async def close(self) -> None:
        if self._owns:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _send(self, call: RequestCall[T], file: BinaryIO | None = None) -> T:
        """Return the answer of a call, tried again where that is safe."""
        attempts = Attempts(self._patience, is_read=call.is_read)
        while True:
            try:
                got = await self._http.request(
                    call.method, self.url + call.path, **call.sent(file), **self._with
                )
            except httpx.TransportError as error:
                wait = attempts.after_error(error, self.url)
            else:
                if got.is_success:
                    return call.answered(got.content)
                wait = self._wait_after(attempts, got)
            await asyncio.sleep(wait)


def _events(response: httpx.Response) -> Iterator[Event]:
    reader = EventReader()
    try:
        for data in response.iter_bytes():
            for event in reader.feed(data):
                yield event
                if isinstance(event, CompleteEvent | ErrorEvent):
                    return
    except httpx.TransportError as error:
        raise broken_off(error) from error
    raise broken_off("it has no end")


async def _async_events(response: httpx.Response) -> AsyncIterator[Event]:
    reader = EventReader()
    try:
        async for data in response.aiter_bytes():
            for event in reader.feed(data):
                yield event
                if isinstance(event, CompleteEvent | ErrorEvent):
                    return
    except httpx.TransportError as error:
        raise broken_off(error) from error
    raise broken_off("it has no end")
