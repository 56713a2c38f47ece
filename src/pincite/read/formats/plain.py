"""Plain text as blocks: paragraphs by blank lines, headings by their grammar and their order.

And what is left of any document whose reader fails: its words without structure.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lxml import etree

from pincite.model.locators import HEADING_RANK, LETTERED, HeadingLabel, heading_label
from pincite.read.extracted import Block, BlockKind, ExtractedText, decode, form_feed_pages
from pincite.read.formats.archive import Archive
from pincite.read.formats.blocks import CONTENTS_TITLE
from pincite.read.formats.latex import HAS_TABLES, around, read_latex
from pincite.read.formats.xml import Element, local_name, parse_xml
from pincite.read.structure.numbering import Number, number_of
from pincite.read.structure.sections import with_sections

TITLE_CHARS = 120

_LINE = re.compile(r"[^\r\n\f\u2028\u2029]*(?:\r\n|[\r\n\f\u2028\u2029]|\Z)")
_UNDERLINE = re.compile(r"([=~*^.#+\"'`-])\1{2,}")
_BULLET = re.compile(r"[-*+•o·][ \t]+")
_SIGNS = re.compile(r"[|=_<>{}$\\]")  # of code and tables
_LETTER = re.compile(r"[A-Z]\.\s+[A-Za-zÀ-ÿ]")
_LEADERS = re.compile(r"(?:\.{3}|(?:\. ){3}|\s{3})[.\s]{0,200}+[0-9ivxlc]{0,9}$")
_SENTENCE = re.compile(r"\b(?:may|must|shall|is|are|was|were|has|have|can|will|does?|should)\b")
_BREAK = re.compile(r"[.][ \t]+(?=[\"“(]?[A-ZÀ-Þ0-9])")
_ENDED = re.compile(r"[.;:!?)\]”\"]\s*$")
_LONGEST = 100
_BEAM = 16
_AS_CHAPTERS = 0  # the level of a listed title without a number, until theirs is known
_MANY = 3  # headings that are underlined or listed: then the others are, too
_BELIEVED = 6.0  # the cost of taking for words what looks like a heading
_SURE = 9.0  # the cost of taking a line for words that is said to be a heading


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int  # of its words
    words: str
    after_break: bool  # a blank line or a new page comes before it
    indent: int  # how many characters stand before its words


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
    is_underlined: bool = False


def plain_blocks(text: str) -> list[Block]:
    """Return headings and paragraphs of a plain text.

    >>> [(b.kind, b.level) for b in plain_blocks("Article 1. Name\\n\\nWe are\\nhere.\\n")]
    [('heading', 3), ('paragraph', 0)]
    """
    return _blocks(text)[0]


def _blocks(text: str) -> tuple[list[Block], bool]:
    """Return the blocks, and whether the text itself tells which lines are headings."""
    lines = list(_lines(text))
    contents = _contents(lines)
    found = _with_support(_at_margin(list(_candidates(lines, contents)), lines), contents)
    headings = {candidate.line: candidate for candidate in _in_order(found)}
    blocks: list[Block] = []
    covered = 0
    for position, line in enumerate(lines):
        if heading := headings.get(position):
            blocks.append(Block("heading", line.start, heading.end, heading.level))
            covered = heading.end
        start = max(line.start, covered)
        if start >= line.end:
            continue
        start += len(text[start : line.end]) - len(text[start : line.end].lstrip())
        last = blocks[-1] if blocks else None
        # Numbers of a table of contents are no items: its lines stay as they are.
        kind: BlockKind = "code" if position in contents.lines else "paragraph"
        if last and last.kind == kind and not line.after_break and covered <= last.start:
            blocks[-1] = Block(kind, last.start, line.end)
        elif start < line.end:
            blocks.append(Block(kind, start, line.end))
    listed = sum(bool(each.number) and each.drop >= _SURE for each in headings.values())
    return blocks, listed >= max(_MANY, 0.5 * len(contents.titles))


def _lines(text: str) -> Iterator[_Line]:
    """Yield the lines that are not blank."""
    after_break = True
    for match in _LINE.finditer(text):
        words = match.group().strip()
        if words:
            start = match.start() + match.group().index(words[0])
            indent = start - match.start()
            yield _Line(start, start + len(words), words, after_break, indent)
            after_break = False
        after_break = after_break or not words or match.group().endswith("\f")


class _Contents(NamedTuple):
    """The table of contents of a text, wherever it stands."""

    lines: frozenset[int]
    titles: frozenset[tuple[Number, str]]  # numbers and titles without signs

    @property
    def has_bare(self) -> bool:
        """Tell whether single numbers are listed, so that one that is not is no heading."""
        return any(len(number) == 1 for number, _ in self.titles)


class _ContentsEntry(NamedTuple):
    """A line of contents with those that it was broken into."""

    first: int
    end: int
    key: tuple[Number, str]


def _contents(lines: Sequence[_Line]) -> _Contents:
    """Return the lines that only list headings.

    Titles on end are a list under "Contents", or where no blank lines part them, or where most of
    them come again: two headings of a text have words between them.
    """
    runs = list(_runs(lines))
    seen = Counter(key for _, run in runs for key in {entry.key for entry in run})
    for at in range(len(lines)):
        if rule := _rule_below(lines, at):
            seen[_key(heading_label(" ".join(line.words for line in lines[at:rule])))] += 1
    found: list[_ContentsEntry] = []
    for is_titled, run in runs:
        inside = lines[run[0].first + 1 : run[-1].end]
        is_dense = len(run) >= 3 and not any(line.after_break for line in inside)
        again = sum(seen[entry.key] > 1 for entry in run)
        if is_titled or is_dense or (len(run) >= 4 and again > 0.5 * len(run)):
            found += run
    kept = frozenset(at for entry in found for at in range(entry.first, entry.end))
    return _Contents(kept, frozenset(entry.key for entry in found))


def _runs(lines: Sequence[_Line]) -> Iterator[tuple[bool, list[_ContentsEntry]]]:
    """Yield numbered titles on end, and whether a line above them says that they are contents."""
    run: list[_ContentsEntry] = []
    own: set[tuple[Number, str]] = set()
    before: set[tuple[Number, str]] = set()
    is_titled = is_contents = False
    position = 0
    while position < len(lines):
        entry = _entry(lines, position, is_titled=is_titled)
        # Where a title comes again the list is over: it is the first heading of the text.
        is_known = lines[position].after_break and not is_contents
        is_again = entry is not None and (entry.key in own or (is_known and entry.key in before))
        if run and (entry is None or is_again):
            yield is_titled, run
            before |= own
            run, own, is_titled, is_contents = [], set(), False, False
        if entry is None:
            at = position - _is_rule(lines, position)
            title = CONTENTS_TITLE.fullmatch(lines[at].words) if lines[at].after_break else None
            is_titled = title is not None
            is_contents = title is not None and not title["other"]
            position += 1
        else:
            run.append(entry)
            own.add(entry.key)
            position = entry.end
    if run:
        yield is_titled, run


def _is_rule(lines: Sequence[_Line], position: int) -> bool:
    """Tell whether a line underlines the one above."""
    if not 0 < position < len(lines):
        return False
    line, above = lines[position], lines[position - 1]
    is_near = not line.after_break and line.indent == above.indent
    return is_near and _UNDERLINE.fullmatch(line.words) is not None


def _entry(lines: Sequence[_Line], position: int, *, is_titled: bool) -> _ContentsEntry | None:
    """Return the entry that a line and its broken rest make, if they can be one.

    Under "Contents" it may have no number, and its rest may stand as far left as itself.
    """
    line = lines[position]
    if len(line.words) > _LONGEST + 20 or _is_rule(lines, position + 1):
        return None
    words, end = _without_bullet(line.words), position + 1
    if _LETTER.match(words):  # "A. Examples" in a list is "Appendix A. Examples" in the text
        words = f"Appendix {words}"
    if not _is_label(words):
        return _plain_entry(lines, position) if is_titled else None
    hang = line.indent + len(line.words) - len(_without_bullet(line.words))
    while end < min(position + 4, len(lines)) and not lines[end].after_break:
        rest = lines[end]
        is_broken = rest.indent >= hang and rest.indent > line.indent
        is_broken = is_broken or (is_titled and rest.indent == line.indent)
        if not is_broken or _is_label(_without_bullet(rest.words)) or _LETTER.match(rest.words):
            break
        words, end = f"{words} {rest.words}", end + 1
    name = heading_label(_LEADERS.sub("", words))
    if not name.title or (words.endswith((";", ",", ":")) and not is_titled):
        return None
    return _ContentsEntry(position, end, _key(name))


def _plain_entry(lines: Sequence[_Line], position: int) -> _ContentsEntry | None:
    """Return the entry of a title without a number, such as "Preface"."""
    words = _LEADERS.sub("", _without_bullet(lines[position].words))
    following = lines[position + 1] if position + 1 < len(lines) else None
    is_listed = following and not following.after_break and _is_label(following.words)
    if not is_listed or len(words) > 60 or not words[0].isupper() or _ENDED.search(words):
        return None
    return _ContentsEntry(position, position + 1, _key(HeadingLabel("", "", words, "")))


def _is_label(words: str) -> bool:
    return heading_label(words[:_LONGEST]).scheme in HEADING_RANK


def _without_bullet(words: str) -> str:
    return _BULLET.sub("", words, count=1) if _BULLET.match(words) else words


def _key(name: HeadingLabel) -> tuple[Number, str]:
    title = name.title.casefold()
    return number_of(name), "".join(sign for sign in title if sign.isalnum())


def _candidates(lines: Sequence[_Line], contents: _Contents) -> Iterator[_HeadingCandidate]:
    levels = _underlined_levels(lines, contents)
    taken = -1
    for position, line in enumerate(lines):
        if position <= taken or len(line.words) > 2000 or position in contents.lines:
            continue
        following = lines[position + 1] if position + 1 < len(lines) else None
        found = _underlined(position, lines, levels)
        found = found or _listed(position, lines, contents)
        if not found and not _BULLET.match(line.words):
            found = _numbered(position, lines) or _capitals(position, line, following)
        if found:
            yield found
            # Further lines of the heading are not looked at again.
            taken = position
            while taken + 1 < len(lines) and lines[taken + 1].start < found.end:
                taken += 1


def _rule_below(lines: Sequence[_Line], position: int) -> int:
    """Return the line that underlines a title of up to three lines; 0 where none does."""
    if not lines[position].after_break:
        return 0
    for at in range(position + 1, min(position + 4, len(lines))):
        if lines[at].after_break:
            return 0
        if _UNDERLINE.fullmatch(lines[at].words):
            longest = max(len(line.words) for line in lines[position:at])
            is_fitting = longest <= max(_LONGEST, 1.1 * len(lines[at].words))
            return at if is_fitting and _is_rule(lines, at) else 0
    return 0


def _underlined_levels(lines: Sequence[_Line], contents: _Contents) -> dict[str, int]:
    """Return the level of each sign that underlines: by the numbers above it, else as they come.

    Lines that are set deeper than the others are words of an example.
    """
    depths: dict[str, Counter[int]] = {}
    rules = [(at, rule) for at in range(len(lines)) if (rule := _rule_below(lines, at))]
    margin = min((lines[at].indent for at, _ in rules), default=0)
    for at, rule in rules:
        if lines[at].indent == margin and at not in contents.lines:
            counts = depths.setdefault(lines[rule].words[0], Counter())
            name = heading_label(lines[at].words)
            if name.scheme in ("decimal", "bare"):
                counts[name.canonical.count(".")] += 1
    order = {sign: place for place, sign in enumerate(depths)}
    known = {sign: counts.most_common(1)[0][0] for sign, counts in depths.items() if counts}
    # The first sign may be that of the title, below which the numbers begin.
    above = min((order[sign] - depth for sign, depth in known.items()), default=0)
    above = max(above, 0)
    return {sign: 1 + (known[sign] + above if sign in known else order[sign]) for sign in order}


def _underlined(
    position: int, lines: Sequence[_Line], levels: dict[str, int]
) -> _HeadingCandidate | None:
    rule = _rule_below(lines, position)
    if not rule or lines[rule].words[0] not in levels:
        return None
    level = levels[lines[rule].words[0]]
    number = number_of(heading_label(lines[position].words))
    end = lines[rule].end
    return _HeadingCandidate(position, end, level, _SURE, number=number, is_underlined=True)


def _listed(position: int, lines: Sequence[_Line], contents: _Contents) -> _HeadingCandidate | None:
    """Return the heading that a line makes, or up to three, if the contents have it."""
    line = lines[position]
    if not contents.titles:
        return None
    if not _is_label(line.words):
        is_alone = line.after_break and (
            position + 1 == len(lines) or lines[position + 1].after_break
        )
        key = _key(HeadingLabel("", "", line.words, ""))
        if not is_alone or key not in contents.titles:
            return None
        return _HeadingCandidate(position, line.end, _AS_CHAPTERS, _SURE)
    words = ""
    for at in range(position, min(position + 3, len(lines))):
        if at > position and (lines[at].after_break or at in contents.lines):
            return None
        words = f"{words} {lines[at].words}"
        name = heading_label(words)
        if name.scheme in HEADING_RANK and _key(name) in contents.titles:
            return _labelled(name, position, lines[at].end, drop=_SURE)
    return None


def _capitals(position: int, line: _Line, following: _Line | None) -> _HeadingCandidate | None:
    words = line.words
    # In a manual page the words below a heading are set deeper, without a blank line.
    is_last = following is None or following.after_break or following.indent >= line.indent + 3
    if not (line.after_break and is_last) or not words.isupper() or len(words) > _LONGEST:
        return None
    if sum(letter.isalpha() for letter in words) < 4 or words[-1] in ".,;" or _SIGNS.search(words):
        return None
    if heading_label(words).scheme == "item":
        return None
    return _HeadingCandidate(position, line.end, 1 if position == 0 else 2, drop=_BELIEVED)


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
    if _is_bare(name) and not stands_alone:
        drop = 1.0
    return _labelled(name, position, end, drop=drop, is_whole=is_whole)


def _is_bare(name: HeadingLabel) -> bool:
    return name.canonical.isdigit() and name.scheme in ("decimal", "bare")


def _labelled(
    name: HeadingLabel, position: int, end: int, *, drop: float, is_whole: bool = True
) -> _HeadingCandidate:
    dots = name.canonical.count(".") if name.canonical[:1].isdigit() else 0
    rank = HEADING_RANK[name.scheme]
    chain = "number" if rank == HEADING_RANK["section"] else name.scheme
    number, bare = number_of(name), _is_bare(name)
    return _HeadingCandidate(position, end, rank + dots, drop, is_whole, chain, number, bare)


def _heading_length(line: _Line, name: HeadingLabel, following: _Line | None) -> int:
    """Return how many characters of the line are the heading; 0 when it is a sentence."""
    words, title = line.words, name.title
    label_end = words.find(name.label) + len(name.label)
    if title and (title[0].islower() or not (title[0].isalnum() or title[0] in '[(“"/')):
        # "5.7 docs" alone between blank lines is a name, not the rest of a sentence.
        is_alone = line.after_break and (following is None or following.after_break)
        is_name = "." in name.canonical and len(title) <= 40 and not _SENTENCE.search(title)
        if not (is_alone and is_name) or _ENDED.search(words):
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


def _at_margin(
    found: Sequence[_HeadingCandidate], lines: Sequence[_Line]
) -> list[_HeadingCandidate]:
    """Return the candidates without what is no heading beside those that are listed.

    Lines of examples are set deeper; titles in capitals and chapters would be listed, too.
    """
    numbered = [c for c in found if c.chain and c.drop >= _SURE]
    top = min((c.level for c in numbered if c.chain not in LETTERED), default=2)
    found = [c._replace(level=top) if c.level == _AS_CHAPTERS else c for c in found]
    listed = Counter(lines[c.line].indent for c in numbered)
    if listed.total() < _MANY:
        return list(found)
    margin = listed.most_common(1)[0][0]
    return [c for c in found if _is_beside_listed(c, lines[c.line].indent <= margin)]


def _is_beside_listed(candidate: _HeadingCandidate, at_margin: bool) -> bool:
    """Tell whether a line may be a heading that the contents do not have."""
    if candidate.drop >= _SURE:
        return at_margin or (bool(candidate.chain) and not candidate.is_bare)  # a step called so
    # Parts of sections and exhibits may; a chapter or an article would be listed.
    rank = 1 if candidate.chain in LETTERED else HEADING_RANK.get(candidate.chain, 0)
    return bool(candidate.chain) and rank not in (2, 3)


def _with_support(
    found: Sequence[_HeadingCandidate], contents: _Contents
) -> list[_HeadingCandidate]:
    """Return the candidates without single numbers that may as well count the lines of a list.

    "4. Tests" is a heading if the contents have it, beside "3.1 Samples", or where words stand
    between it and "5. Results"; not where the contents or underlines show other headings.
    """
    if sum(c.is_underlined and bool(c.number) for c in found) >= _MANY:
        return [c for c in found if c.drop >= _SURE or c.chain not in ("", "number")]
    if contents.has_bare:
        return [c for c in found if not c.is_bare or c.drop >= _SURE]
    if any(c.chain == "number" and not c.is_bare for c in found):
        return list(found)
    bare = {c.line for c in found if c.is_bare}
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
                _PlainState(state.cost + candidate.drop, *state[1:]),
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
    found: list[Block] = []
    if HAS_TABLES in text:
        text, found = read_latex(text)
    first = text.strip().split("\n", 1)[0].strip()
    title = first if len(first) <= TITLE_CHARS else Path(name).stem
    blocks, is_told = _blocks(text)
    blocks = with_sections(text, blocks, is_told=is_told)
    return ExtractedText(text, title, around(text, blocks, found), form_feed_pages(text))


# Where the words of zipped formats are; of an EPUB's chapters the names say the order.
_PART = re.compile(
    r"word/(?:document|footnotes|endnotes)\.xml|content\.xml|ppt/slides/slide[0-9]{1,5}\.xml"
    r"|xl/sharedStrings\.xml|[^\r\n]{1,300}\.x?html?"
)
_INLINE = {"r", "t", "s", "span", "a", "b", "i", "u", "em", "strong", "sub", "sup", "ref", "inline"}


def bare_words(data: bytes, name: str) -> str:
    """Return the words of XML, or of the parts of a zip that hold words, paragraph by paragraph.

    >>> bare_words(b"<law><p>The <b>gate</b> opens.</p><p>It shuts.</p></law>", "law.xml")
    'The gate opens.\\n\\nIt shuts.'
    """
    if not data.startswith(b"PK"):
        return _words(parse_xml(data, name))
    archive = Archive(data, name, "zip")
    parts = (archive.part(path) for path in sorted(archive.names) if _PART.fullmatch(path))
    return "\n\n".join(words for root in parts if root is not None and (words := _words(root)))


def _words(root: Element) -> str:
    paragraphs: list[list[str]] = [[]]
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if local_name(element) not in _INLINE:
            paragraphs.append([])
        paragraphs[-1].append((element.text if event == "start" else element.tail) or "")
    joined = (" ".join("".join(parts).split()) for parts in paragraphs)
    return "\n\n".join(filter(None, joined))
