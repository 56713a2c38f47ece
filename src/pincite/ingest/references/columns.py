"""References in columns: labels below a head that names their section, "see § 5 (paragraph)"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pincite.core.types import Chunk
from pincite.ingest.references.citations import labels_of
from pincite.ingest.references.laws import ROW, row_cells
from pincite.ingest.references.resolve import Target, merged

Columns = Mapping[int, Target]  # what the head of a column refers to, by its position
_LABELS = re.compile(r"(?:\([0-9A-Za-z]{1,5}\))+")


def head_columns(text: str, table: Chunk, found: Sequence[Target]) -> Columns:
    """Return the columns of a table whose head says that they hold paragraphs of a place."""
    head = ROW.search(text, table.span.start, table.span.end)
    columns: dict[int, Target] = {}
    for column, (start, end) in enumerate(row_cells(head) if head else []):
        target = next((each for each in found if start <= each.start < end), None)
        if target is not None and "paragraph" in text[start:end].lower():
            columns[column] = target
    return columns


def cell_targets(text: str, chunk: Chunk, columns: Columns) -> Iterator[Target]:
    """Yield what the labels in these columns refer to, in a row or in a table's own rows."""
    for row in ROW.finditer(text, chunk.span.start, chunk.own_end):
        cells = row_cells(row)
        for column, head in columns.items():
            if column < len(cells) and cells[column][0] > head.start:
                yield from _cell(text, cells[column], head)


def _cell(text: str, cell: tuple[int, int], head: Target) -> Iterator[Target]:
    before: tuple[str, ...] = ()
    for match in _LABELS.finditer(text, *cell):
        if labels := labels_of(match.group()):
            before = merged(before, labels) if before else labels
            yield Target(head.key + "".join(before).lower(), head.relation, *match.span())
