"""The words of made questions: what people would type, and what they would never."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pincite.core.tables import unit_of

MASK = "___"
# Headings that every second section has ask for nothing in particular.
# fmt: off
_GENERAL = frozenset((
    "introduction", "general", "scope", "definitions", "notes", "overview", "example", "examples",
    "description", "legal", "purpose", "reserved", "summary", "contents", "appendix", "actions",
    "traits",
))
# fmt: on
_MARKUP = re.compile(r"[*_`]+|\^[^^]{1,3}\^|\s*\[[^\[\]]*\]$|<[^<>]{1,40}>")
_FOOTNOTE = re.compile(r"[¹²³⁴⁵⁶⁷⁸⁹†‡]+$")
_UNIT_ENDING = re.compile(r"\s*(?:[(\[][^()\[\]]{1,12}[)\]]|,\s*\S{1,8})\s*$")
_NUMBER = re.compile(r"[\d.,–-]+(?:st|nd|rd|th)?")
# A paragraph that is prose: no heading, table, list, quotation, label in bold or line in italics.
_PROSE = re.compile(r"[A-Za-z“\"'(]")
_LABEL = re.compile(r"[A-Z][\w ]{1,30}:\s")
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)”\"][.!?])\s+(?=[A-Z“\"])")
_WORD = re.compile(r"[^\W\d_]{3,}")
_ENDING = re.compile(r"(?:ies|es|[sye])$")
_LINKING = frozenset(["the", "and", "for", "with", "from", "into", "upon", "that", "this"])
LEAST_OPENING = 60
LONGEST_OPENING = 280
LEAST_WORDS_LEFT = 10


def bare_words(words: str) -> str:
    """Return a heading without markup and the remark in brackets behind it."""
    return " ".join(_MARKUP.sub("", words).split()).strip(" .:;—–")


def bare_cell(value: str) -> str:
    """Return what a cell says, without marks of footnotes."""
    return _FOOTNOTE.sub("", _MARKUP.sub("", value)).strip()


def is_telling(words: str, *, least: int = 1) -> bool:
    """Return whether words can be asked for: letters, not too long, not in every document.

    >>> is_telling("Scope"), is_telling("Grounding electrodes", least=2), is_telling("3.1")
    (False, True, False)
    """
    parts = words.split()
    has_letters = sum(character.isalpha() for character in words) >= 3
    is_general = words.casefold() in _GENERAL or (parts and parts[0].casefold() == "reserved")
    return has_letters and least <= len(parts) <= 8 and len(words) <= 70 and not is_general


def column_words(name: str) -> str:
    """Return a column's name as it stands in mid-sentence.

    >>> column_words("Copper Size (mm²)"), column_words("AC Resistance")
    ('copper size', 'AC resistance')
    """
    words = bare_cell(_UNIT_ENDING.sub("", name)).split()
    return " ".join(word.lower() if word[1:2].islower() else word for word in words)


def verb_for(words: str) -> str:
    """Return "are" for what looks like a plural.

    >>> verb_for("features"), verb_for("armour class")
    ('are', 'is')
    """
    return "are" if words.endswith("s") and not words.endswith(("ss", "us", "is")) else "is"


def row_words(column: str, label: str) -> str:
    """Return how a row is asked for; "" if it cannot be.

    >>> row_words("Rating (A)", "60"), row_words("Level", "9th"), row_words("Signal", "E-07")
    ('rating 60 A', 'level 9th', 'E-07')
    """
    if not any(character.isalnum() for character in label) or len(label) > 60:
        return ""
    if not _NUMBER.fullmatch(label):
        return label
    name = column_words(column)
    return f"{name} {label} {unit_of(column)}".strip() if name else ""


def opening(text: str) -> str:
    """Return the first sentences of the first paragraph of prose, whole ones; "" without any."""
    for paragraph in re.split(r"\n\s*\n", text[:4000]):
        words = " ".join(paragraph.split())
        if _PROSE.match(words) and not _LABEL.match(words) and len(words) >= LEAST_OPENING:
            return _first_sentences(words)
    return ""


def _first_sentences(words: str) -> str:
    taken = ""
    for sentence in _SENTENCE_END.split(words):
        longer = f"{taken} {sentence}".strip()
        if len(longer) > LONGEST_OPENING or len(taken) >= 2 * LEAST_OPENING:
            break
        taken = longer
    return taken if len(taken) >= LEAST_OPENING else ""


def masked(words: str, names: Sequence[str]) -> str:
    """Return the words without names and their words; "" if too little is left to know it by.

    >>> masked("A hedge of **thorns** grows where you point, and its thorns prick all who come "
    ... "near enough to touch it.", ["Thorns"])
    'A hedge of ___ grows where you point, and its ___ prick all who come near enough to touch it.'
    """
    words = " ".join(_MARKUP.sub("", words).split())
    for name in sorted(names, key=len, reverse=True):
        if name.strip():
            words = re.sub(rf"\b{re.escape(name)}(?:’s|'s|s)?\b", MASK, words, flags=re.IGNORECASE)
        for part in _WORD.findall(name):
            if part.casefold() not in _LINKING:
                # "burning" gives "Burn" away as well, and "memories" gives "Memory".
                stem = part.casefold() if len(part) < 5 else _ENDING.sub("", part.casefold())
                words = re.sub(rf"\b{stem}\w{{0,3}}\b", MASK, words, flags=re.IGNORECASE)
    left = len(_WORD.findall(words.replace(MASK, "")))
    return words if left >= LEAST_WORDS_LEFT else ""
