"""What turns a rule round or changes it: negation, modality, bounds, order in time, figures.

Questions are answered by tables that can be read: what a change of words in a quotation is
(``kind_of_change``), what a sentence does (``norms``, ``denies``), and whether one says the
opposite of another (``opposite``). Who answers yes or no reads the same (``answer/polarity.py``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

from pincite.model.patterns import lazy_pattern
from pincite.model.units import SAME, Quantity, kind_of, quantities

Change = Literal["number", "opposite", "words"]
Norm = Literal["must", "may", "must not", "need not"]
Direction = Literal["low", "high"]  # a bound from below: at least; from above: at most


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


NEGATIONS = _words(
    "not no never nor neither none nobody nothing without cannot except excepting excluding unless "
    "nicht kein keine keinen keinem keiner keines nie niemals ohne außer ausser sofern "
    "non né mai senza salvo tranne eccetto nessun nessuno nessuna "
    "ne pas jamais sans sauf aucun aucune ni nunca sin ningún ninguna excepto"
)
_BEFORE_T = _words(
    "don doesn didn isn aren wasn weren won can couldn shouldn mustn wouldn hasn haven hadn needn"
)
_STRONG = _words(
    "shall must required requires mandatory obliged muss müssen doit doivent deve devono debe deben"
)
_WEAK = _words(
    "may can might could should permitted allowed optional entitled kann können darf dürfen soll "
    "sollte peut peuvent può possono puede pueden"
)
# One from each side of a line is the opposite of the other.
_OPPOSED = [
    (
        _words(
            "least minimum min more greater above over exceed exceeds exceeding longer higher "
            "larger mindestens mehr almeno"
        ),
        _words(
            "most maximum max less fewer below under shorter lower smaller höchstens weniger "
            "massimo"
        ),
    ),
    (
        _words("after later following nach après dopo después upon"),
        _words("before earlier prior preceding vor avant prima antes until"),
    ),
    (
        _words("include includes included including"),
        _words("exclude excludes excluded excluding"),
    ),
    (_words("if when where wenn si se falls"), _words("unless except")),
    (_words("increase increases increased"), _words("decrease decreases decreased reduce reduced")),
    (_words("all every each"), _words("no none some")),
    (_words("always"), _words("never")),
    (
        _words("begin begins start starts"),
        _words("end ends cease ceases terminate terminates"),
    ),
]
_PREFIXES = ("un", "in", "im", "il", "ir", "non", "dis", "mis")
_NUMBER_WORDS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred thousand million billion half third quarter first second fourth fifth sixth seventh "
    "eighth ninth tenth twice once double triple"
)
_TIME_WORDS = _words(
    "january february march april may june july august september october november december jan feb "
    "mar apr jun jul aug sept sep oct nov dec monday tuesday wednesday thursday friday saturday "
    "sunday day days week weeks month months year years hour hours minute minutes second seconds "
    "business calendar quarter quarters"
)
_HAS_FIGURE = lazy_pattern(r"\d")


def kind_of_change(removed: Sequence[str], added: Sequence[str], before: str = "") -> Change:
    """Return what it means that some words of a source were replaced by others.

    Words are folded; ``before`` is the one in front of them.

    >>> kind_of_change(["may"], ["shall"]), kind_of_change([], ["not"])
    ('opposite', 'opposite')
    >>> kind_of_change(["2.4"], ["2.5"]), kind_of_change(["m"], ["ft"], before="2.4")
    ('number', 'number')
    >>> kind_of_change(["shall"], ["must"]), kind_of_change(["lawful"], ["unlawful"])
    ('words', 'opposite')
    """
    gone, new = set(removed) - set(added), set(added) - set(removed)
    if _is_turned(gone, new, [*removed, *added], before):
        return "opposite"
    if any(map(_is_figure, gone | new)) or _are_units(removed, added, before):
        return "number"
    return "words"


def _is_turned(
    gone: Collection[str], new: Collection[str], words: Sequence[str], before: str
) -> bool:
    if not NEGATIONS.isdisjoint({*gone, *new}):
        # "excluding" for "except" says the same; one that came or went does not.
        return NEGATIONS.isdisjoint(gone) or NEGATIONS.isdisjoint(new)
    if "t" in {*gone, *new} and any(each in _BEFORE_T for each in (before, *words)):
        return True
    pairs = [(_STRONG, _WEAK), *_OPPOSED]
    for one, other in (*pairs, *((b, a) for a, b in pairs)):
        if not one.isdisjoint(gone) and not other.isdisjoint(new):
            return True
    return any(_is_negated(a, b) or _is_negated(b, a) for a in gone for b in new)


def _is_negated(word: str, other: str) -> bool:
    return any(word == f"{prefix}{other}" for prefix in _PREFIXES) and len(other) > 3


def _is_figure(word: str) -> bool:
    return bool(_HAS_FIGURE.search(word)) or word in _NUMBER_WORDS or word in "%‰$€£¥"


def _are_units(removed: Sequence[str], added: Sequence[str], before: str) -> bool:
    if len(removed) != 1 or len(added) != 1:
        return False
    gone, new = removed[0], added[0]
    if gone in _TIME_WORDS and new in _TIME_WORDS:
        return True
    is_behind = _is_figure(before) or before in ("per", "hundred", "thousand", "million", "billion")
    return is_behind and (kind_of(gone) is not None or kind_of(new) is not None)


# --- Sentences ---------------------------------------------------------------------------------

_MODAL = r"(?:shall|must|may|can|could|will|should|might)"
_BE = r"(?:is|are|be|was|were)"
_ALLOWED = r"(?:permitted|allowed|authori[sz]ed|entitled|lawful)"
_OBLIGED = r"(?:required|obliged|obligated|necessary|mandatory)"
# The first that fits takes its words away from those below.
_NORMS: tuple[tuple[Norm, str], ...] = (
    (
        "need not",
        rf"\bneeds? not\b|\bneedn['’]t\b|\b(?:do|does|did)(?: not|n['’]t) (?:need|have to)\b"
        rf"|(?:\bnot|n['’]t)(?: be)? {_OBLIGED}\b|\b(?:muss|müssen) nicht\b"
        rf"|\bno [\w ,-]{{1,60}}? (?:is|are|shall be) {_OBLIGED}\b"
        r"|\bnicht (?:verpflichtet|erforderlich)\b|\bn['’]est pas tenue?\b|\bnon è tenut[oa]\b",
    ),
    (
        "must not",
        rf"\b{_MODAL} (?:\w+ )?(?:not|never|in no event)\b|\bcannot\b"
        rf"|\b(?:can|mustn|shan|won)['’]t\b"
        r"|\b(?:prohibit(?:s|ed)?|forbids?|forbidden|barred|unlawful|illegal|impermissible)\b"
        rf"|\b(?:not|never) (?:\w+ )?{_ALLOWED}\b"
        r"|\b(?:no|neither|nor)\s[^.:;]{1,80}?\b(?:may|shall|can|must|will"
        rf"|(?:is|are) {_ALLOWED})\b"
        r"|\b(?:darf|dürfen)\b[^.;]{0,60}\b(?:nicht|kein\w*)\b"
        r"|\bne (?:peut|peuvent|doit|doivent)\b|\bnon (?:può|possono|deve|devono)\b"
        r"|\bno (?:puede|pueden|debe|deben)\b",
    ),
    (
        "must",
        rf"\b(?:shall|must|requires?)\b|\b{_BE} (?:\w+ )?{_OBLIGED}\b"
        r"|\b(?:has|have|had) to\b|\b(?:muss|müssen|doit|doivent|deve|devono|debe|deben)\b",
    ),
    (
        "may",
        rf"\b(?:may|can)\b(?! \d)|\b{_BE} (?:\w+ )?{_ALLOWED}\b|\b(?:allows?|permits?)\b"
        r"|\b(?:kann|können|darf|dürfen|peut|peuvent|può|possono|puede|pueden)\b",
    ),
)
_NORM_PATTERNS = [(norm, lazy_pattern(pattern, re.IGNORECASE)) for norm, pattern in _NORMS]
_NOT = r"(?:not|no|never|nicht|non|n['’]t)"
_LESS = r"(?:less|fewer|lower|smaller|shorter|earlier)"
_MORE = r"(?:more|greater|longer|higher|larger|later)"
_MORE_OR_LESS = rf"(?:{_LESS}|{_MORE})"
_LOW = (
    rf"at least|at a minimum|(?:a )?minimum(?: of)?|{_NOT} (?:be )?{_LESS} than|{_MORE} than|over"
    r"|above|exceed(?:s|ing|ed)?|in excess of|≥|>=?|mindestens|au moins|almeno|al menos"
)
_HIGH = (
    rf"at most|at a maximum|(?:a )?maximum(?: of)?|{_NOT} (?:be )?{_MORE} than|{_LESS} than|under"
    rf"|below|up to|within|{_NOT}(?: to)? exceed(?:ing)?|≤|<=?|höchstens|au plus|al massimo"
    r"|como máximo"
)
_BOUND = lazy_pattern(
    rf"(?:\b|(?=[≤≥<>]))(?:(?:(?P<not>{_NOT}) (?:be |to |have |use |stand )?)?"
    rf"(?P<plain>at least|at most|up to|over|above|under|below|within)"
    rf"|(?P<high>{_HIGH})|(?P<low>{_LOW}))",
    re.IGNORECASE,
)
_PLAIN_LOW = ("at least", "over", "above")
_BOUND_GAP = 24  # characters between a bound and its number
_BEHIND = lazy_pattern(
    r"[^\w.;]{0,2}(?:(?P<low>or (?:more|longer|greater|higher|above|over|later))"
    r"|(?P<high>or (?:less|fewer|shorter|lower|below|under|earlier)))\b",
    re.IGNORECASE,
)
_BOUND_CHARS = 48  # before a number, in which its bound stands
_NEGATION = lazy_pattern(
    rf"\b(?!no\.? ?\d)(?:{'|'.join(sorted(NEGATIONS))})\b|\b\w+n['’]t\b",  # no "Exception No. 2"
    re.IGNORECASE,
)
_ORDER = (
    lazy_pattern(r"\b(?:after|following|subsequent to|later than|nach|après|dopo|después)\b", re.I),
    lazy_pattern(r"\b(?:before|prior to|earlier than|vor|avant|prima|antes)\b", re.I),
)
_CONDITION = (
    lazy_pattern(r"\b(?:if|when|where|provided that|wenn|si|se)\b", re.I),
    lazy_pattern(r"\b(?:unless|except|es sei denn|sauf|salvo)\b", re.I),
)


_DENIES = lazy_pattern(
    r"\b(?:not|no|never|neither|nor|cannot|none|nothing|exclud\w{1,5}|other than|immaterial)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
# These say "not" or "no" and deny nothing.
_DENIES_NOTHING = lazy_pattern(
    r"\bbut not limited to\b|\bwhether or not\b|\bnot only\b|\bno\.\s?\d"
    rf"|\bnot? {_MORE_OR_LESS} than\b",
    re.IGNORECASE,
)
# What a question asks about: whether somebody may, whether somebody has to.
_ASKS_LEAVE = lazy_pattern(
    rf"\b(?:may|can|could)\b(?! not\b)|\b(?:{_ALLOWED}|legal|permissible|possible)\b",
    re.IGNORECASE,
)
_ASKS_DUTY = lazy_pattern(
    rf"\b(?:must|shall|should|{_OBLIGED})\b(?! not\b)|\b(?:has|have) to\b|\bneeds?\b",
    re.IGNORECASE,
)


# "May not exceed", "shall not be less than": these oblige, the "not" is a part of the bound.
_LIMITED = lazy_pattern(
    rf"\b{_MODAL} {_NOT} (?=(?:be )?(?:exceed|{_MORE_OR_LESS} than|over\b|above\b))",
    re.IGNORECASE,
)


def negations(text: str) -> int:
    """Return how many words of a text turn what they stand with round."""
    return len(_NEGATION.findall(text))


def denies(text: str) -> bool:
    """Return whether a sentence says that something is not so.

    >>> denies("The Manual is not final."), denies("costs, including but not limited to travel")
    (True, False)
    """
    return bool(_DENIES.search(_DENIES_NOTHING.sub(" ", text)))


def asked_norm(question: str) -> Norm | None:
    """Return whether a question asks for a duty or for leave; None if for neither.

    >>> asked_norm("Must the gate be shut?"), asked_norm("Is it lawful?"), asked_norm("Is it red?")
    ('must', 'may', None)
    """
    if _ASKS_DUTY.search(question):
        return "must"
    return "may" if _ASKS_LEAVE.search(question) else None


class Bound(NamedTuple):
    """A quantity that something has to reach or may not pass."""

    quantity: Quantity
    direction: Direction


def norms(text: str) -> set[Norm]:
    """Return what a sentence does: it obliges, allows, forbids, or frees from a duty.

    >>> sorted(norms("No station may transmit music.")), sorted(norms("A licensee need not reply."))
    (['must not'], ['need not'])
    """
    return stated_norms(_LIMITED.sub(" must ", text))


def stated_norms(text: str) -> set[Norm]:
    """Return the same by its words alone: "may not exceed 5 W" forbids, as long as nobody measures.

    >>> stated_norms("It may not exceed 5 W."), norms("It may not exceed 5 W.")
    ({'must not'}, {'must'})
    """
    found: set[Norm] = set()
    for norm, pattern in _NORM_PATTERNS:
        if pattern.search(text):
            found.add(norm)
            text = pattern.sub(lambda match: " " * len(match.group()), text)
    return found


def bounds(text: str) -> Iterator[Bound]:
    """Yield the quantities of a sentence that have a bound, with its direction.

    >>> [(b.quantity.value, b.direction) for b in bounds("not less than 2 m, nor over 5 m")]
    [(2.0, 'low'), (5.0, 'low')]
    >>> [b.direction for b in bounds("They shall not be at least 2.4 m apart.")]
    ['high']
    """
    for each in quantities(text):
        before = text[max(0, each.start - _BOUND_CHARS) : each.start]
        behind = _BEHIND.match(text, each.end)
        if behind:
            yield Bound(each, "low" if behind["low"] else "high")
        elif found := _last(before):
            yield Bound(each, found)


def _last_match(before: str) -> re.Match[str] | None:
    found = None
    for match in _BOUND.finditer(before):
        found = match
    if found is None or len(gap := before[found.end() :]) > _BOUND_GAP:
        return None
    return None if _HAS_FIGURE.search(gap) or ";" in gap else found


def _last(before: str) -> Direction | None:
    """Return the direction of the last bound before a number; no other number stands between."""
    found = _last_match(before)
    if found is None:
        return None
    if found["plain"]:
        is_low = (found["plain"].lower() in _PLAIN_LOW) != bool(found["not"])
    else:
        is_low = bool(found["low"])
    return "low" if is_low else "high"


_POLAR = frozenset[str]().union(NEGATIONS, _STRONG, _WEAK, *(a | b for a, b in _OPPOSED))


def without_polarity(text: str) -> str:
    """Return the words of a sentence that say what it is about, and not which way.

    >>> without_polarity("Lines shall be no fewer than two.")
    'Lines be than two.'
    """
    return " ".join(w for w in text.split() if w.casefold().strip(".,;:") not in _POLAR)


def opposite(claim: str, said: str, *, is_close: bool = False) -> str:
    """Return why a sentence says the opposite of what is said; empty if it does not.

    Both are about the same thing, which the caller has seen by their words. ``is_close`` says that
    they share nearly all of them: then a single "not", "before" or "unless" decides.

    >>> opposite("Rods shall not be at least 2.4 m apart.", "Rods shall be at least 2.4 m apart.")
    'at most 2.4 m, where the source says at least'
    >>> opposite("A station may send music.", "No station may send music.")
    'allowed, where the source says forbidden'
    >>> opposite("It may not exceed 5 W.", "It must be at most 5 W.")
    ''
    """
    own, theirs = norms(claim), norms(said)
    limits, limited = _effective(claim, own), _effective(said, theirs)
    agreed, problem = _bounds_differ(limits, limited, claim)
    if problem:
        return problem
    # "No station may exceed 5 W" and "it must be at most 5 W" are one rule, and so it is with 10 W,
    # which is another number.
    sides = ({bound.direction for bound in each} for each in (limits, limited))
    is_bound = bool(set.intersection(*sides)) and "must not" in own | theirs
    if own and theirs and own.isdisjoint(theirs) and not is_bound:
        return f"{_NORM_NAMES[min(own)]}, where the source says {_NORM_NAMES[min(theirs)]}"
    if not is_close:
        return ""
    if not (own or theirs) or own == theirs:
        odd = negations(claim) % 2 != negations(said) % 2
        if odd and not agreed:
            return "a negation that came or went"
    for pair, words in ((_ORDER, ("after", "before")), (_CONDITION, ("if", "unless"))):
        mine, other = ([bool(each.search(text)) for each in pair] for text in (claim, said))
        if sum(mine) == 1 and sum(other) == 1 and mine != other:
            at = mine.index(True)
            return f"{words[at]}, where the source says {words[1 - at]}"
    return ""


_NORM_NAMES: dict[Norm, str] = {
    "must": "required",
    "may": "allowed",
    "must not": "forbidden",
    "need not": "not required",
}
_DIRECTIONS = {"low": "at least", "high": "at most"}


def _effective(text: str, found: set[Norm]) -> list[Bound]:
    """Return the bounds of a rule; what must not be at least so much is less."""
    flipped: dict[Direction, Direction] = {"low": "high", "high": "low"}
    if found != {"must not"}:
        return list(bounds(text))
    return [
        Bound(q, flipped[d]) if not _is_negated_bound(text, q) else Bound(q, d)
        for q, d in bounds(text)
    ]


def _is_negated_bound(text: str, quantity: Quantity) -> bool:
    before = text[max(0, quantity.start - _BOUND_CHARS) : quantity.start]
    match = _last_match(before)
    return match is not None and bool(match["not"] or re.match(_NOT, match.group(), re.IGNORECASE))


def _bounds_differ(own: Sequence[Bound], theirs: Sequence[Bound], claim: str) -> tuple[bool, str]:
    """Return whether both bound a quantity alike, and in which way they differ if they do."""
    agreed = False
    for each in own:
        same = [other for other in theirs if _is_same(each.quantity, other.quantity)]
        if same and all(other.direction != each.direction for other in same):
            words = claim[each.quantity.start : each.quantity.end].strip()
            other = _DIRECTIONS[same[0].direction]
            return False, f"{_DIRECTIONS[each.direction]} {words}, where the source says {other}"
        agreed = agreed or bool(same)
    return agreed, ""


def _is_same(one: Quantity, other: Quantity) -> bool:
    if one.kind != other.kind:
        return False
    return abs(one.value - other.value) <= SAME * max(abs(one.value), abs(other.value))
