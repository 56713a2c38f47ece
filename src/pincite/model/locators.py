"""THE grammar of places: what they are called, how they are written, and the key they are found by.

One table has every word for a place in the languages that we read. The patterns of headings, of
mentions in questions, of citations in texts and of captions are made from it, so that whatever a
heading can be called a question can name. ``§ 97.113 (a)(4)``, ``section 97.113(a)(4)`` and
``97.113(A)(4)`` share one key; so do ``Chapter 3``, ``CHAPTER 3`` and ``chapters 3``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from pincite.model.markup import plain
from pincite.model.patterns import lazy_pattern
from pincite.model.types import Chunk, ParsedDocument
from pincite.model.units import is_version, unit_follows

# --- The table ---------------------------------------------------------------------------------


class PlaceWord(NamedTuple):
    """A word for a place in the singular, and how it is used."""

    word: str
    languages: str
    level: int  # of a heading, 1 being the highest; 0 if no heading is called so
    kind: str
    cited: str  # how far inside a section it is; or "sure", "known": only if there is such a place
    forms: tuple[str, ...]  # plurals and abbreviations


# Kinds: "named" places are found by word and number, "lettered" ones have letters for numbers;
# "number" ones by their number alone, and "inner" ones too, but not in questions; a "step" is only
# cited; a "table" and a "figure" have captions.
_TABLE = """
title      en    1 named    -     titles tit.
titre      fr    1 named    -     titres tit.
titolo     it    1 named    -     titoli tit.
título     es    1 named    -     títulos tít. tit.
titel      de    3 named    -     titeln
part       en    1 named    sure  parts pt. pts.
partie     fr    1 named    sure  parties
parte      it,es 1 named    known parti partes
teil       de    1 named    known teile teilen
division   en,fr 1 named    known divisions div.
book       en    1 named    known books bk.
livre      fr    1 named    known livres liv.
libro      it,es 1 named    known libri libros lib.
buch       de    1 named    known bücher
appendix   en    1 lettered sure  appendices app.
appendice  fr,it 1 lettered known appendices appendici app.
apéndice   es    1 lettered known apéndices
annex      en    1 lettered sure  annexes
annexe     fr    1 lettered sure  annexes
allegato   it    1 lettered sure  allegati all.
anexo      es    1 lettered known anexos
anhang     de    1 lettered known anhänge anh.
anlage     de    1 lettered known anlagen
schedule   en    1 lettered sure  schedules sched.
exhibit    en    1 lettered known exhibits
subpart    en    2 lettered sure  subparts
chapter    en    2 named    sure  chapters ch. chap. chaps.
chapitre   fr    2 named    sure  chapitres ch. chap.
capitolo   it    2 named    known capitoli cap.
capo       it    2 named    sure  capi
capítulo   es    2 named    known capítulos cap.
kapitel    de    2 named    known kapiteln kap.
subchapter en    2 named    known subchapters
abschnitt  de    3 named    known abschnitte abschnitten
article    en,fr 3 named    sure  articles art. arts.
articolo   it    3 named    sure  articoli art. artt.
artículo   es    3 named    known artículos art. arts.
artikel    de    3 named    known artikeln art.
rule       en    3 number   0     rules
règle      fr    3 named    known règles
regola     it    3 named    known regole
regla      es    3 named    known reglas
regel      de    3 named    known regeln
regulation en    3 named    known regulations reg. regs.
section    en,fr 4 number   0     sections sec. secs. sect.
sezione    it    4 number   -     sezioni sez.
sección    es    4 number   -     secciones
paragraph  en    0 number   1     paragraphs para. paras.
paragraphe fr    0 number   1     paragraphes
paragrafo  it    0 number   -     paragrafi
párrafo    es    0 number   -     párrafos
clause     en,fr 0 number   2     clauses
clausola   it    0 number   -     clausole
cláusula   es    0 number   -     cláusulas
klausel    de    0 number   -     klauseln
ziffer     de    0 number   -     ziffern
subsection en    0 inner    1     subsections
item       en    2 named    2     items
subparagraph en  0 step     2     subparagraphs
subclause  en    0 step     2     subclauses
step       en    0 step     2     steps
table      en    0 table    sure  tables tab.
tableau    fr    0 table    sure  tableaux
tabella    it    0 table    sure  tabelle
tabelle    de    0 table    known tabellen
tabla      es    0 table    known tablas
figure     en,fr 0 figure   -     figures fig. figs.
figura     it,es 0 figure   -     figuras
abbildung  de    0 figure   -     abbildungen abb.
chart      en    0 figure   -     charts
"""
# In French laws: what the parts of a section are called, as the English words for the same.
FRENCH_PARTS = {
    "sous-alinéa": "subparagraph",
    "alinéa": "paragraph",
    "paragraphe": "subsection",
    "article": "article",
    "sous-division": "subclause",
    "division": "clause",
    "sous-disposition": "subclause",
    "disposition": "clause",
}


def _read_table() -> tuple[PlaceWord, ...]:
    rows = (line.split() for line in _TABLE.split("\n") if line)
    return tuple(
        PlaceWord(word, languages, int(level), kind, cited, tuple(forms))
        for word, languages, level, kind, cited, *forms in rows
    )


def _plain(word: str) -> str:
    """Return a word without accents, as it is typed in a hurry or set in capitals."""
    return re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFD", word))


PLACE_WORDS = _read_table()
_BY_WORD = {each.word: each for each in PLACE_WORDS}
# Every form with the words that it may stand for: "art." is an article, an articolo, ...
_OWNERS: dict[str, list[str]] = {}
for _row in PLACE_WORDS:
    for _form in (_row.word, *_row.forms):
        for _spelling in dict.fromkeys((_form, _plain(_form))):
            if _row.word not in _OWNERS.setdefault(_spelling, []):
                _OWNERS[_spelling].append(_row.word)
# Forms that more than one word has: what they mean is known only where a place has one of these.
_SHARED = {form: owners for form, owners in _OWNERS.items() if len(owners) > 1}


def words_of(*kinds: str) -> tuple[str, ...]:
    """Return the words for the places of some kinds, in the singular."""
    return tuple(each.word for each in PLACE_WORDS if each.kind in kinds)


def forms_of(words: Iterable[str]) -> list[str]:
    """Return all forms of some words: singular, plural, abbreviated, with and without accents."""
    wanted = set(words)
    return [form for form, owners in _OWNERS.items() if wanted.intersection(owners)]


def any_of(words: Iterable[str]) -> str:
    """Return a pattern for one of several words, the longest that fits; quick to fail."""
    by_letter: dict[str, list[str]] = {}
    for word in sorted(set(words), key=lambda each: (-len(each), each)):
        by_letter.setdefault(word[0], []).append(re.escape(word[1:]))
    parts = (f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in by_letter.items())
    return f"(?:{'|'.join(parts)})"


def singular(form: str) -> str:
    """Return the word for one place: ``appendix`` for ``Appendices``.

    >>> singular("Chapters"), singular("art."), singular("provisions")
    ('chapter', 'article', 'provision')
    """
    form = form.lower().removesuffix("(s)")
    if form in _BY_WORD:
        return form
    return _OWNERS[form][0] if form in _OWNERS else form.removesuffix("s")


def is_plural(form: str) -> bool:
    """Return whether a form of a word may stand before several places.

    >>> [is_plural(form) for form in ("chapters", "chapter", "art.", "arts.", "kapitel")]
    [True, False, False, True, True]
    """
    if form in _BY_WORD:
        return "de" in _BY_WORD[form].languages  # most German words have one form for both
    return not form.endswith(".") or form.endswith(("s.", "tt."))


# What ingest makes its patterns of.
HEADING_RANK = {each.word: each.level for each in PLACE_WORDS if each.level}
HEADING_RANK["named item"] = HEADING_RANK.pop("item")  # "Item 7", where "(a)" is an item
_SECTION_RANK = HEADING_RANK["section"]
HEADING_RANK |= dict.fromkeys(("§", "decimal", "bare"), _SECTION_RANK)
HEADING_WORD = any_of(each.word for each in PLACE_WORDS if each.level)
PLACE_WORD = any_of(form for form in _OWNERS if not form.endswith("."))
# What stands before a label in parentheses: "paragraph (b)".
LABELLED_WORD = any_of(
    form
    for form in forms_of((*words_of("number", "inner", "step", "table"), "article"))
    if not form.endswith(".")
)
LETTERED = frozenset(words_of("lettered"))
TABLE_WORDS = frozenset(words_of("table"))
TABLE_WORD = any_of(TABLE_WORDS)
FIGURE_WORD = any_of(form for form in forms_of(words_of("figure")) if not form.endswith("s"))
# How far inside a section a place is that is cited by number or label alone.
INNER = {each.word: int(each.cited) for each in PLACE_WORDS if each.cited.isdigit()}
NAMED = frozenset(each.word for each in PLACE_WORDS if each.cited in ("sure", "known"))
EVERYDAY = frozenset(each.word for each in PLACE_WORDS if each.cited == "known")

# --- Keys --------------------------------------------------------------------------------------

_LABELLED = lazy_pattern(
    rf"§+\s*|(?P<word>{any_of(_OWNERS)})(?:(?<=\.)\s*|\s+)"
    r"(?=(?P<number>\d+(?:\.\d)?|\(|[A-Z]\b|[IVXLC]+\b))",
    re.IGNORECASE,
)
# Letters that such a word starts with: other names are spared the look.
_FIRST_LETTERS = frozenset(
    letter for form in _OWNERS for letter in (form[0], form[0].upper())
) | set("§İı")
_INNER_GAPS = lazy_pattern(r"\s*([(>)])\s*(?=[(>]|$)|\s+(?=\()")
# A number of several parts begins with that of its chapter: 97.113, 52.203-6, 2.4(b).
_CHAPTER = lazy_pattern(r"(\d{1,5})(\.\d|(?![\d.-]))")
# A document asks for the keys of its places again and again: for links, for names, for the index.
_REMEMBERED = 8192


@lru_cache(maxsize=_REMEMBERED)
def locator_key(locator: str) -> str:
    """Return the form that all ways to write a locator share.

    >>> locator_key("§ 97.113 (a) (4)"), locator_key("TABLE 250.122"), locator_key("Chapters 3")
    ('97.113(a)(4)', 'table 250.122', 'chapter 3')
    """
    text = locator if locator.isascii() else unicodedata.normalize("NFKC", locator)
    text = text.strip().rstrip(".:;,")
    if text[:1] in _FIRST_LETTERS and (label := _LABELLED.match(text)):
        text = _named(label) + text[label.end() :]
    text = " ".join(text.split())
    if "(" in text or ")" in text or ">" in text:
        text = _INNER_GAPS.sub(r"\1", text)
    return text.casefold().strip()


def _named(label: re.Match[str]) -> str:
    """Return what a key has for the words before a number: nothing where the number is the name."""
    form = (label["word"] or "").lower()
    owners = _OWNERS.get(form)
    if not owners:
        return label.group() if form else ""  # no letter of ours: "İtem"
    kind = _BY_WORD[owners[0]].kind
    if kind in ("number", "inner"):
        return ""
    if kind == "table":
        return "table "  # as their locators are, in every language
    word = form if form in _BY_WORD or len(owners) > 1 else owners[0]
    # A German Abschnitt 5.3 is the section of that number; an Abschnitt 5 holds sections.
    return "" if word == "abschnitt" and "." in label["number"] else f"{word} "


def is_quoted(locator: str) -> bool:
    """Return whether a place has no name but how it begins, as its numbering was not understood.

    >>> is_quoted("10 > “(b) The Servicer shall …”"), is_quoted("10(b)")
    (True, False)
    """
    return locator.rpartition(" > ")[2].startswith("“")


def other_keys(key: str) -> Iterator[str]:
    """Yield the keys that a place has besides its own, by forms that several words share.

    >>> list(other_keys("articolo 5")), list(other_keys("97.113"))
    (['art. 5'], [])
    """
    word, gap, rest = key.partition(" ")
    if gap and (word in _BY_WORD or word in _SHARED):
        for form, owners in _SHARED.items():
            if word in owners and form != word:
                yield f"{form} {rest}"
        yield from (f"{owner} {rest}" for owner in _SHARED.get(word, ()) if owner != word)


def keys_of(loaded: ParsedDocument) -> list[tuple[str, str]]:
    """Return the keys by which chunks are found: locators, headings, defined terms and aliases."""
    keys = []
    for chunk in loaded.chunks:
        if chunk.locator:
            key = locator_key(chunk.locator)
            keys += [(each, chunk.id) for each in (key, *other_keys(key))]
        if chunk.title and chunk.kind in ("section", "table", "document"):
            keys.append((locator_key(chunk.title), chunk.id))
        facts = loaded.facts.get(chunk.id)
        if facts is not None:
            names = (*facts.terms, *facts.aliases, *facts.identifiers)
            keys += [(locator_key(name), chunk.id) for name in names]
    return keys


def means_own(key: str, has_any: Callable[[Sequence[str]], bool]) -> bool:
    """Tell whether a name can only mean a place of the document that it stands in.

    "Section 4" does. "2.4" does where the document has a chapter 2, which then has a 2.1 or so.

    >>> [means_own(key, lambda names: "2.1" in names) for key in ("2.4(b)", "97.3", "4", "table 4")]
    [True, False, True, False]
    """
    found = _CHAPTER.match(key)
    if found is None:
        return False
    return not found[2] or has_any([f"{found[1]}{ending}" for ending in ("", ".1", ".2", ".3")])


# --- Headings ----------------------------------------------------------------------------------

_ARABIC = (
    r"[0-9]+(?:er|bis|ter|[A-Za-z])?"
    r"(?:[.–-](?:[0-9]+[A-Za-z]?|[A-Z]|bis|ter)(?![A-Za-z])){0,9}"
)
_PARENS = r"(?:\([0-9A-Za-z]{1,4}\))*"
_HYPHENS = r"(?:-[0-9]+[A-Za-z]?(?!\.?[0-9]))*"  # "52.202-1", but no range "1.5-2.5"
_LETTERED = r"[A-Z][.-][0-9]+(?:\.[0-9]+){0,9}"
# "ARTICLE SEVEN", "CHAPTER TWENTYONE", each at the place before its number
_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
NUMBER_WORDS = (
    *_ONES, "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
    "eighteen", "nineteen",
    *(f"{ten}{one}" for ten in ("twenty", "thirty", "forty", "fifty") for one in ("", *_ONES)),
)  # fmt: skip
NUMBER_WORD = rf"(?:{any_of(NUMBER_WORDS)}|(?:twen|thir|for|fif)ty-{any_of(_ONES)})"
_HEADING_NUMBER = rf"(?:{_ARABIC}|{_LETTERED}|[IVXLCDM]+|[A-Z]|(?i:{NUMBER_WORD})(?!\w))"
# A heading has its word in the singular, or short: "Art. 5", "Sec. 12".
_HEADINGS_CALLED = any_of(
    form
    for form, owners in _OWNERS.items()
    if _BY_WORD[owners[0]].level and (form.endswith(".") or _plain(form) in map(_plain, owners))
)
_BEHIND = r"(?=[\s—–:]|$|(?<=[.:—–-])\S)"
_SEPARATOR = rf"(?:[ \t]*+(?:[.:)—–]+|-(?![0-9])){_BEHIND}|{_BEHIND})[ \t]*+"
_HEADINGS = (
    lazy_pattern(
        rf"(?P<label>(?P<word>(?i:{_HEADINGS_CALLED})) (?:[–—-] )?"
        rf"(?P<number>{_HEADING_NUMBER}))(?!\w)"
        rf"(?: (?i:to|of) (?i:{HEADING_WORD}) {_HEADING_NUMBER})?{_SEPARATOR}"
    ),
    lazy_pattern(rf"(?P<label>(?P<word>§)§? ?(?P<number>{_ARABIC}{_PARENS}))(?!\w){_SEPARATOR}"),
    lazy_pattern(
        rf"(?P<label>(?P<number>(?:[0-9]+|[A-Z])(?:\.[0-9]+)+[A-Za-z]?{_HYPHENS}{_PARENS}))"
        rf"(?!\.[0-9])(?:(?!\w){_SEPARATOR}|(?=[A-Z][a-z]))"
    ),
    lazy_pattern(r"(?P<label>(?P<number>[0-9]{1,3})[.)])(?:[ \t]+|$|(?=[A-Z]))"),
    lazy_pattern(r"(?P<label>(?P<bare>[0-9]{1,3}))[ \t]+(?=[A-ZÀ-Þ])"),
    lazy_pattern(
        r"(?P<label>(?P<item>(?:\([0-9]{1,3}\)|\([a-z]{1,4}\)|\([A-Z]{1,4}\))+))(?:\s+|$)"
    ),
)


class HeadingLabel(NamedTuple):
    """What a heading line says: the number as printed, its canonical form and the words."""

    label: str
    canonical: str
    title: str
    scheme: str


def plain_words(line: str) -> str:
    """Return the words of a heading or caption without Markdown signs and double spaces.

    >>> plain_words("### **Fire** [Bolt](x.md) ###")
    'Fire Bolt'
    """
    return " ".join(plain(line.strip()).split())


def heading_label(line: str) -> HeadingLabel:
    """Return label, canonical number, title and scheme of a heading; a plain one has no label.

    >>> heading_label("## § 97.113 Prohibited transmissions.")[:3]
    ('§ 97.113', '97.113', 'Prohibited transmissions')
    >>> heading_label("Chapter 3: Spells")
    HeadingLabel(label='Chapter 3', canonical='Chapter 3', title='Spells', scheme='chapter')
    >>> heading_label("Fireball")
    HeadingLabel(label='', canonical='', title='Fireball', scheme='')
    """
    words = plain_words(line)
    for grammar in _HEADINGS:
        if match := grammar.match(words):
            title = _title(words[match.end() :])
            found = match.groupdict()
            if "bare" in found:
                return HeadingLabel(found["label"], found["label"], title, "bare")
            if "item" in found:
                return HeadingLabel(found["label"], found["label"], title, "item")
            return _numbered(found, title)
    return HeadingLabel("", "", _title(words), "")


def _numbered(found: dict[str, str], title: str) -> HeadingLabel:
    form, number = found.get("word", "").lower(), found["number"]
    word = singular(form) if form not in ("", "§") else form
    scheme = "named item" if word == "item" else word or "decimal"
    # A section is cited by its number alone; "Section IV" would be lost among chapters.
    if HEADING_RANK[scheme] == _SECTION_RANK and (word in ("", "§") or number[0].isdigit()):
        canonical = number
    else:
        # "Art. 5" stays: the word that it is short for depends on the language.
        name = form if form in _SHARED and form not in _BY_WORD else word
        canonical = f"{name.capitalize()} {number}"
    return HeadingLabel(found["label"], canonical, title, scheme)


def _title(words: str) -> str:
    words = words.strip(" \t—–:")
    return words[:-1] if words.endswith(".") and not words.endswith("..") else words


# --- Mentions ----------------------------------------------------------------------------------

_ROMAN = r"(?=[IVXLC])C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?![\w’'])"
_NUMBER = rf"{_ARABIC}(?!\w)"
_ANY_NUMBER = rf"(?:{_NUMBER}|{_LETTERED}\b|{_ROMAN}|[A-Z](?![\w’']))"
_ITEMS = r"(?:\s?\([0-9A-Za-z]{1,5}\))"
_SECTIONS = tuple(each.word for each in PLACE_WORDS if each.kind == "number" and each.level)
_ASKED = any_of(forms_of((*words_of("named", "lettered", "table", "figure"), *_SECTIONS)))
_BY_NUMBER = any_of(forms_of(set(words_of("number")) - {"rule"}))
_GAP = r"(?:(?<=\.)\s{0,9}|\s{1,9})"
_MENTION = lazy_pattern(
    rf"""
    (?:(?P<sign>§{{1,2}})\s{{0,9}}|\b(?P<section>{_BY_NUMBER}){_GAP})
        (?P<section_number>{_NUMBER}){_ITEMS}*
  | \b(?P<word>{_ASKED}){_GAP}(?P<number>{_ANY_NUMBER}){_ITEMS}*
        (?:\s{{1,9}}(?:table|exception|note)\b)?
  | \b\d[\w.–-]{{0,40}}\s{{1,9}}alternate\s{{1,9}}[IVX]+\b{_ITEMS}*
  | (?<![\w.])\d+[A-Za-z]?(?:[.–-]\d+[A-Za-z]?){{0,9}}{_ITEMS}+
  | (?<![\w.$€£])(?P<bare>\d+(?:\.\d+)+(?:-\d+(?!\.?\d))?)(?!\w)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Cheap to look for, and without one of these nothing is named.
