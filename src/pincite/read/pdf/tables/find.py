"""All tables of a page: candidates, and which of them are tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import median

import pypdfium2

from pincite.read.pdf.page import FoundTable, Word
from pincite.read.pdf.tables.columns import (
    Interval,
    Placed,
    assemble,
    find_columns,
    place,
    split_columns,
)
from pincite.read.pdf.tables.geometry import (
    Rule,
    Rulings,
    SpannedTable,
    TableLine,
    bounds,
    figures_beside,
    has_drawing,
    has_scale,
    is_marker,
    is_number,
    is_period,
    is_typed_rule,
    is_year,
    main_angle,
    make_table,
    overlap,
    text_lines,
    turn_box,
    turn_rulings,
    turn_words,
    with_signs,
    without_leaders,
)
from pincite.read.pdf.tables.ruled import find_grids, is_caption, ruled_table
from pincite.read.pdf.tables.rulings import read_rulings

# Dots that lead to nothing but page numbers: "Preface . . . . iv", "awk.......3, 11, 27".
_ENTRY = re.compile(
    r"(?<![.·…_])(?<![.·…_]\s)(?:[.·…_]\s*+){3,}+(?:\d{1,4}|[ivxl]+)(?:\s*,\s*\d{1,4})*(?=\s+[^\d\s.,$%()-]|\s*$)"
)
_LEADER = re.compile(r"(?:[.·…_]\s?){4,}")
MAX_ENTRIES = 0.4  # of the lines of a table
MAX_PAGES = 3000


def entry_heights(words: Iterable[Word]) -> list[float]:
    """The y of every line whose leaders end in page numbers."""
    found = []
    for line in text_lines(words):
        leaders = len(_LEADER.findall(line.text))
        if 0 < leaders <= len(_ENTRY.findall(line.text)):
            found.append(line.middle)
    return found


def is_contents(lines: Sequence[Placed], entries: Sequence[float]) -> bool:
    """Whether the lines are entries with leaders, or titles with page numbers that never fall."""
    led = sum(any(abs(placed.line.middle - y) < 3 for y in entries) for placed in lines)
    if led > MAX_ENTRIES * len(lines):
        return True
    pages = [page for placed in lines if (page := _page_number(placed)) is not None]
    rising = all(a <= b for a, b in pairwise(pages))
    return rising and len(pages) >= max(3, 0.6 * len(lines)) and pages[-1] < MAX_PAGES


def _page_number(placed: Placed) -> int | None:
    """The figure at the end of a line that has no other, a section's number left aside."""
    segments = [segment for segment, _ in placed.parts]
    if not segments[-1].text.isdecimal() or any(s.is_number for s in segments[1:-1]):
        return None
    return int(segments[-1].text) if 2 <= len(segments) <= 3 else None


MIN_FILL = 0.4  # of the places in lines with several cells


def is_table(lines: Sequence[Placed], columns: Sequence[Interval], rules: Sequence[Rule]) -> bool:
    """Whether the lines show a table; rules above and below count as evidence."""
    full = [placed for placed in lines if len(placed.places) > 1]
    if len(full) < 2 or is_list(full, columns):
        return False
    ruled = count_rules(lines, rules)
    if is_prose_columns(full, columns, ruled) or is_chart(lines, columns, rules):
        return False
    if is_code(full, ruled):
        return False
    figures = sum(placed.has_figures for placed in full)
    if figures >= 0.5 * len(full):
        return _fill(full, columns) >= MIN_FILL and is_enough(
            figures, len(full), len(columns), ruled
        )
    return is_text_table(full, columns, ruled)


def is_enough(figures: int, lines: int, columns: int, ruled: int) -> bool:
    """Whether so few lines of figures are a table: without rules it takes more of them."""
    if not ruled:
        return figures >= 3
    return lines >= (2 if ruled >= 2 and columns > 2 else 3)


def is_text_table(lines: Sequence[Placed], columns: Sequence[Interval], ruled: int) -> bool:
    """Whether lines of words are a table: rules say so, or full columns with flush edges."""
    if ruled >= 3 and len(lines) >= 3:
        return True
    wide = sum(len(hits) > 1 for placed in lines for _, hits in placed.parts)
    if len(columns) < 3 or wide > 0.1 * sum(len(placed.parts) for placed in lines):
        return False
    if ruled >= 2:
        return len(lines) >= 2 and _fill(lines, columns) > 0.6
    return len(lines) >= 4 and _fill(lines, columns) > 0.75 and _flush(lines, columns) > 0.7


