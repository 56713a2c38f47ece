"""What all areas of the page share: templates, safe headers, the navigation, errors as pages.

The parts of a page are templates of their own, in ``templates/parts``. A browser that has the page
already asks for some of them by name (``x-parts: results reader``) and puts them in place of the
elements of those ids; everybody else gets the whole.
Either way the address says everything, so that any state can be shared and gone back to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException

from pincite.core.errors import PinciteError
from pincite.serve.errors import ServiceError, status_of
from pincite.serve.page.look import Look
from pincite.serve.requests import service_of

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
    Area("read", "/read", "Read"),
    Area("why", "/why", "Why"),
    Area("judge", "/judge", "Judge"),
    Area("measure", "/measure", "Measure"),
    Area("corpus", "/corpus", "Corpus"),
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
    """Return words without the signs of headings, bold and tables.

    >>> bare("### 240.33 Mounting **only** | 1.00 |")
    '240.33 Mounting only · 1.00'
    """
    return re.sub(r"\s*\|\s*", " · ", re.sub(r"\*\*|#{2,6} |^# ", "", text)).strip(" ·")


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
        "look": look,
        "path": request.url.path,
        "collections": sorted(filter(caller.may_use, service.collections)) if caller else [],
        "has_keys": service.has_keys,
    }
    asked = request.headers.get(PARTS, "").split()
    files = [f"parts/{name}.html" for name in parts if name in asked] or [template]
    body = "".join(environment().get_template(file).render({**shared, **values}) for file in files)
    headers = {"content-security-policy": POLICY, "vary": PARTS}
    # Without any referrer a browser hides where a form comes from, and the form would be refused.
    headers["referrer-policy"] = "same-origin"
    return HTMLResponse(body, status, headers)


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
        return RedirectResponse(Look().url("/login", next=_local(request)), 303)
    values = {"message": error.message, "hint": error.hint, "status": status}
    return render(request, "error.html", Look(), values, status=status)


def _local(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")
