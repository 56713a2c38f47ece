"""Words of a profile found in texts, and defined terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pincite.model.profiles import Pattern, windows
from pincite.model.types import Chunk, Document
from pincite.read.enrich.profile import Condition, Profile

# Labelled values stand at the top of an entry; further down, labels are prose.
FIELD_WINDOWS = 2
# The words of a heading beyond these say nothing about the kind of what follows.
HEADING_CHARS = 200
# A statement is known by lines within this.
HELD_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """Words of the document and where they stand."""

    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class View:
    """A chunk as conditions see it: its own words and the headings around it."""

    text: str  # of the document
    start: int
    end: int  # of its own words
    whole_end: int  # of all its words
    kind: str  # a piece has the kind of what it is cut out of
    locator: str
    heading: str
    above: tuple[str, ...]  # headings above it, the document's title first
    windows: tuple[tuple[int, int], ...]  # its own words, in stretches that patterns may see


@dataclass(frozen=True, slots=True)
class Known:
    """What is already known of a chunk when a condition is checked."""

    fields: Mapping[str, PatternMatch]
    is_rule: bool = False
    defines: bool = False
    kind: str = ""


def view_of(document: Document, chunk: Chunk, parent: Chunk | None) -> View:
    """Return a chunk as conditions see it."""
    whole = parent if chunk.kind == "piece" and parent is not None else chunk
    title = () if whole.kind == "document" else (document.title,)
    path = chunk.path[:-1] if whole.kind in ("section", "document") else chunk.path
    return View(
        text=document.text,
        start=chunk.span.start,
        end=chunk.own_end,
        whole_end=chunk.span.end,
        kind=whole.kind,
        locator=chunk.locator,
        heading=chunk.title[:HEADING_CHARS],
        above=tuple(words[:HEADING_CHARS] for words in (*title, *path) if words),
        windows=tuple(windows(document.text, chunk.span.start, chunk.own_end)),
    )


def holds(condition: Condition, view: View, known: Known) -> bool:
    """Return whether everything that a condition asks for is so."""
    # Hundreds of conditions are asked of every chunk: what is not given must cost nothing.
    c = condition
    return (
        _is_so(c, view, known)
        and (not c.fields or all(name in known.fields for name in c.fields))
        and (c.heading is None or c.heading.search(view.heading) is not None)
        and (c.parent is None or _seen(c.parent, view.above[-1:]))
        and (c.under is None or _seen(c.under, view.above))
        and (c.within is None or _seen(c.within, (view.heading, *view.above)))
        and (c.locator is None or c.locator.search(view.locator[:HEADING_CHARS]) is not None)
        and (c.text is None or has_match(c.text, view))
        and (
            c.titled is None
            or _seen(c.titled, (view.heading, *view.above))
            or has_match(c.titled, view)
        )
        and (not c.holds or _holds_all(c.holds, view))
    )


def any_holds(conditions: Sequence[Condition], view: View, known: Known) -> bool:
    """Return whether one of the conditions holds."""
    for condition in conditions:  # noqa: SIM110 - a generator would cost more than most conditions
        if holds(condition, view, known):
            return True
    return False


def _is_so(condition: Condition, view: View, known: Known) -> bool:
    return (
        (not condition.clause or view.kind in condition.clause)
        and (not condition.kinds or known.kind in condition.kinds)
        and (condition.rule is None or condition.rule == known.is_rule)
        and (condition.defines is None or condition.defines == known.defines)
    )


def _seen(pattern: Pattern, texts: Sequence[str]) -> bool:
    return any(map(pattern.search, texts))


def _holds_all(patterns: Sequence[Pattern], view: View) -> bool:
    """Return whether each pattern finds words in a chunk or below it, in its beginning if long."""
    end = min(view.whole_end, view.start + HELD_CHARS)
    stretches = list(windows(view.text, view.start, end))
    return all(any(p.search(view.text, *each) for each in stretches) for p in patterns)


def has_match(pattern: Pattern, view: View) -> bool:
    """Return whether a pattern finds any words among a chunk's own."""
    for start, end in view.windows:
        match = pattern.search(view.text, start, end)
        if match and match[0]:
            return True
        if match:  # of no length, which may hide one that has some
            return next(matches(pattern, view), None) is not None
    return False


