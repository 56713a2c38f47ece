"""Hierarchies of tables of annual reports (AIT-QA): is every cell below its heads and groups?

Documents: the tables of `aitqa`, which state for each column and each row the chain of its heads.
Each is written as HTML as reports print it: heads over several columns, a group of rows as a line
with its label alone, and the rows below it set in by style, by spaces that do not break, or flush,
where only labels can tell how long a group lasts. It is read, and of every filled cell the
name of its column has to be all its heads, and the chain of its row all its groups.
What a source calls a row of a group although it stands below the group's total is counted as wrong.
Tables with an even number were looked at, the others only counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from checks import Figure
from pincite.model.tables import Table, groups_of, parse_table
from pincite.read.formats.html import read

Path_ = tuple[str, ...]
STYLES = {
    "set in by style": '<td style="padding-left: {0}pt">{1}</td>',
    "set in by spaces": "<td>{2}{1}</td>",
    "flush": "<td>{1}</td>",
}
STEP = 12  # points


class Stated(NamedTuple):
    """A table as its source states it."""

    name: str
    columns: list[Path_]
    rows: list[Path_]
    data: list[list[str]]


def stated_tables(folder: Path) -> Iterator[Stated]:
    """Yield the tables whose parts fit together."""
    for line in (folder / "aitqa_tables.jsonl").read_text().splitlines():
        found = json.loads(line)
        columns = [_bare(path) for path in found["column_header"]]
        rows = [_bare(path) for path in found["row_header"]]
        data = found["data"]
        if not rows:  # the first column has the labels
            columns, rows = columns[1:], [_bare(row[:1]) for row in data]
            data = [row[1:] for row in data]
        if len(rows) == len(data) and all(len(row) == len(columns) for row in data):
            yield Stated(found["id"], columns, rows, data)


def _bare(path: Sequence[str]) -> Path_:
    return tuple(" ".join(words.split()) for words in path if words.strip())


def head_of(columns: Sequence[Path_]) -> str:
    """Return the rows of a head; equal heads beside each other are one cell."""
    height = max(map(len, columns), default=0)
    lines = []
    for level in range(height):
        # A short chain stands at the foot of the head, above its figures.
        at = [path[: level + 1 - (height - len(path))] for path in columns]
        cells = ((len(list(run)), key) for key, run in groupby(at))
        words = (f'<th colspan="{n}">{escape(key[-1] if key else "")}</th>' for n, key in cells)
        lines.append(f"<tr><th></th>{''.join(words)}</tr>")
    return "".join(lines)


def page_of(table: Stated, label: str) -> str:
    """Return a page with the table, groups being rows with a label alone."""
    lines, above = [], Path_()
    for path, cells in zip(table.rows, table.data, strict=True):
        groups = path[:-1]
        same = next(
            (n for n, (a, b) in enumerate(zip(groups, above, strict=False)) if a != b),
            min(len(groups), len(above)),
        )
        for depth in range(same, len(groups)):
            opened = label.format(STEP * depth, escape(groups[depth]), "&nbsp;&nbsp;" * depth)
            lines.append(f"<tr>{opened}{'<td></td>' * len(cells)}</tr>")
        depth, name = len(groups), path[-1] if path else ""
        named = label.format(STEP * depth, escape(name), "&nbsp;&nbsp;" * depth)
        lines.append(f"<tr>{named}{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
        above = groups
    return f"<table><thead>{head_of(table.columns)}</thead><tbody>{''.join(lines)}</tbody></table>"


def kept(table: Stated, page: str) -> tuple[int, int, int]:
    """Return how many cells there are, how many have all their heads, and all their groups."""
    found = read(page.encode(), "table.html")
    parsed = parse_table(found.text[found.blocks[-1].start : found.blocks[-1].end])
    cells = sum(bool(cell) for row in table.data for cell in row)
    return (cells, *_kept(table, parsed)) if parsed else (cells, 0, 0)


def _kept(table: Stated, read_table: Table) -> tuple[int, int]:
    chains = groups_of(read_table)
    rows = [
        (row, chain)
        for row, chain in zip(read_table.rows, chains, strict=True)
        if any(row[1:]) or not row[0]
    ]
    stated = [
        (path, cells) for path, cells in zip(table.rows, table.data, strict=True) if any(cells)
    ]
    heads = groups = 0
    for (path, cells), (row, chain) in zip(stated, rows, strict=False):
        is_grouped = chain == tuple(word.rstrip(": ") for word in path[:-1])
        for cell, words, name, value in zip(
            cells, table.columns, read_table.columns[1:], row[1:], strict=False
        ):
            if cell and cell.split() == value.split():
                heads += name.split(" – ") == list(dict.fromkeys(words))
                groups += is_grouped
    return heads, groups


def run(data: Path) -> list[Figure]:
    """Return the shares of cells with all heads and with all groups, for each way of printing."""
    figures = []
    tables = list(stated_tables(data / "aitqa"))
    for is_seen, half in ((True, "looked at"), (False, "not looked at")):
        mine = [table for table in tables if (int(table.name.split("-")[1]) % 2 == 0) == is_seen]
        for style, label in STYLES.items():
            counts = [kept(table, page_of(table, label)) for table in mine]
            cells, heads, groups = (sum(count[n] for count in counts) for n in range(3))
            asked = "all" if style != "flush" else ""
            for what, count in (("heads", heads), ("groups", groups)):
                name = f"cells with their {what}, {style}, {half}"
                figures.append(Figure(name, count / cells, asked, cells, f"{len(mine)} tables"))
    return figures
