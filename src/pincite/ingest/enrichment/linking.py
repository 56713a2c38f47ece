"""The links that a document's words draw: what chunks describe, define, have and use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from pincite.core.types import Link, Span
from pincite.ingest.enrichment.glossary import Lexicon
from pincite.ingest.enrichment.matching import Found, any_holds
from pincite.ingest.enrichment.profile import Profile
from pincite.ingest.enrichment.reading import Reading, name_of, sourced

# In fewer clauses than this nothing is common.
FEW_CLAUSES = 10


def links_of(reading: Reading, profile: Profile) -> Iterator[Link]:
    """Yield the links that a chunk's own words draw, each target once for a relation."""
    seen: set[tuple[str, ...]] = set()
    for relation, name, found in _drawn(reading, profile):
        key = (relation, name, found.value) if relation == "alias_of" else (relation, name)
        if name and key not in seen:
            seen.add(key)
            yield _link(reading, relation, name, found)


def _drawn(reading: Reading, profile: Profile) -> Iterator[tuple[str, str, Found]]:
    if reading.rule and reading.rule.is_entity and not reading.is_heir:
        name = name_of(reading.view, profile)
        yield "describes", name.value.casefold(), name
    for term in reading.terms:
        yield "defines", term.value.casefold(), term
    for alias in reading.aliases:
        yield "alias_of", alias.term.casefold(), Found(alias.name, alias.start, alias.end)
    for trait in reading.traits:
        yield "has_trait", trait.value.casefold(), trait
    for rule in profile.links:
        if not rule.when or any_holds(rule.when, reading.view, reading.known):
            for found in sourced(rule.pattern, reading.view, rule.source):
                target = " ".join(found.value.casefold().split())
                yield rule.relation, rule.target.replace("{}", target), found


def _link(reading: Reading, relation: str, target: str, found: Found) -> Link:
    span = Span(reading.chunk.span.doc_id, found.start, found.end)
    return Link(reading.chunk.id, relation, target, span)


def uses_of(readings: Sequence[Reading], profile: Profile) -> Iterator[Link]:
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
    found: list[dict[str, Found]] = [{} for _ in readings]
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
