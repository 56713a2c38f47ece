"""Profiles from TOML: every key, type, name and pattern is checked before a document is read."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from typing import TypeVar

from pincite.core.errors import ConfigError
from pincite.core.profiles import PROFILE_NAMES, profile_text, profile_values
from pincite.core.toml_table import Table
from pincite.core.traversal import parse_traversal
from pincite.ingest.enrichment.profile import (
    AliasRule,
    Condition,
    FieldRule,
    KindRule,
    LinkRule,
    Profile,
    Signal,
    TagRule,
    TermRule,
)

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
    table = Table(values, origin, is_shipped=is_shipped)
    profile = _profile(table, fingerprint)
    table.finish()
    _check_names(profile, origin)
    return profile


def _profile(table: Table, fingerprint: str) -> Profile:
    traits, audiences = table.table("traits"), table.table("audiences")
    parse_traversal(table.table("traversal"), fingerprint)  # searches read it; errors belong here
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
    )
    traits.finish()
    return profile


def _conditions(table: Table, *, kinds: bool = False) -> tuple[Condition, ...]:
    def condition(each: Table) -> Condition:
        return Condition(
            clause=frozenset(each.texts("clause")),
            heading=each.maybe_pattern("heading"),
            parent=each.maybe_pattern("parent"),
            under=each.maybe_pattern("under"),
            within=each.maybe_pattern("within"),
            locator=each.maybe_pattern("locator"),
            text=each.maybe_pattern("text"),
            fields=each.texts("fields"),
            rule=each.maybe("rule"),
            defines=each.maybe("defines"),
            kinds=frozenset(each.texts("kinds")) if kinds else frozenset(),
        )

    return _each(table, "when", condition)


def _each(table: Table, key: str, make: Callable[[Table], T]) -> tuple[T, ...]:
    """Return what is made of each table of a list; a key that was not asked for is an error."""
    made = []
    for each in table.tables(key):
        made.append(make(each))
        each.finish()
    return tuple(made)


def _signal(table: Table) -> Signal:
    pattern, where = table.pattern("pattern"), table.choice("where", ("text", "heading"))
    return Signal(pattern, where, table.number("share", 0.1), table.number("weight", 1.0))


def _field(table: Table) -> FieldRule:
    values = table.table("values")
    return FieldRule(
        table.text("name"),
        table.patterns("patterns", groups=1),
        {key.casefold(): values.text(key) for key in values.values},
        table.flag("tag"),
        table.choice("traits", ("none", "all", "known")),
    )


def _kind(table: Table) -> KindRule:
    flags = (table.flag(name) for name in ("entity", "defines", "inherits"))
    return KindRule(table.text("name"), _conditions(table), *flags)


def _tag(table: Table) -> TagRule:
    return TagRule(table.text("name"), _conditions(table, kinds=True))


def _term(table: Table) -> TermRule:
    source = table.choice("source", ("text", "title"))
    return TermRule(table.pattern("pattern", groups=1), source, _conditions(table))


def _alias(table: Table) -> AliasRule:
    made = AliasRule(table.pattern("pattern"), _conditions(table))
    table.finish()
    if "alias" not in made.pattern.groupindex:
        raise ConfigError(
            f"{table.where}: {made.pattern.pattern}: no group called alias",
            hint="write (?P<alias>…), and (?P<term>…) if the long name stands there too",
        )
    return made


def _link(table: Table) -> LinkRule:
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