_HINT = lazy_pattern(rf"\d|\b{_ASKED}{_GAP}", re.IGNORECASE)
_THROUGH = r"-|–|—|to|through|thru|à|bis|al|a|hasta"
_RANGE = lazy_pattern(rf"\s*(?:{_THROUGH})\s*", re.IGNORECASE)
_ITEM_RANGE = lazy_pattern(
    rf"(?<=\))\s*(?:{_THROUGH})\s*(?P<item>\([0-9A-Za-z]{{1,5}}\))", re.IGNORECASE
)
# Behind the word for several places: "chapters 3 and 4", "articles 5 à 8", "Anlagen 1 bis 3".
_NEXT = lazy_pattern(
    rf"(?:\s{{0,9}},\s{{0,9}}(?:(?:and|or|et|ou|e|o|y|und|oder)\s{{1,9}})?"
    rf"|\s{{1,9}}(?:and|or|et|ou|e|o|y|und|oder)\s{{1,9}}"
    rf"|(?P<through>\s{{0,9}}[–—-]\s{{0,9}}|\s{{1,9}}(?:{_THROUGH})\s{{1,9}}))"
    rf"(?P<number>{_ANY_NUMBER}{_ITEMS}*)",
    re.IGNORECASE,
)
_HYPHENED = lazy_pattern(r"(?P<first>\d+(?:\.\d+)*)[–-](?P<last>\d+(?:\.\d+)*)")
_YEAR = lazy_pattern(r"(?:19|20)\d\d")
# Small letters that are words: "book a room", "la partie a", "il libro e", "the rule I broke".
_LETTER_WORDS = frozenset("aeioyuld")
_OFTEN_LETTERED = LETTERED | TABLE_WORDS | {"figure", "part", "title", "chapter", "article"}
MAX_RANGE = 50


