"""True quotations and single changes of them, for bench/check.py."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pincite.model.sentences import units
from pincite.model.types import Chunk

MIN_WORDS, MAX_WORDS = 9, 60
_CITED = re.compile(r"\d[\d.-]*(?:\(\w{1,5}\))*")  # as people write it
_WORD = re.compile(r"[A-Za-z]{4,}")
_NUMBER = re.compile(r"(?<![\w.,(/§-])\d{1,4}(?:\.\d+)?(?![\w)/-]|[.,]\d)")
_UNITS = {
    "days": "months", "months": "days", "years": "months", "meters": "feet", "metres": "feet",
    "kHz": "MHz", "MHz": "kHz", "GHz": "MHz", "hours": "minutes",
    "minutes": "hours", "mm": "cm", "cm": "mm", "kg": "g", "watts": "kilowatts", "W": "kW",
    "km": "m", "year": "month", "month": "year", "day": "week",
}  # fmt: skip
_UNIT = re.compile(rf"(?<=\d )(?:{'|'.join(_UNITS)})\b")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_DATE = re.compile(rf"\b(?:{'|'.join(_MONTHS)})(?= \d)|(?<=, )(?:19|20)\d\d\b")
_NOT_ADDED = re.compile(r"\b(?:shall|must|may|is|are|will|should)\b(?! not)")
_NOT = re.compile(r"\b(?:not|no)\b (?=[a-z])")
_MODAL = re.compile(r"\b(?:shall|must|may)\b(?! \d)")
_BOUND = re.compile(r"\bat least\b|\bat most\b|\bmore than\b|\bless than\b|\bbefore\b|\bafter\b")
_TURNED = {
    "at least": "at most", "at most": "at least", "more than": "less than",
    "less than": "more than", "before": "after", "after": "before", "shall": "may", "must": "may",
    "may": "shall",
}  # fmt: skip
_POLAR = {
    "shall", "must", "will", "unless", "except", "without", "least", "most", "more", "less",
    "before", "after", "may", "only", "never", "each", "every", "under", "over", "above", "below",
    "include",
}  # fmt: skip
EXPECTED = {
    "word dropped": {"altered"},
    "word swapped": {"altered"},
    "number": {"number_differs"},
    "unit": {"number_differs"},
    "date": {"number_differs"},
    "not added": {"opposite"},
    "not removed": {"opposite"},
    "shall/may": {"opposite"},
    "at least/at most": {"opposite"},
    "spliced": {"altered"},
    "place off by one": {"elsewhere", "no_such_place"},
    "wrong document": {"elsewhere", "no_such_place"},
    "wrong edition": {"elsewhere", "no_such_place"},
}


@dataclass(frozen=True)
class Quotation:
    """Words of a document and where they stand there."""

    doc_id: str
    words: str
    locator: str = ""


def quotations(text: str, doc_id: str, locator: str = "") -> Iterator[Quotation]:
    """Yield the sentences of a text that somebody may quote."""
    for unit in units(text):
        words = text[unit.start : unit.end]
        count = len(words.split())
        if unit.kind == "sentence" and MIN_WORDS <= count <= MAX_WORDS and words[-1:] in ".;:,":
            yield Quotation(doc_id, words, locator)


def leaves(chunks: list[Chunk]) -> list[Chunk]:
    """Return the places with a numbered name and words of their own."""
    return [c for c in chunks if c.kind in ("clause", "section") and _CITED.fullmatch(c.locator)]


def changed(quote: Quotation, others: list[str], dice: random.Random) -> Iterator[tuple[str, str]]:
    """Yield the kind of each change that can be made, and the words with it."""
    words = quote.words
    inner = [m for m in _WORD.finditer(words) if m.group().lower() not in _POLAR][1:-1]
    if inner:
        hit = dice.choice(inner)
        yield "word dropped", f"{words[: hit.start()]}{words[hit.end() :].lstrip()}"
        new = dice.choice([w for w in others if w.lower() != hit.group().lower()])
        yield "word swapped", _put(words, hit, new)
    if hits := list(_NUMBER.finditer(words)):
        hit = dice.choice(hits)
        yield "number", _put(words, hit, _other_number(hit.group(), dice))
    if hits := list(_UNIT.finditer(words)):
        hit = dice.choice(hits)
        yield "unit", _put(words, hit, _UNITS[hit.group()])
    if hits := list(_DATE.finditer(words)):
        hit = dice.choice(hits)
        old = hit.group()
        yield "date", _put(words, hit, str(int(old) + 1) if old.isdigit() else _next(old))
    if hits := list(_NOT_ADDED.finditer(words)):
        hit = dice.choice(hits)
        yield "not added", _put(words, hit, f"{hit.group()} not")
    for kind, pattern in (
        ("not removed", _NOT),
        ("shall/may", _MODAL),
        ("at least/at most", _BOUND),
    ):
        if hits := list(pattern.finditer(words)):
            hit = dice.choice(hits)
            yield kind, _put(words, hit, _TURNED.get(hit.group().lower(), ""))


def _put(words: str, hit: re.Match[str], new: str) -> str:
    return f"{words[: hit.start()]}{new}{words[hit.end() :]}"


def _other_number(old: str, dice: random.Random) -> str:
    digit = dice.choice([d for d in "123456789" if d != old[0]])
    return f"{digit}{old[1:]}"


def _next(month: str) -> str:
    return _MONTHS[(_MONTHS.index(month) + 1) % 12]
