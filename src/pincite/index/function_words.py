"""Words that say how a question is built, not what it is about.

They stay in the index and in the length of a chunk, but are not searched for unless a query has
nothing else, and pairs are formed across them. The lists are short on purpose: generic stop lists
hold *not, shall, may, must, except, over, under*, which are what rules are made of.
"""

from __future__ import annotations

import re

# What a question says of the source itself: "as mentioned in the document". Such words are rarely
# on the page that answers, and often on the title pages and in the boilerplate of others.
_ASIDE = re.compile(
    r"\b(?:(?:as |(?:is|are|was|were) )?(?:mentioned|listed|described|stated|specified|provided|"
    r"outlined|given|shown|presented|discussed|referenced|named|indicated) (?:in|by|within|from)|"
    r"in|within|according to) the (?:context of the )?(?:(?:provided|given) )?"
    r"(?:document|text|passage|excerpt)\b",
    re.IGNORECASE,
)

_WORDS = {
    "english": """
        what which who whom whose when where why how many much did do does is are was were
        the of in a an to for and as on by at from with that this it its be been or has have had
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
}


def function_words(language: str) -> frozenset[str]:
    """Return the function words of a language; none for a language that we have no list for."""
    return frozenset(_WORDS.get(language, "").split())


def without_asides(question: str) -> str:
    """Return a question without what it says of its source; the question if nothing else is in it.

    >>> without_asides("How many entities listed in the document are based in Chile?")
    'How many entities are based in Chile?'
    """
    plain = " ".join(question.split())
    return " ".join(_ASIDE.sub("", plain).split()) or plain