def matches(pattern: Pattern, view: View, group: int | str = 0) -> Iterator[PatternMatch]:
    """Yield what a pattern's group finds in a chunk's own words."""
    for start, end in view.windows:
        for match in pattern.finditer(view.text, start, end):
            if match[group]:
                yield PatternMatch(match[group], *match.span(group))


def is_rule(view: View, profile: Profile) -> bool:
    """Return whether a chunk's own words hold one of the profile's rule words."""
    return any(has_match(pattern, view) for pattern in profile.rules)


def read_fields(view: View, profile: Profile) -> dict[str, PatternMatch]:
    """Return the labelled values at the top of a chunk, by the field's name."""
    stretches = view.windows[:FIELD_WINDOWS]
    found: dict[str, PatternMatch] = {}
    for rule in profile.fields:
        seen = (p.search(view.text, *stretch) for p in rule.patterns for stretch in stretches)
        if match := next((match for match in seen if match and match[1]), None):
            words = " ".join(match[1].split())
            value = rule.values.get(words.casefold(), words)
            found[rule.name] = PatternMatch(value, *match.span(1))
    return found


def title_place(view: View) -> PatternMatch:
    """Return the words of a chunk's heading, where they stand in the document."""
    line_end = view.text.find("\n", view.start, view.end)
    line_end = view.end if line_end < 0 else line_end
    start = view.text.find(view.heading, view.start, line_end) if view.heading else -1
    if start < 0:  # markup stands between the words: the line is the evidence
        return PatternMatch(view.heading, view.start, line_end)
    return PatternMatch(view.heading, start, start + len(view.heading))