def _flush(lines: Sequence[Placed], columns: Sequence[Interval]) -> float:
    """The least share, over the columns, of cells that begin or end where most others do."""
    least = 1.0
    for number in range(len(columns)):
        cells = [s for placed in lines for s, hits in placed.parts if hits == [number]]
        if len(cells) < 2:
            return 0.0
        edges = [s.x0 for s in cells], [s.x1 for s in cells], [s.centre for s in cells]
        shares = (sum(abs(x - median(xs)) < 2 for x in xs) / len(xs) for xs in edges)
        least = min(least, max(shares))
    return least


def count_rules(lines: Sequence[Placed], rules: Sequence[Rule]) -> int:
    """How many horizontal rules lie in or next to the lines, over half their width."""
    left = min(placed.line.x0 for placed in lines)
    right = max(placed.line.x1 for placed in lines)
    top, bottom = lines[0].line.y0 - 15, lines[-1].line.y1 + 15
    return sum(
        top < rule.at < bottom
        and overlap(rule.start, rule.end, left, right) > 0.5 * (right - left)
        and rule.end - rule.start < 1.6 * (right - left)
        for rule in rules
    )


def is_chart(lines: Sequence[Placed], columns: Sequence[Interval], rules: Sequence[Rule]) -> bool:
    """Whether the figures are the scales of a chart, with or without its lines."""
    if len(columns) == 2 and all(s.is_number for placed in lines for s, _ in placed.parts):
        return True
    return has_scale((word for placed in lines for word in placed.line.words), rules)


def is_code(lines: Sequence[Placed], ruled: int) -> bool:
    """Whether the lines are in a typewriter face, few or mostly without figures."""
    words = [word for placed in lines for word in placed.line.words]
    mono = sum(word.mono for word in words) / len(words)
    figures = sum(placed.has_figures for placed in lines)
    if mono > 0.75 and figures < 0.6 * len(lines):
        return True
    if mono > 0.3 and figures < 0.3 * len(lines) and len(lines) < 4:
        return True
    return mono > 0.4 and not ruled and len(lines) < 6


def is_list(lines: Sequence[Placed], columns: Sequence[Interval]) -> bool:
    """Whether the first of two columns holds bullets and numbers only."""
    if len(columns) != 2:
        return False
    labels = [placed.label.text for placed in lines if placed.label]
    return sum(is_marker(text) for text in labels) >= 0.7 * len(labels)


def is_prose_columns(lines: Sequence[Placed], columns: Sequence[Interval], ruled: int) -> bool:
    """Whether the columns are running text side by side: long segments that fill them."""
    wordy = 0
    for number, (start, end) in enumerate(columns):
        segments = [s for p in lines for s, hits in p.parts if hits == [number]]
        if not segments:
            continue
        words = sum(len(s.words) for s in segments) / len(segments)
        filled = sum(s.x1 - s.x0 for s in segments) / len(segments) / max(end - start, 1.0)
        wordy += words >= 4 and filled > 0.6
    if wordy >= 2:
        return True
    figures = sum(placed.has_figures for placed in lines)
    return len(columns) == 2 and wordy == 1 and ruled < 3 and figures < 0.6 * len(lines)


def _fill(lines: Sequence[Placed], columns: Sequence[Interval]) -> float:
    return sum(len(placed.places) for placed in lines) / (len(lines) * len(columns))


NEAR = 1.6  # of the font size: white between lines of one table
ALIGNED = 3.5  # the same where the lines stand in the same columns
REJOIN = 6.0  # the same with a short heading between
SAME_END = 6.0  # points: a figure in parentheses ends a little further right
MIN_SCALED = 4  # segments of a row that a figure may name: a chart has two or three
MAX_LABELS = 12  # lines between figures of one table
MIN_RULED = 0.9  # of a table's width
MAX_LOOSE = 3  # lines in a row that have one segment only
PROSE_WORDS = 9  # a single segment this long is a sentence


_NOTE = re.compile(r"\([a-z0-9]{1,2}\)|[*†‡]{1,3}")  # the mark of a note, alone
_PERIOD = re.compile(
    r"(?:for )?(?:the )?(?:years?|fiscal|quarters?|periods?|as (?:of|at)|at|(?:three|six|nine"
    r"|twelve|thirteen|twenty-six|thirty-nine|fifty-two|\d\d?) (?:months|weeks))\b",
    re.I,
)


