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
class FieldVocabulary:
    """What questions about the documents of one profile may ask for."""

    cards: frozenset[str]  # kinds of documents, as their cards have them
    asks: tuple[Ask, ...]


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
    return FieldVocabulary(frozenset(table.texts("cards")), parse_asks(table))
