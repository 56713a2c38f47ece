"""Profiles: what kinds of things a corpus speaks of, and which profile suits a document."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Literal, TypeVar

from pincite.model.errors import ConfigError
from pincite.model.profiles import (
    PROFILE_NAMES,
    WINDOW,
    Pattern,
    TomlReader,
    profile_text,
    profile_values,
    windows,
)
from pincite.model.traversal import parse_traversal
from pincite.model.types import Chunk, Document
from pincite.model.vocabulary import Ask, parse_asks, parse_lines, parse_metrics


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
    titled: Pattern | None = None  # its own words, its own heading or any above it
    holds: tuple[Pattern, ...] = ()  # all of these are found in its words, its children's included
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
    cards: frozenset[str] = frozenset()  # kinds of documents, as cards have them, that it is for
    asks: tuple[Ask, ...] = ()  # for queries


T = TypeVar("T")


def load_profile(name: str) -> Profile:
    """Return a profile by its name, or by the path of a TOML file.

    >>> load_profile("code").default_kind
    'narrative'
    """
    if name.endswith(".toml"):
        return parse_profile(profile_text(name), origin=name)
    return _own(name)


def load_profiles() -> tuple[Profile, ...]:
    """Return the profiles that come with Pincite."""
    return tuple(_own(name) for name in PROFILE_NAMES)


def parse_profile(text: str, *, origin: str, is_shipped: bool = False) -> Profile:
    """Return the profile that a TOML text describes; every key, type and pattern is checked."""
    values, fingerprint = profile_values(text, origin=origin)
    table = TomlReader(values, origin, is_shipped=is_shipped)
    profile = _profile(table, fingerprint)
    table.finish()
    _check_names(profile, origin)
    return profile


def _profile(table: TomlReader, fingerprint: str) -> Profile:
    traits, audiences = table.table("traits"), table.table("audiences")
    parse_traversal(table.table("traversal"), fingerprint)  # searches read it; errors belong here
    parse_lines(table), parse_metrics(table)  # answers read them
    synonyms = table.table("synonyms")
    profile = Profile(
        name=table.text("name"),
        about=table.text("about", ""),
        fingerprint=fingerprint,
        base=table.number("base", 0.0),
        default_kind=table.text("default_kind", "narrative"),
        common_share=table.number("common_share", 0.2),
        inverted_terms=table.flag("inverted_terms"),
        endings=table.texts("endings"),
        trim=table.maybe_pattern("trim"),
        signals=_each(table, "signal", _signal),
        rules=table.patterns("rules"),
        fields=_each(table, "field", _field),
        kinds=_each(table, "kind", _kind),
        tags=_each(table, "tag", _tag),
        terms=_each(table, "term", _term),
        aliases=_each(table, "alias", _alias),
        links=_each(table, "link", _link),
        traits=tuple(name.casefold() for name in traits.texts("names")),
        audiences={name: audiences.texts(name) for name in audiences.values},
        synonyms={name: synonyms.texts(name) for name in synonyms.values},
        cards=frozenset(table.texts("cards")),
        asks=parse_asks(table),
    )
    traits.finish()
    return profile


def _conditions(table: TomlReader, *, kinds: bool = False) -> tuple[Condition, ...]:
    def condition(each: TomlReader) -> Condition:
        return Condition(
            clause=frozenset(each.texts("clause")),
            heading=each.maybe_pattern("heading"),
            parent=each.maybe_pattern("parent"),
            under=each.maybe_pattern("under"),
            within=each.maybe_pattern("within"),
            locator=each.maybe_pattern("locator"),
            text=each.maybe_pattern("text"),
            titled=each.maybe_pattern("titled"),
            holds=each.patterns("holds"),
            fields=each.texts("fields"),
            rule=each.maybe("rule"),
            defines=each.maybe("defines"),
            kinds=frozenset(each.texts("kinds")) if kinds else frozenset(),
        )

    return _each(table, "when", condition)


def _each(table: TomlReader, key: str, make: Callable[[TomlReader], T]) -> tuple[T, ...]:
    """Return what is made of each table of a list; a key that was not asked for is an error."""
    made = []
    for each in table.tables(key):
        made.append(make(each))
        each.finish()
    return tuple(made)


def _signal(table: TomlReader) -> Signal:
    pattern, where = table.pattern("pattern"), table.choice("where", ("text", "heading"))
    return Signal(pattern, where, table.number("share", 0.1), table.number("weight", 1.0))


def _field(table: TomlReader) -> FieldRule:
    values = table.table("values")
    return FieldRule(
        table.text("name"),
        table.patterns("patterns", groups=1),
        {key.casefold(): values.text(key) for key in values.values},
        table.flag("tag"),
        table.choice("traits", ("none", "all", "known")),
    )


def _kind(table: TomlReader) -> KindRule:
    flags = (table.flag(name) for name in ("entity", "defines", "inherits"))
    return KindRule(table.text("name"), _conditions(table), *flags)


def _tag(table: TomlReader) -> TagRule:
    return TagRule(table.text("name"), _conditions(table, kinds=True))


def _term(table: TomlReader) -> TermRule:
    source = table.choice("source", ("text", "title"))
    return TermRule(table.pattern("pattern", groups=1), source, _conditions(table))


def _alias(table: TomlReader) -> AliasRule:
    made = AliasRule(table.pattern("pattern"), _conditions(table))
    table.finish()
    if "alias" not in made.pattern.groupindex:
        raise ConfigError(
            f"{table.where}: {made.pattern.pattern}: no group called alias",
            hint="write (?P<alias>…), and (?P<term>…) if the long name stands there too",
        )
    return made


def _link(table: TomlReader) -> LinkRule:
    return LinkRule(
        table.text("relation"),
        table.pattern("pattern", groups=1),
        table.choice("source", ("text", "title")),
        table.text("target", "{}"),
        _conditions(table, kinds=True),
    )


def _check_names(profile: Profile, origin: str) -> None:
    """Raise a ConfigError when a condition names a field or a kind that the profile lacks."""
    fields = [rule.name for rule in profile.fields]
    kinds = [*(rule.name for rule in profile.kinds), profile.default_kind]
    rules: list[KindRule | TagRule | TermRule | AliasRule | LinkRule] = []
    rules += [*profile.kinds, *profile.tags, *profile.terms, *profile.aliases, *profile.links]
    for condition in (condition for rule in rules for condition in rule.when):
        for what, names, known in (
            ("field", condition.fields, fields),
            ("kind", condition.kinds, kinds),
        ):
            for name in sorted(set(names) - set(known)):
                near = get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
                raise ConfigError(f"{origin}: no {what} called {name!r}", hint=hint)


@cache
def _own(name: str) -> Profile:
    return parse_profile(profile_text(name), origin=f"profile {name}", is_shipped=True)


# A document shows what it is in so many stretches and headings, taken evenly from all of it.
SAMPLED = 200
# A sign that is seen less often than this counts for less.
CLEARLY = 2


def profile_for(setting: str, document: Document, chunks: Sequence[Chunk]) -> Profile:
    """Return the profile for ``ingest.profile``: "auto", a name, or the path of a TOML file."""
    if setting == "auto":
        return choose_profile(document, chunks, load_profiles())
    return load_profile(setting)


def profile_fingerprint(setting: str) -> str:
    """Return what changes when a profile that ``ingest.profile`` means does; "" for "none".

    ConfigError if there is no such profile.
    """
    if setting == "none":
        return ""
    profiles = load_profiles() if setting == "auto" else (load_profile(setting),)
    if len(profiles) == 1:
        return profiles[0].fingerprint
    together = "".join(profile.fingerprint for profile in profiles)
    return hashlib.sha256(together.encode()).hexdigest()[:12]


def choose_profile(
    document: Document, chunks: Sequence[Chunk], profiles: Sequence[Profile]
) -> Profile:
    """Return the profile for the kind that the card tells, or whose signs show best.

    Of equal ones it is the first.
    """
    kind = document.meta.get("kind", "")
    told = [profile for profile in profiles if kind in profile.cards]
    if told:
        return told[0]
    others = [profile for profile in profiles if not profile.cards]
    scores = profile_scores(document, chunks, others)
    return max(others, key=lambda profile: scores[profile.name])


def profile_scores(
    document: Document, chunks: Sequence[Chunk], profiles: Sequence[Profile]
) -> dict[str, float]:
    """Return each profile's score: its base, and for each sign its weight or a part of it."""
    # Tables look alike in all kinds of books.
    lines = document.text.splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith("|"))
    texts = _evenly([text[start:end] for start, end in windows(text, 0, len(text))])
    titles = [chunk.title for chunk in chunks if chunk.kind == "section" and chunk.title]
    headings = [document.title, *_evenly(titles)]
    return {
        profile.name: profile.base
        + sum(
            signal.weight * _strength(signal, headings if signal.where == "heading" else texts)
            for signal in profile.signals
        )
        for profile in profiles
    }


def _evenly(texts: Sequence[str]) -> Sequence[str]:
    return texts[:: max(1, len(texts) // SAMPLED)]


def _strength(signal: Signal, texts: Sequence[str]) -> float:
    """Return from 0 to 1 how clearly a sign shows; seen once, it may be by chance."""
    shown = sum(bool(signal.pattern.search(text[:WINDOW])) for text in texts)
    if not shown:
        return 0.0
    clear = min(1.0, shown / len(texts) / signal.share) if signal.share else 1.0
    return clear * min(1.0, shown / CLEARLY)
