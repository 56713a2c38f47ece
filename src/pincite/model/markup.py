"""Markdown as people see it: its signs taken away, emphasis known, every offset kept.

The canonical text of a document has signs: of Markdown itself, and of readers that write emphasis
and tables so. Whoever shows a stretch of it reads the signs of the whole paragraph first, so that a
stretch that ends between two stars shows neither.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pincite.model.patterns import lazy_pattern

Style = Literal["strong", "em", "code", "raised"]

# Without one of these there is nothing to do; nor without these that begin a line.
_ANY = lazy_pattern(r"[*_`\\\[^&<~#>=]")
_BEGINS = ("+", "-")
_BEGINS_LATER = ("\n+", "\n-")
_LINE = lazy_pattern(r"[^\n]*\n?")
_FENCE = lazy_pattern(r"[ \t]{0,3}(```++|~~~++)[^`\n]*\n?$")
_BLANK = lazy_pattern(r"\s*$")
_RULE = lazy_pattern(r"[ \t]{0,3}(?:=+|-{3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})[ \t]*\n?$")
_LEAD = lazy_pattern(
    r"[ \t]*(?:(?P<quote>>[ \t]?)+|(?P<heading>#{1,6}[ \t]+)|(?P<bullet>[*+])(?=[ \t]))"
)
_TAIL = lazy_pattern(r"(?<![ \t])(?:[ \t]+(?:#{1,9}|\{#[\w-]{1,80}\})){1,3}[ \t]*(?=\n?$)")
_CODE = lazy_pattern(
    r"(?<!`)(`{1,3})(?!`)(?P<inner>[^`\n]{1,400}(?:\n[^`\n]{1,400}){0,3}?)(?<!`)\1(?!`)"
)
_ESCAPE = lazy_pattern(r"\\(?=[*_#])")
_BRACKETS = lazy_pattern(r"\\(?P<words>\[[^\]\\\n]{1,80})\\(?=\])")
_LINK = lazy_pattern(
    r"!?\[(?P<words>[^\[\]\n]{0,300})\](?P<to>\([^()\s]{0,500}(?:[ ]\"[^\"\n]{0,99}\")?\))"
)
_RAISED = lazy_pattern(r"\^(?P<mark>[^\^\s\[\]]{1,3})\^")
_FOOTNOTE = lazy_pattern(r"(?:^|(?<=[\w.,;:!?)”\"*]))\[\^(?P<mark>[\w-]{1,20})\]", re.MULTILINE)
_TAG = lazy_pattern(
    r"<!--.{0,2000}?-->|<(?P<end>/?)(?P<name>b|strong|i|em|code|kbd|tt|sup|sub|u|s|small|big"
    r"|span|a|p|q|div|center|font|mark|var|cite|ins|del|br|hr|img)(?=[\s/>])[^<>\n]{0,200}>",
    re.IGNORECASE | re.DOTALL,
)
_TAG_STYLES: dict[str, Style] = {
    **dict.fromkeys(("b", "strong"), "strong"),
    **dict.fromkeys(("i", "em"), "em"),
    **dict.fromkeys(("code", "kbd", "tt"), "code"),
    "sup": "raised",
}
_ENTITY = lazy_pattern(r"&(?:[a-zA-Z]{2,8}|#\d{1,6}|#x[0-9a-fA-F]{1,5});")
_RUN = lazy_pattern(r"\*+|_+|~~")
_LEFT = lazy_pattern(r"\*+|(?<!\w)_+|_+(?!\w)")
_STYLES: dict[int, tuple[Style, ...]] = {1: ("em",), 2: ("strong",), 3: ("strong", "em")}
MAX_OPEN = 50  # signs that wait for their other half
_RAISING = str.maketrans(
    "0123456789abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
)


class Sign(NamedTuple):
    """Characters that are not shown, and what is shown instead."""

    start: int
    end: int
    shown: str = ""


class Styled(NamedTuple):
    """A stretch that looks different."""

    start: int
    end: int
    style: Style


class ShownText(NamedTuple):
    """A stretch as it is shown; ``at`` says where a place of the text stands in it."""

    text: str
    places: tuple[tuple[int, int], ...]  # of the text, of what is shown: where both go on alike

    def at(self, place: int) -> int:
        """Return the offset in what is shown for one of the text."""
        if len(self.places) == 1:  # no sign in it
            return min(max(0, place - self.places[0][0]), len(self.text))
        here = max(0, bisect_right(self.places, (place, len(self.text))) - 1)
        limit = self.places[here + 1][1] if here + 1 < len(self.places) else len(self.text)
        return min(self.places[here][1] + max(0, place - self.places[here][0]), limit)


@dataclass(slots=True)
class Markup:
    """The signs of a text in order, and what they style."""

    text: str
    signs: list[Sign] = field(default_factory=list)
    styles: list[Styled] = field(default_factory=list)

    def shown(self, low: int = 0, high: int | None = None) -> ShownText:
        """Return what a reader sees of a stretch."""
        high = len(self.text) if high is None else high
        raised = [(s.start, s.end) for s in self.styles if s.style == "raised"]
        changes = [
            *self.signs,
            *(Sign(a, b, self.text[a:b].translate(_RAISING)) for a, b in raised),
        ]
        parts, places, at, length = [], [(low, 0)], low, 0
        for start, end, shown in sorted(changes):
            if end <= at or start >= high:
                continue
            parts += [self.text[at : max(at, start)], shown]
            length += len(parts[-2]) + len(shown)
            at = min(end, high)
            places.append((at, length))
        parts.append(self.text[at:high])
        return ShownText("".join(parts), tuple(places))


def plain(text: str) -> str:
    """Return a text as it is read, without the signs of Markdown.

    >>> plain("*Deficiency* means `x` in [Part 4](four.md)&nbsp;or 2*3*4.")
    'Deficiency means x in Part 4\\xa0or 2*3*4.'
    """
    return read_markup(text).shown().text


def shown_stretch(text: str, low: int, high: int) -> ShownText:
    """Return what a reader sees of a stretch of a text; only its own paragraphs are read.

    A fence far above may make code of it, so a text with fences is read whole.

    >>> shown_stretch("One *word*.\\n\\nTwo *words* more.", 18, 30).text
    'words more.'
    """
    if "```" in text or "~~~" in text:
        return read_markup(text).shown(low, high)
    # Blank lines and rows of tables part what signs can pair over.
    begin = max(text.rfind("\n\n", 0, low) + 2, text.rfind("\n|", 0, low + 1) + 1)
    begin = begin if begin > 1 else 0
    ends = [end for mark in ("\n\n", "\n|") if (end := text.find(mark, high)) >= 0]
    read = read_markup(text[begin : min(ends, default=len(text))]).shown(low - begin, high - begin)
    return ShownText(read.text, tuple((place + begin, at) for place, at in read.places))


def read_markup(text: str) -> Markup:
    """Return where the signs of a text stand; in time that grows with its length."""
    found = Markup(text)
    if not (_ANY.search(text) or text.startswith(_BEGINS) or any(s in text for s in _BEGINS_LATER)):
        return found
    start = at = 0  # of the paragraph that is open, and of the line
    lines = _LINE.findall(text)
    # Of a stretch that was cut out of some code nobody knows which side of a fence is code.
    has_code = sum(1 for line in lines if _FENCE.match(line)) % 2 == 0
    is_code = False
    for line in lines:
        begin, at = at, at + len(line)
        if is_code or _FENCE.match(line):
            _read_inline(found, start, begin)
            start = at
            if _FENCE.match(line):
                found.signs.append(Sign(begin, at))
                is_code = not is_code and has_code
            else:
                found.styles.append(Styled(begin, at, "code"))
        elif line.startswith("|") or _BLANK.match(line):
            _read_inline(found, start, begin)
            _read_inline(found, begin, at)
            start = at
        elif _RULE.match(line):
            _read_inline(found, start, begin)
            found.signs.append(Sign(begin, at))
            start = at
        elif lead := _LEAD.match(line):
            _read_inline(found, start, begin)
            start = begin + lead.end()
            shown = "-" if lead["bullet"] else ""
            found.signs.append(Sign(begin + (lead.end() - 1 if shown else 0), start, shown))
            if lead["heading"] and (tail := _TAIL.search(line, lead.end())):
                found.signs.append(Sign(begin + tail.start(), begin + tail.end()))
    _read_inline(found, start, len(text))
    found.signs.sort()
    return found


# What has signs around words that stay: a character that is in it, and the group of these words.
_PAIRED: tuple[tuple[str, re.Pattern[str], str, Style | None], ...] = (
    ("\\", _BRACKETS, "words", None),
    ("[", _LINK, "words", None),
    ("^", _RAISED, "mark", "raised"),
    ("^", _FOOTNOTE, "mark", "raised"),
)


def _read_inline(found: Markup, low: int, high: int) -> None:
    """Add the signs of a paragraph, an item or a row, and what they style."""
    if low >= high or not _ANY.search(found.text, low, high):
        return
    reader, words = (
        _Inline(found, found.text, low, high, bytearray(high - low)),
        found.text[low:high],
    )
    if "`" in words:
        reader.code()
    if "\\" in words:
        reader.escapes()
    for sign, pattern, inner, style in _PAIRED:
        for match in pattern.finditer(found.text, low, high) if sign in words else ():
            reader.around(match, inner, style)
    if "&" in words:
        reader.entities()
    if "<" in words:
        reader.tags()
    if "*" in words or "_" in words or "~" in words:
        reader.emphasis()
        reader.leftovers()


@dataclass(slots=True)
class _Inline:
    """Finds the signs of a paragraph, an item or a row."""

    found: Markup
    text: str
    low: int
    high: int
    taken: bytearray  # what is code or a sign already

    def _keep(self, start: int, end: int) -> None:
        self.taken[start - self.low : end - self.low] = b"\1" * (end - start)

    def _take(self, start: int, end: int, shown: str = "") -> bool:
        """Make characters a sign unless they are taken."""
        if any(self.taken[start - self.low : end - self.low]):
            return False
        self._keep(start, end)
        self.found.signs.append(Sign(start, end, shown))
        return True

    def around(self, match: re.Match[str], inner: str, style: Style | None = None) -> None:
        """Make what stands before and behind a group of a match two signs."""
        start, end = match.span(inner)
        if self._take(match.start(), start) and self._take(end, match.end()) and style:
            self.found.styles.append(Styled(start, end, style))

    def code(self) -> None:
        for match in _CODE.finditer(self.text, self.low, self.high):
            inner = match["inner"]
            # “`this' and `that'” is how old manuals quote.
            if not inner[-1].isspace() or inner[0].isspace():
                self.around(match, "inner", "code")
                self._keep(*match.span("inner"))

    def escapes(self) -> None:
        for match in _ESCAPE.finditer(self.text, self.low, self.high):
            if self._take(*match.span()):
                self._keep(match.end(), match.end() + 1)

    def entities(self) -> None:
        for match in _ENTITY.finditer(self.text, self.low, self.high):
            if (shown := html.unescape(match[0])) != match[0] and shown.strip("\0"):
                self._take(*match.span(), shown)

    def tags(self) -> None:
        """Take tags of HTML that come in pairs, or need none."""
        open_: list[re.Match[str]] = []
        for tag in _TAG.finditer(self.text, self.low, self.high):
            name = (tag["name"] or "").lower()
            if not name or name in ("br", "hr", "img"):
                self._take(*tag.span(), " " if name == "br" else "")
            elif not tag["end"]:
                open_ = [*open_[-MAX_OPEN:], tag]
            elif first := next((t for t in reversed(open_) if t["name"].lower() == name), None):
                open_ = open_[: open_.index(first)]
                is_pair = self._take(*first.span()) and self._take(*tag.span())
                if is_pair and name in _TAG_STYLES:
                    self.found.styles.append(Styled(first.end(), tag.start(), _TAG_STYLES[name]))

    def emphasis(self) -> None:
        """Take stars and low lines around words, as CommonMark pairs them, near enough."""
        open_: list[tuple[int, int]] = []
        for run in _RUN.finditer(self.text, self.low, self.high):
            start, end = run.span()
            if self.taken[start - self.low]:
                continue
            before = self.text[start - 1] if start > self.low else " "
            after = self.text[end] if end < self.high else " "
            is_low = self.text[start] == "_"
            if not before.isspace() and not (is_low and after.isalnum()):
                start = self._close(open_, start, end, is_inside=after.isalnum())
            if start < end and not after.isspace() and not (is_low and before.isalnum()):
                open_[:] = [*open_[-MAX_OPEN:], (start, end)]

    def leftovers(self) -> None:
        """Take what was meant as emphasis and has no other half: beside a sign, or around all."""
        text, taken, low = self.text, self.taken, self.low
        words = text[low : self.high]
        first, last = low + len(words) - len(words.lstrip()), low + len(words.rstrip())
        open_ = (low, low)
        for run in _LEFT.finditer(text, low, self.high):
            start, end = run.span()
            while start < end and taken[start - low]:
                start += 1
            while start < end and taken[end - 1 - low]:
                end -= 1
            if start == end:
                continue
            is_beside = any(taken[at - low] for at in (start - 1, end) if low <= at < self.high)
            is_bold = end - start > 1 and (end == last or (start == first and text[end].isupper()))
            if end == last and text[start:end] == text[slice(*open_)]:
                self._take(*open_)
                self._take(start, end)
            elif is_bold or (is_beside and not text[end : end + 1].isdigit()):
                self._take(start, end)
            elif start == first:
                open_ = (start, end)

    def _close(self, open_: list[tuple[int, int]], start: int, end: int, *, is_inside: bool) -> int:
        """Pair a run with the signs that wait for it; return where what is left of it begins."""
        while start < end:
            sign = self.text[start]
            waiting = (n for n in range(len(open_) - 1, -1, -1) if self.text[open_[n][0]] == sign)
            at = next(waiting, -1)
            if at < 0:
                break
            first, last = open_[at]
            size = min(last - first, end - start)
            if size == 1 and is_inside and first > self.low and self.text[first - 1].isalnum():
                break  # 2*3*4
            if size > 1 and sign == "_" and " " not in self.text[last:start]:
                break  # __init__
            del open_[at:]
            self._take(last - size, last)
            self._take(start, start + size)
            styles = () if sign == "~" else _STYLES[min(size, 3)]
            self.found.styles += (Styled(last, start, style) for style in styles)
            if first < last - size:
                open_.append((first, last - size))
            start += size
        return start
