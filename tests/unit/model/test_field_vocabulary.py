"""Vocabularies of fields: complete, with sources, and refused with a reason where they are not."""

from __future__ import annotations

from itertools import chain

import pytest

from pincite.model.errors import ConfigError
from pincite.model.profiles import TomlReader
from pincite.model.vocabulary import FieldVocabulary, parse_asks, shipped_vocabularies
from pincite.read.enrich.profile import load_profile

NAMES = ("contract", "filing")


def test_shipped_ones_are_for_documents_of_some_kinds() -> None:
    cards = [each.cards for each in shipped_vocabularies()]
    assert len(cards) == len(NAMES)
    assert not frozenset.intersection(*cards)


@pytest.mark.parametrize("vocabulary", shipped_vocabularies(), ids=NAMES)
def test_every_entry_has_a_source_and_every_name_one_entry(vocabulary: FieldVocabulary) -> None:
    assert all(ask.source.strip() for ask in vocabulary.asks)
    names = [name.casefold() for ask in vocabulary.asks for name in ask.names]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize("name", NAMES)
def test_kinds_of_entries_are_kinds_or_tags_of_the_profile(name: str) -> None:
    profile = load_profile(name)
    known = {each.name for each in (*profile.kinds, *profile.tags)}
    assert set(chain.from_iterable(ask.kinds for ask in profile.asks)) <= known


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"names": ["capex"], "words": ["purchases"]}, "ask 1: source is missing"),
        ({"words": ["purchases"], "source": "IAS 7"}, "ask 1: names, and words or kinds"),
        ({"names": ["capex"], "source": "IAS 7"}, "ask 1: names, and words or kinds"),
        ({"names": ["capex"], "kinds": ["x"], "source": "IAS 7", "kind": "x"}, "unknown key kind"),
    ],
)
def test_an_entry_that_says_too_little_is_refused(entry: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        parse_asks(TomlReader({"ask": [entry]}, "mine.toml"))
