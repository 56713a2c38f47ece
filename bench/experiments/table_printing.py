"""Reproductions that print tables with the published numbers beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pincite.cli.options import err, out
from pincite.cli.terminal import print_json

if TYPE_CHECKING:
    from experiments.tables import Cell, Table
    from pincite.model.settings import Settings

# Experiment → the folder of its data, and its question file.
FOLDERS = {
    "rulebook": ("srd-5.1", "spell_questions_dev.json"),
    "rerank": ("part97", "questions_dev.jsonl"),
}


def tables_of(
    experiment: str, folder: Path, questions: Path | None, settings: Settings
) -> list[Table]:
    """Run an experiment and return its tables."""
    from rich.progress import track

    from experiments import rerank_reading, rerank_table, rulebook

    asked = questions or folder / FOLDERS[experiment][1]
    if experiment == "rulebook":
        rows = list(
            track(rulebook.run(folder, asked, settings), "asking", console=err, transient=True)
        )
        return rulebook.tables(rows, settings)
    reads = list(
        track(rerank_reading.run(folder, asked, settings), "reading", console=err, transient=True)
    )
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
        out.print(table.title, style="bold")
        for part in _in_parts(table):
            out.print(part)
        for note in table.notes:
            out.print(note, style="dim", markup=False)
        out.print()
    out.print(f"{seconds:.1f} s", style="dim")


def _in_parts(table: Table) -> list[Any]:
    """Return a table, the published columns as a second one below: screens are narrow."""
    named = 2 if table.heads[1] == "measure" else 1
    published = [head for head in table.heads if head.startswith("published")]
    ours = [head for head in table.heads if head not in published]
    parts = [_part(table.rows, ours, named)]
    kept = [row for row in table.rows if any(row.get(head) for head in published)]
    if kept:
        parts.append(_part(kept, [*table.heads[:named], *published], named))
    return parts


def _part(rows: Sequence[Mapping[str, Cell]], heads: list[str], named: int) -> Any:
    from rich.table import Table as Columns

    from experiments.tables import shown

    columns = Columns(box=None, pad_edge=False)
    lines = [[shown(row.get(head)) for head in heads] for row in rows]
    for at, head in enumerate(heads):
        if at < named:
            columns.add_column(head, overflow="fold", vertical="bottom")
            continue
        # A head of several words stands in several lines; a number is never cut, names are folded.
        words = head.split()
        width = max(map(len, [*words, *(line[at] for line in lines)]))
        title = "\n".join(words)
        columns.add_column(title, justify="right", no_wrap=True, min_width=width, vertical="bottom")
    for line in lines:
        columns.add_row(*line)
    return columns
