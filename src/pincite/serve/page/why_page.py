"""Why a hit is there, and why another is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.model.errors import ConfigError
from pincite.search.build import PRESETS
from pincite.search.explain import stages
from pincite.search.passages import Passage
from pincite.search.reader import IndexReader
from pincite.serve import reading
from pincite.serve.page.look import Look, PageRoute, TheLook, render, span_of
from pincite.serve.page.search_page import heading
from pincite.serve.requests import Reader

router = APIRouter(route_class=PageRoute, include_in_schema=False)
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


_lock = Lock()
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