@dataclass(frozen=True, slots=True)
class Mention:
    """A place that a query names: one key, or the first and the last of a range."""

    first: str
    last: str = ""


class _Found(NamedTuple):
    """A place that a text names, with where it does."""

    key: str
    start: int
    end: int
    ends_range: bool = False


def mentions(query: str) -> list[Mention]:
    """Return the places that a query names, in its order.

    >>> mentions("Does Table 310.16 override 240.4(D)?")
    [Mention(first='table 310.16', last=''), Mention(first='240.4(d)', last='')]
    >>> mentions("52.202-1 and 97.301-97.305, chapters 3 to 5")[1:]
    [Mention(first='97.301', last='97.305'), Mention(first='chapter 3', last='chapter 5')]
    >>> mentions("a 2.5 mm conductor at 1.5 kV, or 2.5 litres")
    []
    >>> mentions("the 2.5.1 release, OpenSSL 3.0, version 1.2")
    []
    """
    found: list[Mention] = []
    for each in _found(query):
        if each.ends_range and found and not found[-1].last:
            found[-1] = Mention(found[-1].first, each.key)
        else:
            found.append(Mention(each.key))
    return found


def mention_spans(text: str) -> list[tuple[str, int, int]]:
    """Return the key of every place that a text names, with where it does.

    >>> mention_spans("See Table 310.16.")
    [('table 310.16', 4, 16)]
    """
    return [(each.key, each.start, each.end) for each in _found(text)]


