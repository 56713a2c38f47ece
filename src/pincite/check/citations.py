"""Citations in the forms in which people write them, with their parts.

The places themselves are found by the grammar of places (``model/locators.py``); this adds what
stands around them in a text: the work before or behind, the parts of German, French, Italian and
Spanish citations, short forms of the common law, pages, years, ``ibid.`` and numbered notes.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pincite.model.locators import locator_key, mention_spans
from pincite.model.patterns import lazy_pattern

CitationKind = Literal["place", "page", "work", "back", "note"]

_NUMBER = r"\d{1,5}[A-Za-z]{0,2}(?:[.–-]\d{1,4}[A-Za-z]?){0,6}"
_ITEMS = r"(?:\s?\([0-9A-Za-z]{1,5}\)){0,8}"
# Short forms that are words of their own elsewhere, and numbers that only a work explains.
_SHORT = lazy_pattern(
    rf"""
    (?<![\w.’'])(?:
      (?P<section>(?:ss?|cls?|rr?|rn|rz|sub-?s|subsections?|paras?)\.?)\s(?P<section_number>{_NUMBER}{_ITEMS})
    | (?P<schedule>[Ss]ch)\.?\s(?P<schedule_number>\d{{1,3}}[A-Z]?)
    | (?:[Aa]rt(?:icle|icolo|\.)|C\.)\s?(?P<coded>[LRDA]\.?\s?\*?\d{{1,4}}(?:-\d{{1,4}}){{0,4}})
    | (?:(?<=USC\s)|(?<=U\.S\.C\.\s)|(?<=CFR\s)|(?<=C\.F\.R\.\s))(?P<law>{_NUMBER}{_ITEMS})
    | (?P<topic>\d{{3}}-\d{{2}}-\d{{2}}-\d{{1,3}}[A-Z]?)
    | (?P<control>[A-Z]\.\d{{1,2}}(?:\.\d{{1,3}}){{1,4}})
    | (?:(?<=800-53\s)|(?<=800-53,\s))(?P<safeguard>[A-Z]{{2}}-\d{{1,2}}(?:\(\d{{1,2}}\))?)
    | (?P<alone>(?<=[a-z]\s)\d{{1,3}}(?:\.\d{{1,3}}){{0,4}})(?=,?\s(?:pp?\.|at\s)\s?\d)
    )(?![\w]|[.,]\d)
    """,
    re.VERBOSE,
)
# "Abs. 1 Satz 2", ", comma 2, lett. b)", "para. 3": below the place before.
_INNER = lazy_pattern(
    r"(?:,|\s-)?\s{0,2}(?:Abs(?:atz|\.|(?=\s\d))|Satz|S\.(?=\s?\d\b(?!\d))|Nr\.|Nummer|Ziff(?:er|\.)|lit\."
    r"|Buchst(?:abe|\.)|Unterabs\.|comma|commi|co\.|lett(?:era|\.)|let\.|al(?:inéa|\.)"
    r"|sub-?para(?:graph|s?\.?)|para(?:graphe?|\.)?|par\.|point|pt\.|punto|n\.|no\.(?=\s?\d)"
    r"|subsection|sub-?s\.|cl\.|clause|item|sentence|apartado|apdo\.|párrafo|inciso|letra|ap\.)"
    r"\s?(?:\((?P<label>[0-9A-Za-z]{1,5})\)|(?P<bare>\d{1,3}|[a-z]{1,2}(?:bis|ter)?|[ivx]{1,5})\)?)"
    r"(?![\w])",
    re.IGNORECASE,
)
# "10.19(1.1)(a)", "899-aa".
_BEHIND_NUMBER = lazy_pattern(
    r"(?<=[\d)])(?:\(\d{1,3}\.\d{1,2}\)|(?<=\d)-[a-z]{1,2}(?![\w-]))(?:\([0-9A-Za-z]{1,5}\)){0,6}"
)
_TREASURY = lazy_pattern(r"-\d{1,3}[A-Z]?(?![\w.])(?:\([0-9A-Za-z]{1,5}\)){0,6}")
_PAGE = lazy_pattern(
    r",?\s{0,2}(?:at\s{1,2})?\(?(?:pp?\.|pages?|Seiten?|pagg?\.|págs?\.)\s?(?P<page>[0-9ivxlc]{1,6})"
    r"(?:\s?[–-]\s?[0-9ivxlc]{1,6})?\)?",
    re.IGNORECASE,
)
_PAGE_ALONE = lazy_pattern(
    r"(?<![\w.])(?:pp?\.|pages?)\s?(?P<page>\d{1,5})(?:\s?[–-]\s?\d{1,5})?(?!\w)", re.IGNORECASE
)
_YEAR_BEHIND = lazy_pattern(
    r"\s?\((?:ed\.\s|rev\.\s)?(?P<year>(?:19|20)\d\d)(?:\sed(?:\.|ition))?\)"
)
_YEAR = lazy_pattern(r"(?<![\d/.-])(?:19|20)\d\d(?![\d/])")
_BACK = lazy_pattern(
    r"(?<![\w.])(?P<word>[Ii]bid(?:em)?\.?|[Ii]d\.|[Ee]bd\.|[Ee]benda|[Ll]oc\. cit\.|[Oo]p\. cit\.)"
    r"(?:,?\s(?:at\s)?(?=[§\d(pPA-Z]))?"
)
_ITEMS_ALONE = lazy_pattern(r"(?:\([0-9A-Za-z]{1,5}\)){1,8}(?![\w(])")
_NOTE = lazy_pattern(
    r"(?<!\])\[\^?(?P<notes>\w{1,4}(?:[,;–-]\s?\d{1,3}){0,8})\](?![:(])|(?P<raised>[¹²³⁴-⁹⁰]{1,3})"
)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_ENTRY = lazy_pattern(
    r"^[ \t>]{0,4}(?:\[\^?(?P<marked>\w{1,4})\]:?|(?P<listed>\d{1,3})[.)])[ \t]+"
    r"(?P<words>\S[^\n]{2,})",
    re.MULTILINE,
)
_LIST_HEADING = lazy_pattern(
    r"^[ \t#*_]{0,8}(?:sources?|references|works cited|bibliography|(?:end|foot)?notes|quellen"
    r"|fonti|literatur|fuentes|références)\b[*_:]{0,4}[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


# --- Works -------------------------------------------------------------------------------------

_NAME_WORD = (
    r"(?:\d{1,3}(?=\s(?:U\.?\s?S\.?\s?C|C\.?\s?F\.?\s?R|Fed\.|Stat\.))|[A-ZÀ-Þ][\w.&’'/:-]*"
    r"|[a-z]{1,2}\.[a-z.]{1,5}|\((?:EU|EC|EEC|UE|CE|EWG|UK)\)|(?<=\S\s)n[°º.]?|(?<=\S\s)\d[\w/:.-]*)"
)
_LINKS = (
    "of|the|and|for|on|to|in|at|with|by|from|de|la|le|du|des|del|della|delle|dei|di|der|die|und|et"
)
_LINK = rf"(?:(?:{_LINKS})\s){{0,3}}"
_BEFORE = lazy_pattern(
    rf"(?:^|(?<=[\s(“\"'—–\[*_]))(?P<work>{_NAME_WORD}(?:\s{_LINK}{_NAME_WORD}){{0,9}}),?"
    r"[*_]{0,2}\s{1,2}(?:at\s|in\s(?:its\s)?)?$"
)
# A volume of reported cases, before the page: "531 U.S.".
_VOLUME = lazy_pattern(
    r"(?<![\w.§])\d{1,4}\s(?:U\.\s?S\.|S\.\s?Ct\.|L\.\s?Ed\.|F\.|F\.\s?Supp\.|Fed\.\s?Appx\.|[A-Z]\.(?:[A-Z]\.)?)"
    r"(?:\s?(?:2d|3d|4th))?\s$"
)
_DATED_PAGE = lazy_pattern(r"(\d{1,5})\((?:1[6-9]|20)\d\d\)")
_BEHIND = lazy_pattern(
    rf"(?:,?\s(?:of|to|in|under|de|du|des|del|dello|della|della|dell['’]|der|di)\s?"
    rf"(?:the\s|la\s|l['’]|le\s|that\s|its\s)?|,?\s|,\s(?:The\s)?)"
    rf"(?P<work>{_NAME_WORD}(?:\s{_LINK}(?:{_NAME_WORD}|civil[e]?|pénal|penale|commerce|travail"
    r"|consommation|procedura|for\s(?:fiscal\s)?(?:19|20)\d\d)){0,10})"
)
# Words that open a sentence or lead to a citation, and are no names.
_CUES = _words(
    "see under in per by as pursuant cf accord but and or both according the this that these those "
    "if when where since because thus hence also for of on at from with without compare contra "
    "section sections article articles art table tables figure chapter clause paragraph part rule "
    "it its their our his her an a no not each all any such while however although unless before "
    "after until nach gemäß laut siehe vgl secondo ai sensi selon voir según item is are was were "
    "finally moreover first second third then yes"
)
# A single one of these means the work that is spoken of.
_GENERIC = _words(
    "act code agreement contract rules regulations regulation policy law statute standard order "
    "treaty convention directive manual handbook guide document report lease license legge codice "
    "loi gesetz vertrag section sections part chapter title subpart schedule annex appendix "
    "exception table commission company"
)
_IS_WORK = lazy_pattern(
    r"\b(?:Act|Code|Regulations?|Directive|Policy|Standard|Law|Rules?|Agreement|Convention|Treaty"
    r"|Statutes?|Manual|Handbook|Guide|Report|Order|Ordinance|Constitution|Charter|Protocol|Form"
    r"|Codice|Legge|Decreto|Loi|Décret|Règlement|Gesetz|Verordnung|Ley|Código|Reglamento|Pub\. ?L"
    r"|Const|Richtlinie|Direttiva|Directiva|Circular|Bulletin|Notice|Stat|Laws|Specification|Edition)\b"
    r"|\bSP \d"
    r"|\d\s(?:U\.?\s?S\.?\s?C|C\.?\s?F\.?\s?R)|\bR\. (?:Civ|Crim|App|Evid|Bankr)|^\d\d?-[KQ]\b"
    r"|^[A-Z]{2}[A-Za-z/]*(?:[ /-][A-Z]*\d[\w/:.-]{0,60})?(?:\s\d\d\d\d)?$"
    r"|^[A-Z][a-z]{0,3}[A-Z]{1,4}[a-z]?$"
    r"|^[a-z]{1,2}\.[a-z.]{1,6}$|^D\.\s?[Ll]gs|^D\.P\.R"
)


@dataclass(frozen=True, slots=True)
class WrittenCitation:
    """One place that a text cites, as written and as the index would know it."""

    start: int
    end: int
    kind: CitationKind = "place"
    key: str = ""  # of the place, as ``locator_key`` writes it
    last: str = ""  # of a range, the key of its end
    within: str = ""  # the key of a place that holds it: "Annex I, 1.2.3"
    work: str = ""  # as written; "" if no work is named, or only "the Code"
    page: str = ""
    years: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()  # of "[3]", "[^a]"
    is_bare: bool = False  # a number alone, which may be none of a place


def written_citations(text: str, before: WrittenCitation | None = None) -> list[WrittenCitation]:
    """Return what a paragraph cites, in its order; "ibid." may mean the citation before it.

    >>> [each] = written_citations("See 47 CFR 97.113(a)(4).")
    >>> each.key, each.work
    ('97.113(a)(4)', '47 CFR')
    >>> [each] = written_citations("Das folgt aus § 433 Abs. 1 Satz 2 BGB.")
    >>> each.key, each.work
    ('433(1)(2)', 'BGB')
    """
    found: list[WrittenCitation] = []
    done = 0
    for place in _joined(_places(text), text):
        if place.start < done:
            continue
        whole = _with_work(text, place, done)
        if whole.start < done:
            whole = replace(whole, start=max(whole.start, done))
        found.append(whole)
        done = whole.end
    starts = [each.start for each in found]
    for other in (*_backs(text), *_notes(text), *_pages(text)):
        if _overlapped(other.start, other.end, starts, found) is None:
            found.append(other)
    return _resolved_backs(sorted(found, key=lambda each: each.start), text, before)


def _places(text: str) -> list[WrittenCitation]:
    """Return the places that are named, without their works."""
    found = [
        WrittenCitation(start, end, key=key)
        for key, start, end in mention_spans(text)
        if not _DATED.fullmatch(key)  # "the Noise Regulations 2005" is a work
    ]
    starts = [each.start for each in found]
    known = tuple(found)
    for match in _SHORT.finditer(text):
        at = _overlapped(*match.span(), starts, known)
        if at is not None:
            found[at] = _widened(found[at], match)
        elif name := _short_name(text, match):
            found.append(WrittenCitation(*match.span(), key=locator_key(name)))
    return sorted(found, key=lambda each: each.start)


def _overlapped(
    start: int, end: int, starts: Sequence[int], found: Sequence[WrittenCitation]
) -> int | None:
    """Return which of the citations a stretch overlaps; they stand in order."""
    for at in range(max(0, bisect_right(starts, start) - 1), bisect_left(starts, end)):
        if found[at].end > start:
            return at
    return None


def _short_name(text: str, match: re.Match[str]) -> str:
    """Return the name of a place by its short form; empty if that is a word: "s 5 is"."""
    if match["schedule_number"]:
        return f"schedule {match['schedule_number']}"
    kinds = ("section_number", "coded", "law", "topic", "control", "safeguard", "alone")
    name: str = next(match[kind] for kind in kinds if match[kind])
    word = match["section"] or "."
    is_doubtful = word in ("s", "r", "ss", "rr", "cl") and "(" not in name
    if is_doubtful and not _LED.match(text, match.end()) and text[match.start() - 2 :][:1] != ",":
        return ""
    return name.replace(" ", "")


def _widened(place: WrittenCitation, match: re.Match[str]) -> WrittenCitation:
    """Return a place with the short word before it: "s. 12(3)"; and a code with its letters."""
    if name := match["coded"] or match["safeguard"]:
        key = locator_key(name.replace(" ", ""))
        return replace(place, start=match.start(), end=match.end(), key=key)
    return replace(place, start=min(place.start, match.start()))


_DATED = lazy_pattern(r"(?:regulation|rule|règle|regel) (?:19|20)\d\d")
_DECIMAL = lazy_pattern(r"\d[\d.]*")
_LED = lazy_pattern(r"\s(?:of|to)\sthe\s")
_BETWEEN = lazy_pattern(r",\s{1,2}(?:and\s)?|\s{1,2}(?:of|to)\s(?:the\s)?|\s")
_CONTAINERS = (
    "annex", "appendix", "chapter", "part", "schedule", "title", "subpart", "exhibit", "division",
    "book", "anhang", "allegato", "annexe", "item", "anlage",
)  # fmt: skip
_ARTICLE = lazy_pattern(r"art(?:icle|\.) ")
_IN_ARTICLE = lazy_pattern(r",\s{1,2}(?:§|[Ss]ec(?:tion|\.))")
_THROUGH = lazy_pattern(r"\s?(?:-|–|—|to|through|thru|bis|à|al?)\s?(?:§\s?)?")


def _joined(places: Sequence[WrittenCitation], text: str) -> Iterator[WrittenCitation]:
    """Yield places with what is below them, ranges as one, containers with their content."""
    held: WrittenCitation | None = None
    for place in places:
        if held is not None and place.start < held.end:
            continue
        place = _deeper(text, place)
        if held is not None:
            gap = text[held.end : place.start]
            is_box = held.key.partition(" ")[0] in _CONTAINERS and " " in held.key
            is_box = is_box or bool(_IN_ARTICLE.match(text, held.end) and _ARTICLE.match(held.key))
            if is_box and _BETWEEN.fullmatch(gap) and not place.within:
                held = replace(place, start=held.start, within=held.key)
                continue
            if _THROUGH.fullmatch(gap) and not held.last:
                held = replace(held, end=place.end, last=place.key)
                continue
            if place.key.partition(" ")[0] in _CONTAINERS and re.fullmatch(
                r"\s(?:of|to|in)\s(?:the\s)?", gap
            ):
                held = replace(held, end=place.end, within=place.key)
                continue
            yield held
        held = place
    if held is not None:
        yield held


def _deeper(text: str, place: WrittenCitation) -> WrittenCitation:
    """Return a place with the parts of it that are named behind it."""
    key, end = place.key, place.end
    if key.endswith(")") and (more := _TREASURY.match(text, end)):
        return replace(place, key=f"{key}{more.group().casefold()}", end=more.end())
    if match := _BEHIND_NUMBER.match(text, end):
        key, end = f"{key}{match.group().casefold()}", match.end()
    while match := _INNER.match(text, end):
        key += f"({(match['label'] or match['bare']).casefold()})"
        end = match.end()
    return replace(place, key=key, end=end)


def _with_work(text: str, place: WrittenCitation, done: int) -> WrittenCitation:
    """Return a citation with its work, page and years."""
    start, end, work = place.start, place.end, ""
    before = text[max(done, start - 140) : start].rpartition("\n\n")[2]
    if (match := _VOLUME.search(before)) and place.key[:1].isdigit():
        dated = _DATED_PAGE.fullmatch(place.key)
        key = dated[1] if dated else place.key
        start -= len(before) - match.start()
        return replace(place, start=start, key=key, work=match.group().strip())
    if match := _BEFORE.search(before):
        name = _named(match["work"])
        if name and _is_work(name):
            work = name
            start = start - (len(before) - match.start("work")) + match["work"].index(name)
    page = ""
    if found := _PAGE.match(text, end):
        page, end = found["page"], found.end()
    if not work and (match := _BEHIND.match(text, end)):
        name = _trimmed(match["work"])
        if name and _is_work(name):
            work, end = name, match.start("work") + len(name)
        elif name and name.casefold() in _GENERIC:
            end = match.start("work") + len(name)
    if not page and (found := _PAGE.match(text, end)):
        page, end = found["page"], found.end()
    years = {int(year) for year in _YEAR.findall(work)}
    is_bare = not work and not place.within and _DECIMAL.fullmatch(text, place.start, place.end)
    if found := _YEAR_BEHIND.match(text, end):
        years.add(int(found["year"]))
        end = found.end()
    return replace(
        place,
        start=start,
        end=end,
        work=work,
        page=page,
        years=tuple(sorted(years)),
        is_bare=bool(is_bare),
    )


def _named(words: str) -> str:
    """Return a name without the words that lead to it."""
    parts = words.split(" ")
    while parts and parts[0].casefold().strip(".,:") in _CUES:
        parts.pop(0)
    return " ".join(parts).strip(" ,")


def _trimmed(words: str) -> str:
    """Return a name without what begins something else: "BGB. The", "GDPR Art."."""
    name = words
    if stop := re.search(r"(?<=[a-z)A-Z]{3})[.:]\s", f"{name} "):
        name = name[: stop.start()]
    parts = name.rstrip(".,:;'’").split(" ")
    while parts and parts[-1].casefold().strip(".,") in _CUES:
        parts.pop()
    kept = " ".join(parts)
    return f"{kept}." if re.search(r"\.[a-z]$", kept) and words.startswith(f"{kept}.") else kept


def _is_work(name: str) -> bool:
    if name.casefold() in _GENERIC or name.casefold().strip(".") in _CUES:
        return False
    return bool(_IS_WORK.search(name)) or bool(_YEAR.search(name) and len(name.split()) > 1)


def _backs(text: str) -> Iterator[WrittenCitation]:
    for match in _BACK.finditer(text):
        page = _PAGE_ALONE.match(text, match.end())
        end = page.end() if page else match.start() + len(match.group().rstrip(" ,at"))
        key = ""
        if items := _ITEMS_ALONE.match(text, match.end()):  # "id. at (b)(1)": of that section
            key, end = locator_key(items.group()), items.end()
        yield WrittenCitation(
            match.start(), end, "back", key=key, page=page["page"] if page else ""
        )


def _notes(text: str) -> Iterator[WrittenCitation]:
    for match in _NOTE.finditer(text):
        if match["raised"]:
            names: tuple[str, ...] = (match["raised"].translate(_RAISED),)
        else:
            names = tuple(_note_names(match["notes"]))
        if match.start() and text[match.start() - 1] != "\n":
            yield WrittenCitation(*match.span(), "note", notes=names)


def _note_names(listed: str) -> Iterator[str]:
    for part in re.split(r"[,;]\s?", listed):
        first, _, last = part.partition("-") if "-" in part else part.partition("–")
        if first.isdecimal() and last.isdecimal() and 0 < int(last) - int(first) <= 20:
            yield from map(str, range(int(first), int(last) + 1))
        else:
            yield part


def _pages(text: str) -> Iterator[WrittenCitation]:
    """Yield pages of works that are cited without a place: "10-K 2022, p. 47"."""
    for match in _PAGE_ALONE.finditer(text):
        place = WrittenCitation(*match.span(), "page", page=match["page"])
        before = text[max(0, match.start() - 140) : match.start()].rpartition("\n\n")[2]
        work = _FILING.search(before)
        if work:
            start = match.start() - (len(before) - work.start("work"))
            name = _named(work["work"])
            start += work["work"].index(name)
            years = tuple(sorted({int(year) for year in _YEAR.findall(name)}))
            yield replace(place, start=start, work=name, years=years)


_FILING = lazy_pattern(
    rf"(?:^|(?<=[\s(“\"'—–\[*_]))(?P<work>(?:{_NAME_WORD}\s{_LINK}|(?:FY|fiscal)\s?){{0,8}}"
    rf"(?:\d\d?-[KQF]|{_NAME_WORD})(?:/A)?(?:\s(?:for|of)?\s?(?:fiscal\s)?(?:FY\s?)?(?:19|20)\d\d)?)"
    r",?\s(?:at\s)?\(?$"
)


_AT = lazy_pattern(r",?\s(?:at\s)?")


def _resolved_backs(
    found: Sequence[WrittenCitation], text: str, known: WrittenCitation | None
) -> list[WrittenCitation]:
    """Return citations with "ibid." and "id. at § 5" taking over what stands before them."""
    done: list[WrittenCitation] = []
    for each in found:
        if each.kind == "back" and known is not None:
            key = f"{known.key.partition('(')[0]}{each.key}" if each.key else known.key
            each = replace(
                each, key=key, within=known.within, work=known.work, years=known.years,
                page=each.page or known.page, notes=known.notes,
            )  # fmt: skip
        elif (
            done
            and done[-1].kind == "back"
            and not each.work
            and _AT.fullmatch(text, done[-1].end, each.start)
        ):
            back = done.pop()
            each = replace(each, start=back.start, work=back.work, years=back.years)
        if each.kind != "note" or each.notes:
            known = each
        done.append(each)
    return done


def numbered_sources(text: str) -> dict[str, str]:
    """Return the entries of a list of sources or footnotes, by number.

    >>> numbered_sources("As said [1].\\n\\n[1]: 47 CFR 97.1\\n\\nSources\\n2. Debian Policy 7.2")
    {'1': '47 CFR 97.1', '2': 'Debian Policy 7.2'}
    """
    below = max((match.end() for match in _LIST_HEADING.finditer(text)), default=len(text))
    found = {}
    for match in _ENTRY.finditer(text):
        if match["marked"] or match.start() >= below:
            found[match["marked"] or match["listed"]] = match["words"].strip()
    return found
