"""Editions: which documents are the same work at different times, and which one is in force."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import NamedTuple

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_EDITION = re.compile(
    r"\b(?:\d+(?:st|nd|rd|th)|first|second|third|new|revised)?\s*"
    r"(?:edition|version|release|revision|rev\.?|issue)\b(?:\s*\d+(?:\.\d+)*)?",
    re.IGNORECASE,
)

_ISO = re.compile(r"(?P<year>(?:1[5-9]|20|21)\d\d)(?:-(?P<month>\d\d?)(?:-(?P<day>\d\d?))?)?")


class Edition(NamedTuple):
    """One document as an edition of a work; both dates are days on which it is in force."""

    doc_id: str
    work: str
    effective: date | None = None
    until: date | None = None


def years(*names: str) -> set[int]:
    """Return the years that the names mention.

    >>> sorted(years("Code, 2021 Edition", "code-2024.md"))
    [2021, 2024]
    """
    return {int(year) for name in names for year in _YEAR.findall(name)}


def work_of(title: str) -> str:
    """Return the title without what tells editions apart.

    >>> work_of("Harbour Code, 2021 Edition") == work_of("Harbour Code, 2024 edition")
    True
    """
    bare = _EDITION.sub(" ", _YEAR.sub(" ", title))
    return " ".join(re.sub(r"[^\w]+", " ", bare).casefold().split())


def parse_date(text: str) -> date | None:
    """Return the day that an ISO date names, the first one of a bare year or month.

    >>> parse_date("2024"), parse_date("2024-07-15"), parse_date("soon")
    (datetime.date(2024, 1, 1), datetime.date(2024, 7, 15), None)
    """
    match = _ISO.fullmatch(text.strip())
    try:
        return date(*(int(part or 1) for part in match.groups())) if match else None
    except ValueError:
        return None


def effective_from(title: str, doc_id: str, meta: Mapping[str, str]) -> date | None:
    """Return the day from which an edition counts: as stated, else the year in its name.

    >>> effective_from("Harbour Code, 2021 Edition", "code.md", {})
    datetime.date(2021, 1, 1)
    >>> effective_from("Harbour Code", "2019/code.md", {"effective": "2021-07-01"})
    datetime.date(2021, 7, 1)
    """
    if stated := parse_date(meta.get("effective", "")):
        return stated
    named = years(title) or years(doc_id.rpartition("/")[2]) or years(doc_id)
    return date(max(named), 1, 1) if named else None


def when(edition: Edition) -> str:
    """Return a document with its dates in plain words.

    >>> when(Edition("code.md", "code", date(2021, 1, 1)))
    'code.md (from 2021-01-01)'
    """
    dates = (("from", edition.effective), ("until", edition.until))
    words = " ".join(f"{word} {day}" for word, day in dates if day)
    return f"{edition.doc_id} ({words or 'without a date'})"


def earlier_editions(editions: Sequence[Edition]) -> dict[str, str]:
    """Return for each document the edition of its work that came before, where both have dates."""
    works: defaultdict[str, list[tuple[date, str]]] = defaultdict(list)
    for each in editions:
        if each.work and each.effective is not None:
            works[each.work].append((each.effective, each.doc_id))
    return {
        later: earlier
        for dated in works.values()
        for (before, earlier), (after, later) in pairwise(sorted(dated))
        if before < after
    }


def in_force(editions: Sequence[Edition], as_of: date) -> set[str]:
    """Return the documents in force on a day: of each work, the newest that had begun by then.

    A document without a date is always in force. An edition that had ended is out, and the one
    before it does not come back: what has been replaced once is not law again because its
    successor lapsed.
    """
    kept = {each.doc_id for each in editions if each.effective is None}
    works: defaultdict[str, list[tuple[date, Edition]]] = defaultdict(list)
    for each in editions:
        if each.effective is not None and each.effective <= as_of:
            works[each.work or each.doc_id].append((each.effective, each))
    for begun in works.values():
        newest = max(effective for effective, _ in begun)
        kept |= {each.doc_id for effective, each in begun if effective == newest}
    return kept - {each.doc_id for each in editions if each.until and each.until < as_of}