def _found(text: str) -> Iterator[_Found]:
    """Yield the places that a text names, one after the other."""
    done = 0
    for match in _MENTION.finditer(text) if _HINT.search(text) else ():
        if match.start() < done or not _is_place(text, match):
            continue
        is_last = bool(done) and _RANGE.fullmatch(text, done, match.start()) is not None
        for each in _places(text, match):
            yield each._replace(ends_range=True) if is_last else each
            is_last, done = False, each.end


def _is_place(text: str, match: re.Match[str]) -> bool:
    """Return whether what looks like a place is one, and no quantity and no two words."""
    if match["bare"]:
        return not unit_follows(text, match.end()) and not is_version(text, *match.span())
    number = match["number"] or ""
    if len(number) != 1 or not number.islower():
        return True
    owners = _OWNERS.get(match["word"].lower(), [])
    if number in _LETTER_WORDS:
        return not _OFTEN_LETTERED.isdisjoint(owners)
    return "section" not in owners


def _places(text: str, match: re.Match[str]) -> Iterator[_Found]:
    """Yield the place of a match, and those that are listed behind it."""
    group = "number" if match["word"] else "section_number"
    form, number = (match["word"] or match["section"] or "").lower(), match[group] or ""
    several = match["sign"] == "§§" or (bool(form) and is_plural(form))
    hyphened = _HYPHENED.fullmatch(number) if several else None
    if hyphened and _is_rising(hyphened):
        first_end = match.start(group) + hyphened.end("first")
        last_start = match.start(group) + hyphened.start("last")
        yield _Found(locator_key(f"{form} {hyphened['first']}"), match.start(), first_end)
        last = locator_key(f"{form} {hyphened['last']}")
        yield _Found(last, last_start, match.end(), ends_range=True)
        return
    first = _Found(locator_key(match.group()), match.start(), match.end())
    yield first
    if items := _ITEM_RANGE.match(text, match.end()):
        key = f"{first.key[: first.key.rindex('(')]}{items['item'].casefold()}"
        yield _Found(key, *items.span("item"), ends_range=True)
    elif several:
        yield from _listed(text, match.end(), form, number)


