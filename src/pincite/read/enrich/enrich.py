"""What each place is about: kind, tags, traits, links to what it names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pincite.model.profiles import Pattern
from pincite.model.types import Chunk, Document, Enrichment, Link, Span
from pincite.read.enrich.matching import (
    Alias,
    Known,
    Lexicon,
    PatternMatch,
    View,
    any_holds,
    is_rule,
    long_form,
    matches,
    plain_term,
    read_fields,
    split_term,
    title_place,
    view_of,
)
from pincite.read.enrich.profile import KindRule, Profile

# How far before "(AR)" its long form can begin.
LONG_FORM_CHARS = 120
_OPENING = '("“ '  # before a short form, in quotation marks or without
# Across these, a long form does not reach.
_BREAK = re.compile(r"[|();:]|\n\s*\n")


@dataclass(slots=True)
class ChunkReading:
    """One chunk and what has been found out about it so far."""

    chunk: Chunk
    view: View
    parent: ChunkReading | None
    fields: Mapping[str, PatternMatch]
    terms: list[PatternMatch] = field(default_factory=list)
    aliases: list[Alias] = field(default_factory=list)
    is_rule: bool = False
    rule: KindRule | None = None  # the kind's
    is_heir: bool = False  # it has its kind from above, or is cut out of something
    traits: list[PatternMatch] = field(default_factory=list)

    @property
    def known(self) -> Known:
        kind = self.rule.name if self.rule else ""
        return Known(self.fields, self.is_rule, bool(self.terms), kind)


def read_all(document: Document, chunks: Sequence[Chunk], profile: Profile) -> list[ChunkReading]:
    by_id: dict[str, ChunkReading] = {}
    readings: list[ChunkReading] = []
    for chunk in chunks:
        parent = by_id.get(chunk.parent or "")
        view = view_of(document, chunk, parent.chunk if parent else None)
        reading = ChunkReading(chunk, view, parent, read_fields(view, profile))
        reading.is_rule = is_rule(view, profile)
        _read_terms(reading, profile)
        _read_aliases(reading, profile)
        by_id[chunk.id] = reading
        readings.append(reading)
    return readings


def _read_terms(reading: ChunkReading, profile: Profile) -> None:
    seen: set[str] = set()
    for rule in profile.terms:
        if rule.when and not any_holds(rule.when, reading.view, Known(reading.fields)):
            continue
        for found in sourced(rule.pattern, reading.view, rule.source):
            term, aliases = split_term(found, inverted=profile.inverted_terms)
            if term and term.casefold() not in seen:
                seen.add(term.casefold())
                reading.terms.append(PatternMatch(term, found.start, found.end))
                reading.aliases += aliases


def _read_aliases(reading: ChunkReading, profile: Profile) -> None:
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
                before = view.text[reach : found.start - 1].rstrip(_OPENING)
                before = _BREAK.split(before)[-1]
                term = plain_term(long_form(found.value, before))
            else:
                term = plain_term(next(longs).value)
            if term and (found.value, term.casefold()) not in seen:
                seen.add((found.value, term.casefold()))
                reading.aliases.append(Alias(found.value, term, found.start, found.end))


def sourced(pattern: Pattern, view: View, source: str) -> Iterator[PatternMatch]:
    """Yield a pattern's group from the text or from the title of a chunk."""
    if source == "text":
        yield from matches(pattern, view, 1)
    elif view.heading and (match := pattern.search(view.heading)) and match[1]:
        place = title_place(view)
        if place.end - place.start == len(view.heading):
            start, end = match.span(1)
            yield PatternMatch(match[1], place.start + start, place.start + end)
        else:
            yield PatternMatch(match[1], place.start, place.end)


def name_of(view: View, profile: Profile) -> PatternMatch:
    """Return the name of the thing that a heading announces, without what stands behind it."""
    place = title_place(view)
    name = profile.trim.sub("", view.heading).strip() if profile.trim else view.heading
    is_there = view.text.startswith(name, place.start)
    return PatternMatch(name, place.start, place.start + len(name) if is_there else place.end)


# In fewer clauses than this nothing is common.
FEW_CLAUSES = 10


