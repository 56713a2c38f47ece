"""Reproductions that print tables with the published numbers beside ours."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.cli.terminal import follow, print_json, print_table, say

if TYPE_CHECKING:
    from experiments.tables import Cell, Table
    from pincite.model.settings import Settings

MAX_NAME = 20  # characters of a line; longer names go on in the next
# Experiment → the folder of its data, and its question file.
FOLDERS = {
    "rulebook": ("srd-5.1", "spell_questions_dev.json"),
    "rerank": ("part97", "questions_dev.jsonl"),
}


def tables_of(
    experiment: str, folder: Path, questions: Path | None, settings: Settings
) -> list[Table]:
    """Run an experiment and return its tables."""
    from experiments import rerank_reading, rerank_table, rulebook

    asked = questions or folder / FOLDERS[experiment][1]
    if experiment == "rulebook":
        rows = list(follow(rulebook.run(folder, asked, settings), "asking"))
        return rulebook.tables(rows, settings)
    reads = list(follow(rerank_reading.run(folder, asked, settings), "reading"))
    return rerank_table.tables(reads)


def print_tables(
    experiment: str, tables: list[Table], settings: Settings, seconds: float, *, as_json: bool
) -> None:
    """Print the tables, or all of them as one JSON value."""
    if as_json:
        values: dict[str, Any] = {
            "experiment": experiment,
            "settings": settings.fingerprint(),
            "tables": [table.plain() for table in tables],
            "seconds": seconds,
        }
        print_json(values)
        return
    for table in tables:
        say(table.title, style="bold")
        _print_parts(table)
        for note in table.notes:
            say(note, style="dim")
        say()
    say(f"{seconds:.1f} s", style="dim")


def _print_parts(table: Table) -> None:
    """Print a table, the published columns as a second one below: screens are narrow."""
    named = 2 if table.heads[1] == "measure" else 1
    published = [head for head in table.heads if head.startswith("published")]
    ours = [head for head in table.heads if head not in published]
    print_table(_part(table.rows, ours, named), left=range(named))
    kept = [row for row in table.rows if any(row.get(head) for head in published)]
    if kept:
        heads = [*table.heads[:named], *published]
        print_table(_part(kept, heads, named), left=range(named))


def _part(rows: Sequence[Mapping[str, Cell]], heads: list[str], named: int) -> list[list[str]]:
    """Return lines of cells: heads of several words and long names take several of them."""
    from experiments.tables import shown

    lines = _stacked([[head] if at < named else head.split() for at, head in enumerate(heads)])
    for row in rows:
        cells = [shown(row.get(head)) for head in heads]
        names = [textwrap.wrap(cell, MAX_NAME) or [""] for cell in cells[:named]]
        lines += _stacked([*names, *([cell] for cell in cells[named:])])
    return lines


def _stacked(cells: Sequence[list[str]]) -> list[list[str]]:
    """Return cells of several lines as lines of cells; the last of each stand side by side."""
    height = max(map(len, cells))
    padded = [[""] * (height - len(cell)) + cell for cell in cells]
    return [list(line) for line in zip(*padded, strict=True)]
