"""The address of a page and its frame."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException

from pincite.model.errors import ConfigError, PinciteError, StoreError
from pincite.model.markup import plain
from pincite.model.types import Chunk, Filters
from pincite.search.reader import IndexReader
from pincite.serve.errors import WHICH, ServiceError, status_of
from pincite.serve.requests import QUERY_CHARS, Visit, service_of

T = TypeVar("T")
MAX_HITS = 1000
NAME_CHARS = 1000
DAY_CHARS = 20
MAX_NAMES = 50


@dataclass(frozen=True, slots=True)
class Look:
    """A question, where to look for it, and what of a document is open beside it.

    ``rest`` holds what one area alone understands.
    """

    q: str = ""
    c: str = ""  # collection
    k: int = 0  # hits; 0: as many as the settings say
    within: tuple[str, ...] = ()  # documents
    kind: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    as_of: str = ""
    ask: bool = False
    doc: str = ""  # the open document
    at: tuple[int, int] | None = None  # the lit place in it
    short: tuple[tuple[int, int], ...] = ()  # the words of it that answer
    home: str = ""  # collection of the open document, where several are searched
    rest: Mapping[str, str] = field(default_factory=dict)

    def filters(self) -> Filters:
        return Filters(documents=self.within, as_of=self.as_of, kinds=self.kind, tags=self.tag)

    def number(self, name: str) -> int:
        """Return a number of what one area alone understands; 0 if it is none."""
        text = self.rest.get(name, "")
        return int(text) if text.isdecimal() and len(text) < 10 else 0

    def place(self, chunk: Chunk, path: str) -> str:
        """Return where a place of the same collection is shown alone."""
        return self.alone(doc=chunk.span.doc_id, at=span_of(chunk)).url(path)

    def alone(self, **changes: Any) -> Look:
        """Return the look at something else of the collection that the open document is in."""
        return Look(c=self.home or self.c).but(**changes)

    def but(self, **changes: Any) -> Look:
        """Return the look with some things changed."""
        return replace(self, **changes)

    def pairs(self) -> list[tuple[str, str]]:
        """Return what the address holds, as names and values."""
        found = [("q", self.q), ("c", self.c), ("as_of", self.as_of)]
        found += [("k", str(self.k))] if self.k else []
        for name, values in (("in", self.within), ("kind", self.kind), ("tag", self.tag)):
            found += [(name, value) for value in values]
        found += [("ask", "1")] if self.ask else []
        found += [("doc", self.doc), ("dc", self.home if self.doc else "")]
        found += [("at", f"{self.at[0]}-{self.at[1]}")] if self.at else []
        found += [("short", ",".join(f"{start}-{end}" for start, end in self.short))]
        found += list(self.rest.items())
        return [(name, value) for name, value in found if value]

    def url(self, path: str, **more: str) -> str:
        """Return the address of this look.

        >>> Look(q="a & b", within=("x.md",)).url("/", view="page")
        '/?q=a+%26+b&in=x.md&view=page'
        """
        pairs = [*self.pairs(), *((name, value) for name, value in more.items() if value)]
        # Half a character cannot be written; whatever comes back is found by nothing.
        query = urlencode(pairs, errors="replace")
        return f"{path}?{query}" if query else path


def span_of(chunk: Chunk) -> tuple[int, int]:
    return chunk.span.start, chunk.span.end


def exact_place(index: IndexReader, doc: str, at: tuple[int, int]) -> Chunk:
    """Return the place with exactly these offsets; StoreError if there is none."""
    for chunk in index.snapshot.chunks_within(doc, at[0], max(at[1], at[0] + 1)):
        if span_of(chunk) == at:
            return chunk
    raise StoreError("no such place", hint="the document may have changed")


def slices(first: int, rows: int, total: int, address: Callable[[int], str]) -> dict[str, str]:
    """Return where the slices before and after one of a list are; empty where there is none."""
    return {
        "before": address(max(0, first - rows)) if first else "",
        "after": address(first + rows) if first + rows < total else "",
    }


_OWN = {"q", "c", "k", "in", "kind", "tag", "as_of", "ask", "doc", "dc", "at", "short"}


def look_of(request: Request) -> Look:
    """Return what the request's address says; ConfigError if it says nonsense."""
    asked = request.query_params
    # A form sends what nobody filled in as well: nothing is not a name that nothing has.
    names = {n: tuple(_short(n, v) for v in asked.getlist(n) if v) for n in ("in", "kind", "tag")}
    for name, values in names.items():
        if len(values) > MAX_NAMES:
            raise ConfigError(f"{name} is given {len(values)} times", hint=f"at most {MAX_NAMES}")
    query = asked.get("q", "").strip()
    if len(query) > QUERY_CHARS:
        raise ConfigError(f"the question is longer than {QUERY_CHARS} characters")
    return Look(
        q=query,
        c=_short("c", asked.get("c", "")),
        k=_number("k", asked.get("k", ""), MAX_HITS),
        within=names["in"],
        kind=names["kind"],
        tag=names["tag"],
        as_of=_short("as_of", asked.get("as_of", ""), DAY_CHARS),
        ask=asked.get("ask", "") == "1",
        doc=_short("doc", asked.get("doc", "")),
        home=_short("dc", asked.get("dc", "")) if asked.get("doc") else "",
        at=_span("at", asked.get("at", "")),
        short=_spans("short", _short("short", asked.get("short", ""))),
        rest={n: _short(n, v) for n, v in asked.items() if n not in _OWN},
    )