# A longer "term" is a sentence that a pattern took for one.
MAX_WORDS = 8
# Words of so many characters are held at once: memory stays flat in long clauses.
MAX_AT_ONCE = 20_000
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_PARENTHESES = re.compile(r"^(?P<before>[^()]{1,100}?)\s*\((?P<inside>[^()]{1,100})\)$")
_SECOND = re.compile(r"\)\s*\([^()]{1,100}\)$")  # "ERP (effective radiated power) (in dBi)"
_SIGNS = " \t\r\n*_`“”\"'‘’.:;,—–-"


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of a term, and where it stands."""

    name: str
    term: str
    start: int
    end: int


def plain_term(words: str) -> str:
    """Return a term without markup and the signs around it; empty if it cannot be one.

    >>> plain_term("**Branch  circuit.**")
    'Branch circuit'
    """
    plain = " ".join(words.replace("*", " ").replace("_", " ").split()).strip(_SIGNS)
    is_term = len(plain) > 1 and len(plain.split()) <= MAX_WORDS and plain[0] not in "(["
    return plain if is_term and any(c.isalpha() for c in plain) else ""


def split_term(found: PatternMatch, *, inverted: bool) -> tuple[str, list[Alias]]:
    """Return a term and the other names that its own words give.

    >>> found = PatternMatch("Residual-current device (RCD)", 0, 29)
    >>> term, aliases = split_term(found, inverted=False)
    >>> term, aliases[0].name
    ('Residual-current device', 'RCD')
    """
    match = _PARENTHESES.match(_SECOND.sub(")", found.value))
    before = plain_term(match["before"]) if match else plain_term(found.value)
    inside = plain_term(match["inside"]) if match else ""
    if inside and _is_short(inside, before):
        term, names = before, [inside]
    elif inside and _is_short(before, inside):
        term, names = inside, [before]
    else:
        term, names = before, []
    head, comma, tail = term.partition(", ")
    if inverted and comma and "," not in tail:
        names.append(f"{tail} {head[:1].lower()}{head[1:]}")
    # A name stands inside the words that give it, or where all of them stand.
    is_exact = len(found.value) == found.end - found.start
    aliases = []
    for name in names:
        at = found.value.find(name) if is_exact else -1
        start = found.start + at
        place = (start, start + len(name)) if at >= 0 else (found.start, found.end)
        aliases.append(Alias(name, term, *place))
    return term, aliases


def _is_short(short: str, term: str) -> bool:
    """Return whether capitals beside a term stand for it, if only as XP for experience points."""
    if long_form(short, term):
        return True
    rest = iter(term.casefold())
    return short.isupper() and len(short) > 1 and all(c in rest for c in short.casefold())


def long_form(short: str, words: str) -> str:
    """Return the ending of ``words`` that ``short`` abbreviates, or nothing.

    Letters of the short form must appear in order in the long one, the first at a word's start
    (Schwartz and Hearst 2003) and, unlike there, the last one in the last word.

    >>> long_form("AR", "your usual Armour Rating")
    'Armour Rating'
    """
    letters = [c for c in short.casefold() if c.isalnum()]
    pieces = words.split()[-min(len(letters) + 5, 2 * len(letters)) :]
    near = " ".join(pieces)
    folded = near.casefold()
    if len(folded) != len(near) or len(letters) < 2:
        return ""
    at, last = len(near), folded.rfind(" ") + 1
    for position in range(len(letters) - 1, -1, -1):
        at = folded.rfind(letters[position], 0, at)
        while position == 0 and at > 0 and folded[at - 1].isalnum():
            at = folded.rfind(letters[0], 0, at)
        if at < 0 or (position == len(letters) - 1 and at < last):
            return ""
    form = near[at:].strip(_SIGNS)
    return form if len(form) > len(short) and short not in form.split() else ""


class Lexicon:
    """Names that are looked for in texts, all at once: a tree of words.

    Looking costs the number of words of the text times the longest name, however many names there
    are. Longer names win, and words inside them do not count again.

    >>> lexicon = Lexicon({"branch circuit": "branch circuit"}, endings=("s",))
    >>> [(use.value, use.start) for use in lexicon.find("All Branch Circuits.", 0, 20)]
    [('branch circuit', 4)]
    """

    def __init__(self, names: Mapping[str, str], *, endings: Sequence[str] = ()) -> None:
        self.endings = tuple(endings)
        # A name in capitals is an abbreviation: "IT" is not "it".
        self.exact = {name for name in names if name.isupper() and _WORD.fullmatch(name)}
        self.forms: dict[str, str] = {}
        self.tree: dict[str, Any] = {}
        for name, target in names.items():
            node = self.tree
            for word in _WORD.findall(name)[:MAX_WORDS]:
                node = node.setdefault(self._form(word), {})
            if node is not self.tree:
                node.setdefault("", target)

    def find(self, text: str, start: int, end: int) -> Iterator[PatternMatch]:
        """Yield the targets of all names in a stretch of the text, in order."""
        if not self.tree:
            return
        for begin, stop in windows(text, start, end, MAX_AT_ONCE):
            words = list(_WORD.finditer(text, begin, stop))
            position = 0
            while position < len(words):
                length, target = self._longest(words, position)
                if length:
                    place = words[position].start(), words[position + length - 1].end()
                    yield PatternMatch(target, *place)
                position += max(1, length)

    def _longest(self, words: Sequence[re.Match[str]], position: int) -> tuple[int, str]:
        node, length, target = self.tree, 0, ""
        for offset in range(min(MAX_WORDS, len(words) - position)):
            node = node.get(self._form(words[position + offset].group()), {})
            if not node:
                break
            if "" in node:
                length, target = offset + 1, node[""]
        return length, target

    def _form(self, word: str) -> str:
        """Return the word without case and ending, so that plurals meet."""
        if word in self.exact:
            return word
        form = self.forms.get(word)
        if form is None:
            form = word.casefold()
            stems = ((form.removesuffix(ending), ending) for ending in self.endings)
            fit = (s for s, e in stems if len(s) > 2 and s != form and not s.endswith(e))
            form = self.forms[word] = next(fit, form)
        return form
