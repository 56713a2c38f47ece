"""What a text claims to have from sources: quotations, citations, statements that lean on them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pincite.check.citations import WrittenCitation, numbered_sources, written_citations
from pincite.check.values import ClaimKind
from pincite.model.patterns import lazy_pattern
from pincite.model.sentences import TextUnit, units

MIN_QUOTED_WORDS = 4  # fewer are a term, unless a citation stands by them
MIN_STATED_WORDS = 4  # of a statement, beside its citations
MAX_PARAGRAPH_CHARS = 8_000
MAX_CLAIMS = 5_000
_OPEN = r"(?:^|(?<=[\s(\[—–:*_“‘/>]))"
_SHUT = r"(?=$|[\s.,;:!?)\]—–*_’”/<…]|\[\^?\w)"
# Opening and closing marks; a text is read by paragraphs, so that none runs over the end of one.
_QUOTED = lazy_pattern(
    r"“(?P<curly>(?:[^“”]|“[^“”]{0,300}”){2,6000})”|„(?P<low>[^„“”]{2,6000})[“”]|«(?P<angle>[^«»]{2,6000})»"
    r"|(?<![^\s(])»(?P<inward>[^«»]{2,6000})«|‹(?P<single>[^‹›]{2,6000})›"
    r"|「(?P<corner>[^「」]{2,6000})」|『(?P<white>[^『』]{2,6000})』|``(?P<tex>[^`']{2,6000})''"
    rf"|{_OPEN}\"(?P<straight>(?=[^\s\"])[^\"“”]{{2,6000}})\"{_SHUT}"
    rf"|{_OPEN}‘(?P<british>(?=\S)(?:[^‘’]|(?<=\w)’(?=\w)){{8,3000}})’{_SHUT}"
    rf"|{_OPEN}'(?P<typed>(?=\S)(?:[^']|(?<=\w)'(?=\w)){{16,3000}})'{_SHUT}"
)
_BLOCK = lazy_pattern(r"(?:^[ \t]{0,3}>[^\n]*(?:\n|$))+", re.MULTILINE)
_INDENTED = lazy_pattern(r"(?<=:\n\n)(?:^(?: {4,}|\t)\S[^\n]*(?:\n|$))+", re.MULTILINE)
_ATTRIBUTION = lazy_pattern(r"(?:^|\n)[ \t>]*(?:—|–|--|-|\()[ \t]?[^\n]{3,200}\s*$")
_PARAGRAPH = lazy_pattern(r"\S(?:[^\n]|\n(?![ \t]*\n))*")
_ENTRY = lazy_pattern(r"[ \t]*\[\^?\w{1,4}\]:?[ \t]")
_WORD = lazy_pattern(r"[^\W\d_]{2,}|\d")


@dataclass(frozen=True, slots=True)
class Claim:
    """A stretch of a text that a source has to bear out, and the citations that it leans on."""

    kind: ClaimKind
    start: int
    end: int
    words: str  # of a quotation what is between its marks; of a statement without citations
    citations: tuple[WrittenCitation, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadText:
    """The claims of a text, and its numbered sources."""

    claims: tuple[Claim, ...]
    is_cut: bool = False  # there were more than anybody should check at once


def read_claims(text: str) -> ReadText:
    """Return what a text claims to have from sources, in its order.

    >>> read = read_claims("The rule says “no station may transmit music” (47 CFR 97.113(a)(4)).")
    >>> [(each.kind, each.words[:18], [c.key for c in each.citations]) for each in read.claims]
    [('quotation', 'no station may tra', ['97.113(a)(4)'])]
    """
    sources = {name: _cited_by(words) for name, words in numbered_sources(text).items()}
    found: list[Claim] = []
    known: WrittenCitation | None = None
    before: list[WrittenCitation] = []  # of the paragraph before, for a block quotation
    for start, end in _paragraphs(text):
        cited = [_moved(each, start) for each in written_citations(text[start:end], known)]
        known = cited[-1] if cited else known
        cited = [real for each in cited for real in _looked_up(each, sources)]
        if _ENTRY.match(text, start):  # a list of sources claims nothing itself
            continue
        found += _claims(text, start, end, cited, before)
        before = cited
        if len(found) > MAX_CLAIMS:
            return ReadText(tuple(found[:MAX_CLAIMS]), is_cut=True)
    return ReadText(tuple(found))


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield where paragraphs stand; one that is too long to be one is cut."""
    for match in _PARAGRAPH.finditer(text):
        for start in range(match.start(), match.end(), MAX_PARAGRAPH_CHARS):
            yield start, min(match.end(), start + MAX_PARAGRAPH_CHARS)


def _moved(each: WrittenCitation, by: int) -> WrittenCitation:
    return replace(each, start=each.start + by, end=each.end + by)


def _cited_by(words: str) -> tuple[WrittenCitation, ...]:
    """Return what an entry of a list of sources cites: its places, or the work as a whole."""
    found = tuple(each for each in written_citations(words) if each.kind in ("place", "page"))
    return found or (WrittenCitation(0, len(words), "work", work=words[:200]),)


def _looked_up(
    each: WrittenCitation, sources: dict[str, tuple[WrittenCitation, ...]]
) -> Iterator[WrittenCitation]:
    """Yield a citation, or those that a note stands for; a note without an entry is none."""
    if each.kind not in ("note", "back") or not each.notes:
        if each.kind != "back" or each.key or each.page or each.work:
            yield each
        return
    for name in each.notes:
        for cited in sources.get(name, ()):
            yield replace(cited, start=each.start, end=each.end)


