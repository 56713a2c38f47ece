"""What a field calls the things that are asked for: a part of profiles, read for searches."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from pincite.model.errors import ConfigError
from pincite.model.profiles import PROFILE_NAMES, TomlReader, profile_text, profile_values


@dataclass(frozen=True, slots=True)
class Ask:
    """Something that questions ask for by one name and documents have under others."""

    names: tuple[str, ...]  # what a question may call it
    words: tuple[str, ...]  # what it is called where it stands
    kinds: frozenset[str]  # content kinds and tags of the places where it stands
    source: str  # who says so: a standard, a form, a glossary


@dataclass(frozen=True, slots=True)
class LineItem:
    """A line of a statement: what questions call it, and what it is called where it stands."""

    names: tuple[str, ...]
    rows: tuple[str, ...]  # the preferred one first; "*" stands for any words
    kind: str  # content kind of the tables that have it
    is_outflow: bool  # an amount that is spent: printed with either sign
    unit: str  # "money" or "per share"
    formula: str  # where a statement has no such row
    near: str  # a formula: of both signs the figure has the one that is nearer to it
    source: str


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure that is made of lines: "cash from operations - capex"."""

    names: tuple[str, ...]
    formula: str  # over names of lines and of other metrics
    unit: str
    source: str


UNITS = ("money", "ratio", "percent", "days", "per share")


@dataclass(frozen=True, slots=True)
class FieldVocabulary:
    """What questions about the documents of one profile may ask for."""

    cards: frozenset[str]  # kinds of documents, as their cards have them
    asks: tuple[Ask, ...]
    lines: tuple[LineItem, ...] = ()
    metrics: tuple[Metric, ...] = ()


def parse_asks(table: TomlReader) -> tuple[Ask, ...]:
    """Return the entries of a profile; each needs a name and a source."""
    asks = []
    for each in table.tables("ask"):
        kinds = frozenset(each.texts("kinds"))
        ask = Ask(each.texts("names"), each.texts("words"), kinds, each.text("source"))
        each.finish()
        if not ask.names or not (ask.words or ask.kinds):
            raise ConfigError(
                f"{each.where}: names, and words or kinds are missing", hint="see docs/profiles.md"
            )
        asks.append(ask)
    return tuple(asks)


def parse_lines(table: TomlReader) -> tuple[LineItem, ...]:
    """Return the lines of statements that a profile knows."""
    lines = []
    for each in table.tables("line"):
        names, rows, kind = each.texts("names"), each.texts("rows"), each.text("kind")
        unit, formula = each.choice("unit", UNITS), each.text("formula", "")
        is_outflow, near, source = (
            each.flag("is_outflow"),
            each.text("near", ""),
            each.text("source"),
        )
        line = LineItem(names, rows, kind, is_outflow, unit, formula, near, source)
        each.finish()
        if not names or not rows:
            raise ConfigError(
                f"{each.where}: names or rows are missing", hint="see docs/profiles.md"
            )
        lines.append(line)
    return tuple(lines)


def parse_metrics(table: TomlReader) -> tuple[Metric, ...]:
    """Return the metrics that a profile knows."""
    metrics = []
    for each in table.tables("metric"):
        unit = each.choice("unit", UNITS)
        metrics.append(Metric(each.texts("names"), each.text("formula"), unit, each.text("source")))
        each.finish()
        if not metrics[-1].names:
            raise ConfigError(f"{each.where}: names are missing", hint="see docs/profiles.md")
    return tuple(metrics)


@cache
def shipped_vocabularies() -> tuple[FieldVocabulary, ...]:
    """Return those of the shipped profiles that are for documents of some kinds alone."""
    found = map(load_vocabulary, PROFILE_NAMES)
    return tuple(each for each in found if each.cards and each.asks)


@cache
def field_words() -> frozenset[str]:
    """Return the words of all names that the shipped profiles know; none is a typing error.

    >>> "capex" in field_words()
    True
    """
    names = (name for field in shipped_vocabularies() for ask in field.asks for name in ask.names)
    return frozenset(word for name in names for word in name.lower().split())


def load_vocabulary(name: str) -> FieldVocabulary:
    """Return that of a profile by its name, or by the path of a TOML file."""
    values, _ = profile_values(profile_text(name), origin=name)
    table = TomlReader(values, name, is_shipped=name in PROFILE_NAMES)
    cards = frozenset(table.texts("cards"))
    return FieldVocabulary(cards, parse_asks(table), parse_lines(table), parse_metrics(table))
