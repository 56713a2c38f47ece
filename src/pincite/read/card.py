"""The card of a document: what it is, whose, and of which time, in its own words.

A card is kept in ``Document.meta``, each value as text; what a document does not say is not there.

    kind         "10-K", "8-K", "earnings release", "contract", "code", "manual", "report", ...
    issuer       who filed or published it              parties  of a contract, between semicolons
    names        other names of issuer and parties      ticker   of its shares
    period       "fiscal year ended August 29, 2021"    period_end, fiscal_year, quarter
    date         of the document, as an ISO date        edition  "2021 Edition", "Version 5.2"
    years        the years that it mentions most, each with its share in percent: "2021:48 2020:31"
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from pincite.model.dates import dates_in
from pincite.model.locators import plain_words
from pincite.model.types import CARD_KEYS, CORRECTED, ParsedDocument
from pincite.read.extracted import ExtractedText
from pincite.read.parties import contract_name, is_short_of, most_named, parties_of, properly

TITLE_CHARS = 200
_FIRST_CHARS = 12_000  # what a cover and a preamble take
_SAMPLE_CHARS = 400_000  # to count years and names in
_FIRST_LINES = 60
_FEW_YEARS = 5  # fewer mentions tell nothing of what a document is about
# Never a title: what stands on covers of filings, exhibits and exports instead of one.
_JUNK = re.compile(
    r"""(?:\W*|[\d\W]+|\d{10}-\d\d-\d{6}
    |united\ states(?:\ of\ america)?|(?:united\ states\ )?securities\ and\ exchange\ commission
    |washington,?\ d\.?c\.?.*|form\ [\w-]+(?:/a)?|\(?mark\ one\)?|commission\ file.*
    |current\ report|pursuant\ to\ .*|(?:annual|quarterly|transition)\ report\ pursuant.*
    |.*\b(?:exhibit|ex[.-])\s*[\d.]+.*|.*\bomitted\b.*|.*\*{3}.*|appendix\ [\w.]+
    |(?:final\ )?execution\ (?:version|copy)|.*\bconfidential(?:\ treatment.*)?|draft.*|copy
    |english\ translation|recitals|between|by\ and\ between|and|parties|preface|foreword
    |(?:table\ of\ )?contents|index|page.*\d|slide\ \d+|layout\ \d+|cover(?:\ page)?|title
    |quicklinks\b.*|untitled.*|document\d*|microsoft\ \w+\ -.*|powerpoint\ presentation
    |[\w-]+\.(?:docx?|pdf|html?|xlsx?|indd)|source:.*)""",
    re.IGNORECASE | re.VERBOSE,
)


def is_junk(title: str) -> bool:
    """Return whether words say nothing about a document that a reader could cite.

    >>> is_junk("0001193125-19-184675"), is_junk("EXHIBIT 10.13"), is_junk("Harbour Code")
    (True, True, False)
    """
    words = " ".join(title.split())
    return sum(map(str.isalpha, words)) < 3 or bool(_JUNK.fullmatch(words[:300]))


@dataclass(frozen=True, slots=True)
class _FirstPages:
    """The first pages: as lines without markup, and the same in one line."""

    text: str  # the whole document's
    lines: Sequence[str]
    headings: Sequence[str]  # the highest first
    flat: str
    title: str  # the reader's
    ending: str  # of the file


@dataclass(slots=True)
class _DocumentCard:
    title: str = ""
    values: dict[str, str] = field(default_factory=dict)


def card_of(extracted: ExtractedText, name: str) -> tuple[str, dict[str, str]]:
    """Return the title worth citing and the card of a document; its name tells only the format."""
    cover = _cover(extracted, name)
    card = _filing(cover) or _release(cover) or _contract(cover) or _other(cover)
    if not card.title or is_junk(card.title):
        card.title = _own_title(cover)
    values = {**card.values, "edition": _edition(card.title, cover), "years": _years(cover.text)}
    known = {key: value for key in CARD_KEYS if (value := values.get(key, "").strip())}
    title = card.title[:TITLE_CHARS].rstrip(" ,;")
    return title, known


def card_fields(fields: Mapping[str, str]) -> dict[str, str]:
    """Return what front matter says of a card, under the card's names.

    >>> card_fields({"Type": "policy", "author": "Harbour Board", "colour": "red"})
    {'kind': 'policy', 'issuer': 'Harbour Board'}
    """
    also = {"type": "kind", "author": "issuer", "publisher": "issuer", "version": "edition"}
    plain = {name.strip().lower().replace(" ", "_"): value for name, value in fields.items()}
    named = {also.get(name, name): value.strip(" \t\"'") for name, value in plain.items()}
    return {key: value for key in ("title", *CARD_KEYS) if (value := named.get(key, ""))}


def corrected(parsed: ParsedDocument, changes: Mapping[str, str]) -> ParsedDocument:
    """Return the document with a user's words on its card, which are kept with it.

    Places that have the document's title for a name get the new one; their ids stay.
    """
    document = parsed.document
    title = changes.get("title", document.title)
    own = {key: value for key, value in changes.items() if key != "title"}
    meta = {**document.meta, **own, CORRECTED: json.dumps(changes)}
    roots = {chunk.id for chunk in parsed.chunks if chunk.kind == "document"}
    chunks = [
        replace(chunk, locator=title, title=title if chunk.title == document.title else chunk.title)
        if (chunk.id in roots or (chunk.parent in roots and chunk.kind in ("piece", "text")))
        and chunk.locator == document.title
        else chunk
        for chunk in parsed.chunks
    ]
    return replace(parsed, document=replace(document, title=title, meta=meta), chunks=chunks)


_EXHIBIT = re.compile(r"^(?:exhibit|ex\.?) ?\d[\w.()-]*\s*", re.IGNORECASE)


def _cover(extracted: ExtractedText, name: str) -> _FirstPages:
    start = extracted.blocks[0].start if extracted.blocks else 0
    lines, found = list[str](), list[tuple[int, int, str]]()
    for raw in extracted.text[start : start + _FIRST_CHARS].splitlines():
        words = plain_words(raw.replace("|", " ").strip(" \t#>`_~="))
        line = _EXHIBIT.sub("", " ".join(words.split()))
        if line and not set(line) <= set("-: "):
            lines.append(line)
            if raw.startswith("#") and len(found) < 12:
                found.append((raw.index(" ") if " " in raw else 9, len(found), line))
    headings = [line for _, _, line in sorted(found)]
    ending = name.lower().removesuffix(".gz").rpartition(".")[2]
    return _FirstPages(extracted.text, lines, headings, " ".join(lines), extracted.title, ending)


_FORM = re.compile(
    r"form (?P<form>10-?[kq](?:sb|t)?|8-?k|20-?f|40-?f|6-?k|11-?k|s-\d|f-\d|n-csr)(?P<a> ?/ ?a)?\b",
    re.IGNORECASE,
)
_REGISTRANT = re.compile(
    r"(?:\(\s{0,9})?exact name of (?:the )?(?:registrant|issuer|company)", re.IGNORECASE
)
_OF_FORM = re.compile(
    r"\breport pursuant to\b|\bperiod from\b|\byear ended\b|^\W*or\W*$", re.IGNORECASE
)
_FILE_NUMBER = re.compile(r"^.*commission file (?:number|no)\.?:? [\d-]+\.?", re.IGNORECASE)
_PERIOD = re.compile(
    r"\b(?P<words>(?:fiscal |calendar )?(?:year|quarter|(?:quarterly|transition|annual) period)"
    r" end(?:ed|ing))[: ]{0,3}",
    re.IGNORECASE,
)
_REPORT_DATE = re.compile(r"date of (?:the )?report[^:]{0,60}:|date of report", re.IGNORECASE)
_TICKER = re.compile(
    r"\((?:NYSE(?: American)?|NASDAQ|Nasdaq|LSE|ASX|TSX|AMEX)(?: \w+)?\s*:\s*([A-Z][A-Z.]{0,5})\b"
    r"|(?i:(?:common|ordinary|capital) (?:stock|shares))[^;()\n]{0,90}?"
    r"\b([A-Z]{1,5}) (?:The )?(?:New York Stock|NYSE|NASDAQ|Nasdaq)"
)


def _filing(cover: _FirstPages) -> _DocumentCard | None:
    """Return the card of a filing with a securities regulator, None if it is none."""
    form = next((m for line in cover.lines[:40] if (m := _FORM.match(line))), None)
    if form is None or "securities and exchange commission" not in cover.flat[:3000].lower():
        return None
    kind = re.sub(r"^(\d+)-?", r"\1-", form["form"].upper()) + ("/A" if form["a"] else "")
    values = {"kind": kind, "issuer": _registrant(cover)}
    if kind.startswith(("8-K", "6-K")):
        values["date"], stated = _report_date(cover)
        words = f" of {stated}" if stated else ""
    else:
        values |= _period(cover, kind)
        words = f" for the {values['period']}" if "period" in values else ""
    if kind.startswith("10-Q"):
        values["quarter"] = _quarter(cover.text)
    values |= _known_as(cover, values["issuer"])
    return _DocumentCard(f"{values['issuer']}, Form {kind}{words}".removeprefix(", "), values)


def _report_date(cover: _FirstPages) -> tuple[str, str]:
    """Return the date of a report of an event, as an ISO date and as the report states it."""
    for stated in _REPORT_DATE.finditer(cover.flat[:4000]):
        after = cover.flat[stated.start() : stated.start() + 200]
        for at, value in dates_in(after):
            return value, _stated(after[at:]) or value
    return "", ""


def _stated(text: str) -> str:
    """Return the date that a text begins with as it stands there, without capitals for show."""
    found = re.match(r".{4,28}?(?:19|20)\d\d", text)
    return properly(found.group(), "") if found else ""


def _registrant(cover: _FirstPages) -> str:
    """Return the name above or before "(Exact name of registrant as specified in its charter)".

    Where a picture has it, the company that the document names most.
    """
    for at, line in enumerate(cover.lines):
        if found := _REGISTRANT.search(line):
            above = (cover.lines[n] for n in range(at - 1, max(-1, at - 4), -1))
            for each in (line[: found.start()], *above):
                name = _FILE_NUMBER.sub("", each)
                is_form = name.startswith("(") or _OF_FORM.search(name)
                if sum(map(str.isalpha, name)) > 1 and not is_form:
                    return properly(name.strip(" ,_"), cover.text[:_SAMPLE_CHARS])
    return most_named(cover.text[:_SAMPLE_CHARS])


def _period(cover: _FirstPages, kind: str) -> dict[str, str]:
    """Return the period that a cover names, and the fiscal year that it is in."""
    for found in _PERIOD.finditer(cover.flat[:4000]):
        at, end = next(dates_in(cover.flat[found.end() : found.end() + 60]), (99, ""))
        if at < 40 and len(end) == 10:
            words = f"{found['words'].lower()} {_stated(cover.flat[found.end() + at :]) or end}"
            year = _fiscal_year(cover.text, end, is_whole=not kind.startswith("10-Q"))
            return {"period": words, "period_end": end, "fiscal_year": year}
    return {}


_FISCAL = re.compile(
    r"\b(?:fiscal|FY)[ -]?(?:year[ -]?)?(?:ended [A-Z][a-z]+ \d+, )?['’]?((?:20|19)?\d\d)\b"
)


def _fiscal_year(text: str, end: str, *, is_whole: bool) -> str:
    """Return what the document itself calls the year that holds a day: 2022 may end in 2023."""
    year = int(end[:4])
    told = Counter(int(each) % 100 for each in _FISCAL.findall(text[:_SAMPLE_CHARS]))
    near = [year, *([] if is_whole else [year + 1])]
    near += [year - 1] if end[5:7] in ("01", "02") else []
    best = max(near, key=lambda each: told[each % 100])
    return str(best if told[best % 100] >= 5 else year)


_LENGTH = re.compile(
    r"\b(?P<count>three|six|nine|twelve|thirteen|twenty-?four|twenty-?six|thirty-?six|thirty-?nine"
    r"|1?[2369]|24|26|36|39)[ -](?P<unit>month|week)s?(?: period)?s? ended",
    re.IGNORECASE,
)
_SO_FAR = {
    ("month", "six"): 2, ("month", "6"): 2, ("month", "nine"): 3, ("month", "9"): 3,
    ("week", "twentyfour"): 2, ("week", "24"): 2, ("week", "twentysix"): 2, ("week", "26"): 2,
    ("week", "thirtysix"): 3, ("week", "36"): 3, ("week", "thirtynine"): 3, ("week", "39"): 3,
}  # fmt: skip


def _quarter(text: str) -> str:
    """Return the quarter of a quarterly report: as long as the year so far that it tells of."""
    told = Counter(
        _SO_FAR.get((found["unit"].lower(), found["count"].lower().replace("-", "")), 1)
        for found in _LENGTH.finditer(text[:_SAMPLE_CHARS])
    )
    return str(next((n for n in (3, 2) if told[n] > 1 and told[n] >= 0.15 * told[1]), 1))


_SHORT = re.compile(r"[“\"”]([^“”\"]{2,40}?),?[”\"“]")


def _known_as(cover: _FirstPages, issuer: str) -> dict[str, str]:
    """Return the ticker and the short names that a document introduces for its issuer."""
    values, found = {}, list[str]()
    if ticker := _TICKER.search(cover.flat):
        values["ticker"] = ticker[1] or ticker[2]
    if issuer:
        introduced = re.compile(re.escape(issuer) + r"[^()]{0,60}\(([^()]{3,120})\)", re.IGNORECASE)
        for match in introduced.finditer(cover.text[:_SAMPLE_CHARS]):
            found += _SHORT.findall(match[1])
    names = [name for name in dict.fromkeys(found) if is_short_of(name, issuer.casefold())]
    return {**values, "names": "; ".join(names[:4])}


_RESULTS = re.compile(
    r"(?P<who>.{2,60}?) (?:reports?|announces?|delivers?|posts?|releases?)"
    r" .{0,100}?\b(?:results|earnings)\b",
    re.IGNORECASE,
)
_OF_TIME = re.compile(
    r"\b(?:(?P<nth>first|second|third|fourth|[1-4](?:st|nd|rd|th))[ -]quarter"
    r"|Q(?P<q>[1-4])|(?P<n>[1-4])Q)|\b(?:full[- ]year|fiscal|quarter|half|annual)\b",
    re.IGNORECASE,
)
_ORDINALS = {"first": "1", "second": "2", "third": "3", "fourth": "4"}


def _release(cover: _FirstPages) -> _DocumentCard | None:
    """Return the card of a company's announcement of its results, None if it is none."""
    for line, below in pairwise([*cover.lines[:12], ""]):
        told = _RESULTS.match(line) or _RESULTS.match(f"{line} {below}"[:200])
        when = _OF_TIME.search(told.group()) if told else None
        if told is None or when is None or len(line) > 200:
            continue
        quarter = when["q"] or when["n"] or _ORDINALS.get((when["nth"] or "").lower(), "")
        quarter = quarter or (when["nth"] or "")[:1]
        date = next((value for _, value in dates_in(cover.flat[:4000]) if len(value) == 10), "")
        year = re.search(r"\b(?:19|20)\d\d\b", told.group())
        values = {"kind": "earnings release", "issuer": told["who"].strip(), "date": date}
        values |= {"fiscal_year": year.group() if year else "", "quarter": quarter}
        values["period"] = f"{f'Q{quarter}' if quarter else 'fiscal'} {values['fiscal_year']}"
        title = line if told.end() <= len(line) else f"{line} {below}"
        return _DocumentCard(title, {**values, **_known_as(cover, values["issuer"])})
    return None