def candidate_blocks(lines: Sequence[TableLine], rules: Sequence[Rule]) -> list[list[TableLine]]:
    """Runs of neighbouring lines that begin and end with several segments."""
    blocks: list[list[TableLine]] = []
    current: list[TableLine] = []
    loose: list[TableLine] = []
    for line in lines:
        is_far = current and _is_far(loose[-1] if loose else current[-1], line, rules, current)
        if is_far or _begins_again(current, line):
            blocks.append(current)
            current, loose = [], []
        if line.is_tabular:
            current = [*current, *loose, line]
            loose = []
        elif current:
            loose.append(line)
            if len(loose) > MAX_LOOSE or is_prose(line, current) or _parts(line):
                blocks.append(current)
                current, loose = [], []
    if current:
        blocks.append(current)
    joined = (_without_running_lines(block, lines) for block in _rejoined(blocks, lines))
    bare = [_without_notes(block) for block in map(_without_caption, joined) if block]
    return [_with_head(_without_title(block, rules), lines, rules) for block in bare]


def _begins_again(block: Sequence[TableLine], line: TableLine) -> bool:
    """Whether a line of years or dates under figures heads another table."""
    texts = [segment.text for segment in line.segments]
    beside = texts if is_period(texts[0]) else texts[1:]
    is_head = len(beside) > 1 and all(map(is_period, beside))
    rows = (line for line in block[-2:] if not line.segments[0].is_number)
    return is_head and any(map(figures_beside, rows))


def _without_running_lines(block: list[TableLine], lines: Sequence[TableLine]) -> list[TableLine]:
    """The block without the page's first and last line if they hold the page number."""
    if len(block) > 1 and block[0] is lines[0] and _is_running(block[0], block[1]):
        block = block[1:]
    if len(block) > 1 and block[-1] is lines[-1] and _is_running(block[-1], block[-2]):
        block = block[:-1]
    return block


def _is_running(line: TableLine, neighbour: TableLine) -> bool:
    """Whether a line stands apart and ends in a number that is in no column of its neighbour."""
    white = -overlap(line.y0, line.y1, neighbour.y0, neighbour.y1)
    if len(line.segments) > 3 or white < 0.5 * line.size:
        return False
    ends = [word for word in (line.words[0], line.words[-1]) if word.text.isdecimal()]
    return any(
        all(overlap(end.x0, end.x1, other.x0, other.x1) < 0 for other in neighbour.segments[1:])
        for end in ends
    )


def _rejoined(
    blocks: Sequence[list[TableLine]], lines: Sequence[TableLine]
) -> list[list[TableLine]]:
    """Blocks with those made one that stand in the same columns, parted only by white."""
    found: list[list[TableLine]] = []
    for block in blocks:
        if not found or _begins_again(found[-1], block[0]):
            found.append(block)
            continue
        between = _between(found[-1][-1], block[0], lines)
        if between is None or not _is_aligned(found[-1][-1], block[0]):
            between = _labels_between(found[-1], block, lines)
        if between is not None:
            found[-1] = [*found[-1], *between, *block]
        else:
            found.append(block)
    return found


def _between(
    above: TableLine, below: TableLine, lines: Sequence[TableLine]
) -> list[TableLine] | None:
    """The few short lines between two, or None when more than that parts them."""
    held = list(lines[lines.index(above) + 1 : lines.index(below)])
    is_near = below.y0 - above.y1 <= REJOIN * below.size
    is_plain = all(len(line.words) < PROSE_WORDS and not _parts(line) for line in held)
    return held if is_near and is_plain and len(held) <= MAX_LOOSE else None


def _parts(line: TableLine) -> bool:
    """Whether a line is the caption of the table below it, or leads into it."""
    return is_caption(line.text) or line.text.endswith(("follows:", "following:", "below:"))


def _labels_between(
    above: Sequence[TableLine], below: Sequence[TableLine], lines: Sequence[TableLine]
) -> list[TableLine] | None:
    """The lines between two blocks whose figures end at the same places, if all are labels.

    A label may be wrapped or stand above others, however long: what parts tables reaches into the
    columns of the figures, as prose does, or has figures of its own that end elsewhere.
    """
    first = next((line for line in below[: MAX_LOOSE + 1] if figures_beside(line)), None)
    last = next((line for line in reversed(above) if figures_beside(line)), None)
    if first is None or last is None:
        return None
    if len(first.segments) < MIN_SCALED and first.segments[0].is_number:
        return None  # figures alone are the scale of a chart
    ends = {figure.x1 for line in above for figure in figures_beside(line)}
    left = min(figure.x0 for line in (last, first) for figure in figures_beside(line))
    held = lines[lines.index(last) : lines.index(first) + 1]
    is_it = (
        len(held) <= MAX_LABELS
        and all(line.x1 < left and not _parts(line) for line in held[1:-1])
        and all(b.y0 - a.y1 <= ALIGNED * b.size for a, b in pairwise(held))
        and all(any(abs(f.x1 - end) < SAME_END for end in ends) for f in figures_beside(first))
    )
    return list(lines[lines.index(above[-1]) + 1 : lines.index(below[0])]) if is_it else None


