"""What a profile's conditions and patterns find in one chunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pincite.core.patterns import Pattern, windows
from pincite.core.types import Chunk, Document
from pincite.ingest.enrichment.profile import Condition, Profile

# Labelled values stand at the top of an entry; further down, labels are prose.
FIELD_WINDOWS = 2
# The words of a heading beyond these say nothing about the kind of what follows.
HEADING_CHARS = 200


@dataclass(frozen=True, slots=True)
class Found:
    """Words of the document and where they stand."""

    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class View:
    """A chunk as conditions see it: its own words and the headings around it."""

    text: str  # of the document
    start: int
    end: int  # of its own words
    kind: str  # a piece has the kind of what it is cut out of
    locator: str
    heading: str
    above: tuple[str, ...]  # headings above it, the document's title first
    windows: tuple[tuple[int, int], ...]  # its own words, in stretches that patterns may see


@dataclass(frozen=True, slots=True)
class Known:
    """What is already known of a chunk when a condition is checked."""

    fields: Mapping[str, Found]
    is_rule: bool = False
    defines: bool = False
    kind: str = ""


def view_of(document: Document, chunk: Chunk, parent: Chunk | None) -> View:
    """Return a chunk as conditions see it."""
    whole = parent if chunk.kind == "piece" and parent is not None else chunk
    title = () if whole.kind == "document" else (document.title,)
    path = chunk.path[:-1] if whole.kind in ("section", "document") else chunk.path
    return View(
        text=document.text,
        start=chunk.span.start,
        end=chunk.own_end,
        kind=whole.kind,
        locator=chunk.locator,
        heading=chunk.title[:HEADING_CHARS],
        above=tuple(words[:HEADING_CHARS] for words in (*title, *path) if words),
        windows=tuple(windows(document.text, chunk.span.start, chunk.own_end)),
    )


def holds(condition: Condition, view: View, known: Known) -> bool:
    """Return whether everything that a condition asks for is so."""
    # Hundreds of conditions are asked of every chunk: what is not given must cost nothing.
    c = condition
    return (
        _is_so(c, view, known)
        and (not c.fields or all(name in known.fields for name in c.fields))
        and (c.heading is None or c.heading.search(view.heading) is not None)
        and (c.parent is None or _seen(c.parent, view.above[-1:]))
        and (c.under is None or _seen(c.under, view.above))
        and (c.within is None or _seen(c.within, (view.heading, *view.above)))
        and (c.locator is None or c.locator.search(view.locator[:HEADING_CHARS]) is not None)
        and (c.text is None or has_match(c.text, view))
    )


def any_holds(conditions: Sequence[Condition], view: View, known: Known) -> bool:
    """Return whether one of the conditions holds."""
    for condition in conditions:  # noqa: SIM110 - a generator would cost more than most conditions
        if holds(condition, view, known):
            return True
    return False


def _is_so(condition: Condition, view: View, known: Known) -> bool:
    return (
        (not condition.clause or view.kind in condition.clause)
        and (not condition.kinds or known.kind in condition.kinds)
        and (condition.rule is None or condition.rule == known.is_rule)
        and (condition.defines is None or condition.defines == known.defines)
    )


def _seen(pattern: Pattern, texts: Sequence[str]) -> bool:
    return any(map(pattern.search, texts))


def has_match(pattern: Pattern, view: View) -> bool:
    """Return whether a pattern finds any words among a chunk's own."""
    for start, end in view.windows:
        match = pattern.search(view.text, start, end)
        if match and match[0]:
            return True
        if match:  # of no length, which may hide one that has some
            return next(matches(pattern, view), None) is not None
    return False


def matches(pattern: Pattern, view: View, group: int | str = 0) -> Iterator[Found]:
    """Yield what a pattern's group finds in a chunk's own words."""
    for start, end in view.windows:
        for match in pattern.finditer(view.text, start, end):
            if match[group]:
                yield Found(match[group], *match.span(group))


def is_rule(view: View, profile: Profile) -> bool:
    """Return whether a chunk's own words hold one of the profile's rule words."""
    return any(has_match(pattern, view) for pattern in profile.rules)


def read_fields(view: View, profile: Profile) -> dict[str, Found]:
    """Return the labelled values at the top of a chunk, by the field's name."""
    stretches = view.windows[:FIELD_WINDOWS]
    found: dict[str, Found] = {}
    for rule in profile.fields:
        seen = (p.search(view.text, *stretch) for p in rule.patterns for stretch in stretches)
        if match := next((match for match in seen if match and match[1]), None):
            words = " ".join(match[1].split())
            value = rule.values.get(words.casefold(), words)
            found[rule.name] = Found(value, *match.span(1))
    return found


def title_place(view: View) -> Found:
    """Return the words of a chunk's heading, where they stand in the document."""
    line_end = view.text.find("\n", view.start, view.end)
    line_end = view.end if line_end < 0 else line_end
    start = view.text.find(view.heading, view.start, line_end) if view.heading else -1
    if start < 0:  # markup stands between the words: the line is the evidence
        return Found(view.heading, view.start, line_end)
    return Found(view.heading, start, start + len(view.heading))
