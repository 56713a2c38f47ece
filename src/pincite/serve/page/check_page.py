"""A text with verdicts in its margin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from pincite.check.checker import Checker
from pincite.check.report import NAMES
from pincite.check.values import CheckedClaim
from pincite.search.reader import IndexReader
from pincite.serve.page.look import Look, PageRoute, TheLook, render
from pincite.serve.requests import Reader
from pincite.serve.search_routes import CHECKED_CHARS

router = APIRouter(route_class=PageRoute, include_in_schema=False)
PICTURE_WIDTH = 1000  # as the reader draws pages
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")


@dataclass(frozen=True, slots=True)
class CheckedParagraph:
    """A paragraph of a text: its words in pieces, and the claims that begin in it."""

    pieces: Sequence[tuple[str, int]]  # words, and the number of their claim; 0 for none
    claims: Sequence[dict[str, Any]]


@router.get("/check")
async def ask_for_text(request: Request, look: TheLook, visit: Reader) -> Response:
    """Ask for a text to check."""
    visit.collection(look.c)
    return render(request, "check.html", look, {"text": "", "report": None})


@router.post("/check")
async def check_text(
    request: Request,
    visit: Reader,
    text: Annotated[str, Form(max_length=CHECKED_CHARS)] = "",
    c: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    """Show a text with a verdict beside everything that it has from documents."""
    look = Look(c=c)
    # A form sends line ends as mail does.
    text = text.replace("\r\n", "\n")

    def work(index: IndexReader) -> Response:
        report = Checker(index).check(text)
        visit.asked.facts["hits"] = len(report.claims)
        shown = {
            "failed": len(report.failed),
            "count": len(report.claims),
            "counts": [(NAMES[name][0], count) for name, count in report.counts.items()],
            "notes": report.notes,
            "paragraphs": list(paragraphs(text, report.claims, look)),
        }
        values = {"text": text, "report": shown}
        return render(request, "check.html", look, values, parts=("checked",))

    return await visit.read(c, work)


def paragraphs(text: str, claims: Sequence[CheckedClaim], look: Look) -> Iterator[CheckedParagraph]:
    """Yield the paragraphs of a text, each with the claims that begin in it, numbered from 1.

    >>> [part.pieces for part in paragraphs("One.\\n\\nTwo.", [], Look())]
    [[('One.', 0)], [('Two.', 0)]]
    """
    numbered = list(enumerate(claims, 1))
    start = 0
    for end, following in [*(m.span() for m in _BLANK_LINES.finditer(text)), (len(text),) * 2]:
        last = len(text) if end == len(text) else following
        own = [(n, each) for n, each in numbered if start <= each.start < last]
        if text[start:end].strip():
            marked = [(n, each.start, min(each.end, end)) for n, each in own]
            yield CheckedParagraph(
                list(_pieces(text, start, end, marked)),
                [shown_claim(n, each, look) for n, each in own],
            )
        start = following


def _pieces(
    text: str, start: int, end: int, marked: Sequence[tuple[int, int, int]]
) -> Iterator[tuple[str, int]]:
    """Yield the words of a paragraph, and those of its claims; what lies in another is its own."""
    for number, first, last in sorted(marked, key=lambda each: each[1]):
        if first < start:
            continue
        if first > start:
            yield text[start:first], 0
        yield text[first:last], number
        start = last
    if start < end:
        yield text[start:end], 0


def shown_claim(number: int, claim: CheckedClaim, look: Look) -> dict[str, Any]:
    """Return a verdict as the template shows it, with where its source is read."""
    words, colour = NAMES[claim.verdict]
    source = claim.evidence
    values: dict[str, Any] = {
        "number": number,
        "claim": claim,
        "verdict": words,
        "colour": colour,
        "source": source,
        "url": "",
        "picture": "",
    }
    if source is not None:
        there = Look(c=look.c, doc=source.document)
        values["url"] = there.but(at=(source.span.start, source.span.end)).url("/")
        if source.page is not None and source.document.lower().endswith(".pdf"):
            sizes = {"page": str(source.page), "width": str(PICTURE_WIDTH)}
            values["picture"] = there.url("/page-image", **sizes)
    return values
