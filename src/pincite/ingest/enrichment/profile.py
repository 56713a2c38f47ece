"""Profiles: what to recognise in a kind of document, as data that anybody can write.

A profile is a TOML file; ``docs/profiles.md`` explains every key. The four in ``profiles/`` come
with the package. Files are read by :mod:`pincite.ingest.enrichment.profile_file`, and documents
by :mod:`pincite.ingest.enrichment.enrich`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pincite.core.patterns import Pattern


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of a chunk; what is not given holds always."""

    clause: frozenset[str] = frozenset()  # kinds of chunk: "section", "table", "exception", ...
    heading: Pattern | None = None  # its own heading
    parent: Pattern | None = None  # the heading above it
    under: Pattern | None = None  # any heading above it, the document's title included
    within: Pattern | None = None  # its own heading or any above it
    locator: Pattern | None = None
    text: Pattern | None = None  # its own words, without those of its children
    fields: tuple[str, ...] = ()  # fields that were read in it
    rule: bool | None = None  # whether it bears a rule
    defines: bool | None = None  # whether it defines a term
    kinds: frozenset[str] = frozenset()  # its content kind, where that is already known


@dataclass(frozen=True, slots=True)
class FieldRule:
    """A value that is printed with a label, such as a range or a level."""

    name: str
    patterns: tuple[Pattern, ...]  # each with one group; the first that matches counts
    values: Mapping[str, str] = field(default_factory=dict)  # other names of values, in lower case
    is_tag: bool = False  # "level:3" becomes a tag
    traits: Literal["none", "all", "known"] = "none"  # which of its words are traits


@dataclass(frozen=True, slots=True)
class KindRule:
    """A content kind: the first whose conditions hold is the chunk's."""

    name: str
    when: tuple[Condition, ...]  # one of them must hold
    is_entity: bool = False  # the heading names a thing: a spell, an item
    defines: bool = False  # the heading is a term that other clauses use
    inherits: bool = False  # what stands below it is of the same kind


@dataclass(frozen=True, slots=True)
class TagRule:
    """A tag for every chunk for which one of the conditions holds."""

    name: str
    when: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class TermRule:
    """Where a term is defined: the pattern's group, in the text or in the title."""

    pattern: Pattern
    source: Literal["text", "title"] = "text"
    when: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class AliasRule:
    """Another name: group ``alias``, and ``term`` unless that stands in the words before it."""

    pattern: Pattern
    when: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkRule:
    """An edge of the graph for each match; the group, put into ``target``, names its end."""

    relation: str
    pattern: Pattern
    source: Literal["text", "title"] = "text"
    target: str = "{}"
    when: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Signal:
    """A cheap sign that a document is of this kind."""

    pattern: Pattern
    where: Literal["heading", "text"] = "text"
    share: float = 0.1  # of stretches or headings that show it, from which on it counts in full
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything that enrichment has to know about a kind of document."""

    name: str
    about: str
    fingerprint: str  # of the file's content: enrichment is the same if this is
    base: float = 0.0  # score of a document without any sign
    default_kind: str = "narrative"
    common_share: float = 0.2  # a one-word term in more of the clauses than this is no link
    inverted_terms: bool = False  # "Conductor, bare" is also "bare conductor"
    endings: tuple[str, ...] = ()  # of words, to be left out when terms are looked for
    trim: Pattern | None = None  # what a heading has behind the name of a thing
    signals: tuple[Signal, ...] = ()
    rules: tuple[Pattern, ...] = ()  # words that make a chunk rule-bearing
    fields: tuple[FieldRule, ...] = ()
    kinds: tuple[KindRule, ...] = ()
    tags: tuple[TagRule, ...] = ()
    terms: tuple[TermRule, ...] = ()
    aliases: tuple[AliasRule, ...] = ()
    links: tuple[LinkRule, ...] = ()
    traits: tuple[str, ...] = ()  # known traits, in lower case
    audiences: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # for queries
