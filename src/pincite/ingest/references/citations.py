"""The grammar of cross references: what a text cites, as it is written and not yet resolved.

``paragraphs (c)(2) or (3) of this section`` is one citation with two places and a tail. Which
clauses they are depends on where the words stand: that is ``resolve.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from pincite.ingest.references.citation_words import (
    ASIDE,
    HEAD,
    INNER,
    JOIN,
    LABEL,
    NAMED,
    PLURALS,
    QUANTITY,
    STANDARD,
    TO_NAME,
    TO_PLACE,
    TO_SOMETHING,
    TO_THIS,
)
from pincite.ingest.structure.sequence import readings


@dataclass(frozen=True, slots=True)
class Cited:
    """One place of a citation: a number, labels in parentheses, or both."""

    start: int
    end: int
    number: str = ""
    labels: tuple[str, ...] = ()
    ends_range: bool = False  # "through (e)": the place before is the range's first
    is_inner: bool = False  # ", item (b)": below the place before, not beside it
    is_doubtful: bool = False  # a reference only if there is such a place


@dataclass(frozen=True, slots=True)
class Tail:
    """What the words behind a citation say: where its places are."""

    kind: Literal["", "this", "place", "name", "other"] = ""
    word: str = ""  # of "this section"
    name: str = ""  # of "the Communications Act"
    place: Citation | None = None  # of "§ 97.303"
    end: int = 0


@dataclass(frozen=True, slots=True)
class Citation:
    """One or more places that are cited together."""

    start: int
    end: int
    word: str  # in the singular; "" for a bare number or bare labels
    cited: tuple[Cited, ...]
    tail: Tail = Tail()
    law: str = ""  # "47 U.S.C.", "47 CFR"
    is_own: bool = False  # "this section" alone, without a number
    is_bare: bool = False
    aside: str = ""  # "Exception No. 1", behind the last place


def citations(text: str, start: int, end: int) -> Iterator[Citation]:
    """Yield what ``text[start:end]`` cites, in order.

    >>> [found] = citations("as in §§ 97.305(c) and 97.307(f)", 0, 32)
    >>> [(each.number, each.labels) for each in found.cited]
    [('97.305', ('(c)',)), ('97.307', ('(f)',))]
    """
    position = start
    while match := HEAD.search(text, position, end):
        found = _citation(text, match, end)
        if found is None:
            position = match.start() + 1 if match["cued"] is None else match.start("cued") + 1
            continue
        yield found
        position = max(found.end, position + 1)


def is_quantity(text: str, position: int) -> bool:
    """Return whether a number that ends here is followed by a unit."""
    return QUANTITY.match(text, position) is not None


def singular(word: str) -> str:
    """Return the word for one place: ``appendix`` for ``Appendices``."""
    word = word.lower().removesuffix("(s)")
    if word in PLURALS:
        return PLURALS[word]
    return word if word in INNER or word in NAMED else word.removesuffix("s")


def labels_of(text: str) -> tuple[str, ...]:
    """Return the labels of ``(a) (1)(ii)``, none if one of them cannot be a label.

    >>> labels_of("(a) (1)(ii)"), labels_of("(see)")
    (('(a)', '(1)', '(ii)'), ())
    """
    found = tuple(re.findall(LABEL, text))
    return found if all(_is_label(label) for label in found) else ()


def _is_label(label: str) -> bool:
    core = label.strip("()")
    if not re.fullmatch(r"\d{1,3}[a-z]?(?:\.\d{1,2})?|[a-z]{1,6}(?:\.\d{1,2})?|[A-Z]{1,6}", core):
        return False
    return bool(readings(label))


def _citation(text: str, match: re.Match[str], end: int, depth: int = 0) -> Citation | None:
    """Return the citation that begins with this match, with all its places and its tail."""
    if match["own"]:
        if match["own"].lower().startswith("these"):
            return None
        word = singular(match["own"].split()[-1])
        return Citation(match.start(), match.end(), word, (), is_own=True)
    head = _head(match)
    if head is None:
        return None
    first = head.cited[0]
    if head.is_bare and not first.labels and is_quantity(text, first.end):
        return None
    whole = _with_list(text, head, end, plural=_is_plural(match))
    if aside := ASIDE.match(text, whole.end, end):
        whole = replace(whole, aside=aside["name"], end=aside.end())
    tail = _tail(text, whole, end, depth)
    return replace(whole, tail=tail, end=max(whole.end, tail.end))


def _head(match: re.Match[str]) -> Citation | None:
    """Return the citation with its first place only."""
    kind = next(k for k in ("law", "cfr", "sign", "word", "cued", "loose", "bare") if match[k])
    if kind in ("cued", "loose"):
        labels = labels_of(match[kind])
        first = Cited(*match.span(kind), labels=labels, is_doubtful=kind == "cued")
        return Citation(first.start, first.end, "", (first,)) if labels else None
    prefix = "" if kind == "word" else f"{kind}_"
    number = match["bare"] if kind == "bare" else match[f"{prefix}number"] or ""
    raw = match["only"] if kind == "word" and match["only"] else match[f"{prefix}labels"] or ""
    labels = labels_of(raw)
    if not number and (not labels or singular(match["word"]) in NAMED):
        return None
    stop = match.end() if labels or not raw else match.end() - len(raw)
    word = {"word": match["word"], "law": match["law_word"], "cfr": match["cfr_word"]}.get(kind)
    word = singular(word or ("section" if kind == "sign" else ""))
    if number[:1].isalpha() and (word not in NAMED or _is_pronoun(match["word"] or "", number)):
        return None
    # "sections (a)" is seldom said, and "section(s)" often.
    doubtful = not number and INNER.get(word) == 0
    first = Cited(match.start(), stop, number, labels, is_doubtful=doubtful)
    law = " ".join((match["law"] or match["cfr"] or "").split())
    if standard := STANDARD.search(match.string, max(0, match.start() - 40), match.start()):
        law = law or standard["name"]
    return Citation(match.start(), stop, word, (first,), law=law, is_bare=kind == "bare")


def _is_pronoun(word: str, number: str) -> bool:
    """Return whether the letter is a word: "the part I like", "a table A said"."""
    return number in ("I", "A") and word[:1].islower()


def _is_plural(match: re.Match[str]) -> bool:
    word = (match["word"] or "").lower()
    return match["sign"] == "§§" or (bool(word) and singular(word) != word)


def _with_list(text: str, head: Citation, end: int, *, plural: bool) -> Citation:
    """Return the citation with the places that are joined to its first."""
    cited = list(head.cited)
    while match := JOIN.match(text, cited[-1].end, end):
        place = _joined(text, match, head, cited[-1], plural)
        if place is None:
            break
        cited.append(place)
    if plural and head.word not in ("table", "tableau") and len(cited) == 1:
        cited = list(_hyphen_range(cited[0]))
    return replace(head, cited=tuple(cited), end=cited[-1].end)


def _joined(
    text: str, match: re.Match[str], head: Citation, before: Cited, plural: bool
) -> Cited | None:
    """Return the place that a list goes on with, None if the words are no part of it."""
    word = singular(match["word"] or "")
    is_inner = INNER.get(word, 0) > INNER.get(head.word, 0) and bool(match["comma"])
    if word and word != head.word and not (is_inner and match["only"]):
        return None
    start, ends_range = match.end(), bool(match["through"])
    start = min(s for s in (match.start("number"), match.start("only")) if s >= 0)
    if match["only"]:
        labels = labels_of(match["only"])
        if not labels or not (before.labels or is_inner):
            return None
        return Cited(start, match.end(), "", labels, ends_range, is_inner)
    number, labels = match["number"], labels_of(match["labels"] or "")
    stop = match.end() if labels else match.end("number")
    is_like = (before.number[:1].isalpha(), "." in before.number) == (
        number[:1].isalpha(),
        "." in number,
    )
    if not before.number or not is_like or is_quantity(text, stop):
        return None
    doubtful = not plural and not match["sign"] and not word and "." not in number
    return Cited(start, stop, number, labels, ends_range, is_doubtful=doubtful)


def _hyphen_range(cited: Cited) -> Iterator[Cited]:
    """Yield both ends of "chapters 1-3"."""
    first, _, last = cited.number.partition("-")
    if last and "." not in first and int(first) < int(last) and not cited.labels:
        yield replace(cited, number=first)
        yield replace(cited, number=last, ends_range=True)
    else:
        yield cited


def _tail(text: str, citation: Citation, end: int, depth: int) -> Tail:
    position = citation.end
    if match := TO_THIS.match(text, position, end):
        return Tail("this", word=singular(match.group().split()[-1]), end=match.end())
    if match := TO_PLACE.match(text, position, end):
        takes_to = citation.word in ("appendix", "annex", "table", "schedule", "subpart")
        takes_to = takes_to or not citation.cited[0].number
        head = HEAD.match(text, match.end(), end) if takes_to or not match["to"] else None
        if head and depth < 3 and (found := _citation(text, head, end, depth + 1)):
            return Tail("place", place=found, end=found.end)
    if match := TO_NAME.match(text, position, end):
        name = " ".join((match["name"] or match["code"]).split())
        return Tail("name", name=name, end=match.end())
    return Tail("other" if TO_SOMETHING.match(text, position, end) else "")