def _short(name: str, value: str, most: int = NAME_CHARS) -> str:
    if len(value) > most:
        raise ConfigError(f"{name[:40]} is longer than {most} characters")
    return value


def _number(name: str, text: str, most: int) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or int(text) > most:
        raise ConfigError(f"{name} must be a number up to {most:,}, got {text[:20]!r}")
    return int(text)


def _spans(name: str, text: str) -> tuple[tuple[int, int], ...]:
    return tuple(span for each in text.split(",") if (span := _span(name, each)))


def _span(name: str, text: str) -> tuple[int, int] | None:
    if not text:
        return None
    start, dash, end = text.partition("-")
    found = _number(name, start, 999_999_999), _number(name, end, 999_999_999)
    if not dash or found[0] > found[1]:
        raise ConfigError(f"{name} must be two offsets, as 120-340, got {text[:40]!r}")
    return found


TheLook = Annotated[Look, Depends(look_of)]


FOLDER = Path(__file__).parent
# Nothing from elsewhere, nothing inline, no markup made from strings but in swap.js.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types pincite",
    )
)
PARTS = "x-parts"


@dataclass(frozen=True, slots=True)
class Area:
    """One entry of the navigation."""

    name: str
    path: str
    title: str


# An area is added here and its router in mount.py.
AREAS = (
    Area("search", "/", "Search"),
    Area("library", "/library", "Library"),
    Area("check", "/check", "Check"),
)
# Behind one door: for who wants to know how good it is, and why.
QUALITY = (
    Area("measure", "/measure", "Measure"),
    Area("judge", "/judge", "Judge"),
    Area("why", "/why", "Why"),
    Area("findings", "/findings", "Findings"),
)