def _without_caption(block: list[TableLine]) -> list[TableLine]:
    """The block from the first line with several segments under a caption on."""
    for number, line in enumerate(block[:MAX_LOOSE]):
        if is_caption(line.text):
            rest = block[number + 1 :]
            return rest[next((n for n, one in enumerate(rest) if one.is_tabular), len(rest)) :]
    return block


def _without_notes(block: list[TableLine]) -> list[TableLine]:
    """The block without the notes below its last figures: "(1) As of the end of the year"."""
    last = max((n for n, line in enumerate(block) if figures_beside(line)), default=len(block))
    notes = (n for n in range(last + 1, len(block)) if _NOTE.fullmatch(block[n].segments[0].text))
    return block[: next(notes, len(block))]


def _without_title(block: list[TableLine], rules: Sequence[Rule]) -> list[TableLine]:
    """The block without a first line that names the table at its left, the company at its right.

    A head of several columns stands in their middle and has a short rule below it; such words end
    where the table ends. The head, with its years, comes below them.
    """
    first, below = block[0], block[1 : MAX_LOOSE + 1]
    if len(first.segments) != 2 or any(map(figures_beside, block[:2])):
        return block
    title, other = first.segments
    left, right = min(line.x0 for line in block), max(line.x1 for line in block)
    under = [[s for s in figures_beside(line) if s.x1 > other.x0] for line in block]
    widest = max(under, key=len)
    if len(widest) < 2 or title.x0 - left > SAME_END or right - other.x1 > SAME_END:
        return block
    is_central = abs(other.centre - (widest[0].x0 + right) / 2) < SAME_END
    is_ruled = any(
        first.middle < rule.at < below[0].middle
        and overlap(rule.start, rule.end, left, right) > MIN_RULED * (right - left)
        for rule in rules
    )
    is_title = is_ruled or (not is_central and any(map(_names_periods, below)))
    return block[1:] if is_title and not _names_periods(first) else block


def _names_periods(line: TableLine) -> bool:
    """Whether a line says of which times the figures below are."""
    return any(is_period(s.text) or _PERIOD.match(s.text) for s in line.segments)


def _with_head(
    block: list[TableLine], lines: Sequence[TableLine], rules: Sequence[Rule]
) -> list[TableLine]:
    """The block with the short lines above it that head several columns.

    A rule sets them off, or their words: "Three months ended".
    """
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
    if is_inside and is_near and is_short and (is_ruled or _PERIOD.match(head.text)):
        return _with_head([head, *block], lines, rules)
    return block


def _is_far(
    above: TableLine, below: TableLine, rules: Sequence[Rule], block: Sequence[TableLine]
) -> bool:
    white = below.y0 - above.y1
    size = max(above.size, below.size)
    if white <= NEAR * size:
        return False
    is_ruled = any(above.middle < rule.at < below.middle for rule in rules)
    limit = ALIGNED if _is_aligned(block[-1], below) else 1.5 * NEAR if is_ruled else NEAR
    return white > limit * size


def _is_aligned(above: TableLine, below: TableLine) -> bool:
    """Whether three or more segments of two lines stand under each other, most of each line."""
    pairs = sum(
        min(abs(a.x0 - b.x0), abs(a.x1 - b.x1), abs(a.x0 + a.x1 - b.x0 - b.x1) / 2) < 2
        for a in above.segments
        for b in below.segments
        if overlap(a.x0, a.x1, b.x0, b.x1) > 0
    )
    return pairs >= max(3, 0.7 * max(len(above.segments), len(below.segments)))


def is_prose(line: TableLine, block: Sequence[TableLine]) -> bool:
    """Whether a line without gaps is a sentence rather than a heading between rows."""
    width = max(one.x1 for one in block) - min(one.x0 for one in block)
    return len(line.words) >= PROSE_WORDS and line.x1 - line.x0 > 0.6 * width


