"""Tables without vertical rulings: blocks of lines whose segments stand in columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.formats.pdf_tables.assemble import assemble
from pincite.ingest.formats.pdf_tables.blocks import candidate_blocks
from pincite.ingest.formats.pdf_tables.columns import find_columns
from pincite.ingest.formats.pdf_tables.contents import entry_heights, is_contents
from pincite.ingest.formats.pdf_tables.geometry import Rule, SpannedTable, bounds, make_table
from pincite.ingest.formats.pdf_tables.judge import is_table
from pincite.ingest.formats.pdf_tables.rows import place
from pincite.ingest.formats.pdf_tables.textlines import (
    Line,
    is_typed_rule,
    text_lines,
    without_leaders,
)


def unruled_tables(words: Sequence[Word], rules: Sequence[Rule]) -> Iterator[SpannedTable]:
    """The tables that alignment alone shows, with horizontal rules as a help."""
    every = text_lines(without_leaders(words))
    typed = [Rule(line.middle, line.x0, line.x1) for line in every if is_typed_rule(line)]
    lines = [line for line in every if not is_typed_rule(line)]
    entries = entry_heights(words)
    for block in candidate_blocks(lines, [*rules, *typed]):
        table = _table(block, [*rules, *typed], entries)
        if table is not None:
            yield table


def _table(
    block: Sequence[Line], rules: Sequence[Rule], entries: Sequence[float]
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