@cache
def environment() -> Environment:
    """Return the templates; whatever is put into one is escaped."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["seconds"] = in_words
    made.filters["bare"] = bare
    return made


def bare(text: str) -> str:
    """Return words without the signs of headings, emphasis and tables.

    >>> bare("### 240.33 Mounting **only** | 1.00 |")
    '240.33 Mounting only · 1.00'
    """
    return re.sub(r"(?<!\s)\s*\|\s*", " · ", plain(text)).strip(" ·")


def in_words(seconds: float) -> str:
    """Return a time as one reads it.

    >>> in_words(0.0042), in_words(1.234)
    ('4.2 ms', '1.23 s')
    """
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def render(
    request: Request,
    template: str,
    look: Look,
    values: Mapping[str, Any],
    *,
    parts: Sequence[str] = (),
    status: int = 200,
) -> HTMLResponse:
    """Return a page, or those of its parts that the request names.

    Values that take time are given as functions: a part that is not asked for does not call them.
    """
    service, caller = service_of(request), getattr(request.state, "caller", None)
    shared = {
        "areas": AREAS,
        "quality": QUALITY,
        "look": look,
        "path": request.url.path,
        "collections": sorted(filter(caller.may_use, service.collections)) if caller else [],
        "has_keys": service.has_keys,
    }
    asked = request.headers.get(PARTS, "").split()
    files = [f"parts/{name}.html" for name in parts if name in asked] or [template]
    body = "".join(environment().get_template(file).render({**shared, **values}) for file in files)
    headers = {"content-security-policy": POLICY, "vary": f"{PARTS}, accept-encoding"}
    # Without any referrer a browser hides where a form comes from, and the form would be refused.
    headers["referrer-policy"] = "same-origin"
    sent, packed = packed_for(request, body.encode("utf-8", "replace"))
    return HTMLResponse(sent, status, headers | packed)


def packed_for(request: Request, body: bytes) -> tuple[bytes, dict[str, str]]:
    """Return what is sent, packed if the browser takes that, and the headers that say so."""
    if len(body) < 1000 or "gzip" not in request.headers.get("accept-encoding", ""):
        return body, {}
    return gzip.compress(body, 5, mtime=0), {"content-encoding": "gzip"}


def for_a_browser(hint: str) -> str:
    """Return a hint without what only a terminal or a program can do.

    >>> for_a_browser("see: pincite list"), for_a_browser("see: GET /v1/documents")
    ('', '')
    >>> for_a_browser("read its text instead")
    'read its text instead'
    """
    return "" if re.search(r"\bpincite [a-z]|/v1/|\bBearer\b|--[a-z]", hint) else hint


async def read_all(
    visit: Visit,
    names: Sequence[str],
    work: Callable[[dict[str, IndexReader]], T],
    query: str | None = None,
    seconds: float = 0.0,
) -> T:
    """Do something with several collections' indexes by name, without those that are empty."""
    service, caller = visit.service, visit.caller
    chosen = [visit.collection(name, query) for name in names]

    def leased() -> T:
        with ExitStack() as stack:
            some = [each for each in chosen if not each.is_empty]
            leases = {each.name: each.lease(caller.access) for each in some}
            return work({n: stack.enter_context(each) for n, each in leases.items()})

    seconds = seconds or service.limits.search_seconds
    return await service.searching.run(caller.id, seconds, leased)


class PageRoute(APIRoute):
    """A route whose errors are pages; one without a key leads to where a key can be given."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await inner(request)
            except PinciteError as error:
                return error_page(request, error)
            except RequestValidationError as error:
                where = ".".join(str(part) for part in error.errors()[0]["loc"][1:])
                told = ServiceError(f"{where}: {error.errors()[0]['msg']}", 422)
                return error_page(request, told)
            except HTTPException as error:
                return error_page(request, ServiceError(str(error.detail), error.status_code))

        return handle


def error_page(request: Request, error: PinciteError) -> Response:
    """Return an error as a page with its remedy."""
    status = status_of(error)
    if status == 401 and request.method == "GET" and PARTS not in request.headers:
        here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(Look().url("/login", next=here), 303)
    caller = getattr(request.state, "caller", None)
    if error.message == WHICH and request.method == "GET" and caller:
        # Where one has to be chosen, the first is, and the page says which.
        mine = sorted(filter(caller.may_use, service_of(request).collections))
        if mine:
            asked = [*request.query_params.multi_items(), ("c", mine[0])]
            return RedirectResponse(f"{request.url.path}?{urlencode(asked)}", 303)
    values = {"message": error.message, "hint": for_a_browser(error.hint), "status": status}
    return render(request, "error.html", Look(), values, status=status)
