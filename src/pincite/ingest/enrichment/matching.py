"""What a profile's conditions and patterns find in one chunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pincite.core.types import Chunk, Document
from pincite.ingest.enrichment.patterns import windows
from pincite.ingest.enrichment.profile import Condition, Pattern, Profile

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
    return (
        _is_so(condition, view, known)
        and all(name in known.fields for name in condition.fields)
        and _seen(condition.heading, (view.heading,))
        and _seen(condition.parent, view.above[-1:])
        and _seen(condition.under, view.above)
        and _seen(condition.within, (view.heading, *view.above))
        and _seen(condition.locator, (view.locator[:HEADING_CHARS],))
        and (condition.text is None or next(matches(condition.text, view), None) is not None)
    )


def any_holds(conditions: Sequence[Condition], view: View, known: Known) -> bool:
    """Return whether one of the conditions holds."""
    return any(holds(condition, view, known) for condition in conditions)


def _is_so(condition: Condition, view: View, known: Known) -> bool:
    return (
        (not condition.clause or view.kind in condition.clause)
        and (not condition.kinds or known.kind in condition.kinds)
        and condition.rule in (None, known.is_rule)
        and condition.defines in (None, known.defines)
    )


def _seen(pattern: Pattern | None, texts: Sequence[str]) -> bool:
    return pattern is None or any(pattern.search(text) for text in texts)


def matches(pattern: Pattern, view: View, group: int | str = 0) -> Iterator[Found]:
    """Yield what a pattern's group finds in a chunk's own words."""
    for start, end in view.windows:
        for match in pattern.finditer(view.text, start, end):
            if match[group]:
                yield Found(match[group], *match.span(group))


def is_rule(view: View, profile: Profile) -> bool:
    """Return whether a chunk's own words hold one of the profile's rule words."""
    found = (next(matches(pattern, view), None) for pattern in profile.rules)
    return any(found)


def read_fields(view: View, profile: Profile) -> dict[str, Found]:
    """Return the labelled values at the top of a chunk, by the field's name."""
    stretches = view.windows[:FIELD_WINDOWS]
    found: dict[str, Found] = {}
    for rule in profile.fields:
        match = next(
            (
                match
                for pattern in rule.patterns
                for start, end in stretches
                if (match := pattern.search(view.text, start, end)) and match[1]
            ),
            None,
        )
        if match:
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