_BOND = re.compile(
    r"\b(?:part(?:y|ies)|whereas|hereby|hereinafter|undersigned|witnesseth|between)\b", re.I
)
_DATED = re.compile(
    r"\b(?:as of|dated|made|entered into|effective|this|on|date)[\s,:]*(?:the\s*)?$", re.I
)


def _contract(cover: _FirstPages) -> _DocumentCard | None:
    """Return the card of a contract, None if it is none."""
    name = contract_name(cover.lines[:_FIRST_LINES], cover.flat, is_junk)
    bonds = len(_BOND.findall(cover.flat))
    if bonds < 3:
        return None
    parties, names = parties_of(cover.flat)
    if not name and bonds > 9 and len(parties) > 1 and cover.flat.lower().count("agreement") > 9:
        name = "Agreement"
    if not name:
        return None
    proper = [properly(each, cover.text[:_SAMPLE_CHARS]) for each in parties]
    found = [each for each in dates_in(cover.flat) if len(each[1]) == 10]
    led = (value for at, value in found if _DATED.search(cover.flat[max(0, at - 30) : at]))
    date = next(led, found[0][1] if found and found[0][0] < 3000 else "")
    title = properly(name, cover.text[:_SAMPLE_CHARS])
    is_told = any(each.split()[0].casefold() in title.casefold().split() for each in proper)
    if len(proper) > 1 and not is_told:
        others = [*proper[1:3], *(["others"] if len(proper) > 3 else [])]
        title = f"{title} between {', '.join([proper[0], *others[:-1]])} and {others[-1]}"
    values = {"kind": "contract", "parties": "; ".join(proper), "names": "; ".join(names)}
    return _DocumentCard(title, {**values, "date": date})


