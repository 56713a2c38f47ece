"""The first area: one box, hits while you type, an answer when you ask, the document beside."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.answer.plain import passage_values
from pincite.core.types import Query
from pincite.search.reader import IndexReader, Result
from pincite.serve import reading
from pincite.serve.page.facets import facets, is_narrowed
from pincite.serve.page.frame import PageRoute, render
from pincite.serve.page.look import MOST_HITS, Look, TheLook
from pincite.serve.page.read_page import TheDrawing
from pincite.serve.page.reader import opened
from pincite.serve.page.text import Words
from pincite.serve.requests import Reader, TheAsked, TheService
from pincite.serve.schemas import FilterBody

router = APIRouter(route_class=PageRoute, include_in_schema=False)
# Hits that are sent at once; more follow while one scrolls.
SLICE = 50
KEPT_LISTS = 3
SIZES = (10, 50, 200, MOST_HITS)
_WORD = re.compile(r"\w.*\w|\w")


@router.get("/")
async def search(
    request: Request,
    look: TheLook,
    service: TheService,
    caller: Reader,
    asked: TheAsked,
    drawing: TheDrawing,
) -> Response:
    """Show the box and, if something was asked, what was found."""
    chosen = service.collection(caller, look.c)
    asked.collection, asked.query = chosen.name, look.q or None

    def work(index: IndexReader) -> Response:
        values: dict[str, Any] = {
            "found": lambda: found(index, look),
            "facets": lambda: facets(index, look, "/"),
            "reader": lambda: opened(index, look, "/", drawing),
            "documents": lambda: reading.documents(index),
            "question": _question(look, chosen.name),
            "examples": lambda: _examples(index, look),
        }
        return render(request, "search.html", look, values, parts=("results", "hits", "reader"))

    return await service.read(caller, look.c, work)


def found(index: IndexReader, look: Look) -> dict[str, Any]:
    """Return a slice of the hits as the template shows them; nothing if nothing was asked."""
    if not look.q:
        return {"hits": [], "total": 0}
    k = look.k or index.settings.search.k
    result, first = _result(index, look, k), _first(look)
    some = result.passages[first : first + SLICE]
    after = first + SLICE
    more = next((size for size in SIZES if size > k), 0) if len(result.passages) >= k else 0
    return {
        "hits": [shown(index, passage_values(each), look) for each in some],
        "total": len(result.passages),
        "notes": _notes(index, look, result),
        "next": _rest(look, hits=str(after)) if after < len(result.passages) else "",
        "more": look.but(k=more).url("/") if more else "",
        "more_count": more,
        "seconds": sum(step.seconds for step in result.steps),
        "why": look.but(doc="", at=None, ask=False, rest={}).url("/why"),
    }


_kept: WeakKeyDictionary[IndexReader, OrderedDict[tuple[Query, int], Result]] = WeakKeyDictionary()
_lock = Lock()


def _result(index: IndexReader, look: Look, k: int) -> Result:
    """Return what a search finds; long lists are kept for who asks for their next slice."""
    if k <= SLICE:
        return index.search(look.q, k, look.filters())
    name = (Query(look.q, filters=look.filters()), k)
    with _lock:
        known = _kept.setdefault(index, OrderedDict())
        if name in known:
            return known[name]
    result = index.search(look.q, k, look.filters())
    with _lock:
        known[name] = result
        while len(known) > KEPT_LISTS:
            known.popitem(last=False)
    return result


def _first(look: Look) -> int:
    text = look.rest.get("hits", "")
    return int(text) if text.isdecimal() and len(text) < 5 else 0


def _rest(look: Look, **more: str) -> str:
    kept = {name: value for name, value in look.rest.items() if name not in more}
    return look.but(rest={**kept, **more}).url("/")


def shown(index: IndexReader, hit: dict[str, Any], look: Look) -> dict[str, Any]:
    """Return a hit with its address and its snippet as blocks."""
    at = (hit["span"][0], hit["span"][1])
    return {
        **hit,
        "url": look.but(doc=hit["document"], at=at, rest={}).url("/"),
        "is_open": look.doc == hit["document"] and look.at == at,
        "heading": heading(hit["locator"], hit["path"]),
        "blocks": Words(hit["snippet"], marks=_marks(index, hit)).blocks(),
    }


def _marks(index: IndexReader, hit: dict[str, Any]) -> list[tuple[int, int]]:
    """Return where the query's words stand, without signs around them and words of grammar."""
    snippet, tell = hit["snippet"], index.opened.analyzer.content_words
    found = []
    for first, last in hit["marks"]:
        word = _WORD.search(snippet, first, last)
        if word:
            found.append((word.start(), word.end(), bool(tell(word.group()))))
    telling = [(first, last) for first, last, is_telling in found if is_telling]
    return telling or [(first, last) for first, last, _ in found]


def heading(locator: str, path: Sequence[str]) -> str:
    """Return the words of the nearest heading that the locator does not say.

    >>> heading("250.56(B)", ["Article 250 Earthing", "250.56 Resistance of Electrodes"])
    'Resistance of Electrodes'
    """
    last = path[-1] if path else ""
    number, _, words = last.partition(" ")
    if words and any(sign.isdigit() for sign in number):
        last = words
    return "" if last.casefold() in locator.casefold() else last


def _notes(index: IndexReader, look: Look, result: Result) -> list[str]:
    """Return what the reader should know of the hits, in sentences."""
    used = result.query.filters
    notes = [note for note in (index.explain_filters(used), *result.notes) if note]
    for place, nearest in index.missing_places(look.q, used):
        beside = f" The nearest above it is {nearest}." if nearest else ""
        notes.append(f"There is no {place} in these documents.{beside}")
    for word, other in result.corrections.items():
        notes.append(f"Searched for “{other}” instead of “{word}”.")
    if not result.passages and is_narrowed(look.filters()):
        notes.append("Fewer filters may find something.")
    return notes


def _question(look: Look, collection: str) -> str:
    """Return what the browser asks for an answer, as JSON."""
    filters = FilterBody(
        documents=list(look.within), as_of=look.as_of, kinds=list(look.kind), tags=list(look.tag)
    )
    body = {"question": look.q, "collection": collection, "filters": filters.model_dump()}
    return json.dumps({**body, "stream": True})


def _examples(index: IndexReader, look: Look) -> list[dict[str, str]]:
    """Return some places of these documents to begin with, for who knows none of them."""
    titles: dict[str, str] = {}
    for doc_id in index.documents()[:6]:
        chunks = index.snapshot.chunks_within(doc_id, 0, 40_000)
        named = [c for c in chunks if c.kind == "section" and c.searched and 8 < len(c.title) < 60]
        for chunk in named[len(named) // 2 :][:1]:
            titles.setdefault(chunk.title, doc_id)
    return [{"text": title, "url": Look(q=title, c=look.c).url("/")} for title in titles]
