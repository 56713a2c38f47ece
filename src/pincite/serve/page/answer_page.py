"""The answer to a question, as the page shows it: rendered here, with scripts or without."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.answer.asker import Message
from pincite.answer.values import (
    Answer,
    Citation,
    CompleteEvent,
    ErrorEvent,
    GenerationEvent,
    Sentence,
    TokenEvent,
)
from pincite.model.errors import PinciteError
from pincite.model.types import Chunk, PageRef, Span
from pincite.search.reader import IndexReader
from pincite.serve.ask_routes import AnswerRequest, event_stream
from pincite.serve.page.look import Look, PageRoute, TheLook, environment
from pincite.serve.page.text import MarkedText, PageBlock
from pincite.serve.requests import Reader, Visit

router = APIRouter(route_class=PageRoute, include_in_schema=False)
STATES = {
    "found": "Found",
    "candidates": "Candidates",
    "not_found": "Not in these documents",
}
# What the best of several collections says is shown: an answer before places before nothing.
ORDER = ("not_found", "candidates", "found")
SHORT_CHARS = 100


def without_numbers(text: str) -> str:
    """Return a sentence without the numbers of its sources at its end.

    >>> without_numbers("At least 2.4 m apart. [1] [2]")
    'At least 2.4 m apart.'
    """
    text = text.rstrip()
    while text.endswith("]"):
        before, mark, number = text[:-1].rpartition("[")
        if not (mark and number.isdecimal()):
            break
        text = before.rstrip()
    return text


def has_model(visit: Visit) -> bool:
    """Return whether a language model writes the answers, which takes its time."""
    return bool(visit.service.settings.answering.url)


async def answered(visit: Visit, look: Look) -> dict[str, Any]:
    """Return the answer as the template shows it: the best of all collections of the look."""
    found: list[dict[str, Any]] = []
    problem: PinciteError | None = None
    for name in [look.c] if look.c else visit.mine:
        chosen = visit.collection(name)
        if chosen.is_empty:
            continue
        there = look if look.c or len(visit.mine) == 1 else look.but(home=name)
        asking = _request(visit, name, look)
        try:
            done, _ = await asking.answer()
            telling = partial(_Telling(there), answer=done)
            found.append(await visit.read(name, telling))
        except PinciteError as error:
            problem = error
    if not found:
        told = problem or PinciteError("nothing was ingested yet")
        return {"state": "", "problem": told.message, "hint": told.hint}
    return max(found, key=lambda each: (ORDER.index(each["state"]), each["confidence"]))


def _request(visit: Visit, collection: str, look: Look) -> AnswerRequest:
    before = look.rest.get("before", "").strip()
    history = [Message("user", before)] if before else []
    return AnswerRequest(visit, collection, look.q, filters=look.filters(), history=history)


class _Telling:
    """Makes of an answer what the template shows."""

    def __init__(self, look: Look) -> None:
        self.look = look.but(ask=True, doc="", at=None, short=(), rest=_kept(look))

    def __call__(self, index: IndexReader, answer: Answer) -> dict[str, Any]:
        titles = {each.number: each.title for each in answer.sources}
        spans = answer.short_spans
        sentences = [*answer.sentences] if answer.abstention is None else []
        return {
            "problem": "",
            "state": answer.state,
            "title": STATES[answer.state],
            "confidence": answer.confidence,
            "message": answer.abstention.message if answer.abstention else "",
            # A whole sentence is read where it stands, marked.
            "short": answer.short if len(answer.short) <= SHORT_CHARS else "",
            "short_url": self._url(spans[0], spans) if spans else "",
            "parts": [*self._parts(index, sentences, spans)],
            "sources": self._sources(sentences, spans, titles),
            "nearest": [
                {
                    "url": self.look.but(doc=each.document, rest={"place": each.locator}).url("/"),
                    "label": _named(each.title, each.locator, each.page, each.page_label),
                }
                for each in (answer.abstention.nearest if answer.abstention else ())
            ],
            "notes": answer.notes,
            "model": answer.model,
        }

    def _parts(
        self, index: IndexReader, sentences: Sequence[Sentence], short: Sequence[Span]
    ) -> Any:
        """Yield what the answer says, a quotation each; rows of one table as a table."""

        def table(sentence: Sentence) -> str:
            row = _row(index, sentence)
            return row.parent or "" if row else ""

        for name, some in groupby(sentences, key=table):
            group = [*some]
            citations = [each for sentence in group for each in sentence.citations]
            yield {
                "blocks": _table(index, group, short) if name else _words(group, short),
                "verdict": group[0].verdict,
                "problems": "; ".join(group[0].problems) or "no source says so",
                "cites": self._cites(citations, short),
            }

    def _cites(self, citations: Sequence[Citation], short: Sequence[Span]) -> list[dict[str, Any]]:
        first = {each.source: each for each in reversed(citations)}
        return [
            {"number": number, "url": self._url(each.span, short), "quote": each.quote[:200]}
            for number, each in sorted(first.items())
            if each.span
        ]

    def _sources(
        self, sentences: Sequence[Sentence], short: Sequence[Span], titles: dict[int, str]
    ) -> list[dict[str, Any]]:
        """Return each cited place once, with every number that cites it."""
        found: dict[str, dict[str, Any]] = {}
        for sentence in sentences:
            for each in sentence.citations:
                if each.span is None:
                    continue
                title = titles.get(each.source, each.span.doc_id)
                label = _named(title, each.locator, each.page, each.page_label)
                line = found.setdefault(
                    label,
                    {"label": label, "url": self._url(each.span, short), "numbers": [],
                     "look": self._look(each.span, short)},
                )  # fmt: skip
                if each.source not in line["numbers"]:
                    line["numbers"].append(each.source)
        return [*found.values()]

    def _url(self, span: Span | None, short: Sequence[Span]) -> str:
        return self._look(span, short).url("/") if span else ""

    def _look(self, span: Span, short: Sequence[Span]) -> Look:
        inside = tuple((each.start, each.end) for each in short if each.overlap(span))
        return self.look.but(doc=span.doc_id, at=(span.start, span.end), short=inside)


def _kept(look: Look) -> dict[str, str]:
    return {name: value for name, value in look.rest.items() if name == "before"}


def _named(title: str, locator: str, page: int | None, label: str) -> str:
    own = locator if locator != title else ""
    return ", ".join(filter(None, (title, own))) + str(PageRef(page, label))


def _words(sentences: Sequence[Sentence], short: Sequence[Span]) -> list[PageBlock]:
    found: list[PageBlock] = []
    for sentence in sentences:
        text = without_numbers(sentence.text)
        found += MarkedText(text, marks=sentence.lit(short)).blocks()
    return found


def _row(index: IndexReader, sentence: Sentence) -> Chunk | None:
    """Return the row of a table that a sentence quotes, if it quotes just that."""
    spans = [each.span for each in sentence.citations if each.span]
    if len(spans) != 1:
        return None
    span = spans[0]
    around = index.snapshot.chunks_within(span.doc_id, span.start, span.end)
    rows = [each for each in around if each.kind == "row" and each.span.overlap(span)]
    return rows[0] if len(rows) == 1 and rows[0].span.overlap(span) == len(span) else None


def _table(
    index: IndexReader, sentences: Sequence[Sentence], short: Sequence[Span]
) -> list[PageBlock]:
    """Return the quoted rows below the head of their table, with the short answer marked."""
    rows = [row for each in sentences if (row := _row(index, each))]
    (whole,) = index.snapshot.get([rows[0].parent or ""])
    head = next((line for line in whole.text.splitlines() if line.startswith("|")), "")
    text, marks = f"{head}\n|--|\n", []
    for row in dict.fromkeys(rows):
        for each in short:
            start = max(each.start, row.span.start) - row.span.start
            end = min(each.end, row.span.end) - row.span.start
            # A whole row is lit as such.
            if each.overlap(row.span) and end - start < len(row.span):
                marks.append((len(text) + start, len(text) + end))
        text += row.text.strip("\n") + "\n"
    return MarkedText(text, marks=marks).blocks()


@router.get("/answer")
async def answer(request: Request, look: TheLook, visit: Reader) -> Response:
    """Send the words of a language model as they come, and at the end the answer as a part."""
    asking = _request(visit, look.c, look)
    stream = await asking.stream()
    telling = _Telling(look)

    async def lines() -> AsyncIterator[str]:
        is_written = False
        async for event in stream.events():
            if isinstance(event, GenerationEvent):
                is_written = True
            elif isinstance(event, TokenEvent) and is_written:
                yield _event("token", {"text": event.text})
            elif isinstance(event, ErrorEvent):
                yield _event("part", {"html": part(look, _problem(event.error))})
            elif isinstance(event, CompleteEvent):
                told = await visit.read(look.c, partial(telling, answer=event.answer))
                yield _event("part", {"html": part(look, told)})

    return event_stream(lines())


def _problem(error: PinciteError) -> dict[str, Any]:
    return {"state": "", "problem": error.message, "hint": error.hint}


def _event(name: str, values: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(values, ensure_ascii=False)}\n\n"


def part(look: Look, told: dict[str, Any]) -> str:
    """Return the answer as a part of the page."""
    return environment().get_template("parts/answer.html").render(look=look, answer=told)
