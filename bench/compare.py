"""Speed and quality on your own documents, beside other engines.

    python bench/compare.py questions.jsonl -i INDEX [--peer bm25s] [--html page.html]

It takes an index of yours and a file of judgements; bench/peers.py does the same with published
questions. Environments of peers are made in .bench when they are first needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from pincite.cli.options import DEFAULT_INDEX, IndexOption, JsonOption, err, folder_of, out, told
from pincite.cli.terminal import print_json
from pincite.model.errors import SourceError, reason_of

GAP = 2  # blanks between two columns
# What goes first where a terminal is too narrow for everything.
LEAST_WANTED = ("disk MB", "ready s", "peak MB", "nDCG@10 beside ours", "p95 ms", "RR", "Recall@10")


def compare_engines(
    questions: Annotated[Path, typer.Argument(help="A file of judgements (.jsonl or .toml).")],
    peer: Annotated[
        list[str] | None,
        typer.Option("--peer", help="Another engine to measure, installed if need be; or all."),
    ] = None,
    home: Annotated[
        Path, typer.Option("--home", help="Folder for the environments of other engines.")
    ] = Path(".bench"),
    most: Annotated[int, typer.Option("--questions", help="Questions to ask.", min=1)] = 200,
    rounds: Annotated[int, typer.Option("--rounds", help="Times to ask them.", min=1)] = 3,
    save: Annotated[Path | None, typer.Option("--save", help="Write JSON lines here.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page with plots.")] = None,
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
) -> None:
    """Measure search on your index and questions, beside other engines if you name some."""
    from comparison.report import page
    from comparison.run import chosen_peers, compare
    from comparison.task import read_task
    from pincite.measure.questions import load

    with told(as_json=as_json, index=index):
        peers = chosen_peers(peer or [])
        asked = load(questions)
        task = read_task(asked.name, folder_of(index, "bench"), asked.questions, most)
        lines = []
        with err.status("") as status:
            for line in compare([task], peers, home, rounds, status.update):
                lines.append(line)
        if save is not None:
            _write(save, "".join(json.dumps(line) + "\n" for line in lines))
        if html is not None:
            _write(html, page(lines))
    if as_json:
        print_json(lines)
        return
    _print(lines)


def _print(lines: list[dict[str, object]]) -> None:
    """Print the tables; in a narrow terminal those columns that are wanted least stay away."""
    from rich.text import Text

    from comparison.report import tables

    left_out: dict[str, None] = {}
    for title, heads, rows, notes in tables(lines):
        cells = [heads, *rows]
        for head in LEAST_WANTED if out.is_terminal else ():
            if _width(cells) > out.width and head in cells[0]:
                at = cells[0].index(head)
                cells = [[*row[:at], *row[at + 1 :]] for row in cells]
                left_out[head] = None
        out.print(Text(title, "italic"), soft_wrap=True)
        if rows:
            for number, line in enumerate(_aligned(cells)):
                out.print(Text(line, "" if number else "bold"), soft_wrap=True)
        for note in notes:
            out.print(note, markup=False, style="yellow", soft_wrap=True)
        out.print()
    if left_out:
        words = f"left out for want of width: {', '.join(left_out)}; --json has them all"
        out.print(words, style="dim", soft_wrap=True)


def _widths(cells: list[list[str]]) -> list[int]:
    from rich.cells import cell_len

    return [max(map(cell_len, column)) for column in zip(*cells, strict=True)]


def _width(cells: list[list[str]]) -> int:
    widths = _widths(cells)
    return sum(widths) + GAP * (len(widths) - 1)


def _aligned(cells: list[list[str]]) -> Iterator[str]:
    """Yield rows as lines: names to the left, figures to the right, and nothing is cut."""
    first, *others = _widths(cells)
    for name, *figures in cells:
        parts = [name.ljust(first)]
        parts += [cell.rjust(width) for cell, width in zip(figures, others, strict=True)]
        yield (" " * GAP).join(parts).rstrip()


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SourceError(
            f"cannot write {file}: {reason_of(error)}", hint="choose another file"
        ) from error


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(compare_engines)
    app()
