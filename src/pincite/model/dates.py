"""Dates as documents state them, in words or figures, in three languages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date

from pincite.model.types import Pages

FIRST_CHARS = 2_000  # where a document without pages says it
FIRST_PAGE_CHARS = 10_000

_MONTHS = (
    ("january", "jan", "janvier", "janv", "gennaio", "gen"),
    ("february", "feb", "février", "fevrier", "févr", "febbraio"),
    ("march", "mar", "mars", "marzo"),
    ("april", "apr", "avril", "avr", "aprile"),
    ("may", "mai", "maggio", "mag"),
    ("june", "jun", "juin", "giugno", "giu"),
    ("july", "jul", "juillet", "juil", "luglio", "lug"),
    ("august", "aug", "août", "aout", "agosto", "ago"),
    ("september", "sept", "sep", "septembre", "settembre", "sett", "set"),
    ("october", "oct", "octobre", "ottobre", "ott"),
    ("november", "nov", "novembre"),
    ("december", "dec", "décembre", "decembre", "déc", "dicembre", "dic"),
)
_MONTH_NUMBER = {name: at for at, names in enumerate(_MONTHS, 1) for name in names}
_MONTH = "|".join(sorted(_MONTH_NUMBER, key=len, reverse=True))
_YEAR = r"(?:19|20)\d\d(?!\d)"
_DATE = (
    rf"(?:(?P<iso>{_YEAR}-\d\d?(?:-\d\d?)?)"
    rf"|(?P<first>(?:{_MONTH}))\.?[ ](?:(?P<first_day>\d\d?)(?:st|nd|rd|th)?,?[ ])?"
    rf"(?P<first_year>{_YEAR})"
    rf"|(?P<day>\d\d?)(?:s ?t|n ?d|r ?d|t ?h|er|°|º)?(?:[ ]day[ ]of)?[ ]"
    rf"(?P<month>{_MONTH})\.?,?[ ](?P<year>{_YEAR})"
    rf"|(?P<left>\d\d?)(?P<sign>[/.])(?P<middle>\d\d?)(?P=sign)(?P<right>{_YEAR})"
    rf"|(?P<only>{_YEAR})(?![-/.]?\d))"
)
_END = re.sub(r"\(\?P([<=])", r"(?P\1end_", _DATE)  # the same once more, with other names
_MARKS = r"[*_|\s]{0,6}"
_LEAD = re.compile(
    rf"""\b(?:
    (?P<until>(?:effective|valid|in[ ](?:force|effect)|applicable)[ ](?:until|through|to)
        |(?:expiry|expiration)[ ]date
        |(?:en[ ]vigueur|valable|valide|applicable)[ ]jusqu['’]au
        |(?:in[ ]vigore|valido|valida|applicabile)[ ]fino[ ]al(?:l['’])?)
  | (?P<foreign>(?:entre|entrée?|entrera)?[ ]?en[ ]vigueur[ ]
            (?:depuis|à[ ](?:compter|partir)[ ]du|dès|le|du|au)(?:[ ]le)?
        |date[ ]d['’](?:entrée[ ]en[ ]vigueur|effet)
        |(?:entra(?:ta|to)?[ ])?in[ ]vigore[ ](?:dal|dall['’]|da|il|a[ ](?:decorrere|partire)[ ]dal)
            (?:l['’])?
        |data[ ]di[ ](?:entrata[ ]in[ ]vigore|efficacia|decorrenza)|con[ ]effetto[ ]dal(?:l['’])?)
  | (?P<english>(?:effective|(?:in|into)[ ](?:force|effect|operation)|takes?[ ]effect|valid
            |applicable)(?:[ ]date)?(?:[ ](?:as[ ]of|as[ ]from|from|on|beginning|since|starting))?)
    ){_MARKS}:?{_MARKS}{_DATE}
    (?:,?[ ](?:and[ ])?(?:until|through|to|jusqu['’]au|au|fino[ ]al|al)[ ](?P<end>{_END}))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
# "Coverage was effective 1 May 1966" and "effective 1 May, the Board may" speak of other things.
_TOLD = re.compile(r"\b(?:was|were|been|became|become)[ ]+$", re.IGNORECASE)
_GOES_ON = re.compile(rf",[ ]+[a-zà-ÿ]|[ ]+{_DATE}", re.IGNORECASE)


def stated_dates(text: str, pages: Pages) -> dict[str, str]:
    """Return "effective" and "until", as ISO dates, where the beginning of a document says them.

    >>> stated_dates("Rules. Effective January 1, 2024 until 31 December 2025.", Pages())
    {'effective': '2024-01-01', 'until': '2025-12-31'}
    >>> stated_dates("Règlement en vigueur depuis le 1er juillet 2023", Pages())
    {'effective': '2023-07-01'}
    """
    first_page = pages.starts[1] if len(pages.starts) > 1 else 0
    end = max(FIRST_CHARS, min(first_page, FIRST_PAGE_CHARS))
    found: dict[str, str] = {}
    line = re.sub(r"\s", " ", text[: end + 100])
    for match in _LEAD.finditer(line, 0, end):
        is_told = _TOLD.search(line, max(0, match.start() - 20), match.start())
        if is_told or _GOES_ON.match(line, match.end()):
            continue
        name = "until" if match["until"] else "effective"
        if value := _iso(match, "", is_english=bool(match["english"] or match["until"])):
            found.setdefault(name, value)
        if match["end"] and (value := _iso(match, "end_", is_english=bool(match["english"]))):
            found.setdefault("until", value)
    return found


def named_dates(values: Mapping[str, str]) -> dict[str, str]:
    """Return "effective" and "until" from fields that a file has for them, such as front matter.

    >>> named_dates({"Effective-Date": "1 May 2024", "date": "2023"})
    {'effective': '2024-05-01'}
    >>> named_dates({"edition": "2025"})
    {'effective': '2025'}
    """
    plain = (re.sub(r"[\s_-]+", " ", name.strip().casefold()) for name in values)
    known = dict(zip(plain, values.values(), strict=True))
    found: dict[str, str] = {}
    for field, names in _FIELDS.items():
        dates = (as_iso(known[name]) for name in names if name in known)
        if value := next((each for each in dates if each), ""):
            found[field] = value
    return found


_FIELDS = {
    "effective": (
        "effective", "effective date", "effective from", "in force", "in force from",
        "date d'entrée en vigueur", "entrée en vigueur", "data di entrata in vigore",
        "entrata in vigore", "date", "edition",
    ),
    "until": (
        "until", "effective until", "valid until", "in force until", "expires", "expiry date",
    ),
}  # fmt: skip


def as_iso(words: str) -> str:
    """Return a date in words as an ISO date, "" if it is none.

    >>> as_iso("1 luglio 2023"), as_iso("2024"), as_iso("03/04/2024")
    ('2023-07-01', '2024', '')
    """
    match = _WHOLE.fullmatch(words.strip().strip("\"'")[:40])
    return _iso(match, "", is_english=True) if match else ""


def dates_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield where dates stand in a text, and each as an ISO date; a month may lack its day.

    >>> list(dates_in("as of the 1st day of June, 2004, or in May 2005"))
    [(10, '2004-06-01'), (39, '2005-05')]
    """
    for match in _ANY.finditer(text):
        value = "" if match["only"] else _iso(match, "", is_english=True)
        if value:
            yield match.start(), value[:7] if match["first"] and not match["first_day"] else value


_ANY = re.compile(rf"(?<![\w.]){_DATE}", re.IGNORECASE)
_WHOLE = re.compile(rf"{_DATE}(?:T[\d:.Z+-]*)?", re.IGNORECASE)


def _iso(match: re.Match[str], prefix: str, *, is_english: bool) -> str:
    """Return the date of a match; a bare year stays one, and an impossible day is none."""
    part = {name: match[f"{prefix}{name}"] for name in _PARTS}
    if part["only"]:
        return part["only"]
    if part["iso"]:
        year, month, day = [*part["iso"].split("-"), "1"][:3]
    elif part["first"]:
        year, month, day = part["first_year"], part["first"], part["first_day"] or "1"
    elif part["month"]:
        year, month, day = part["year"], part["month"], part["day"]
    else:
        day, month, year = part["left"], part["middle"], part["right"]
        if is_english and int(month) > 12:
            day, month = month, day
        elif is_english and part["sign"] == "/" and int(day) <= 12 and day != month:
            return ""  # 03/04 is March in one country and April in another
    number = _MONTH_NUMBER.get(month.lower()) or int(month)
    try:
        return date(int(year), number, int(day)).isoformat()
    except ValueError:
        return ""


_PARTS = (
    "iso", "first", "first_day", "first_year", "day", "month", "year", "left", "sign", "middle",
    "right", "only",
)  # fmt: skip
