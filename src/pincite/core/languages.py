"""Which language a text is in, told from its function words; by name as Snowball names them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from pincite.core.function_words import LISTED, function_words

# An index keeps a language as its place in this list: append, never reorder.
LANGUAGES = (
    *("none", "english", "french", "italian", "german", "spanish", "danish", "dutch", "finnish"),
    *("hungarian", "norwegian", "portuguese", "romanian", "russian", "swedish", "turkish"),
)
_CODES = {
    "en": "english",
    "fr": "french",
    "it": "italian",
    "de": "german",
    "es": "spanish",
    "da": "danish",
    "nl": "dutch",
    "fi": "finnish",
    "hu": "hungarian",
    "no": "norwegian",
    "nb": "norwegian",
    "nn": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "tr": "turkish",
}
# A text shows its language in a few stretches, whatever its length.
STRETCHES = 8
STRETCH_CHARS = 4_000
# Tables, names and formulas have few function words, and those by chance: "Los Angeles", "\\in".
LEAST_WORDS = 5
LEAST_SHARE = 0.1
# One word that comes again and again says no more than a few times.
MOST_OF_ONE = 3
# Single letters are items and symbols more often than words; those with an accent are words.
_WORD = re.compile(r"[^\W\d_]{2,}|[^\W\d_a-zA-Z]")


def named_language(code: str) -> str:
    """Return the language that a document says it is in: a code, or a name; empty if unknown.

    >>> named_language("fr-CA"), named_language("Italian"), named_language("xx")
    ('french', 'italian', '')
    """
    plain = code.strip().lower()
    return plain if plain in LANGUAGES else _CODES.get(re.split("[-_]", plain)[0], "")


def detect_language(text: str, default: str = "english") -> str:
    """Return the language whose function words a text has most; the default if it has too few.

    >>> detect_language("La pressione del gas è misurata con il manometro della centrale.")
    'italian'
    >>> detect_language("| 2.5 mm | 20 A |")
    'english'
    """
    words = [word.lower() for part in _sampled(text) for word in _WORD.findall(part)]
    shares = _shares(words, LISTED)
    best = max(LISTED, key=lambda language: shares[language])
    known = [word for word in words if word in _words(best)]
    is_clear = len(set(known)) >= LEAST_WORDS and len(known) >= LEAST_SHARE * len(words)
    return best if is_clear else default


def query_language(text: str, among: Sequence[str]) -> str:
    """Return which of some languages a query is in, the first of them if it does not tell.

    >>> query_language("Qual è la corrente?", ["english", "italian"])
    'italian'
    """
    shares = _shares([word.lower() for word in _WORD.findall(text)], among)
    return max(among, key=lambda language: shares[language])


def _shares(words: Sequence[str], languages: Sequence[str]) -> dict[str, float]:
    """Return how many of the words each language explains; what several have counts less."""
    counts = Counter(words)
    shares = dict.fromkeys(languages, 0.0)
    for word, count in counts.items():
        having = [language for language in languages if word in _words(language)]
        for language in having:
            shares[language] += min(count, MOST_OF_ONE) / len(having)
    return shares


@cache
def _words(language: str) -> frozenset[str]:
    return function_words(language)


def _sampled(text: str) -> list[str]:
    """Return stretches taken evenly from a text, all of it where it is short."""
    if len(text) <= STRETCHES * STRETCH_CHARS:
        return [text]
    step = (len(text) - STRETCH_CHARS) // (STRETCHES - 1)
    return [text[at : at + STRETCH_CHARS] for at in range(0, STRETCHES * step, step)]
