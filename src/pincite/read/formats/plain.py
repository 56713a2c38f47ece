"""Plain text as blocks: paragraphs by blank lines, headings by their grammar and their order."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pincite.model.locators import HEADING_RANK, HeadingLabel, heading_label
from pincite.read.extracted import Block, ExtractedText, decode, form_feed_pages
from pincite.read.structure.numbering import Number, number_of
from pincite.read.structure.sections import with_sections

TITLE_CHARS = 120

_LINE = re.compile(r"[^\r\n\f\u2028\u2029]*(?:\r\n|[\r\n\f\u2028\u2029]|\Z)")
_UNDERLINE = re.compile(r"={3,}|-{3,}|~{3,}")
_LEADERS = re.compile(r"(?:\.{3}|(?:\. ){3}|\s{3})[.\s]*[0-9ivxlc]*$")
_SENTENCE = re.compile(r"\b(?:may|must|shall|is|are|was|were|has|have|can|will|does?|should)\b")
_BREAK = re.compile(r"[.][ \t]+(?=[\"“(]?[A-ZÀ-Þ0-9])")
_ENDED = re.compile(r"[.;:!?)\]”\"]\s*$")
_LONGEST = 100
_BEAM = 16


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int  # of its words
    words: str
    after_break: bool  # a blank line or a new page comes before it


class _HeadingCandidate(NamedTuple):
    """A line that looks like a heading."""

    line: int
    end: int
    level: int
    drop: float  # the cost of taking it for ordinary words
    is_whole: bool = True  # no words of a paragraph follow in the same line
    chain: str = ""  # whose numbers it goes on with; empty: it has none
    number: Number = ()
    is_bare: bool = False  # a single number without a word: it may be a step of a list


def plain_blocks(text: str) -> list[Block]:
    """Return headings and paragraphs of a plain text.

    >>> [(b.kind, b.level) for b in plain_blocks("Article 1. Name\\n\\nWe are\\nhere.\\n")]
    [('heading', 3), ('paragraph', 0)]
    """
    lines = list(_lines(text))
    candidates = _with_support(_without_contents(list(_candidates(lines)), lines))
    headings = {candidate.line: candidate for candidate in _in_order(candidates)}
    blocks: list[Block] = []
    covered = 0
    for position, line in enumerate(lines):
        if found := headings.get(position):
            blocks.append(Block("heading", line.start, found.end, found.level))
            covered = found.end
        start = max(line.start, covered)
        if start >= line.end:
            continue
        start += len(text[start : line.end]) - len(text[start : line.end].lstrip())
        last = blocks[-1] if blocks else None
        if last and last.kind == "paragraph" and not line.after_break and covered <= last.start:
            blocks[-1] = Block("paragraph", last.start, line.end)
        elif start < line.end:
            blocks.append(Block("paragraph", start, line.end))
    return blocks


def _lines(text: str) -> Iterator[_Line]:
    """Yield the lines that are not blank."""
    after_break = True
    for match in _LINE.finditer(text):
        words = match.group().strip()
        if words:
            start = match.start() + match.group().index(words[0])
            yield _Line(start, start + len(words), words, after_break)
            after_break = False
        after_break = after_break or not words or match.group().endswith("\f")


def _candidates(lines: Sequence[_Line]) -> Iterator[_HeadingCandidate]:
    taken = -1
    for position, line in enumerate(lines):
        if position <= taken or len(line.words) > 2000:
            continue
        following = lines[position + 1] if position + 1 < len(lines) else None
        found = _underlined(position, line, following)
        found = found or _numbered(position, lines) or _capitals(position, line, following)
        if found:
            yield found
            # A second line of the heading is not looked at again.
            taken = position + (found.end > line.end)


def _underlined(position: int, line: _Line, following: _Line | None) -> _HeadingCandidate | None:
    is_rule = following and not following.after_break and _UNDERLINE.fullmatch(following.words)
    if not (following and is_rule and line.after_break) or len(line.words) > _LONGEST:
        return None
    level = 1 if following.words.startswith("=") else 2
    return _HeadingCandidate(position, following.end, level, drop=9.0)


def _capitals(position: int, line: _Line, following: _Line | None) -> _HeadingCandidate | None:
    words = line.words
    stands_alone = line.after_break and (following is None or following.after_break)
    if not stands_alone or not words.isupper() or len(words) > _LONGEST:
        return None
    if sum(letter.isalpha() for letter in words) < 4 or words[-1] in ".,;" or "|" in words:
        return None
    if heading_label(words).scheme == "item":
        return None
    return _HeadingCandidate(position, line.end, 1 if position == 0 else 2, drop=9.0)


def _numbered(position: int, lines: Sequence[_Line]) -> _HeadingCandidate | None:
    """Return the candidate that a line with a label makes, if it can be a heading at all."""
    line = lines[position]
    name = heading_label(line.words)
    following = lines[position + 1] if position + 1 < len(lines) else None
    if name.scheme not in HEADING_RANK or _LEADERS.search(line.words[-80:]):
        return None
    if not line.after_break:
        previous = lines[position - 1].words
        is_title = len(previous) <= 60 and heading_label(previous).scheme in HEADING_RANK
        if not is_title and not _ENDED.search(previous[-80:]):
            return None  # it breaks off in mid-sentence
    length = _heading_length(line, name, following)
    end = line.start + length
    if not length:
        return None
    second = following.words if following and not name.title else ""
    if following and second.isupper() and len(second) <= _LONGEST:
        end = following.end if heading_label(second).scheme == "" else end
    is_whole = length == len(line.words)
    stands_alone = is_whole and line.after_break and (following is None or following.after_break)
    drop = 6.0 if stands_alone else 5.0 if line.after_break else 1.5
    is_bare = name.canonical.isdigit() and name.scheme in ("decimal", "bare")
    if is_bare and not stands_alone:
        drop = 1.0
    dots = name.canonical.count(".") if name.canonical[:1].isdigit() else 0
    level = HEADING_RANK[name.scheme] + dots
    chain = "number" if HEADING_RANK[name.scheme] == 4 else name.scheme
    return _HeadingCandidate(position, end, level, drop, is_whole, chain, number_of(name), is_bare)


def _heading_length(line: _Line, name: HeadingLabel, following: _Line | None) -> int:
    """Return how many characters of the line are the heading; 0 when it is a sentence."""
    words, title = line.words, name.title
    label_end = words.find(name.label) + len(name.label)
    if title and not (title[0].isupper() or title[0] in '0123456789[(“"'):
        return 0
    if sentence := _BREAK.search(words, label_end + 2):
        title_end = sentence.start() + 1
        if title_end - label_end <= 80 and not _SENTENCE.search(words[label_end:title_end]):
            return title_end
    goes_on = following and not following.after_break and following.words[0].islower()
    is_sentence = bool(goes_on or sentence or len(words) > _LONGEST) or (
        words.endswith((".", ":", ";")) and _SENTENCE.search(title) is not None
    )
    if not is_sentence:
        return 0 if words[-1] in ",;" else len(words)
    # "Section 4. The board shall meet …": only the label stands out, and only with its period.
    separator = words[label_end : label_end + 1]
    has_mark = separator in (".", ":", "—") or name.scheme in ("§", "decimal")
    return label_end + (separator in (".", ":", "—")) if has_mark else 0


def _without_contents(
    found: Sequence[_HeadingCandidate], lines: Sequence[_Line]
) -> list[_HeadingCandidate]:
    """Return the candidates without runs of three and more titles on end: a table of contents."""
    kept: list[_HeadingCandidate] = []
    run: list[_HeadingCandidate] = []
    for candidate in found:
        is_next = bool(run) and candidate.line == run[-1].line + 1
        if not (is_next and candidate.is_whole and not lines[candidate.line].after_break):
            kept += run if len(run) < 3 else []
            run = []
        run.append(candidate)
    return kept + (run if len(run) < 3 else [])


def _with_support(found: Sequence[_HeadingCandidate]) -> list[_HeadingCandidate]:
    """Return the candidates without single numbers that may as well count the lines of a list.

    "4. Tests" is a heading beside "3.1 Samples", or where words stand between it and "5. Results".
    """
    bare = {c.line for c in found if c.is_bare}
    if any(c.chain == "number" and not c.is_bare for c in found):
        return list(found)
    alone = {n for n in bare if not {n - 1, n + 1} & bare}
    return [c for c in found if not c.is_bare or (c.is_whole and c.line in alone)]


def _in_order(found: Sequence[_HeadingCandidate]) -> list[_HeadingCandidate]:
    """Return the candidates whose numbers make sense in the order in which they come."""
    chains: defaultdict[str, list[tuple[_HeadingCandidate, bool]]] = defaultdict(list)
    highest: dict[str, int] = {}  # the highest heading since the last one of each chain
    for candidate in found:
        fresh = highest.get(candidate.chain, 99) < candidate.level
        chains[candidate.chain].append((candidate, fresh))
        for chain in chains:
            highest[chain] = min(highest.get(chain, 99), candidate.level)
        highest[candidate.chain] = 99
    kept = [candidate for candidate, _ in chains.pop("", [])]
    for members in chains.values():
        kept.extend(_cheapest(members))
    return sorted(kept)


class _PlainState(NamedTuple):
    cost: float
    last: Number
    trail: tuple[_HeadingCandidate, object] | None


def _cheapest(members: Sequence[tuple[_HeadingCandidate, bool]]) -> list[_HeadingCandidate]:
    """Return the candidates of one chain that the cheapest reading takes for headings."""
    beam = [_PlainState(0.0, (), None)]
    for candidate, fresh in members:
        best: dict[Number, _PlainState] = {}
        for state in beam:
            taken = state.cost + _step(state.last, candidate.number, fresh)
            for after in (
                state._replace(cost=state.cost + candidate.drop),
                _PlainState(taken, candidate.number, (candidate, state.trail)),
            ):
                if after.last not in best or after.cost < best[after.last].cost:
                    best[after.last] = after
        beam = sorted(best.values(), key=lambda state: state.cost)[:_BEAM]
    kept: list[_HeadingCandidate] = []
    trail: object = beam[0].trail
    while isinstance(trail, tuple):
        kept.append(trail[0])
        trail = trail[1]
    return kept


def _step(last: Number, number: Number, fresh: bool) -> float:
    """Return the cost of one number coming after another."""
    if not last:
        return 0.0
    if number <= last:
        return (0.5 if number[-1] <= 1 else 3.0) if fresh else 7.0
    if number[: len(last)] == last:  # one or more levels deeper
        return 0.0 if len(number) == len(last) + 1 and number[-1] <= 1 else 1.0
    place = next(i for i, (a, b) in enumerate(zip(last, number, strict=False)) if a != b)
    gap = number[place] - last[place] - 1
    deeper = sum(value > 1 for value in number[place + 1 :])
    return min((1.0 + 0.2 * gap if gap else 0.0) + deeper, 4.0)


def read(data: bytes, name: str) -> ExtractedText:
    """Return the document as it is; its first line is its title if it is short."""
    text = decode(data, name)
    first = text.strip().split("\n", 1)[0].strip()
    title = first if len(first) <= TITLE_CHARS else Path(name).stem
    return ExtractedText(
        text, title, with_sections(text, plain_blocks(text)), form_feed_pages(text)
    )
