"""The languages that are told from their words, and the words that carry no meaning."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

_WORDS = {
    "english": """
        what which who whom whose when where why how many much did do does is are was were
        the of in a an to for and as on by at from with that this it its be been or has have had
        i me my myself you your yourself he him his himself she her herself itself we us our they
        them their themselves
    """,
    "french": """
        que quel quelle quels quelles qui quoi quand où comment combien est sont était étaient
        le la les l un une des de du d au aux et en pour par sur dans avec ce cet cette ces se s
        il elle ils elles a ont été être
    """,
    "italian": """
        che quale quali chi cosa quando dove perché come quanto quanta quanti quante è sono era
        erano il lo la i gli le l un uno una di del dello della dei degli delle d a al alla ai alle
        e ed in nel nella da dal dalla per con su sul sulla si ha hanno stato stata essere
    """,
    "german": """
        was welche welcher welches welchen welchem wer wen wem wessen wann wo warum wie viele viel
        ist sind war waren der die das den dem des ein eine einen einem einer eines und oder in im
        zu zum zur für als auf an am von vom mit dass dies diese dieser dieses es hat haben hatte
        hatten aus bei wird werden wurde wurden
    """,
    "spanish": """
        qué que cuál cuáles cual quién quiénes cuándo cuando dónde donde cómo como cuánto cuánta
        cuántos cuántas por para con es son era eran fue fueron el la los las un una unos unas de
        del a al y e en se su sus lo este esta estos estas ha han había ser sido o
    """,
}
# Short forms that stand before an apostrophe and belong to no word: l'acqua, qu'un, dell'opera.
_ELISIONS = {
    "french": "l d j m t s c n qu jusqu lorsqu puisqu quoiqu",
    "italian": "l un d c s n m t v gl dell all dall nell sull coll quell quest",
}

# Words of questions that a small corpus may lack, and that are nobody's typing error.
_EVERYDAY = """
    about above after again also another anything anyone around away back because become before
    behind being below between both bring came come comes coming could does doing done down during
    each either else enough even ever every everything find follow following found gave gets getting
    give given gives giving goes going gone good great have having hello help here hers himself into
    itself just keep kept kind know known knows last least less like likely likes little long look
    looking made make makes making many matter maybe mean means meant might mine more most much must
    myself near need needed needs neither never next nobody none nothing often once only other
    others ought ours over perhaps please possible probably quite rather really right said same says
    seem seems seen send several shall should show shown shows simply since some somebody someone
    something sometimes somewhere soon speak start still stop such sure take taken takes taking talk
    tell than thank thanks that their theirs them then there these they thing things think this
    those though through thus today together told took toward tried tries truly trying under unless
    until upon used useful uses using usually very want wanted wants well went were what whatever
    when where whether which while whole whom whose will wish with within without wonder work works
    would wrong your yours yourself
"""

# Languages that can be told from their function words.
LISTED = tuple(_WORDS)


def function_words(language: str) -> frozenset[str]:
    """Return the function words of a language; none for a language that we have no list for."""
    return frozenset(_WORDS.get(language, "").split())


def everyday_words() -> frozenset[str]:
    """Return words that are right as they are, whether or not a document has them."""
    return frozenset(_EVERYDAY.split())


def elisions(language: str) -> frozenset[str]:
    """Return what a language writes before an apostrophe; nothing where it does not."""
    return frozenset(_ELISIONS.get(language, "").split())


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
MIN_WORDS = 5
MIN_SHARE = 0.1
# One word that comes again and again says no more than a few times.
MAX_OF_ONE = 3
# Single letters are items and symbols more often than words; those with an accent are words.
_WORD = re.compile(r"[^\W\d_]{2,}|[^\W\d_a-zA-Z]")


def named_language(code: str) -> str:
    """Return the language that a document says it is in: a code, or a name; empty if unknown.

    >>> named_language("fr-CA"), named_language("Italian"), named_language("xx")
    ('french', 'italian', '')
    """
    plain = code.strip().lower()
    return plain if plain in LANGUAGES else _CODES.get(re.split("[-_]", plain)[0], "")


def language_code(name: str) -> str:
    """Return the code of a language by its name here; empty if it has none.

    >>> language_code("italian"), language_code("none")
    ('it', '')
    """
    return next((code for code, named in _CODES.items() if named == name), "")


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
    is_clear = len(set(known)) >= MIN_WORDS and len(known) >= MIN_SHARE * len(words)
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
            shares[language] += min(count, MAX_OF_ONE) / len(having)
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