# What a title calls the document; of several words the last before "of", "for" or a colon counts.
_KINDS = {
    "minutes": r"minutes|procès-verbal|verbale",
    "manual": r"manual|handbook|guide|manuel|manuale",
    "policy": r"polic(?:y|ies)|code of (?:conduct|ethics)",
    "report": r"report|rapport|rapporto|study|survey",
    "standard": r"standards?|specifications?|iso|iec|rfc|norme|norma",
    "act": r"act|loi|legge|statute|bill",
    "regulation": r"regulations?|règlement|regolamento|directive|ordinance|cfr|part \d+",
    "code": r"code|codice",
    "bylaws": r"by-?laws",
    "rulebook": r"rulebook|rules|reference document",
    "form": r"form|application",
    "letter": r"letter|memorandum|memo",
    "slides": r"presentation|slides",
    "paper": r"paper|proceedings|thesis",
}
_KIND = re.compile(
    r"\b(?:" + "|".join(f"(?P<k{n}>{words})" for n, words in enumerate(_KINDS.values())) + r")\b",
    re.I,
)
_HEAD = re.compile(r" (?:of|for|on|to|in|with|by|du|de|di) |[:(—–]| - ")
_ENDINGS = {"xlsx": "workbook", "ods": "workbook", "csv": "workbook", "tsv": "workbook"}
_ENDINGS |= {"pptx": "slides", "odp": "slides"}


