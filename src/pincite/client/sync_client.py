"""The client that waits for each answer."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Self, TypeVar

import httpx

import pincite.client.calls as calls
from pincite.answer.values import Answer
from pincite.ask.events import CompleteEvent, ErrorEvent, Event
from pincite.client.calls import NOTHING
from pincite.client.errors import broken_off
from pincite.client.patience import Attempts, Patience
from pincite.client.streams import EventReader
from pincite.client.values import DocumentLine, Found, FoundCell, Job, Ranked, Shown
from pincite.core.types import Filters

T = TypeVar("T")
POLL_SECONDS = 0.2


class Client:
    """Calls a service; safe to share between threads.

    ``timeout`` is for each silence of the server, in seconds. A client of httpx's own may be handed
    in, for proxies and certificates; then it is not closed here.
    """

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        timeout: float = 60.0,
        patience: Patience | None = None,
        http: httpx.Client | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        # With each request, not in the client, which may be somebody else's.
        self._with: Any = {"headers": {"authorization": f"Bearer {key}"} if key else {}}
        self._patience = patience or Patience()
        self._owns = http is None
        self._http = http or httpx.Client(timeout=timeout)

    def search(
        self,
        query: str,
        k: int | None = None,
        filters: Filters = NOTHING,
        *,
        collection: str = "",
        companions: int = 5,
    ) -> Found:
        """Return the best passages for a question, words or the name of a place."""
        return self._send(calls.search(query, k, filters, collection, companions))

    def show(
        self,
        locator: str,
        document: str | None = None,
        *,
        as_of: str | None = None,
        collection: str = "",
    ) -> tuple[Shown, ...]:
        """Return the places with this locator or heading."""
        return self._send(calls.show(locator, document, as_of, collection))

    def cell(
        self,
        table: str,
        row: str,
        column: str = "",
        document: str | None = None,
        *,
        collection: str = "",
    ) -> tuple[FoundCell, ...]:
        """Return the cells that a row and a column mean in a table."""
        return self._send(calls.cell(table, row, column, document, collection))

    def documents(self, *, collection: str = "") -> tuple[DocumentLine, ...]:
        """Return the documents that the key may see."""
        return self._send(calls.documents(collection))

    def remove(self, document: str, *, collection: str = "") -> str:
        """Take a document out of the index; returns its id."""
        return self._send(calls.remove(document, collection))

    def upload(self, file: Path | str, name: str = "", *, collection: str = "") -> Iterator[Job]:
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
                    wait = attempts.after_refusal(got.status_code, got.headers, got.read())
            except httpx.TransportError as error:
                wait = attempts.after_error(error, self.url)
            time.sleep(wait)

    def answer(
        self,
        question: str,
        k: int | None = None,
        filters: Filters = NOTHING,
        *,
        collection: str = "",
    ) -> Answer:
        """Return the whole answer."""
        return self._send(calls.answer(question, k, filters, collection))

    def rerank(
        self, query: str, texts: Sequence[str], top: int | None = None
    ) -> tuple[Ranked, ...]:
        """Return texts by number, those first that most probably answer the query."""
        return self._send(calls.rerank(query, texts, top))

    def embeddings(
        self, texts: Sequence[str], *, is_query: bool = False
    ) -> tuple[tuple[float, ...], ...]:
        """Return the vectors of texts, by the encoder of the index."""
        return self._send(calls.embeddings(texts, is_query=is_query))

    def close(self) -> None:
        if self._owns:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, call: calls.Call[T], file: BinaryIO | None = None) -> T:
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
                wait = attempts.after_refusal(got.status_code, got.headers, got.content)
            time.sleep(wait)


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
