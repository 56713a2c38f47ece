"""THE sentence splitter: sentences, items, rows and headings of a text, for whoever quotes or cuts.

A full stop ends a sentence unless it belongs to an abbreviation, an initial or a label, stands in
an open quotation or parenthesis, or is followed by what begins no sentence. Abbreviations are of
three kinds, for "No." before a figure is one and "No." before "The" is an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pincite.model.patterns import lazy_pattern

UnitKind = Literal["sentence", "row", "header", "heading"]

_LINE = lazy_pattern(r"[^\n]*\n?")
# What begins a new unit at the start of a line: a list item, a numbered paragraph, a named value.
_ITEM = lazy_pattern(
    r"\s*(?:[-*+•–▪◦●·\uf0b7\uf0a7]\s|\(\w{1,5}\)\s|\d{1,3}[.)]\s|(?:[a-z]|[ivx]{2,5})[.)]\s|[A-Z]\)\s"
    r"|\d{1,3}(?:\.\d{1,3}){1,4}\.?\s+(?=[A-ZÀ-Þ“\"])|\d{1,3}(?:\.\d{1,3}){2,4}\s"
    r"|\*\*[^*\n]{1,40}\*\*\s)"
)
# Behind a line that ends in one of these marks more is an item: "A. Is public", "5.1 is known".
_LISTS = lazy_pattern(r"(?:[.:;]|[;,]\s(?:and|or|and/or))\s*$")
_LISTED = lazy_pattern(
    r"\s*\[?(?:[A-Z][.)]|\(\w{1,5}\)|\d{1,3}(?:\.\d{1,3}){1,4}[.)]?|[>\uf8e7☐])\s"
)
# "(B) Kitchens.", "Section 2.1. Fees." and "**Tide line.**" are headings inside their paragraph:
# they are quoted with the sentence behind them.
_RUN_IN = lazy_pattern(
    r"(?:(?:\(\w{1,5}\)|[\d§][\d.]{0,8}|(?:§+|Section|SECTION|Article|ARTICLE|Sec\.|Art\.|Item|ITEM)"
    r"\s[\dIVXLC][\w.()-]{0,12})\s(?![^.]{0,60}\s(?:is|are|was|were|may|must|shall|will|has|have|can"
    r"|do|does|should)\s)[^.!?:;]{1,60}\.|\*\*[^*]{1,60}\*\*\.?|_[^_]{1,60}_\.?|\*[^*]{1,60}\*\.?)$"
)
# Labels without any words: "A.", "4.2.", "(iii)", "Section 12.".
_LABEL = lazy_pattern(
    r"[-*_#>•\s]{0,6}(?:(?:§+|[A-Z][a-zA-Z]{2,9}\.?)\s)?\(?(?:\d[\d.-]{0,9}[a-zA-Z]?|[A-Za-z]"
    r"|[ivxlcIVXLC]{1,6})\)?[*_]{0,3}\.[*_]{0,3}$"
)
_NEXT_ITEM = lazy_pattern(r"\s+\d{1,3}\.\s")
_RULER = lazy_pattern(r"[\s:|-]*$")  # with two dashes in it
_HEADING = lazy_pattern(r"\s{0,3}#{1,6}\s|\s*\*\*[^*\n]{1,200}\*\*\s*$|\s{0,3}(?:```|~~~)")
_QUOTES = lazy_pattern(r"[\"“”«»„]")
LONGEST_ASIDE = 400  # a quotation or parenthesis that does not end by then was none
# A full stop may be followed by closing marks, emphasis or a footnote's mark, and then by space.
# One class of characters comes first: a text is scanned for that six times as fast as for either.
_STOP = lazy_pattern(
    r"[.!?…。！？](?:(?<=[.!?…])[.!?…]{0,8}[\"”“’'»)\]*_`]{0,4}"
    r"(?:\^[^^\s]{1,3}\^|\[\^?\w{1,4}\]){0,3}(?=\s)|(?<=[。！？])[”’」』）]{0,3})"
)
_STARTS = lazy_pattern(r"\s+[\"“„‘'«(\[*_`¿¡$€£§#•▪●–—-]{0,4} ?(?P<word>[^\W_]+(?:[’'-][^\W_]+)*)?")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# These never end a sentence.
_NEVER_ENDS = _words(
    "e.g i.e cf viz vs v z.b d.h vgl bzw sog ggf insb p.ej ej c.-à-d c.à.d par.ex p.es mr mrs "
    "ms dr prof messrs hon mme mlle sig sig.ra dott avv ing sra hr fr"
)
# These end one only before a word that opens one: "Apple Inc. The", but not "Apple Inc. Reports".
# Written with a capital letter they are words otherwise: "the app", "a mass".
_RARELY_ENDS = _words(
    "inc ltd corp llc llp etc al jr sr esq ph.d u.s u.k u.s.c u.s.a c.f.r d.c n.a a.k.a f/k/a "
    "d/b/a s.p.a s.r.l ave blvd dept assn assoc approx incl excl "
    "resp ca bzgl zzgl inkl usw u.a ecc Co Plc Bros Cie St Rd Gov Sen Rep Gen Col Capt Lt Sgt "
    "Max Min Est Fed Stat Supp Reg Regs Cir Dist Ct Civ Crim Bankr Proc App Cong Sess Pub Cal "
    "Tex Mass Conn Fla Ill Ind Mich Minn Okla Ore Penn Wash Wis Va Pa Ga"
)
# Words too: these are short for something only before a figure, a letter or a sign.
_BEFORE_NUMBERS = _words(
    "no nos sec secs sect art arts artt fig figs ch chap chaps par pars paras para p pp vol "
    "vols ed eds pt pts bk tit cl cls sch sched ex exh exhs app apps ann div eq eqs ref refs "
    "tab tbl item lit nr abs ziff anh abb kap bd s f ff n nn núm num cap capp lett all pag "
    "pagg págs pág jan feb mar apr jun jul aug sep sept oct nov dec rev ver v approx ca abt "
    "cit op ord reg rel stat ext tel ph max min"
)
_INITIALS = lazy_pattern(r"(?:[^\W\d_]\.)*[^\W\d_]")
# Words that open sentences; behind an abbreviation one of them is the surest sign of an end.
_OPENERS = _words(
    "the this that these those it its in if a an we he she they there each all any some for "
    "on at as such no not to when where while however upon under during our my your his her "
    "their see with without unless until after before by from and but or nor so then thus "
    "both either neither although because since what who which how why is are do does once "
    "also additionally furthermore moreover therefore accordingly pursuant notwithstanding "
    "nothing every one two der die das ein eine es er sie wir im in wenn für auf bei mit nach "
    "le la les un une il elle ils ces cette dans si pour en lo gli i nel se per el los las "
    "una este esta si para"
)
_NUMBERED = lazy_pattern(r"\s+(?:[(\[§#]|\d|[IVXLC]+\b|[A-Za-z](?![\w’']))")
# "am 3. Oktober", "der 2. Abschnitt": a figure with a full stop is an ordinal in German.
_ORDINAL = lazy_pattern(r"\b(?:am|der|die|das|dem|den|des|vom|zum|zur|bis|im|seit|ab|des) \d{1,2}$")
_LAST_WORD = lazy_pattern(r"([^\s(\[“\"„«—–*_’']{1,12})$")
LONGEST_WORD = 14
# Behind these a capital letter is a label, and no initial: "see Schedule A. Purchaser shall".
_LETTERED = lazy_pattern(
    r"\b(?:appendix|annex|article|class|column|exhibit|figure|form|grade|group|level|option|part"
    r"|phase|plan|schedule|section|series|step|subpart|table|tier|title|type|vitamin)\s\S{1,3}$",
    re.IGNORECASE,
)
MIN_LETTERS = 4  # of a word that a sentence may end with before one in small letters


@dataclass(frozen=True, slots=True)
class TextUnit:
    """A stretch of a text that is quoted as a whole, without white space around it."""

    start: int
    end: int
    kind: UnitKind = "sentence"


def units(text: str) -> list[TextUnit]:
    """Return the units of a text in order; together they hold every word of it, each once.

    >>> text = "It is 2.5 m. See e.g. Table 3. Done."
    >>> [text[unit.start : unit.end] for unit in units(text)]
    ['It is 2.5 m.', 'See e.g. Table 3.', 'Done.']
    """
    found: list[TextUnit] = []
    for start, end, kind in _stretches(text):
        words = text[start:end].lstrip()
        if words:
            start = end - len(words)
            found.append(TextUnit(start, start + len(words.rstrip()), kind))
    return found


def begins_item(line: str) -> bool:
    """Return whether a line begins a unit of its own: an item, a numbered paragraph.

    >>> begins_item("(a) a horn"), begins_item("a horn")
    (True, False)
    """
    return _ITEM.match(line) is not None


def _stretches(text: str) -> Iterator[tuple[int, int, UnitKind]]:
    """Yield where units stand: the sentences of paragraphs and items, rows, headings."""
    begun: int | None = None  # a paragraph
    in_table = False
    before = ""
    at = 0
    for line in _LINE.findall(text):  # the last one is empty
        start, at = at, at + len(line)
        kind: UnitKind = "heading" if _HEADING.match(line) else "sentence"
        if line.lstrip().startswith("|"):
            kind = "row" if in_table else "header"
        in_table = kind in ("row", "header")
        is_new = kind != "sentence" or not line.strip() or _begins(line, before)
        before = line
        if begun is not None and is_new:
            for ends in pairwise((begun, *sentence_ends(text, begun, start), start)):
                yield *ends, "sentence"
            begun = None
        if kind == "sentence":
            begun = start if begun is None and line.strip() else begun
        elif not in_table or "--" not in line or not _RULER.match(line):
            yield start, at, kind


def _begins(line: str, before: str) -> bool:
    """Return whether a line begins a unit below another line: an item, or what that leads into."""
    if _ITEM.match(line) or before.rstrip().endswith(":"):
        return True
    return _LISTED.match(line) is not None and _LISTS.search(before[-10:]) is not None


def sentence_ends(text: str, start: int = 0, end: int | None = None) -> Iterator[int]:
    """Yield where the sentences of a paragraph end, but for the last one.

    >>> list(sentence_ends("Acme Inc. v. U.S. Steel was decided. It stands."))
    [36]
    """
    end = len(text) if end is None else end
    for stop in _STOP.finditer(text, start, end):
        if _ends(text, start, stop, end):
            yield stop.end()
            start = stop.end()


def ends_before(text: str, following: str) -> bool:
    """Return whether a sentence ends with a text, given the word that follows.

    >>> ends_before("See No.", " 5"), ends_before("It is so.", " The")
    (False, True)
    """
    whole = text + following
    stop = _STOP.search(whole, max(0, len(text) - LONGEST_WORD))
    while stop and stop.end() < len(text):
        stop = _STOP.search(whole, stop.end())
    return stop is not None and stop.end() == len(text) and _ends(whole, 0, stop, len(whole))


def _ends(text: str, start: int, stop: re.Match[str], end: int) -> bool:
    """Return whether the stop ends the sentence that begins at ``start``."""
    if stop[0][0] in "。！？":
        return stop.end() < end
    follows = _STARTS.match(text, stop.end(), end)
    if follows is None or follows.end() == follows.start() or not follows[0].strip():
        return False
    if is_short(text, stop.start(), follows):
        return False
    if not _may_follow(text, stop, follows["word"] or ""):
        return False
    words = text[start : stop.end()].lstrip()
    if len(words) > LONGEST_ASIDE:
        return True
    is_open = len(_QUOTES.findall(words)) % 2 or words.count("(") > words.count(")")
    if is_open or _LABEL.match(words):
        return False
    # "8. Ohio. 9. Texas." are items in running text, and no titles of what follows.
    return not _RUN_IN.match(words) or _NEXT_ITEM.match(text, stop.end(), end) is not None


def _may_follow(text: str, stop: re.Match[str], word: str) -> bool:
    """Return whether a word may begin the sentence behind a stop: one in small letters seldom."""
    if not word[:1].islower():
        return True
    if stop[0] != ".":  # "Stop!" he said; wait ... there
        return False
    last = _LAST_WORD.search(text, max(0, stop.start() - LONGEST_WORD), stop.start())
    return last is not None and len(last[1]) >= MIN_LETTERS and last[1].isalpha()


def is_short(text: str, stop: int, follows: re.Match[str]) -> bool:
    """Return whether the full stop at a place belongs to a word: an abbreviation or an initial."""
    if text[stop] != "." or text[stop + 1 : stop + 2] == ".":
        return False
    match = _LAST_WORD.search(text, max(0, stop - LONGEST_WORD), stop)
    word, opener = match[1] if match else "", follows["word"] or ""
    is_name = text[follows.end() : follows.end() + 1] == "." and len(opener) == 1  # "J. A. Smith"
    bare = word.casefold()
    if bare in _NEVER_ENDS or _ORDINAL.search(text, max(0, stop - LONGEST_WORD), stop):
        return True
    if bare in _BEFORE_NUMBERS and _NUMBERED.match(text, follows.start()):
        return True
    is_initial = _INITIALS.fullmatch(word) is not None
    if is_initial and len(word) == 1:
        if word.islower():
            return is_name or opener[:1].islower()
        if _LETTERED.search(text, max(0, stop - LONGEST_WORD), stop):
            return False
    bare_opener, *_ = re.split(r"[’']", opener.casefold(), maxsplit=1)  # "we" for "We’ve"
    opens = opener[:1].isupper() and bare_opener in _OPENERS and not is_name
    is_known = bare in _RARELY_ENDS or (word[:1].isupper() and bare.capitalize() in _RARELY_ENDS)
    return (is_initial or is_known) and not opens