def unruled_tables(words: Sequence[Word], rules: Sequence[Rule]) -> Iterator[SpannedTable]:
    """The tables that alignment alone shows, with horizontal rules as a help."""
    every = text_lines(without_leaders(words))
    typed = [Rule(line.middle, line.x0, line.x1) for line in every if is_typed_rule(line)]
    lines = [line for line in every if not is_typed_rule(line)]
    entries = entry_heights(words)
    above: SpannedTable | None = None
    for block in candidate_blocks(lines, [*rules, *typed]):
        table = _table(block, [*rules, *typed], entries)
        if table is not None:
            above = _with_head_of(above, table) if above else table
            yield above


def _with_head_of(above: SpannedTable, table: SpannedTable) -> SpannedTable:
    """A table without a head under the head of the one above it, if its columns are the same."""
    is_alike = len(above.columns) == len(table.columns) and all(
        abs(a[1] - b[1]) < SAME_END
        for a, b in zip(above.columns[1:], table.columns[1:], strict=True)
    )
    if table.header_rows or not above.header_rows or not is_alike:
        return table
    head = [cell for cell in above.cells if cell.row < above.header_rows]
    moved = [replace(cell, row=cell.row + above.header_rows) for cell in table.cells]
    found = make_table(table.box, [*head, *moved], above.header_rows)
    return replace(found, columns=table.columns)


def _table(
    block: Sequence[TableLine], rules: Sequence[Rule], entries: Sequence[float]
) -> SpannedTable | None:
    columns = find_columns(block)
    if len(columns) < 2:
        return None
    placed = [place(line, columns) for line in block]
    box = bounds(word for line in block for word in line.words)
    inside = [rule for rule in rules if box[1] - 2 < rule.at < box[3] + 2]
    if is_contents(placed, entries) or not is_table(placed, columns, rules):
        return None
    cells, header_rows = assemble(placed, columns, inside)
    return replace(make_table(box, cells, header_rows), columns=tuple(columns))


LAYOUT_LENGTH = 200  # characters of an average cell: the frame only arranges the page


def find_tables(page: pypdfium2.PdfPage, words: Sequence[Word]) -> list[FoundTable]:
    """The tables on a page, top to bottom."""
    return list(tables_of(words, read_rulings(page)))


def tables_of(words: Sequence[Word], rulings: Rulings) -> list[SpannedTable]:
    """The tables that words and rulings form, top to bottom."""
    angle = main_angle(words)
    if angle:
        found = tables_of(turn_words(words, angle), turn_rulings(rulings, angle))
        for number, turned in enumerate(found):
            x0, y0, x1, y1 = turn_box(turned.box, 360 - angle)
            found[number] = replace(turned, x0=x0, y0=y0, x1=x1, y1=y1, columns=(), bands=())
        return found
    words, rules = with_signs(words), rulings.horizontal
    ruled = (ruled_table(grid, words, rules) for grid in find_grids(rulings))
    found = [table for table in ruled if table]
    found = [table for table in found if not has_drawing(table.box, rulings.slanted)]
    found = [table for table in found if not _is_head_alone(table, words)]
    free = [word for word in words if not any(table.holds(*word.middle) for table in found)]
    for group in split_columns(free):
        found.extend(
            table
            for table in unruled_tables(group, rules)
            if not has_drawing(table.box, rulings.slanted)
        )
    return sorted(_apart(found), key=lambda table: (table.y0, table.x0))


def _is_head_alone(table: SpannedTable, words: Sequence[Word]) -> bool:
    """Whether a grid holds only the heads of columns whose figures stand right under it."""
    beside = [cell.text for cell in table.cells if cell.column]
    if len(table.rows) > MAX_LOOSE or any(
        is_number(text) and not any(map(is_year, text.split())) for text in beside
    ):
        return False
    size = median(word.size for word in words)
    below = [
        word
        for word in words
        if 0 < word.middle[1] - table.y1 < REJOIN * size and table.x0 < word.middle[0] < table.x1
    ]
    figures = [figure for line in text_lines(below) for figure in figures_beside(line)]
    return len(figures) >= max(2, len(table.columns) - 2)


def _apart(tables: Sequence[SpannedTable]) -> list[SpannedTable]:
    """Tables without those inside others; a frame of prose around a table gives way to it."""
    kept: list[SpannedTable] = []
    for table in sorted(tables, key=lambda t: (t.x0 - t.x1) * (t.y1 - t.y0)):
        x, y = (table.x0 + table.x1) / 2, (table.y0 + table.y1) / 2
        around = next((other for other in kept if other.holds(x, y)), None)
        if around is None:
            kept.append(table)
        elif sum(len(cell.text) for cell in around.cells) > LAYOUT_LENGTH * len(around.cells):
            kept = [other for other in kept if other is not around] + [table]
    return kept