def links_of(reading: ChunkReading, profile: Profile) -> Iterator[Link]:
    """Yield the links that a chunk's own words draw, each target once for a relation."""
    seen: set[tuple[str, ...]] = set()
    for relation, name, found in _drawn(reading, profile):
        key = (relation, name, found.value) if relation == "alias_of" else (relation, name)
        if name and key not in seen:
            seen.add(key)
            yield _link(reading, relation, name, found)


def _drawn(reading: ChunkReading, profile: Profile) -> Iterator[tuple[str, str, PatternMatch]]:
    if reading.rule and reading.rule.is_entity and not reading.is_heir:
        name = name_of(reading.view, profile)
        yield "describes", name.value.casefold(), name
    for term in reading.terms:
        yield "defines", term.value.casefold(), term
    for alias in reading.aliases:
        yield "alias_of", alias.term.casefold(), PatternMatch(alias.name, alias.start, alias.end)
    for trait in reading.traits:
        yield "has_trait", trait.value.casefold(), trait
    for rule in profile.links:
        if not rule.when or any_holds(rule.when, reading.view, reading.known):
            for found in sourced(rule.pattern, reading.view, rule.source):
                target = " ".join(found.value.casefold().split())
                yield rule.relation, rule.target.replace("{}", target), found


def _link(reading: ChunkReading, relation: str, target: str, found: PatternMatch) -> Link:
    span = Span(reading.chunk.span.doc_id, found.start, found.end)
    return Link(reading.chunk.id, relation, target, span)


def uses_of(readings: Sequence[ChunkReading], profile: Profile) -> Iterator[Link]:
    """Yield the first use of each term in each clause but those that define it."""
    names: dict[str, str] = {}
    homes: dict[str, set[str]] = {}
    for reading in readings:
        for term in reading.terms:
            names.setdefault(term.value, term.value.casefold())
            homes.setdefault(term.value.casefold(), set()).add(reading.chunk.id)
        for alias in reading.aliases:
            names.setdefault(alias.name, alias.term.casefold())
            names.setdefault(alias.term, alias.term.casefold())
            homes.setdefault(alias.term.casefold(), set()).add(reading.chunk.id)
    lexicon = Lexicon(names, endings=profile.endings)
    found: list[dict[str, PatternMatch]] = [{} for _ in readings]
    for reading, uses in zip(readings, found, strict=True):
        for use in lexicon.find(reading.view.text, reading.view.start, reading.view.end):
            uses.setdefault(use.value, use)
    clauses = [uses for each, uses in zip(readings, found, strict=True) if each.chunk.kind != "row"]
    counts = Counter(target for uses in clauses for target in uses)
    most = max(FEW_CLAUSES, profile.common_share * len(clauses))
    for reading, uses in zip(readings, found, strict=True):
        around = {reading.chunk.id, reading.chunk.parent}
        for target, use in uses.items():
            is_common = " " not in target and counts[target] > most
            if not is_common and not homes.get(target, set()) & around:
                yield _link(reading, "uses", target, use)


def enrich(
    document: Document, chunks: Sequence[Chunk], profile: Profile
) -> tuple[dict[str, Enrichment], list[Link]]:
    """Return the facts of every chunk by its id, and the links that the document's words draw.

    A link's target is a name in lower case; its span is the words that say so. Of ``alias_of``
    that is the alias itself, of ``defines`` the term, of ``describes`` the name of the thing.
    """
    readings = read_all(document, chunks, profile)
    _raise_rules(readings)
    traits = Lexicon({name: name for name in profile.traits})
    for reading in readings:
        _classify(reading, profile)
        reading.traits = list(_traits(reading, profile, traits))
    audiences = _Audiences(profile)
    facts = {each.chunk.id: _facts(each, profile, audiences) for each in readings}
    whole = [reading for reading in readings if reading.chunk.kind != "piece"]
    links = [link for reading in whole for link in links_of(reading, profile)]
    return facts, [*links, *uses_of(whole, profile)]


