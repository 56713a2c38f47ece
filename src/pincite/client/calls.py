"""What each call sends and how its answer is read; the clients only differ in how they wait."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO, Generic, TypeVar
from urllib.parse import quote

from pincite.answer.values import Answer
from pincite.client.answers import answer_of
from pincite.client.errors import Refused, unreadable
from pincite.client.values import DocumentLine, Found, FoundCell, Job, Ranked, Shown, found, made
from pincite.core.errors import MALFORMED, ConfigError
from pincite.core.types import Filters

T = TypeVar("T")
NOTHING = Filters()


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
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
    query: str, k: int | None, filters: Filters, collection: str, companions: int
) -> Call[Found]:
    body = {"query": query, "companions": companions, "filters": _plain(filters)}
    return Call("POST", "/v1/search", found, _given(body, k=k, collection=collection))


def show(
    locator: str, document: str | None, as_of: str | None, collection: str
) -> Call[tuple[Shown, ...]]:
    body = _given({"locator": locator}, document=document, as_of=as_of, collection=collection)
    return Call("POST", "/v1/show", _each(Shown, "places"), body)


def cell(
    table: str, row: str, column: str, document: str | None, collection: str
) -> Call[tuple[FoundCell, ...]]:
    body = {"table": table, "row": row, "column": column}
    body = _given(body, document=document, collection=collection)
    return Call("POST", "/v1/cell", _each(FoundCell, "cells"), body)


def documents(collection: str) -> Call[tuple[DocumentLine, ...]]:
    read = _each(DocumentLine, "documents")
    return Call("GET", "/v1/documents", read, params=_given({}, collection=collection))


def remove(document: str, collection: str) -> Call[str]:
    path = f"/v1/documents/{quote(document)}"
    params = _given({}, collection=collection)
    return Call("DELETE", path, lambda told: str(told["removed"]), params=params, is_read=False)


def upload(form: Mapping[str, str]) -> Call[Job]:
    return Call("POST", "/v1/documents", job_of, form=form, is_read=False)


def check_done(job: Job) -> None:
    """Raise what kept a document from getting in."""
    if job.state != "done":
        raise Refused(job.reason, status=422, kind=job.state, hint=job.hint)


def job(job_id: str, collection: str) -> Call[Job]:
    return Call("GET", f"/v1/jobs/{quote(job_id)}", job_of, params={"collection": collection})


def answer(question: str, k: int | None, filters: Filters, collection: str) -> Call[Answer]:
    body = ask_body(question, k, filters, collection, is_stream=False)
    return Call("POST", "/v1/ask", answer_of, body)


def ask_body(
    question: str, k: int | None, filters: Filters, collection: str, *, is_stream: bool
) -> dict[str, Any]:
    """Return the body of a question, to be answered as a whole or event by event."""
    body = {"question": question, "filters": _plain(filters), "stream": is_stream}
    return _given(body, k=k, collection=collection)


def rerank(query: str, texts: Sequence[str], top: int | None) -> Call[tuple[Ranked, ...]]:
    body = {"query": query, "documents": list(texts), "return_documents": False}

    def read(told: Any) -> tuple[Ranked, ...]:
        lines = told["results"]
        return tuple(Ranked(int(x["index"]), float(x["relevance_score"])) for x in lines)

    return Call("POST", "/v2/rerank", read, _given(body, top_n=top))


def embeddings(texts: Sequence[str], *, is_query: bool) -> Call[tuple[tuple[float, ...], ...]]:
    body = {"input": list(texts), "input_type": "query" if is_query else "document"}

    def read(told: Any) -> tuple[tuple[float, ...], ...]:
        lines = sorted(told["data"], key=lambda each: int(each["index"]))
        return tuple(tuple(map(float, each["embedding"])) for each in lines)

    return Call("POST", "/v1/embeddings", read, body)


def job_of(told: Any) -> Job:
    """Return a job as the service tells it."""
    return made(Job, told)


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
