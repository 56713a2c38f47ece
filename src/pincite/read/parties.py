"""Contracts: what one is called, who makes it, and how names are written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

_INSTRUMENT = (
    r"(?:agreements?|contracts?|amendment|addendum|leases?|indenture|licen[sc]e|deed|endorsement|guaranty"
    r"|memorandum of understanding|letter of intent|terms and conditions|terms of (?:service|use))"
)
_NAMED = re.compile(rf"\b{_INSTRUMENT}\b", re.IGNORECASE)
# "This Domain Name and Content License Agreement (the", "THIS CO-BRANDING AGREEMENT is made"
_THIS = re.compile(
    r"\b(?i:this) (?P<name>(?:(?:[A-Z][\w&/’'-]*|No\.|\d+|and|of|for|to|the|&) ){0,12}"
    rf"(?i:{_INSTRUMENT})(?: (?:No|NO)\.? ?\d+)?)\b"
)
_CAPITALS = re.compile(
    r"\b(?:[A-Z][A-Z&’'/-]+,? (?:(?:OF|AND|FOR|TO|THE|&) ){0,2}){1,8}"
    r"(?:AGREEMENT|CONTRACT|AMENDMENT|LEASE|INDENTURE|LICENSE|GUARANTY|ADDENDUM)\b"
)
_COVER_CHARS = 1500
_SMALL = {"and", "of", "for", "to", "the", "by", "in", "on", "or", "with", "between", "no."}


def properly(name: str, text: str) -> str:
    """Return a name as the text writes it where capitals are not for show, else in plain capitals.

    >>> properly("BIOCEPT, INC.", "At Biocept, Inc. we"), properly("SUPPLY AGREEMENT", "")
    ('Biocept, Inc.', 'Supply Agreement')
    """
    name = " ".join(name.split())
    if not name.isupper():
        return name
    pattern = re.compile(r"\s+".join(map(re.escape, name.split())), re.IGNORECASE)
    forms = Counter(" ".join(found.split()) for found in pattern.findall(text))
    mixed = [form for form, _ in forms.most_common() if not form.isupper() and form[:1].isupper()]
    return mixed[0] if mixed else " ".join(map(_capitalised, name.split()))


def _capitalised(word: str) -> str:
    if word.lower() in _SMALL:
        return word.lower()
    bare = word.strip(".,()&")
    if re.fullmatch(
        r"(?:[A-Z]\.)+[A-Z]?|LLC|LLP|LP|PLC|USA|US|UK|II|III|IV|IP|IT|N\.A|[B-DF-HJ-NP-TV-XZ]{2,4}",
        bare,
    ):
        return word
    return re.sub(r"[^\W\d_]+(?:[’'][^\W\d_]+)?", lambda part: part.group().capitalize(), word)


def contract_name(lines: Sequence[str], flat: str, is_junk: Callable[[str], bool]) -> str:
    """Return what a contract calls itself: in its heading, or after "This"; empty if it is none.

    >>> contract_name(["Exhibit 10", "SUPPLY AGREEMENT"], "", lambda line: "Exhibit" in line)
    'SUPPLY AGREEMENT'
    """
    headed = next((line for line in lines if _is_heading(line) and not is_junk(line)), "")
    called = next((each["name"].strip() for each in _THIS.finditer(flat)), "")
    is_part = headed.casefold().endswith(f" {called.casefold()}")  # behind the name of a company
    if len(called.split()) > 1 and (is_part or len(headed.split()) < 2):
        return called
    if len(headed.split()) < 2 and (run := _CAPITALS.search(flat[:_COVER_CHARS])):
        return re.sub(rf"^.*\b{_SUFFIX}\.? (?=.)", "", run.group())  # a heading of several lines
    return headed


def _is_heading(line: str) -> bool:
    """Return whether a line is the name of a contract: few words, all of them in capitals."""
    if not _NAMED.search(line) or len(line) > 150 or line.endswith((".", ",", ";", ":")):
        return False
    words = [word for word in line.split() if word.lower() not in _SMALL and word[:1].isalpha()]
    is_short = len(words) <= 16 and not re.match(r"(?i)this |these |[\d(]", line)
    return is_short and all(not word[0].islower() for word in words)


_SUFFIX = (
    r"(?:Inc|INC|Incorporated|INCORPORATED|Corp|CORP|Corporation|CORPORATION|Company|COMPANY|Co|CO"
    r"|LLC|L\.L\.C|LLP|L\.L\.P|LP|L\.P|Ltd|LTD|Limited|LIMITED|plc|PLC|S\.A|SA|S\.p\.A|GmbH|GMBH"
    r"|AG|N\.V|NV|B\.V|BV|N\.A|SRL|S\.r\.l|Pty|PTY|Pte|PTE|A/S|AB|Oy|K\.K|S\.A\.S|S\.A\.R\.L"
    r"|Trust|TRUST|Bank|BANK|University|UNIVERSITY|Partnership|Partners|PARTNERS|Association"
    r"|Foundation|Group|GROUP|Holdings|HOLDINGS|Fund|FUND|Authority|Institute)"
)
_WORD = r"(?:[A-Z0-9][\w&.’'/!*-]*|\([A-Z][\w.’' ]{0,30}\)|&|of|and|for|the|de|dba|d/b/a)"
_ENTITY = re.compile(
    rf"(?<![\w.])(?P<name>[A-Z0-9][\w&.’'/!*-]*(?: {_WORD}){{0,9}}?,? (?!(?:CO|NV) \d)"
    rf"{_SUFFIX}\b\.?(?:(?: [A-Z][\w.-]*){{0,2}}?,? {_SUFFIX}\b\.?){{0,3}})(?![\w’'])"
)
_PERSON = re.compile(
    r"[\s,;:]*(?:(?:and|\(?[a-z0-9]{1,3}\)) )*"
    r"(?P<name>[A-Z][\w.’'-]*(?: (?:[A-Z][\w.’'-]*|of|de|&)){0,7})"
)
_LAST = re.compile(r"(?P<name>[A-Z][\w.’'-]*(?: [A-Z][\w.’'-]*){1,4}),?\s*$")
_BEGINS = re.compile(r"\b(?i:by and (?:between|among)|between|among)\b:?")
_ENDS = re.compile(
    r"\bWHEREAS\b|\bWhereas\b|R ?E ?C ?I ?T ?A ?L ?S|Recitals|W ?I ?T ?N ?E ?S ?S ?E ?T ?H"
    r"|NOW,? THEREFORE|B ?A ?C ?K ?G ?R ?O ?U ?N ?D|TABLE OF CONTENTS|\bARTICLE\b|\bDated?\b"
    r"|agree as follows|Effective (?:Date:|as of)|\bPREAMBLE\b|IN WITNESS|\bT(?:HIS|his)\b"
    r"|\bPage \d"
)
_OPENING_CHARS = 2500
# Where a party is given a short name: (“Galaxy”), (the "Owner"), referred to as "Cano"
_DEFINED = re.compile(
    r"\([^()“\"”]{0,60}(?:[“\"”][^“”\"()]{1,60}[”\"“][^()“\"”]{0,80}){1,4}\)"
    r"|(?:referred to|known|called|designated)[^“\"”]{0,60} [“\"”][^“”\"]{1,60}[”\"“]"
    r"(?: or [“\"”][^“”\"]{1,60}[”\"“])?"
)
_QUOTED = re.compile(r"[“\"”]([^“”\"]{1,60}?),?[”\"“]")
_NO_PARTY = re.compile(
    r"(?:the |this )?(?:[\w ]*agreement|contract|[\w ]*amendment|part(?:y|ies)|[\w ]*date|term|act)"
    r"\.?",
    re.IGNORECASE,
)
_ROLE = (
    r"(?:Owner|Servicer|Company|Buyer|Seller|Licens(?:or|ee)|Purchaser|Consultant|Provider|Distributor"
    r"|Reseller|Principal|Customer|Supplier|Client|Contractor|Sponsor|Agent|Borrower|Lender|Tenant"
    r"|Landlord|Vendor|Parent|Manufacturer|Recipient|Part(?:y|ies)|Agreement|Exhibit|Schedule|Section"
    r"|Effective Date)"
)
_ROLES = re.compile(rf"(?i)(?:the )?{_ROLE}(?:(?: and|,) (?:the )?{_ROLE})*")
_FULL_WORD = re.compile(r"(?i)\b(corporation|company|limited|incorporated|llc|trust|bank)\.$")
_LEADS = re.compile(
    r"^(?:.*\b(?:AGREEMENT|CONTRACT|Agreement|Contract) )?"
    rf"(?:(?:and|the|The|AND|THE|between|by|\d{{5}}|{_ROLE}) )*(?=[A-Z0-9])"
)
_BEHIND = re.compile(
    r"\b(?:c/o|(?:subsidiary|affiliate|division|parent|behalf|member) of|formerly(?: known as)?"
    r"|successor (?:in interest )?(?:to|of)|known as|laws of(?: the)?|through|attn:?|attention:?"
    r"|office at|located at|the|an?) $",
    re.IGNORECASE,
)


def parties_of(flat: str) -> tuple[list[str], list[str]]:
    """Return who makes a contract, by the words behind "between", and their short names.

    >>> parties_of('between Tug Co., Inc., a Maine company ("Tug") and Ann Barge ("Ann"). WHEREAS')
    (['Tug Co., Inc.', 'Ann Barge'], ['Tug', 'Ann'])
    """
    best: tuple[list[str], list[str]] = ([], [])
    begins = [found.end() for found in _BEGINS.finditer(flat[:_OPENING_CHARS])][:6]
    for begin in (*begins, 0):
        window = flat[begin : begin + _OPENING_CHARS]
        if end := _ENDS.search(window, 10 if begin else 150):
            window = window[: end.start()]
        parties, names, is_defined = _of_window(window, is_whole=not begin)
        if len(parties) > 1 and is_defined:
            return parties, names
        if len(parties) > 1 and not best[0]:  # nobody makes a contract alone
            best = parties, names
    return best


def _of_window(window: str, *, is_whole: bool) -> tuple[list[str], list[str], bool]:
    """Return the parties that a stretch names, their short names, and whether it gives such."""
    parties: dict[str, str] = {}  # by their bare letters
    names: list[str] = []
    at = 0
    for defined in _DEFINED.finditer(window):
        quoted = _QUOTED.findall(defined.group())
        if not all(map(_NO_PARTY.fullmatch, quoted)) and len(parties) < 12:
            segment = window[at : defined.start()]
            found = list(_companies(segment)) or list(_person(segment, is_whole=is_whole))
            parties |= {_bare(name): name for name in found if _bare(name) not in parties}
            whole = " ".join(found).casefold()
            names += [each for each in quoted if is_short_of(each, whole)]
        at = defined.end()
    is_defined = len(parties) > 1
    if not is_defined and not is_whole:
        parts = re.split(r",? and ", window[:300])[:2]
        people = (name for part in parts for name in _person(part, is_whole=False))
        companies = list(_companies(window[:600]))
        found = companies if len(companies) > 1 else [*companies[:1], *people]
        parties |= {_bare(name): name for name in found if _bare(name) not in parties}
    return list(parties.values())[:12], list(dict.fromkeys(names)), is_defined


def _companies(segment: str) -> Iterator[str]:
    """Yield the companies that a stretch names as parties, not those that describe one."""
    for entity in _ENTITY.finditer(segment):
        if not _BEHIND.search(segment[max(0, entity.start() - 40) : entity.start()]):
            name = _FULL_WORD.sub(r"\1", _LEADS.sub("", entity["name"], count=1))
            if not _ROLES.fullmatch(name):
                yield name


_ARTICLE = re.compile(r"^(?:The|At|(?:[Ff]orm|FORM)(?: [\w-]+)? of) ")
_NOBODY = re.compile(
    r"\bthe Company\b|^(?:Our |This |Each )?\w+$|\bStock (?:Market|Exchange)\b|\bLLP\b"
)


def most_named(text: str) -> str:
    """Return the company that a text names most; empty if it names none three times.

    >>> most_named("Tug Co., Inc. tows. Tow LLC asks Tug Co., Inc. to. We at Tug Co., Inc. do.")
    'Tug Co., Inc.'
    """
    told = Counter(_ARTICLE.sub("", found["name"]) for found in _ENTITY.finditer(text))
    named = (each for each in told.most_common(20) if not _NOBODY.search(each[0]))
    name, count = next(named, ("", 0))
    return properly(name, text) if count > 2 else ""


def _person(segment: str, *, is_whole: bool) -> Iterator[str]:
    """Yield whoever a stretch begins with; in running text, whoever stands at its end."""
    found = _LAST.search(segment[-80:]) if is_whole else _PERSON.match(segment)
    name = re.sub(r" (?:of|de|&)$", "", found["name"]).rstrip(" ,") if found else ""
    name = _LEADS.sub("", name, count=1)
    if len(name) > 2 and not _ROLES.fullmatch(name):
        yield name


def _bare(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()


def is_short_of(name: str, whole: str) -> bool:
    """Return whether a short name is a name, not a role: it shares a word with the whole one.

    >>> is_short_of("Tug", "tug co., inc."), is_short_of("Owner", "tug co., inc.")
    (True, False)
    """
    initials = "".join(word[0] for word in re.findall(r"\w+", whole))
    words = [
        word
        for word in re.findall(r"\w{3,}", name.casefold())
        if word not in ("the", "inc", "company")
    ]
    is_initials = 1 < len(name) <= 6 and name.isupper() and initials.startswith(name.casefold()[:2])
    return any(word in whole for word in words) or is_initials
