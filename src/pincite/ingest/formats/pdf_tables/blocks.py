"""Where a table without rulings may be: runs of lines with several segments."""

from __future__ import annotations

from collections.abc import Sequence

from pincite.ingest.formats.pdf_tables.geometry import Rule, overlap
from pincite.ingest.formats.pdf_tables.header import is_caption
from pincite.ingest.formats.pdf_tables.textlines import Line

NEAR = 1.6  # of the font size: white between lines of one table
ALIGNED = 3.5  # the same where the lines stand in the same columns
REJOIN = 6.0  # the same with a short heading between
MAX_LOOSE = 3  # lines in a row that have one segment only
PROSE_WORDS = 9  # a single segment this long is a sentence


def candidate_blocks(lines: Sequence[Line], rules: Sequence[Rule]) -> list[list[Line]]:
    """Runs of neighbouring lines that begin and end with several segments."""
    blocks: list[list[Line]] = []
    current: list[Line] = []
    loose: list[Line] = []
    for line in lines:
        if current and _is_far(loose[-1] if loose else current[-1], line, rules, current):
            blocks.append(current)
            current, loose = [], []
        if line.is_tabular:
            current = [*current, *loose, line]
            loose = []
        elif current:
            loose.append(line)
            if len(loose) > MAX_LOOSE or is_prose(line, current):
                blocks.append(current)
                current, loose = [], []
    if current:
        blocks.append(current)
    joined = (_without_running_lines(block, lines) for block in _rejoined(blocks, lines))
    bare = map(_without_caption, joined)
    return [_with_head(block, lines, rules) for block in bare if block]


def _without_running_lines(block: list[Line], lines: Sequence[Line]) -> list[Line]:
    """The block without the page's first and last line if they hold the page number."""
    if len(block) > 1 and block[0] is lines[0] and _is_running(block[0], block[1]):
        block = block[1:]
    if len(block) > 1 and block[-1] is lines[-1] and _is_running(block[-1], block[-2]):
        block = block[:-1]
    return block


def _is_running(line: Line, neighbour: Line) -> bool:
    """Whether a line stands apart and ends in a number that is in no column of its neighbour."""
    white = -overlap(line.y0, line.y1, neighbour.y0, neighbour.y1)
    if len(line.segments) > 3 or white < 0.5 * line.size:
        return False
    ends = [word for word in (line.words[0], line.words[-1]) if word.text.isdecimal()]
    return any(
        all(overlap(end.x0, end.x1, other.x0, other.x1) < 0 for other in neighbour.segments[1:])
        for end in ends
    )


def _rejoined(blocks: Sequence[list[Line]], lines: Sequence[Line]) -> list[list[Line]]:
    """Blocks with those made one that stand in the same columns, parted only by white."""
    found: list[list[Line]] = []
    for block in blocks:
        between = _between(found[-1][-1], block[0], lines) if found else None
        if between is not None and _is_aligned(found[-1][-1], block[0]):
            found[-1] = [*found[-1], *between, *block]
        else:
            found.append(block)
    return found


def _between(above: Line, below: Line, lines: Sequence[Line]) -> list[Line] | None:
    """The few short lines between two, or None when more than that parts them."""
    held = list(lines[lines.index(above) + 1 : lines.index(below)])
    is_near = below.y0 - above.y1 <= REJOIN * below.size
    is_plain = all(len(line.words) < PROSE_WORDS and not is_caption(line.text) for line in held)
    return held if is_near and is_plain and len(held) <= MAX_LOOSE else None


def _without_caption(block: list[Line]) -> list[Line]:
    """The block from the first line with several segments under a caption on."""
    for number, line in enumerate(block[:MAX_LOOSE]):
        if is_caption(line.text):
            rest = block[number + 1 :]
            return rest[next((n for n, one in enumerate(rest) if one.is_tabular), len(rest)) :]
    return block


def _with_head(block: list[Line], lines: Sequence[Line], rules: Sequence[Rule]) -> list[Line]:
    """The block with the short line above it that heads several columns, set off by a rule."""
    number = lines.index(block[0])
    if not number:
        return block
    head, first = lines[number - 1], block[0]
    left, right = min(one.x0 for one in block), max(one.x1 for one in block)
    is_inside = head.x0 > left + 0.15 * (right - left) and head.x1 <= right + 2
    is_near = first.y0 - head.y1 <= NEAR * head.size
    is_ruled = any(
        head.middle < rule.at < first.middle + 1
        and overlap(rule.start, rule.end, head.x0, head.x1) > 0.9 * (head.x1 - head.x0)
        and rule.start > left + 0.02 * (right - left)
        for rule in rules
    )
    is_short = not head.is_tabular and len(head.words) < PROSE_WORDS
    return [head, *block] if is_inside and is_near and is_ruled and is_short else block


def _is_far(above: Line, below: Line, rules: Sequence[Rule], block: Sequence[Line]) -> bool:
    white = below.y0 - above.y1
    size = max(above.size, below.size)
    if white <= NEAR * size:
        return False
    is_ruled = any(above.middle < rule.at < below.middle for rule in rules)
    limit = ALIGNED if _is_aligned(block[-1], below) else 1.5 * NEAR if is_ruled else NEAR
    return white > limit * size


def _is_aligned(above: Line, below: Line) -> bool:
    """Whether three or more segments of two lines stand under each other, most of each line."""
    pairs = sum(
        min(abs(a.x0 - b.x0), abs(a.x1 - b.x1), abs(a.x0 + a.x1 - b.x0 - b.x1) / 2) < 2
        for a in above.segments
        for b in below.segments
        if overlap(a.x0, a.x1, b.x0, b.x1) > 0
    )
    return pairs >= max(3, 0.7 * max(len(above.segments), len(below.segments)))


def is_prose(line: Line, block: Sequence[Line]) -> bool:
    """Whether a line without gaps is a sentence rather than a heading between rows."""
    width = max(one.x1 for one in block) - min(one.x0 for one in block)
    return len(line.words) >= PROSE_WORDS and line.x1 - line.x0 > 0.6 * width
