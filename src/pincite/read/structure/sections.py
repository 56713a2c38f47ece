"""Sections whose number opens a paragraph: "Section 11. Title. Text", "1.1 Text"."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from pincite.model.locators import HEADING_RANK, HeadingLabel, heading_label
from pincite.read.extracted import Block
from pincite.read.structure.numbering import LINE, Number, is_wrapped, number_of

_SECTION = HEADING_RANK["section"]
_DIVISION = 1  # exhibits and schedules, in which numbers begin anew
_WITHIN = 8  # a title that stands within a section, whatever its number
_LOST_BREAKS = 160  # a longer line may have lost its breaks: paragraphs begin within it
_LOOK = 250  # characters behind a label that tell whether it is one
_MANY_KNOWN = 3
_LONG_RUN = 5  # single numbers that go through a document
_BACK = 60.0  # numbers do not go back without a reason
_CERTAIN = 1e6  # the cost of taking for words what the document calls a heading
_BEAM = 24
_ENTRY, _FEWEST = 200, 4  # of a table of contents: characters of an entry, entries
_LONGEST = 120
# Where a paragraph may begin within such a line: behind a sentence, at what looks like a label.
_INNER = re.compile(
    r"(?:(?<=[.;:!?”\")\]])\s{1,40}|[ \t]{2,40}|(?<=[A-Z]{3})\s(?=[0-9]{1,2}\.[0-9]))"
    r"(?=§|(?i:section|article)\b|[0-9]{1,2}\.)"
)
_LEAD = re.compile(r"[ \t]*(?:#{1,6} |\\|>[ \t]|[*_]{1,3})?")
# Words of a title up to the period, colon or dash before the first sentence.
_TITLE = re.compile(
    r"[ \t]*(?P<words>[“\"(\[]?[A-Z0-9À-Þ][^\r\n]{0,130}?)[*_]{0,3}"
    r"(?:[.:]|[ \t][—–-])(?=[*_]{0,3}(?:$|\s+[“\"(\[]?[A-Z0-9À-Þ]|\s*\([a-zA-Z0-9]{1,4}\)))",
    re.MULTILINE,
)
_CAPITALS = re.compile(r"[ \t]*[A-ZÀ-Þ][A-ZÀ-Þ ,;&/’'-]{3,100}(?=\s+(?:[0-9]|[A-Z][a-z]|[(“\"]))")
_SENTENCE = re.compile(
    r"\b(?:may|must|shall|is|are|was|were|has|have|can|cannot|will|does?|should|agrees?|means?"
    r"|hereby|which|that)\b|[.!?]\s|\b(?:No|Nos|Inc|Mr|Ms|Dr|vs)$",
)
_OPENS = re.compile(r"[“\"'‘(\[$]?[A-Z0-9À-Þ]")
_LEADERS = re.compile(r"(?:\.{3}|(?:\. ){3}|…)[. ]*[0-9ivxlc]*$")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}$")


class _Candidate(NamedTuple):
    start: int
    end: int  # of the title, or of the label where a sentence follows
    block: int
    name: HeadingLabel
    number: Number
    drop: float  # the cost of taking it for words
    is_known: bool = False  # its reader calls it a heading
    is_titled: bool = False


def with_sections(text: str, blocks: Sequence[Block], *, is_told: bool = False) -> list[Block]:
    """Return the blocks with those parted that a numbered section opens: its heading, its words.

    Which labels count is told by their order in the whole document, as a reader tells it. Where
    the document itself tells its headings (contents, bookmarks: ``is_told``), those stay as they
    are, and a single number that is none of them counts a list.

    >>> text = "Section 1. Fees. Ten.\\n\\nSee\\n\\nSection 2. Term. A year.\\n"
    >>> from pincite.read.formats.plain import plain_blocks
    >>> whole = [Block("paragraph", 0, 21), Block("paragraph", 28, 53)]
    >>> [text[b.start : b.end] for b in with_sections(text, whole) if b.kind == "heading"]
    ['Section 1. Fees.', 'Section 2. Term.']
    """
    found = list(_candidates(text, blocks))
    if is_told:
        found = [c._replace(drop=_CERTAIN) if c.is_known else c for c in found]
        found = [c for c in found if c.is_known or not _is_single(c)]
    candidates = _without_contents(_of_one_style(found), blocks)
    named = {candidate.start for candidate in candidates}
    titles = [b.start for b in blocks if b.kind == "heading" and b.start not in named]
    accepted = _in_order(candidates, titles, len(text))
    if is_told:
        return _parted(text, blocks, accepted)
    kept = {candidate.start for candidate in accepted}
    listed = {c.start for c in found} - {c.start for c in candidates}
    refused = {c.start for c in found if c.is_known and (_is_single(c) or c.start in listed)} - kept
    blocks = [replace(b, kind="paragraph", level=0) if b.start in refused else b for b in blocks]
    if all(candidate.is_known for candidate in accepted):
        return blocks
    return _levelled(_parted(text, blocks, accepted), accepted)


def _candidates(text: str, blocks: Sequence[Block]) -> Iterator[_Candidate]:
    for place, block in enumerate(blocks):
        if block.kind == "heading":
            line = text[block.start : block.end]
            name = heading_label(line)
            if name.scheme in HEADING_RANK and not _YEAR.match(name.label):
                span, number = (block.start, block.end), number_of(name)
                is_page = len(number) == 1 and name.scheme == "decimal" and not name.title
                drop = 0.3 if is_page else 9.0
                yield _Candidate(*span, place, name, number, drop, True, bool(name.title))
        elif block.kind in ("paragraph", "list"):
            for start, end, is_inner in _beginnings(text, block):
                if found := _candidate(text, start, end, place, is_inner=is_inner):
                    yield found


def _beginnings(text: str, block: Block) -> Iterator[tuple[int, int, bool]]:
    """Yield where paragraphs begin in a block, with the end of their line."""
    previous = ""
    for line in LINE.finditer(text, block.start, block.end):
        start, end = line.span()
        if not is_wrapped(previous):
            lead = _LEAD.match(text, start, end)
            yield lead.end() if lead else start, end, False
        if end - start > _LOST_BREAKS:
            for inner in _INNER.finditer(text, start, end):
                yield inner.end(), end, True
        previous = line.group()[-80:]


def _candidate(text: str, start: int, end: int, block: int, *, is_inner: bool) -> _Candidate | None:
    """Return the section that begins here, if its label is followed by what may follow one."""
    if _LEADERS.search(text, max(start, end - 80), end):
        return None
    end = min(end, start + _LOOK)
    words = text[start:end]
    name = heading_label(words)
    if name.scheme not in HEADING_RANK or not words.startswith(name.label):
        return None
    number = number_of(name)
    if not number or _YEAR.match(name.label):
        return None
    label_end = start + len(name.label)
    while text[label_end : label_end + 1] in (".", ":", ")", "—", "–") and label_end < end:
        label_end += 1
    behind = text[label_end:end].lstrip()
    if not behind and name.scheme in ("decimal", "bare"):
        return None  # the number of a page
    if behind and not _OPENS.match(behind):
        return None  # in mid-sentence: "Section 4 of the Act", "1.5 million"
    if name.scheme == "bare" and not behind[:60].isupper() and not behind[:20].isupper():
        return None
    title_end = _title_end(text, label_end, end)
    is_single = len(number) == 1 and name.scheme in ("decimal", "bare")
    is_word = name.scheme not in ("decimal", "bare")
    if is_word and behind and title_end == label_end and text[label_end - 1] not in ".:—–)":
        return None
    if HEADING_RANK[name.scheme] == _DIVISION and not _is_division(text, start, end, is_inner):
        return None
    is_titled = title_end > label_end
    drop = (3.0 if is_titled else 1.0) if is_single else 5.0 if is_titled or is_word else 4.0
    drop = drop * 0.5 if is_inner else drop
    return _Candidate(start, title_end, block, name, number, drop, is_titled=is_titled)


def _is_division(text: str, start: int, end: int, is_inner: bool) -> bool:
    """Return whether the line is the name of an exhibit alone, and no word about one."""
    return not is_inner and end - start <= 60 and text[start:end].rstrip()[-1:] not in ".,;"


def _title_end(text: str, label_end: int, end: int) -> int:
    """Return where the title behind a label ends; at the label where a sentence begins."""
    rest = text[label_end:end].rstrip()
    found = _TITLE.match(text, label_end, end)
    if found and _is_title(found["words"]):
        return found.end()
    if capitals := _CAPITALS.match(text, label_end, end):
        return capitals.end()
    if 0 < len(rest) <= _LONGEST and rest[-1] not in ",;" and _is_title(rest.strip().rstrip(".:")):
        return label_end + len(rest)
    return label_end


def _is_title(words: str) -> bool:
    """Return whether words are those of a title: few, or with capitals, and no sentence."""
    if words.isupper():
        return True
    long = [word for word in words.split() if len(word) > 3]
    capital = sum(not word[0].islower() for word in long)
    is_set = len(long) <= 5 or 2 * capital > len(long)
    return bool(words) and len(long) <= 14 and is_set and not _SENTENCE.search(words)


def _in_order(found: Sequence[_Candidate], titles: Sequence[int], length: int) -> list[_Candidate]:
    """Return the candidates whose numbers make sense in the order in which they come."""
    kept = [c for c in found if HEADING_RANK[c.name.scheme] == _DIVISION]
    for rank in sorted({HEADING_RANK[c.name.scheme] for c in found} - {_DIVISION}):
        members = _doubted([c for c in found if HEADING_RANK[c.name.scheme] == rank])
        chosen = _cheapest(members, _Bounds(sorted(c.start for c in kept), titles))
        kept += _supported(chosen, length) if rank == _SECTION else chosen
    return sorted(kept)


def _without_contents(found: Sequence[_Candidate], blocks: Sequence[Block]) -> list[_Candidate]:
    """Return the candidates without a table of contents: runs of titles that come again.

    "PART I" above a table or a list of pages, with another one further on, belongs to one as well.
    """
    last = {(c.name.canonical.lower()): c.start for c in found}
    kinds = [*(block.kind for block in blocks[1:]), "paragraph"]
    found = [
        c
        for c in found
        if last[c.name.canonical.lower()] == c.start
        or HEADING_RANK[c.name.scheme] >= _SECTION
        or kinds[c.block] not in ("code", "table")
    ]
    kept: list[_Candidate] = []
    run: list[_Candidate] = []
    for candidate, after in zip_longest(found, found[1:]):
        run.append(candidate)
        if after is None or after.start - candidate.start > _ENTRY:
            again = sum(last[c.name.canonical.lower()] > run[-1].start for c in run)
            kept += run if len(run) < _FEWEST or 2 * again < len(run) else []
            run = []
    return kept


def _of_one_style(found: Sequence[_Candidate]) -> list[_Candidate]:
    """Return the candidates without "1)" where there is "1.": one of the two counts a list."""
    singles = [c for c in found if _is_single(c)]
    curved = {c.start for c in singles if c.name.label.endswith(")")}
    return [c for c in found if c.start not in curved or len(curved) == len(singles)]


def _doubted(members: Sequence[_Candidate]) -> list[_Candidate]:
    """Return the candidates, where "1." is cheap to drop beside headings that look like ones."""
    if sum(c.is_known and _is_single(c) for c in members) < _MANY_KNOWN:
        return list(members)
    return [
        c._replace(drop=min(c.drop, 1.5 if c.is_titled else 0.5))
        if _is_single(c) and not c.is_known
        else c
        for c in members
    ]


def _is_single(candidate: _Candidate) -> bool:
    return len(candidate.number) == 1 and candidate.name.scheme in ("decimal", "bare")


class _Bounds(NamedTuple):
    """Where numbers may begin anew: at headings of a higher rank, and maybe at plain titles."""

    higher: Sequence[int]
    titles: Sequence[int]

    def before(self, offset: int) -> tuple[int, int]:
        """Return how many of each kind stand before an offset."""
        return bisect_right(self.higher, offset), bisect_right(self.titles, offset)


def _supported(chosen: Sequence[_Candidate], length: int) -> list[_Candidate]:
    """Return the sections, without single numbers that may as well count the items of a list.

    "4." is a section where other headings are numbered so, where "4.1" is one, or where such
    numbers, most of them with titles or one of them with a "4.1", go through the whole document.
    """
    bare = [c for c in chosen if _is_single(c)]
    others = [c for c in chosen if c not in bare]
    roots = {c.number[0] for c in others if len(c.number) > 1}
    spans = bool(bare) and bare[-1].start - bare[0].start >= 0.25 * length
    is_long = spans and len(bare) >= _LONG_RUN
    if not others:
        titled = sum(c.is_titled for c in bare)
        if len(bare) >= 3 and (2 * titled >= len(bare) or is_long):
            return list(bare)
        return [c for c in bare if c.is_known]
    if is_long and any(c.number[0] in roots for c in bare):
        return list(chosen)
    return [c for c in chosen if c.is_known or c not in bare or c.number[0] in roots or c.is_titled]


class _State(NamedTuple):
    cost: float
    last: Number
    bounds: tuple[int, int]  # before the last one
    trail: tuple[_Candidate, object] | None


def _cheapest(members: Sequence[_Candidate], bounds: _Bounds) -> list[_Candidate]:
    """Return the candidates that the cheapest reading takes for headings."""
    beam = [_State(0.0, (), (0, 0), None)]
    for candidate in members:
        best: dict[tuple[Number, tuple[int, int]], _State] = {}
        here = bounds.before(candidate.start)
        for state in beam:
            taken = state.cost + _step(state, candidate.number, here)
            for after in (
                _State(state.cost + candidate.drop, *state[1:]),
                _State(taken, candidate.number, here, (candidate, state.trail)),
            ):
                key = after.last, after.bounds
                if key not in best or after.cost < best[key].cost:
                    best[key] = after
        beam = sorted(best.values(), key=lambda state: state.cost)[:_BEAM]
    kept: list[_Candidate] = []
    trail: object = beam[0].trail
    while isinstance(trail, tuple):
        kept.append(trail[0])
        trail = trail[1]
    return kept[::-1]


def _step(state: _State, number: Number, here: tuple[int, int]) -> float:
    """Return the cost of a number coming after the last one."""
    last = state.last
    if not last:
        return 0.0 if number[-1] == 1 else 2.0
    if number <= last:
        if here[0] > state.bounds[0]:
            return 0.0 if number[-1] == 1 else 2.0
        return 4.0 if here[1] > state.bounds[1] and number[-1] == 1 else _BACK
    if number[: len(last)] == last:  # one or more levels deeper
        return 0.0 if len(number) == len(last) + 1 and number[-1] <= 1 else 1.0
    place = next(i for i, (a, b) in enumerate(zip(last, number, strict=False)) if a != b)
    gap = number[place] - last[place] - 1
    deeper = sum(value > 1 for value in number[place + 1 :])
    return min((0.8 + 0.4 * gap if gap else 0.0) + deeper, 6.0)


def _parted(text: str, blocks: Sequence[Block], accepted: Sequence[_Candidate]) -> list[Block]:
    """Return the blocks with headings cut out of paragraphs and lists."""
    cuts: dict[int, list[_Candidate]] = {}
    for candidate in accepted:
        if not candidate.is_known:
            cuts.setdefault(candidate.block, []).append(candidate)
    done: list[Block] = []
    for place, block in enumerate(blocks):
        start = block.start
        for candidate in cuts.get(place, ()):
            done += _words(text, block, start, candidate.start)
            done.append(Block("heading", candidate.start, candidate.end, 6))
            start = candidate.end
        done += _words(text, block, start, block.end) if start > block.start else [block]
    return done


def _words(text: str, block: Block, start: int, end: int) -> list[Block]:
    """Return what is left of a block, if there are words in it."""
    words = text[start:end]
    if not words.strip():
        return []
    start += len(words) - len(words.lstrip())
    return [Block(block.kind, start, start + len(words.strip()))]


def _levelled(blocks: Sequence[Block], accepted: Sequence[_Candidate]) -> list[Block]:
    """Return the blocks with levels by number; titles without one stand above or below them.

    A title right before the next number is that of a group, and so is one behind which numbers
    begin anew; one with words of its own, behind which they go on, is a part of its section.
    """
    numbered = {c.start: c for c in accepted}
    first = accepted[0].start
    done = list(blocks)
    has_words = False  # between a heading and the next number
    after: _Candidate | None = None  # which has that number
    highest = min((_level(c) for c in accepted if _level(c) > _DIVISION), default=_SECTION)
    for place in range(len(blocks) - 1, -1, -1):
        block = blocks[place]
        if block.kind != "heading":
            has_words = True
            continue
        if found := numbered.get(block.start):
            level = _level(found)
            has_words, after = False, found
        elif place == 0:
            level = block.level  # the title of all
        elif after is None or _level(after) == _DIVISION:
            level = _DIVISION + block.level
        elif has_words and after.number > (1,) and block.start > first:
            level = _WITHIN + block.level
        else:
            level = min(block.level + _DIVISION, highest - 1)
        done[place] = replace(block, level=level)
    return done


def _level(candidate: _Candidate) -> int:
    """Return the level of a section by the word and the parts of its number."""
    number = candidate.name.canonical.rpartition(" ")[2]
    return HEADING_RANK[candidate.name.scheme] + number.count(".") * number[0].isdigit()
