"""The desk: where, what was found, and the document."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Request
from fastapi.responses import Response

from pincite.model.sentences import units
from pincite.model.types import Filters, Query
from pincite.search.passages import passage_values
from pincite.search.reader import IndexReader, Result
from pincite.serve import reading
from pincite.serve.page.answer_page import answered, has_model
from pincite.serve.page.drawing import Drawing
from pincite.serve.page.look import MAX_HITS, PARTS, Look, PageRoute, TheLook, read_all, render
from pincite.serve.page.read_page import TheDrawing, contents, opened
from pincite.serve.page.text import MarkedText
from pincite.serve.requests import Reader

# So many candidates are counted by document; more would only make numbers larger.
POOL = 200
SCRIPTS = "pincite_scripts"  # a cookie that theme.js sets
MAX_LISTED = 60  # documents in the column; the library lists all
MAX_DAYS = 14
GROUP_HITS = 5  # of each of several collections
# Hits that are sent at once; more follow while one scrolls.
SLICE = 50
KEPT_LISTS = 3
SIZES = (10, 50, 200, MAX_HITS)
_WORD = re.compile(r"\w.*\w|\w")
Indexes = Mapping[str, IndexReader]

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/")
async def search(request: Request, look: TheLook, visit: Reader, drawing: TheDrawing) -> Response:
    """Show the desk: the box, what was found, and the document."""
    names = [visit.collection(look.c).name] if look.c or len(visit.mine) < 2 else visit.mine
    wanted = request.headers.get(PARTS, "").split()
    is_written, asks = has_model(visit), bool(look.ask and look.q)
    # Where scripts run, the places come first and the answer for itself.
    has_scripts = SCRIPTS in request.cookies and "plain" not in look.rest
    is_due = asks and ("answer" in wanted if wanted else not (has_scripts or is_written))
    answer = await answered(visit, look) if is_due else None

    def work(indexes: dict[str, IndexReader]) -> Response:
        full = {name: each for name, each in indexes.items() if each.documents()}
        desk = Desk(full, look, names, drawing, answer)
        desk.mine = visit.mine
        values: dict[str, Any] = {
            "desk": desk,
            "answer": answer,
            "writes": is_written,
            "may_write": visit.caller.may("write"),
            "reader": desk.reader,
            "contents": desk.contents,
        }
        return render(request, "search.html", look, values, parts=PARTS_HERE)

    return await read_all(visit, names, work, look.q or None)


PARTS_HERE = ("scope", "results", "hits", "answer", "reader", "contents")


class Desk:
    """What the three columns show; nothing is looked up before a template asks for it."""

    def __init__(
        self,
        indexes: Indexes,
        look: Look,
        names: Sequence[str],
        drawing: Drawing,
        answer: Mapping[str, Any] | None = None,
    ) -> None:
        self.indexes, self.look, self.names = indexes, look, names
        self.mine: Sequence[str] = names  # of which one may choose
        self._drawing, self._answer = drawing, answer
        self.groups = cache(self._groups)
        self.reader = cache(self._reader)

    @property
    def is_empty(self) -> bool:
        return not self.indexes

    def _look_in(self, name: str) -> Look:
        """Return the look with a collection named, where that is not clear by itself."""
        return self.look if len(self.names) == 1 else self.look.but(home=name)

    def _groups(self) -> list[dict[str, Any]]:
        """Return what was found, a group for each collection that has something."""
        if not self.look.q:
            return []
        few = GROUP_HITS if len(self.names) > 1 else 0
        groups = [
            {"name": name, "all": self.look.but(c=name, home="").url("/"),
             **found(index, self._look_in(name), few)}
            for name, index in self.indexes.items()
        ]  # fmt: skip
        best = [each for each in groups if each["hits"]] or groups[:1]
        return sorted(best, key=_worth, reverse=True)

    def _reader(self) -> dict[str, Any]:
        """Return the open document; where none was opened, the one of the first place."""
        look = self._shown()
        home = look.home or next(iter(self.names))
        if not look.home and len(self.names) > 1:
            having = (n for n, each in self.indexes.items() if each.snapshot.meta(look.doc))
            home = next(having, home)
            look = look.but(home=home)
        if not look.doc or home not in self.indexes:
            return {}
        told = opened(self.indexes[home], look, "/", self._drawing)
        return {**told, "home": home, "is_chosen": bool(self.look.doc)}

    def _shown(self) -> Look:
        if self.look.doc or not self.look.q:
            return self.look
        cited = [each["look"] for each in (self._answer or {}).get("sources") or []]
        # The place that holds the short answer, or the first that is quoted.
        first = next((each for each in cited if each.short), cited[0] if cited else None)
        hits = [hit for group in self.groups() for hit in group["hits"]]
        return first or (hits[0]["look"] if hits else self.look)

    def contents(self) -> list[dict[str, Any]]:
        """Return the contents of the open document as a tree."""
        open_ = self.reader()
        if not open_:
            return []
        return contents(self.indexes[open_["home"]], open_["look"], "/")

    def collections(self) -> list[dict[str, Any]]:
        """Return the collections to choose from; none if there is one."""
        bare = self.look.but(within=(), doc="", at=None, home="", rest={}, k=0)
        every = {"title": "All collections", "url": bare.but(c="").url("/")}
        some = [{"title": name, "url": bare.but(c=name).url("/")} for name in self.mine]
        return [every, *some] if len(some) > 1 else []

    def documents(self) -> dict[str, Any]:
        """Return the documents of the scope: those with places first, or all if they are few."""
        counts: Counter[str] = Counter()
        titles: dict[str, str] = {}
        homes: dict[str, str] = {}
        for name, index in self.indexes.items():
            for doc_id, title, _ in index.snapshot.headers():
                titles[doc_id], homes[doc_id] = title or doc_id, name
            if self.look.q:
                places = index.snapshot.places(_pool(index, self.look.but(within=())))
                counts.update(doc for doc, _ in places)
        order = sorted(titles, key=lambda doc: (doc not in self.look.within, titles[doc]))
        if len(order) > MAX_LISTED:
            order.sort(key=lambda doc: (doc not in self.look.within, -counts[doc]))
        is_many = len(self.names) > 1
        return {
            "total": len(order),
            "shown": [
                {
                    "id": doc,
                    "title": titles[doc],
                    "count": counts[doc],
                    "is_ticked": doc in self.look.within,
                    "url": self.look.but(
                        doc=doc, at=None, short=(), rest={}, home=homes[doc] if is_many else ""
                    ).url("/"),
                }
                for doc in order[:MAX_LISTED]
            ],
        }

    def days(self) -> list[str]:
        """Return the days on which another edition of something came into force."""
        found = set()
        for index in self.indexes.values():
            editions = index.snapshot.editions()
            works = Counter(each.work for each in editions if each.effective and each.work)
            found |= {
                e.effective.isoformat() for e in editions if e.effective and works[e.work] > 1
            }
        chosen = {self.look.as_of} - {""}
        return sorted({*sorted(found)[-MAX_DAYS:], *chosen})

    def encoding(self) -> list[str]:
        """Return how far search by meaning is, where it is not complete."""
        shares = {name: reading.meaning_share(each) for name, each in self.indexes.items()}
        several = len(self.names) > 1
        return [
            f"{f'{name}: ' if several else ''}Searched by words; by meaning {100 * share:.0f} %."
            for name, share in shares.items()
            if share < 1.0
        ]

    def examples(self) -> list[dict[str, str]]:
        """Return numbers of places of these documents, for who knows none of them."""
        found: dict[str, str] = {}
        for index in self.indexes.values():
            for doc_id in index.documents()[:6]:
                chunks = index.snapshot.chunks_within(doc_id, 0, 40_000)
                named = [c for c in chunks if c.kind == "section" and c.locator[:1].isdigit()]
                for chunk in named[len(named) // 2 :][:1]:
                    label = f"{chunk.locator} {chunk.title}".strip()
                    found.setdefault(chunk.locator, label[:60])
        looks = [(label, self.look.but(q=text).url("/")) for text, label in found.items()]
        return [{"text": label, "url": url} for label, url in looks[:6]]


def _worth(group: Mapping[str, Any]) -> tuple[bool, int]:
    """Return what tells the best of several collections: scores of two indexes do not compare.

    A place that was named counts most, then how much of the question one place says.
    """
    hits = group["hits"]
    said = max((len(hit["said"]) for hit in hits), default=0)
    return any(hit["why"].get("place") for hit in hits), said


def _pool(index: IndexReader, look: Look) -> list[str]:
    """Return the candidates of the first stage under the filters of a look."""
    return [*index.searcher.find(Query(look.q, filters=look.filters()), POOL).names()]


def found(index: IndexReader, look: Look, few: int = 0) -> dict[str, Any]:
    """Return a slice of the hits as the template shows them."""
    k = few or look.k or index.settings.search.k
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
        "more": look.but(k=more, home="").url("/") if more and not few else "",
        "more_count": more,
        "is_cut": bool(more),
        "why": Look(q=look.q, c=look.home or look.c).url("/why"),
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
    """Return a hit with its address and its snippet as blocks, the best sentence lit."""
    at = (hit["span"][0], hit["span"][1])
    # What is quoted may stand on another page than the beginning of its place.
    is_later = hit["page"] not in (None, index.snapshot.pages(hit["document"]).at(at[0]))
    rest = {"page": str(hit["page"])} if is_later else {}
    there = look.but(doc=hit["document"], at=at, short=(), rest=rest)
    marks = _marks(index, hit)
    words = " ".join(hit["snippet"][a:b] for a, b in marks)
    return {
        **hit,
        "look": there,
        "said": set(index.opened.analyzer.content_words(words)),
        "url": there.url("/"),
        "is_open": look.doc == hit["document"] and look.at == at,
        "heading": heading(hit["locator"], hit["path"]),
        "blocks": MarkedText(hit["snippet"], marks=marks, lit=best_sentence(hit, marks)).blocks(),
    }


def best_sentence(
    hit: Mapping[str, Any], marks: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the one sentence of several in a snippet that has most of the query's words."""
    sentences = [each for each in units(hit["snippet"]) if each.kind != "row"]
    if len(sentences) < 2 or not marks:
        return []
    snippet = hit["snippet"].casefold()

    def worth(start: int, end: int) -> int:
        return len({snippet[a:b] for a, b in marks if start <= a < end})

    best = max(sentences, key=lambda each: worth(each.start, each.end))
    return [(best.start, best.end)]


def _marks(index: IndexReader, hit: dict[str, Any]) -> list[tuple[int, int]]:
    """Return where the query's words stand, without signs around them and words of grammar."""
    snippet, tell = hit["snippet"], index.opened.analyzer.content_words
    found = []
    for first, last in hit["marks"]:
        word = _WORD.search(snippet, first, last)
        if word:
            found.append((word.start(), word.end(), bool(tell(word.group()))))
    # Letters of a place that was named stand everywhere.
    found = [each for each in found if each[1] - each[0] > 1]
    telling = [(first, last) for first, last, is_telling in found if is_telling]
    return telling or [(first, last) for first, last, _ in found]


def heading(locator: str, path: Sequence[str]) -> str:
    """Return the words of the nearest heading that the locator does not say.

    >>> heading("250.56(B)", ["Article 250 Earthing", "250.56 Resistance of Electrodes"])
    'Resistance of Electrodes'
    """
    last = (path[-1] if path else "").lstrip("§ ")
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
