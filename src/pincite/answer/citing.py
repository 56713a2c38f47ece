"""How a place is cited: plain words, Markdown, or an entry for BibTeX."""

from __future__ import annotations

import re

from pincite.answer.passage import Passage
from pincite.core.errors import ConfigError
from pincite.core.types import Chunk

STYLES = ("plain", "markdown", "bibtex")
_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|])")
_TEX = re.compile(r"([&%$#_{}])")


def cite(passage: Passage, style: str = "plain") -> str:
    """Return how to cite a passage: "plain", "markdown" or "bibtex"."""
    return cite_place(passage.document, passage.place, style)


def cite_place(title: str, place: Chunk, style: str = "plain") -> str:
    """Return how to cite a place of a document with this title.

    >>> from pincite.core.types import Span
    >>> span = Span("code.md", 0, 5)
    >>> rods = Chunk("c", span, "apart", "clause", "250.56(B)", "", (), 5, page=12)
    >>> cite_place("Code, 2024", rods)
    'Code, 2024, 250.56(B), p. 12'
    >>> cite_place("Code, 2024", rods, "markdown")
    '*Code, 2024*, **250.56(B)**, p. 12'
    """
    title, locator = title or place.span.doc_id, place.locator
    page = f", p. {place.page}" if place.page is not None else ""
    is_whole = locator == title  # of a document without parts
    if style == "plain":
        return f"{title}{page}" if is_whole else f"{title}, {locator}{page}"
    if style == "markdown":
        name, where = (_MARKDOWN.sub(r"\\\1", text) for text in (title, locator))
        return f"*{name}*{page}" if is_whole else f"*{name}*, **{where}**{page}"
    if style == "bibtex":
        return _bibtex(title, "" if is_whole else locator, place)
    raise ConfigError(f"no style {style!r} of citing", hint=f"known: {', '.join(STYLES)}")


def _bibtex(title: str, locator: str, place: Chunk) -> str:
    key = re.sub(r"[^A-Za-z0-9.]+", "-", f"{place.span.doc_id}-{locator}").strip("-")
    fields = {
        "title": title,
        "note": locator,
        "pages": "" if place.page is None else str(place.page),
        "howpublished": place.span.doc_id,
    }
    safe = {name: _TEX.sub(r"\\\1", text) for name, text in fields.items() if text}
    lines = [f"  {name} = {{{text}}}," for name, text in safe.items()]
    return "\n".join([f"@misc{{{key},", *lines, "}"])