def entity_names(
    document: Document, facts: Mapping[str, Enrichment], links: Sequence[Link]
) -> dict[str, tuple[str, ...]]:
    """Return the names of the things that a document describes, by content kind, sorted."""
    names: dict[str, set[str]] = {}
    for link in links:
        if link.relation == "describes":
            words = document.text[link.span.start : link.span.end]
            name = words if words.casefold() == link.target else link.target
            names.setdefault(facts[link.source].content_kind, set()).add(name)
    return {kind: tuple(sorted(found)) for kind, found in sorted(names.items())}


def _raise_rules(readings: Sequence[ChunkReading]) -> None:
    """Let what holds a rule-bearing item bear a rule; headings do not answer for subsections."""
    for reading in reversed(readings):
        is_own = reading.chunk.kind not in ("section", "table", "piece")
        if reading.is_rule and is_own and reading.parent is not None:
            reading.parent.is_rule = True


def _classify(reading: ChunkReading, profile: Profile) -> None:
    """Give a chunk its kind: the first that fits, or that it has from what it stands below."""
    parent = reading.parent
    is_piece = reading.chunk.kind == "piece"
    above = parent.rule if parent else None
    if above and not above.inherits and not (is_piece and reading.view.kind != "document"):
        above = None
    known = reading.known
    for rule in profile.kinds:
        is_own = any_holds(rule.when, reading.view, known)
        if is_own or rule is above:
            reading.rule = rule
            reading.is_heir = not is_own or is_piece
            break
    if reading.rule and reading.rule.defines and not reading.is_heir:
        found = name_of(reading.view, profile)
        known_terms = {term.value.casefold() for term in reading.terms}
        if found.value and found.value.casefold() not in known_terms:
            reading.terms.append(found)


def _traits(reading: ChunkReading, profile: Profile, known: Lexicon) -> Iterator[PatternMatch]:
    """Yield the traits that the fields give, each once."""
    seen: set[str] = set()
    for rule in profile.fields:
        found = reading.fields.get(rule.name)
        if found is None or rule.traits == "none":
            continue
        text = reading.view.text
        is_list = rule.traits == "all"
        for use in _listed(text, found) if is_list else known.find(text, found.start, found.end):
            if use.value and use.value.casefold() not in seen:
                seen.add(use.value.casefold())
                yield use


def _listed(text: str, found: PatternMatch) -> Iterator[PatternMatch]:
    start = found.start
    for part in text[found.start : found.end].split(","):
        words = part.strip(" \t\r\n*_.")
        at = start + part.find(words)
        yield PatternMatch(words, at, at + len(words))
        start += len(part) + 1


class _Audiences:
    """Finds out for whom a chunk is written, from the headings around it."""

    def __init__(self, profile: Profile) -> None:
        names = {word: name for name, words in profile.audiences.items() for word in words}
        self.lexicon = Lexicon(names, endings=profile.endings)
        self.seen: dict[str, tuple[str, ...]] = {}

    def of(self, view: View) -> list[str]:
        """Return the audiences that the headings name."""
        found = (name for words in (*view.above, view.heading) for name in self._named(words))
        return list(dict.fromkeys(found))

    def _named(self, words: str) -> tuple[str, ...]:
        if words not in self.seen:
            uses = self.lexicon.find(words, 0, len(words))
            self.seen[words] = tuple(dict.fromkeys(use.value for use in uses))
        return self.seen[words]


def _facts(reading: ChunkReading, profile: Profile, audiences: _Audiences) -> Enrichment:
    known = reading.known
    tags = [tag.name for tag in profile.tags if any_holds(tag.when, reading.view, known)]
    for rule in profile.fields:
        if rule.is_tag and (found := reading.fields.get(rule.name)):
            tags.append(f"{rule.name}:{found.value.casefold()}")
    tags += [f"for:{name}" for name in audiences.of(reading.view)]
    return Enrichment(
        content_kind=reading.rule.name if reading.rule else profile.default_kind,
        is_rule_bearing=reading.is_rule,
        tags=tuple(dict.fromkeys(tags)),
        traits=tuple(trait.value for trait in reading.traits),
        terms=tuple(term.value for term in reading.terms),
        aliases=tuple(dict.fromkeys(alias.name for alias in reading.aliases)),
    )