def _listed(text: str, end: int, form: str, first: str) -> Iterator[_Found]:
    """Yield the places that a list goes on with; a quantity, a word or a year ends it."""
    while more := _NEXT.match(text, end):
        number, end = more["number"], more.end()
        is_year = _YEAR.fullmatch(number) and len(first) != len(number)
        if number in _LETTER_WORDS or is_year or unit_follows(text, end):
            return
        key = locator_key(f"{form} {number}")
        yield _Found(key, more.start("number"), end, ends_range=bool(more["through"]))


def _is_rising(hyphened: re.Match[str]) -> bool:
    """Return whether both ends of a range are numbers of one kind: "3-5", "97.301–97.305"."""
    first, last = (hyphened[end].split(".") for end in ("first", "last"))
    return len(first) == len(last) and list(map(int, first)) < list(map(int, last))


def in_range(chunks: Sequence[Chunk], first: str, last: str) -> list[Chunk]:
    """Return the chunks of a document from one place to another, at the level of the first."""
    keys = [locator_key(chunk.locator) for chunk in chunks]
    start, end = _position(keys, first), _position(keys, last)
    if start is None or end is None:
        return []
    depth = keys[start].count("(")
    inside = [
        c
        for c, key in zip(chunks[start : end + 1], keys[start : end + 1], strict=True)
        if key.count("(") == depth and c.kind == chunks[start].kind
    ]
    return inside[:MAX_RANGE]


def _position(keys: Sequence[str], key: str) -> int | None:
    """Return where a key stands, or another key of the same place."""
    wanted = {key, *other_keys(key)}
    return next((at for at, each in enumerate(keys) if each in wanted), None)
