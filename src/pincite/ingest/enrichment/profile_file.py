"""Profiles from TOML: every key, type, name and pattern is checked before a document is read."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pincite.core.errors import ConfigError
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
from pincite.ingest.enrichment.toml_table import Table

# Those that come with Pincite, in src/pincite/profiles.
PROFILE_NAMES = ("code", "manual", "report", "rulebook")


def load_profile(name: str) -> Profile:
    """Return a profile by its name, or by the path of a TOML file.

    >>> load_profile("code").default_kind
    'narrative'
    """
    if name.endswith(".toml"):
        return parse_profile(_read(Path(name)), origin=name)
    if name not in PROFILE_NAMES:
        near = get_close_matches(name, PROFILE_NAMES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(PROFILE_NAMES)}"
        raise ConfigError(f"no profile {name!r}", hint=f"{hint} Or give the path of a .toml file.")
    return _own(name)


def load_profiles() -> tuple[Profile, ...]:
    """Return the profiles that come with Pincite."""
    return tuple(_own(name) for name in PROFILE_NAMES)


def parse_profile(text: str, *, origin: str) -> Profile:
    """Return the profile that a TOML text describes; every key, type and pattern is checked."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{origin} is no TOML: {error}", hint="see docs/profiles.md") from error
    fingerprint = hashlib.sha256(text.encode()).hexdigest()[:12]
    if base := values.pop("extends", ""):
        if base not in PROFILE_NAMES:
            known = ", ".join(PROFILE_NAMES)
            raise ConfigError(f"{origin}: extends must be one of {known}, got {base!r}")
        under = _packaged(base)
        values = _laid_over(values, tomllib.loads(under))
        fingerprint = hashlib.sha256((text + under).encode()).hexdigest()[:12]
    table = Table(values, origin)
    profile = _profile(table, fingerprint)
    table.finish()
    _check_names(profile, origin)
    return profile


def _laid_over(values: Mapping[str, Any], under: Mapping[str, Any]) -> dict[str, Any]:
    """Return both, where the upper one's lists come first and its single values win."""
    merged = {**under, **values}
    for key in values.keys() & under.keys():
        if isinstance(values[key], dict) and isinstance(under[key], dict):
            merged[key] = _laid_over(values[key], under[key])
        elif isinstance(values[key], list) and isinstance(under[key], list):
            merged[key] = [*values[key], *under[key]]
    return merged


def _profile(table: Table, fingerprint: str) -> Profile:
    traits, audiences = table.table("traits"), table.table("audiences")
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
        signals=tuple(map(_signal, table.tables("signal"))),
        rules=table.patterns("rules"),
        fields=tuple(map(_field, table.tables("field"))),
        kinds=tuple(map(_kind, table.tables("kind"))),
        tags=tuple(map(_tag, table.tables("tag"))),
        terms=tuple(map(_term, table.tables("term"))),
        aliases=tuple(map(_alias, table.tables("alias"))),
        links=tuple(map(_link, table.tables("link"))),
        traits=tuple(name.casefold() for name in traits.texts("names")),
        audiences={name: audiences.texts(name) for name in audiences.values},
    )
    traits.finish()
    return profile


def _conditions(table: Table, *, kinds: bool = False) -> tuple[Condition, ...]:
    found = []
    for each in table.tables("when"):
        found.append(
            Condition(
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
        )
        each.finish()
    return tuple(found)


def _signal(table: Table) -> Signal:
    made = Signal(
        table.pattern("pattern"),
        table.choice("where", ("text", "heading")),
        table.number("share", 0.1),
        table.number("weight", 1.0),
    )
    table.finish()
    return made


def _field(table: Table) -> FieldRule:
    values = table.table("values")
    made = FieldRule(
        table.text("name"),
        table.patterns("patterns", groups=1),
        {key.casefold(): values.text(key) for key in values.values},
        table.flag("tag"),
        table.choice("traits", ("none", "all", "known")),
    )
    table.finish()
    return made


def _kind(table: Table) -> KindRule:
    made = KindRule(
        table.text("name"),
        _conditions(table),
        table.flag("entity"),
        table.flag("defines"),
        table.flag("inherits"),
    )
    table.finish()
    return made


def _tag(table: Table) -> TagRule:
    made = TagRule(table.text("name"), _conditions(table, kinds=True))
    table.finish()
    return made


def _term(table: Table) -> TermRule:
    source = table.choice("source", ("text", "title"))
    made = TermRule(table.pattern("pattern", groups=1), source, _conditions(table))
    table.finish()
    return made


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
    made = LinkRule(
        table.text("relation"),
        table.pattern("pattern", groups=1),
        table.choice("source", ("text", "title")),
        table.text("target", "{}"),
        _conditions(table, kinds=True),
    )
    table.finish()
    return made


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


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}", hint="check the path") from error


def _packaged(name: str) -> str:
    return (files("pincite") / "profiles" / f"{name}.toml").read_text(encoding="utf-8")


@cache
def _own(name: str) -> Profile:
    return parse_profile(_packaged(name), origin=f"profile {name}")
