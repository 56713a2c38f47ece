"""Words that say how a sentence is built, not what it is about.

They stay in the index and in the length of a chunk, but are not searched for unless a query has
nothing else, and pairs are formed across them. They also tell which language a text is in. The
lists are short on purpose: generic stop lists hold *not, shall, may, must, except, over, under*,
which are what rules are made of; so do ours leave out *nicht, darf, muss, doit, deve, debe*.
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
# What it ends with: to look for these is a tenth of the work, and most questions have none.
_SOURCES = ("document", "text", "passage", "excerpt")

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


def without_asides(question: str) -> str:
    """Return a question without what it says of its source; the question if nothing else is in it.

    >>> without_asides("How many entities listed in the document are based in Chile?")
    'How many entities are based in Chile?'
    """
    plain = " ".join(question.split())
    folded = plain.lower()
    if not any(word in folded for word in _SOURCES):
        return plain
    return " ".join(_ASIDE.sub("", plain).split()) or plain
