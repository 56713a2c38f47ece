"""What the chunks of a document say by themselves: fields, terms, other names, rule words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pincite.core.patterns import Pattern
from pincite.core.types import Chunk, Document
from pincite.ingest.enrichment.glossary import Alias, long_form, plain_term, split_term
from pincite.ingest.enrichment.matching import (
    Found,
    Known,
    View,
    any_holds,
    is_rule,
    matches,
    read_fields,
    title_place,
    view_of,
)
from pincite.ingest.enrichment.profile import KindRule, Profile

# How far before "(AR)" its long form can begin.
LONG_FORM_CHARS = 120
# Across these, a long form does not reach.
_BREAK = re.compile(r"[|();:]|\n\s*\n")


@dataclass(slots=True)
class Reading:
    """One chunk and what has been found out about it so far."""

    chunk: Chunk
    view: View
    parent: Reading | None
    fields: Mapping[str, Found]
    terms: list[Found] = field(default_factory=list)
    aliases: list[Alias] = field(default_factory=list)
    is_rule: bool = False
    rule: KindRule | None = None  # the kind's
    is_heir: bool = False  # it has its kind from above, or is cut out of something
    traits: list[Found] = field(default_factory=list)

    @property
    def known(self) -> Known:
        kind = self.rule.name if self.rule else ""
        return Known(self.fields, self.is_rule, bool(self.terms), kind)


def read_all(document: Document, chunks: Sequence[Chunk], profile: Profile) -> list[Reading]:
    by_id: dict[str, Reading] = {}
    readings: list[Reading] = []
    for chunk in chunks:
        parent = by_id.get(chunk.parent or "")
        view = view_of(document, chunk, parent.chunk if parent else None)
        reading = Reading(chunk, view, parent, read_fields(view, profile))
        reading.is_rule = is_rule(view, profile)
        _read_terms(reading, profile)
        _read_aliases(reading, profile)
        by_id[chunk.id] = reading
        readings.append(reading)
    return readings


def _read_terms(reading: Reading, profile: Profile) -> None:
    seen: set[str] = set()
    for rule in profile.terms:
        if rule.when and not any_holds(rule.when, reading.view, Known(reading.fields)):
            continue
        for found in sourced(rule.pattern, reading.view, rule.source):
            term, aliases = split_term(found, inverted=profile.inverted_terms)
            if term and term.casefold() not in seen:
                seen.add(term.casefold())
                reading.terms.append(Found(term, found.start, found.end))
                reading.aliases += aliases


def _read_aliases(reading: Reading, profile: Profile) -> None:
    seen = {(alias.name, alias.term.casefold()) for alias in reading.aliases}
    view = reading.view
    for rule in profile.aliases:
        if rule.when and not any_holds(rule.when, view, Known(reading.fields)):
            continue
        has_term = "term" in rule.pattern.groupindex
        longs = matches(rule.pattern, view, "term") if has_term else None
        for found in matches(rule.pattern, view, "alias"):
            if longs is None:
                # The words of the sentence, or of the table's cell, that lead to a short form.
                reach = max(view.start, found.start - LONG_FORM_CHARS)
                before = _BREAK.split(view.text[reach : found.start - 1])[-1]
                term = plain_term(long_form(found.value, before))
            else:
                term = plain_term(next(longs).value)
            if term and (found.value, term.casefold()) not in seen:
                seen.add((found.value, term.casefold()))
                reading.aliases.append(Alias(found.value, term, found.start, found.end))


def sourced(pattern: Pattern, view: View, source: str) -> Iterator[Found]:
    """Yield a pattern's group from the text or from the title of a chunk."""
    if source == "text":
        yield from matches(pattern, view, 1)
    elif view.heading and (match := pattern.search(view.heading)) and match[1]:
        place = title_place(view)
        if place.end - place.start == len(view.heading):
            start, end = match.span(1)
            yield Found(match[1], place.start + start, place.start + end)
        else:
            yield Found(match[1], place.start, place.end)


def name_of(view: View, profile: Profile) -> Found:
    """Return the name of the thing that a heading announces, without what stands behind it."""
    place = title_place(view)
    name = profile.trim.sub("", view.heading).strip() if profile.trim else view.heading
    is_there = view.text.startswith(name, place.start)
    return Found(name, place.start, place.start + len(name) if is_there else place.end)
