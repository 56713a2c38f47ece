"""Terms: how they are written, what else they are called, and where they are used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pincite.core.patterns import windows
from pincite.ingest.enrichment.matching import Found

# A longer "term" is a sentence that a pattern took for one.
MOST_WORDS = 8
# Words of so many characters are held at once: memory stays flat in long clauses.
MOST_AT_ONCE = 20_000
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
    is_term = len(plain) > 1 and len(plain.split()) <= MOST_WORDS and plain[0] not in "(["
    return plain if is_term and any(c.isalpha() for c in plain) else ""


def split_term(found: Found, *, inverted: bool) -> tuple[str, list[Alias]]:
    """Return a term and the other names that its own words give.

    >>> term, aliases = split_term(Found("Residual-current device (RCD)", 0, 29), inverted=False)
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
            for word in _WORD.findall(name)[:MOST_WORDS]:
                node = node.setdefault(self._form(word), {})
            if node is not self.tree:
                node.setdefault("", target)

    def find(self, text: str, start: int, end: int) -> Iterator[Found]:
        """Yield the targets of all names in a stretch of the text, in order."""
        if not self.tree:
            return
        for begin, stop in windows(text, start, end, MOST_AT_ONCE):
            words = list(_WORD.finditer(text, begin, stop))
            position = 0
            while position < len(words):
                length, target = self._longest(words, position)
                if length:
                    place = words[position].start(), words[position + length - 1].end()
                    yield Found(target, *place)
                position += max(1, length)

    def _longest(self, words: Sequence[re.Match[str]], position: int) -> tuple[int, str]:
        node, length, target = self.tree, 0, ""
        for offset in range(min(MOST_WORDS, len(words) - position)):
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
