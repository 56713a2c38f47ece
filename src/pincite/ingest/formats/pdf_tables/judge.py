"""Whether lines in columns are a table, or prose, a list, a table of contents."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from pincite.ingest.formats.pdf_tables.chart import has_scale
from pincite.ingest.formats.pdf_tables.columns import Interval
from pincite.ingest.formats.pdf_tables.geometry import Rule, overlap
from pincite.ingest.formats.pdf_tables.rows import Placed
from pincite.ingest.formats.pdf_tables.textlines import is_marker

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
