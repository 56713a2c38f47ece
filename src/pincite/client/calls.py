"""What each call sends and how its answer is read; the clients only differ in how they wait."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, BinaryIO, Generic, TypeVar
from urllib.parse import quote

from pincite.answer.values import Answer, CompleteEvent, ErrorEvent, Event
from pincite.client.errors import RequestRefused, Unreadable, unreadable
from pincite.client.values import (
    CitedText,
    ClientDocument,
    ClientJob,
    ClientResult,
    FoundCell,
    Ranked,
    Shown,
    event_of,
    made,
)
from pincite.model.errors import MALFORMED, ConfigError
from pincite.model.types import Filters

T = TypeVar("T")
NOTHING = Filters()
_job = partial(made, ClientJob)
MAX_EVENT_BYTES = 32_000_000


@dataclass(frozen=True, slots=True)
class RequestCall(Generic[T]):
    """One request, and how to read what comes back."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] | None = None  # beside a file
    is_read: bool = True  # asking twice changes nothing

    def sent(self, file: BinaryIO | None) -> dict[str, Any]:
        """Return what goes with the request, from the file's beginning."""
        if file is None:
            return {"json": self.body, "params": self.params}
        file.seek(0)
        return {"data": self.form, "files": {"file": file}}

    def answered(self, content: bytes) -> T:
        """Return the answer; Unreadable if it is none of ours."""
        try:
            return self.read(json.loads(content))
        except MALFORMED as error:
            raise unreadable(error) from error


def search(
    query: str,
    k: int | None = None,
    filters: Filters = NOTHING,
    *,
    collection: str = "",
    companions: int = 5,
) -> RequestCall[ClientResult]:
    """Return the best passages for a question, words or the name of a place."""
    body = {"query": query, "companions": companions, "filters": _plain(filters)}
    return RequestCall(
        "POST", "/v1/search", partial(made, ClientResult), _given(body, k=k, collection=collection)
    )


def show(
    locator: str, document: str | None = None, *, as_of: str | None = None, collection: str = ""
) -> RequestCall[tuple[Shown, ...]]:
    """Return the places with this locator or heading."""
    body = _given({"locator": locator}, document=document, as_of=as_of, collection=collection)
    return RequestCall("POST", "/v1/show", _each(Shown, "places"), body)


def cite(
    place: str,
    style: str = "plain",
    document: str | None = None,
    *,
    links: str = "",
    collection: str = "",
) -> RequestCall[CitedText]:
    """Return how to cite a place, in one of the styles of ``pincite cite --as``."""
    named = {"document": document, "links": links, "collection": collection}
    params = _given({"place": place, "as": style}, **named)
    return RequestCall("GET", "/v1/cite", partial(made, CitedText), params=params)


def cell(
    table: str, row: str, column: str = "", document: str | None = None, *, collection: str = ""
) -> RequestCall[tuple[FoundCell, ...]]:
    """Return the cells that a row and a column mean in a table."""
    body = {"table": table, "row": row, "column": column}
    body = _given(body, document=document, collection=collection)
    return RequestCall("POST", "/v1/cell", _each(FoundCell, "cells"), body)


def documents(*, collection: str = "") -> RequestCall[tuple[ClientDocument, ...]]:
    """Return the documents that the key may see."""
    read = _each(ClientDocument, "documents")
    return RequestCall("GET", "/v1/documents", read, params=_given({}, collection=collection))


def remove(document: str, *, collection: str = "") -> RequestCall[str]:
    """Take a document out of the index; returns its id."""
    path = f"/v1/documents/{quote(document)}"
    params = _given({}, collection=collection)
    return RequestCall(
        "DELETE", path, lambda told: str(told["removed"]), params=params, is_read=False
    )


def upload(name: str, collection: str) -> RequestCall[ClientJob]:
    form = {"name": name, "collection": collection}
    return RequestCall("POST", "/v1/documents", _job, form=form, is_read=False)


def check_done(job: ClientJob) -> None:
    """Raise what kept a document from getting in."""
    if job.state != "done":
        raise RequestRefused(job.reason, status=422, kind=job.state, hint=job.hint)


def job(of: ClientJob) -> RequestCall[ClientJob]:
    params = {"collection": of.collection}
    return RequestCall("GET", f"/v1/jobs/{quote(of.id)}", _job, params=params)


def answer(
    question: str, k: int | None = None, filters: Filters = NOTHING, *, collection: str = ""
) -> RequestCall[Answer]:
    """Return the whole answer."""
    body = {"question": question, "filters": _plain(filters), "stream": False}
    body = _given(body, k=k, collection=collection)
    return RequestCall("POST", "/v1/ask", partial(made, Answer), body)


def rerank(
    query: str, texts: Sequence[str], top: int | None = None
) -> RequestCall[tuple[Ranked, ...]]:
    """Return texts by number, those first that most probably answer the query."""
    body = {"query": query, "documents": list(texts), "return_documents": False}

    def read(told: Any) -> tuple[Ranked, ...]:
        lines = told["results"]
        return tuple(Ranked(int(x["index"]), float(x["relevance_score"])) for x in lines)

    return RequestCall("POST", "/v2/rerank", read, _given(body, top_n=top))


def embeddings(
    texts: Sequence[str], *, is_query: bool = False
) -> RequestCall[tuple[tuple[float, ...], ...]]:
    """Return the vectors of texts, by the encoder of the index."""
    body = {"input": list(texts), "input_type": "query" if is_query else "document"}

    def read(told: Any) -> tuple[tuple[float, ...], ...]:
        lines = sorted(told["data"], key=lambda each: int(each["index"]))
        return tuple(tuple(map(float, each["embedding"])) for each in lines)

    return RequestCall("POST", "/v1/embeddings", read, body)


def _each(kind: Callable[..., T], name: str) -> Callable[[Any], tuple[T, ...]]:
    return lambda told: tuple(made(kind, each) for each in told[name])


def _plain(filters: Filters) -> dict[str, Any]:
    if filters.access is not None or filters.groups:
        raise ConfigError(
            "a client cannot say what it may see: its key does",
            hint="leave access and groups out of the filters",
        )
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(filters).items()
        if value
    }


def _given(body: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the body with what was given of the rest."""
    return body | {name: value for name, value in more.items() if value not in (None, "")}


class EventReader:
    """Takes bytes as they come and gives the events that are whole.

    Lines end at line feeds alone: a text may hold the other characters that Python takes for ends.
    """

    def __init__(self) -> None:
        self.is_ended = False
        self._rest = b""
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield the events that these bytes complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            event = self._line(line.rstrip(b"\r"))
            if event is not None:
                self.is_ended = isinstance(event, CompleteEvent | ErrorEvent)
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