def _other(cover: _FirstPages) -> _DocumentCard:
    """Return the card of whatever is neither filing, announcement nor contract."""
    title = _own_title(cover)
    first = [line.lower() for line in cover.lines[:_FIRST_LINES]]
    kind = _ENDINGS.get(cover.ending, "") or _kind_in(title)
    if not kind and any(line.startswith("abstract") for line in first):
        kind = "paper"
    if not kind and any(line.startswith("dear ") for line in first[:30]):
        kind = "letter"
    short = " \n ".join(line for line in cover.lines[:30] if len(line) < 80)
    date = next((value for _, value in dates_in(short)), "")
    return _DocumentCard(title, {"kind": kind, "date": date})


def _kind_in(title: str) -> str:
    head = _HEAD.split(title)[0]
    found = [*_KIND.finditer(head)][-1:] or [*_KIND.finditer(title)][:1]
    return list(_KINDS)[int((found[0].lastgroup or "k0")[1:])] if found else ""


def _own_title(cover: _FirstPages) -> str:
    """Return the reader's title, unless it is junk or, of a PDF, not to be read on its pages."""
    words = re.findall(r"\w{3,}", cover.title.casefold())
    begin = cover.flat[:6000].casefold()
    is_read = cover.ending != "pdf" or 2 * sum(word in begin for word in words) >= len(words)
    if words and is_read and not is_junk(cover.title):
        return cover.title
    return next(_titles(cover), cover.title)