def _claims(
    text: str, start: int, end: int, cited: list[WrittenCitation], before: list[WrittenCitation]
) -> list[Claim]:
    """Return the claims of one paragraph."""
    block = _BLOCK.match(text, start, end) or _INDENTED.match(text, start, end)
    if block is not None and block.end() >= end - 1:
        return _block(text, start, end, cited or before)
    spans = [TextUnit(u.start + start, u.end + start, u.kind) for u in units(text[start:end])]
    quotes = list(_quotes(text, start, end))
    found = [
        Claim("quotation", a, b, text[a:b], near)
        for a, b in quotes
        if (near := _beside(a, b, cited, quotes, spans, text)) or _is_long(text[a:b])
        if _is_claim(text[a:b], bool(near))
    ]
    found += _statements(text, spans, cited, quotes)
    leaning = {each.start for claim in found for each in claim.citations}
    found += [
        Claim("citation", each.start, each.end, text[each.start : each.end], (each,))
        for each in cited
        if each.start not in leaning
    ]
    return sorted(found, key=lambda each: (each.start, each.kind))


def _block(text: str, start: int, end: int, cited: Sequence[WrittenCitation]) -> list[Claim]:
    """Return a block quotation without the line that says where it is from."""
    own = [each for each in cited if start <= each.start < end]
    stop = end
    credit = _ATTRIBUTION.search(text, start, end) if own else None
    if credit is not None and start < credit.start() <= own[-1].start:
        stop = credit.start()
    words = re.sub(r"(?m)^[ \t]{0,3}>[ \t]?", "", text[start:stop]).strip()
    inner = _QUOTED.fullmatch(words)
    if inner is not None:
        words = next(filter(None, inner.groups()))
    leans = tuple(own or cited[-1:])
    if not _is_claim(words, bool(leans)):
        return []
    return [Claim("quotation", start, stop, words, leans)]


def _quotes(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where the words of quotations stand, without their marks."""
    for match in _QUOTED.finditer(text, start, end):
        yield match.span(match.lastgroup or 0)


def _is_long(words: str) -> bool:
    return len(_WORD.findall(words)) >= MIN_QUOTED_WORDS


def _is_claim(words: str, is_cited: bool) -> bool:
    count = len(_WORD.findall(words))
    return count >= (2 if is_cited else MIN_QUOTED_WORDS)


def _beside(
    start: int,
    end: int,
    cited: Sequence[WrittenCitation],
    quotes: Sequence[tuple[int, int]],
    spans: Sequence[TextUnit],
    text: str,
) -> tuple[WrittenCitation, ...]:
    """Return the citations that a quotation leans on: the next behind it, else those before."""
    if not cited:
        return ()
    unit = bisect_right(spans, start, key=lambda each: each.start) - 1
    low, high = (spans[unit].start, spans[unit].end) if unit >= 0 else (start, end)
    high = max(high, end)
    # A citation may be a sentence of its own behind the quotation's: "…." 47 CFR 97.113.
    follows = [each for each in spans[unit + 1 : unit + 2] if _is_only_cited(each, cited, text)]
    high = follows[0].end if follows else high
    outside = [each for each in _within(cited, low, high) if not (start <= each.start < end)]
    after = bisect_left(quotes, (end, 0))
    following = quotes[after][0] if after < len(quotes) else high
    behind = [each for each in outside if end <= each.start < min(following, high)]
    if behind:
        first = behind[0]
        return tuple(e for e in behind if e.start == first.start or _is_list(text, first, e))
    ahead = [each for each in outside if low <= each.start and each.end <= start]
    return tuple(ahead[-1:]) or tuple(each for each in outside if end <= each.start < high)[:1]


def _within(cited: Sequence[WrittenCitation], low: int, high: int) -> Sequence[WrittenCitation]:
    """Return the citations that begin in a stretch; they stand in order."""
    first = bisect_left(cited, low, key=lambda each: each.start)
    return cited[first : bisect_left(cited, high, key=lambda each: each.start)]


def _is_list(text: str, first: WrittenCitation, other: WrittenCitation) -> bool:
    return other.start - first.end < 30 and not re.search(r"[.;“\"]", text[first.end : other.start])


def _is_only_cited(unit: TextUnit, cited: Sequence[WrittenCitation], text: str) -> bool:
    """Return whether a sentence is nothing but a citation."""
    inside = _within(cited, unit.start, unit.end)
    left = len(_WORD.findall(_without(text, unit.start, unit.end, inside)))
    return bool(inside) and left <= 2


def _without(text: str, start: int, end: int, cited: Sequence[WrittenCitation]) -> str:
    """Return a stretch with spaces for its citations."""
    parts, at = [], start
    for each in sorted(cited, key=lambda one: one.start):
        if at <= each.start < end:
            parts += [text[at : each.start], " " * (min(each.end, end) - each.start)]
            at = min(each.end, end)
    return "".join((*parts, text[at:end]))


def _statements(
    text: str,
    spans: Sequence[TextUnit],
    cited: Sequence[WrittenCitation],
    quotes: Sequence[tuple[int, int]],
) -> Iterator[Claim]:
    """Yield the sentences that cite a place and say something of it in words of their own."""
    for unit in spans:
        inside = _within(cited, unit.start, unit.end)
        if not inside or unit.kind == "heading" or _is_only_cited(unit, cited, text):
            continue
        quoted = bisect_left(quotes, (unit.start, 0))
        if quoted < len(quotes) and quotes[quoted][0] < unit.end:
            continue  # what is quoted says it; the words around only introduce it
        words = _without(text, unit.start, unit.end, inside)
        if len(_WORD.findall(words)) >= MIN_STATED_WORDS:
            yield Claim("statement", unit.start, unit.end, words, tuple(inside))
