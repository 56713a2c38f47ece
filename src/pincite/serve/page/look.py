"""What an address of the page says; nothing else decides what is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Request

from pincite.core.errors import ConfigError
from pincite.core.types import Filters
from pincite.serve.schemas import QUERY_CHARS

MOST_HITS = 1000
NAME_CHARS = 1000
MOST_NAMES = 50


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
    rest: Mapping[str, str] = field(default_factory=dict)

    def filters(self) -> Filters:
        return Filters(documents=self.within, as_of=self.as_of, kinds=self.kind, tags=self.tag)

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
        found += [("doc", self.doc)]
        found += [("at", f"{self.at[0]}-{self.at[1]}")] if self.at else []
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


_OWN = {"q", "c", "k", "in", "kind", "tag", "as_of", "ask", "doc", "at"}


def look_of(request: Request) -> Look:
    """Return what the request's address says; ConfigError if it says nonsense."""
    asked = request.query_params
    # A form sends what nobody filled in as well: nothing is not a name that nothing has.
    names = {n: tuple(_short(n, v) for v in asked.getlist(n) if v) for n in ("in", "kind", "tag")}
    for name, values in names.items():
        if len(values) > MOST_NAMES:
            raise ConfigError(f"{name} is given {len(values)} times", hint=f"at most {MOST_NAMES}")
    query = asked.get("q", "").strip()
    if len(query) > QUERY_CHARS:
        raise ConfigError(f"the question is longer than {QUERY_CHARS} characters")
    return Look(
        q=query,
        c=_short("c", asked.get("c", "")),
        k=_number("k", asked.get("k", ""), MOST_HITS),
        within=names["in"],
        kind=names["kind"],
        tag=names["tag"],
        as_of=_short("as_of", asked.get("as_of", "")),
        ask=asked.get("ask", "") == "1",
        doc=_short("doc", asked.get("doc", "")),
        at=_span(asked.get("at", "")),
        rest={n: _short(n, v) for n, v in asked.items() if n not in _OWN},
    )


def _short(name: str, value: str) -> str:
    if len(value) > NAME_CHARS:
        raise ConfigError(f"{name[:40]} is longer than {NAME_CHARS} characters")
    return value


def _number(name: str, text: str, most: int) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or int(text) > most:
        raise ConfigError(f"{name} must be a number up to {most:,}, got {text[:20]!r}")
    return int(text)


def _span(text: str) -> tuple[int, int] | None:
    if not text:
        return None
    start, dash, end = text.partition("-")
    found = _number("at", start, 999_999_999), _number("at", end, 999_999_999)
    if not dash or found[0] > found[1]:
        raise ConfigError(f"at must be two offsets, as 120-340, got {text[:40]!r}")
    return found


TheLook = Annotated[Look, Depends(look_of)]
