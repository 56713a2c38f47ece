"""Searching, and why a hit is there."""

from __future__ import annotations

import json
import re
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.model.editions import in_force, parse_date
from pincite.model.errors import ConfigError
from pincite.model.types import Filters, Query
from pincite.search.build import PRESETS
from pincite.search.explain import stages
from pincite.search.passages import Passage, passage_values
from pincite.search.reader import IndexReader, Result
from pincite.serve import reading
from pincite.serve.page.look import MAX_HITS, Look, PageRoute, TheLook, render, span_of
from pincite.serve.page.read_page import TheDrawing, opened
from pincite.serve.page.text import MarkedText
from pincite.serve.requests import FilterBody, Reader

# So many candidates are counted; more would only make numbers larger.
POOL = 200
MAX_CHOICES = 14


@dataclass(frozen=True, slots=True)
class FacetValue:
    """One value of a filter; its address adds or removes it."""

    label: str
    count: int
    url: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter and its choices, most frequent first."""

    title: str
    choices: tuple[FacetValue, ...]

    @property
    def is_used(self) -> bool:
        return any(choice.is_chosen for choice in self.choices)


def facets(index: IndexReader, look: Look, path: str) -> list[Facet]:
    """Return the filters of a search; each counts with all the others in force."""
    if not look.q:
        return []
    titles = {doc_id: title for doc_id, title, _ in index.snapshot.headers()}
    places = index.snapshot.places(_pool(index, look.but(within=())))
    documents = Counter(doc for doc, _ in places)
    described = _described(index, _pool(index, look.but(kind=())))
    kinds = Counter(kind for each, _ in described for kind in each)
    described = _described(index, _pool(index, look.but(tag=())))
    tags = Counter(tag for _, each in described for tag in each)
    found = [
        _facet("Document", look, path, "within", documents, titles),
        _edition_facet(index, look, path),
        _facet("Kind", look, path, "kind", kinds),
        _facet("Tag", look, path, "tag", tags),
    ]
    return [each for each in found if len(each.choices) > 1 or each.is_used]


def _pool(index: IndexReader, look: Look) -> list[str]:
    """Return the candidates of the first stage under the filters of a look."""
    return [*index.searcher.find(Query(look.q, filters=look.filters()), POOL).names()]


def _described(index: IndexReader, ids: Sequence[str]) -> list[tuple[set[str], set[str]]]:
    """Return kinds and tags of each chunk and of what it holds, as filters understand them."""
    if not ids:
        return []
    inside = index.snapshot.graph_rows().inside(ids)
    owners = {p.id: p.parent if p.kind == "piece" else p.id for ps in inside.values() for p in ps}
    facts = index.snapshot.facts(sorted({owner for owner in owners.values() if owner}))
    found = []
    for places in inside.values():
        known = [facts[o] for p in places if (o := owners[p.id]) and o in facts]
        kinds = {place.kind for place in places} | {each.content_kind for each in known}
        found.append((kinds - {"", "piece", "text"}, {tag for each in known for tag in each.tags}))
    return found


def _facet(
    title: str,
    look: Look,
    path: str,
    field: str,
    counts: Counter[str],
    labels: dict[str, str] | None = None,
) -> Facet:
    chosen: tuple[str, ...] = getattr(look, field)
    names = [name for name, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]
    listed = [*chosen, *(name for name in names[:MAX_CHOICES] if name not in chosen)]

    def choice(name: str) -> FacetValue:
        rest = tuple(each for each in chosen if each != name)
        rest = (*rest, name) if rest == chosen else rest
        url = look.but(**{field: rest}, k=0).url(path)
        return FacetValue((labels or {}).get(name) or name, counts[name], url, name in chosen)

    return Facet(title, tuple(map(choice, listed)))


def _edition_facet(index: IndexReader, look: Look, path: str) -> Facet:
    """Return the days on which another edition of something came into force."""
    editions = index.snapshot.editions()
    works = Counter(each.work for each in editions if each.effective and each.work)
    days = sorted({e.effective.isoformat() for e in editions if e.effective and works[e.work] > 1})
    days = [*days[-MAX_CHOICES:], *([look.as_of] if look.as_of and look.as_of not in days else [])]
    pool = _pool(index, look.but(as_of="")) if days else []
    documents = [doc for doc, _ in index.snapshot.places(pool)] if pool else []

    def choice(day: str) -> FacetValue:
        is_chosen = day == look.as_of
        parsed = parse_date(day)
        valid = in_force(editions, parsed) if parsed else set()
        url = look.but(as_of="" if is_chosen else day, k=0).url(path)
        return FacetValue(f"in force {day}", sum(doc in valid for doc in documents), url, is_chosen)

    return Facet("Edition", tuple(map(choice, days)))


router = APIRouter(route_class=PageRoute, include_in_schema=False)
# Hits that are sent at once; more follow while one scrolls.
SLICE = 50
KEPT_LISTS = 3
SIZES = (10, 50, 200, MAX_HITS)
_WORD = re.compile(r"\w.*\w|\w")


@router.get("/")
async def search(request: Request, look: TheLook, visit: Reader, drawing: TheDrawing) -> Response:
    """Show the box and, if something was asked, what was found."""
    chosen = visit.collection(look.c)
    filters = FilterBody(
        documents=list(look.within), as_of=look.as_of, kinds=list(look.kind), tags=list(look.tag)
    )
    # What the browser asks for an answer.
    question = {"question": look.q, "collection": chosen.name, "filters": filters.model_dump()}

    def work(index: IndexReader) -> Response:
        values: dict[str, Any] = {
            "found": lambda: found(index, look),
            "facets": lambda: facets(index, look, "/"),
            "reader": lambda: opened(index, look, "/", drawing),
            "documents": lambda: reading.documents(index),
            "question": json.dumps({**question, "stream": True}),
            "examples": lambda: _examples(index, look),
        }
        return render(request, "search.html", look, values, parts=("results", "hits", "reader"))

    return await visit.read(look.c, work, look.q or None)


def found(index: IndexReader, look: Look) -> dict[str, Any]:
    """Return a slice of the hits as the template shows them; nothing if nothing was asked."""
    if not look.q:
        return {"hits": [], "total": 0}
    k = look.k or index.settings.search.k
    result, first = _result(index, look, k), look.number("hits")
    after = first + SLICE
    some = result.passages[first:after]
    following = look.but(rest={**look.rest, "hits": str(after)}).url("/")
    more = next((size for size in SIZES if size > k), 0) if len(result.passages) >= k else 0
    return {
        "hits": [shown(index, passage_values(each), look) for each in some],
        "total": len(result.passages),
        "notes": _notes(index, look, result),
        "next": following if after < len(result.passages) else "",
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


def shown(index: IndexReader, hit: dict[str, Any], look: Look) -> dict[str, Any]:
    """Return a hit with its address and its snippet as blocks."""
    at = (hit["span"][0], hit["span"][1])
    # What is quoted may stand on another page than the beginning of its place.
    is_later = hit["page"] not in (None, index.snapshot.pages(hit["document"]).at(at[0]))
    rest = {"page": str(hit["page"])} if is_later else {}
    return {
        **hit,
        "url": look.but(doc=hit["document"], at=at, rest=rest).url("/"),
        "is_open": look.doc == hit["document"] and look.at == at,
        "heading": heading(hit["locator"], hit["path"]),
        "blocks": MarkedText(hit["snippet"], marks=_marks(index, hit)).blocks(),
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
    if not result.passages and look.filters() != Filters():
        notes.append("Fewer filters may find something.")
    return notes


def _examples(index: IndexReader, look: Look) -> list[dict[str, str]]:
    """Return some places of these documents to begin with, for who knows none of them."""
    titles: dict[str, str] = {}
    for doc_id in index.documents()[:6]:
        chunks = index.snapshot.chunks_within(doc_id, 0, 40_000)
        named = [c for c in chunks if c.kind == "section" and c.searched and 8 < len(c.title) < 60]
        for chunk in named[len(named) // 2 :][:1]:
            titles.setdefault(chunk.title, doc_id)
    return [{"text": title, "url": Look(q=title, c=look.c).url("/")} for title in titles]


MAX_SHOWN = 50
# Hits whose words are compared one by one, where the pipeline does so.
MATCHED_HITS = 3
# Parts of scores with colours of their own; others share one.
COLOURED = (
    *("terms", "pairs", "window", "aliases", "vocabulary", "meaning", "late", "rerank"),
    *("learned", "identifier", "entity", "place", "graph", "spread"),
)


@router.get("/why")
async def why(request: Request, look: TheLook, visit: Reader) -> Response:
    """Explain a search."""

    def work(index: IndexReader) -> Response:
        values: dict[str, Any] = {
            "told": lambda: explained(index, look),
            "pipelines": list(PRESETS),
            "pipeline": look.rest.get("a") or index.settings.search.preset,
            "other": look.rest.get("b", ""),
            "place": look.rest.get("place", ""),
            "coloured": COLOURED,
        }
        return render(request, "why.html", look, values, parts=("reasons",))

    return await visit.read(look.c, work, look.q or None)


def explained(index: IndexReader, look: Look) -> dict[str, Any]:
    """Return everything that the page tells of a search; empty if nothing was asked."""
    if not look.q:
        return {}
    name, other = look.rest.get("a", ""), look.rest.get("b", "")
    first = _told(with_pipeline(index, name), look)
    second = _told(with_pipeline(index, other), look) if other else {}
    if second:
        _compare(first["hits"], second["hits"])
    found: dict[str, Any] = {"first": first, "second": second, "why_not": []}
    if place := look.rest.get("place", "").strip():
        chosen, k = with_pipeline(index, name), _count(index, look)
        lost = chosen.why_not(look.q, place, k, look.doc or None, look.filters())
        found["why_not"] = [reading.why_not(each) for each in lost[:6]]
    return found


def _count(index: IndexReader, look: Look) -> int:
    return min(look.k or index.settings.search.k, MAX_SHOWN)


def _told(index: IndexReader, look: Look) -> dict[str, Any]:
    k = _count(index, look)
    result = index.search(look.q, k, look.filters(), budget_ms=0)
    names, ranks = [], []  # after every stage, also those inside others
    for name, _, ids, _ in stages(index.searcher, index.parse(look.q, look.filters()), k):
        names.append(name)
        ranks.append({chunk_id: rank for rank, chunk_id in enumerate(ids, 1)})
    sums = [sum(v for v in p.hit.features.values() if v > 0) for p in result.passages]
    largest = max(sums, default=1.0) or 1.0
    seconds = dict(result.seconds)
    parts = {n for p in result.passages for n, value in p.hit.features.items() if value}
    longest = max(seconds.values(), default=0.0) or 1.0
    return {
        "pipeline": index.settings.search.preset,
        "stages": names,
        "features": sorted(parts, key=lambda n: (COLOURED.index(n) if n in COLOURED else 99, n)),
        "hits": [_hit(index, p, look, ranks, largest) for p in result.passages],
        "seconds": [(n, s, round(100 * s / longest, 1)) for n, s in seconds.items()],
        "total": sum(step.seconds for step in result.steps),
        "notes": list(result.notes),
    }


def _hit(
    index: IndexReader,
    passage: Passage,
    look: Look,
    ranks: Sequence[Mapping[str, int]],
    largest: float,
) -> dict[str, Any]:
    place, hit = passage.place, passage.hit
    matches = index.word_matches(look.q, passage.chunk) if passage.rank <= MATCHED_HITS else []
    return {
        "rank": passage.rank,
        "locator": place.locator,
        "heading": heading(place.locator, place.path),
        "title": passage.document,
        "score": hit.score,
        "url": Look(q=look.q, c=look.c, doc=place.span.doc_id, at=span_of(place)).url("/"),
        "key": hit.chunk_id,
        "parts": bar(hit.features, largest),
        "told": ", ".join(f"{n} {v:+.3f}" for n, v in hit.features.items() if v),
        "ranks": [each.get(hit.chunk_id) for each in ranks],
        "raw": sorted(hit.raw.items()),
        "words": [asdict(match) for match in matches],
    }


def bar(features: Mapping[str, float], largest: float) -> list[tuple[str, float, float]]:
    """Return the parts of a score beside each other: name, begin and width in percent.

    What a stage took away stands behind the rest.

    >>> bar({"terms": 1.0, "spread": -0.5}, 2.0)
    [('terms', 0.0, 45.0), ('spread', 45.0, 22.5)]
    """
    parts, at = [], 0.0
    scale = 90 / largest  # some room for what was taken away
    for name, value in sorted(features.items(), key=lambda each: each[1] <= 0):
        width = min(abs(value) * scale, 100 - at)
        if width >= 0.05:
            parts.append((name, round(at, 2), round(width, 2)))
            at += width
    return parts


def _compare(first: Sequence[dict[str, Any]], second: Sequence[dict[str, Any]]) -> None:
    """Write into each hit where the other pipeline has it."""
    for mine, theirs in ((first, second), (second, first)):
        places = {hit["key"]: hit["rank"] for hit in theirs}
        for hit in mine:
            hit["other"] = places.get(hit["key"])


_others: WeakKeyDictionary[IndexReader, dict[str, IndexReader]] = WeakKeyDictionary()


def with_pipeline(index: IndexReader, name: str) -> IndexReader:
    """Return the same documents searched by another pipeline; kept as long as the index is."""
    if not name or name == index.settings.search.preset:
        return index
    if name not in PRESETS:
        raise ConfigError(f"no pipeline {name!r}", hint=f"known: {', '.join(PRESETS)}")
    with _lock:
        known = _others.setdefault(index, {})
        if name not in known:
            search = replace(index.settings.search, preset=name)
            known[name] = IndexReader(index.opened, replace(index.settings, search=search))
        return known[name]