def _titles(cover: _FirstPages) -> Iterator[str]:
    """Yield what may be the title: headings, the highest first, the reader's, then first lines."""
    yield from (line for line in cover.headings if not is_junk(line) and len(line) < TITLE_CHARS)
    if cover.title and not is_junk(cover.title) and " " in cover.title:
        yield cover.title
    for line in cover.lines[:20]:
        if not is_junk(line) and len(line) < 120 and not line.endswith((".", ",", ";")):
            yield line


_EDITION = re.compile(
    r"\b(?:(?:19|20)\d\d|\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|revised) edition\b"
    r"|\b(?:version|release|revision|rev\.|édition|edizione) \d+(?:\.\d+)*\b",
    re.IGNORECASE,
)


def _edition(title: str, cover: _FirstPages) -> str:
    short = (line for line in cover.lines[:20] if len(line) < 80)
    found = next(filter(None, map(_EDITION.search, (title, *short))), None)
    return found.group() if found else ""


def _years(text: str) -> str:
    """Return the years that a text mentions most, each with its share in percent."""
    counts = Counter(re.findall(r"(?<![\d.,$-])(?:19|20)\d\d(?![\d,-]|\.\d)", text[:_SAMPLE_CHARS]))
    total = counts.total()
    if total < _FEW_YEARS:
        return ""
    shares = ((year, round(100 * count / total)) for year, count in counts.most_common(6))
    return " ".join(f"{year}:{share}" for year, share in shares if share >= 3)
