"""Speed and quality on your own documents, beside other engines.

    python bench/compare.py questions.jsonl -i INDEX [--peer bm25s] [--html page.html]

It takes an index of yours and a file of judgements; bench/peers.py does the same with published
questions. Environments of peers are made in .bench when they are first needed.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import click

from pincite.cli.options import PATH, Call, argument, command, option, write_text
from pincite.cli.terminal import print_json, print_table, say, tell

GAP = 2  # blanks between two columns
# What goes first where a terminal is too narrow for everything.
LEAST_WANTED = ("disk MB", "ready s", "peak MB", "nDCG@10 beside ours", "p95 ms", "RR", "Recall@10")


@command("compare", settings=False)
@argument("questions", type=PATH, help="A file of judgements (.jsonl or .toml).")
@option("--peer", multiple=True, help="Another engine to measure, installed if need be; or all.")
@option("--home", type=PATH, default=".bench", help="Folder for the environments of other engines.")
@option("--questions", "count", type=click.IntRange(1), default=200, help="Questions to ask.")
@option("--rounds", type=click.IntRange(1), default=3, help="Times to ask them.")
@option("--save", type=PATH, help="Write JSON lines here.")
@option("--html", type=PATH, help="Write a page with plots.")
def compare_engines(
    call: Call,
    questions: Path,
    peer: tuple[str, ...],
    home: Path,
    count: int,
    rounds: int,
    save: Path | None,
    html: Path | None,
) -> None:
    """Measure search on your index and questions, beside other engines if you name some."""
    from comparison.report import page
    from comparison.run import chosen_peers, compare
    from comparison.task import read_task
    from pincite.measure.questions import load

    peers = chosen_peers(peer)
    asked = load(questions)
    task = read_task(asked.name, call.folder("bench"), asked.questions, count)
    lines = list(compare([task], peers, home, rounds, _tell_step))
    if save is not None:
        write_text(save, "".join(json.dumps(line) + "\n" for line in lines))
    if html is not None:
        write_text(html, page(lines))
    if call.as_json:
        print_json(lines)
        return
    _print(lines)


def _tell_step(words: str) -> None:
    """Tell what is measured now, to those who watch."""
    if sys.stderr.isatty():
        tell(words, style="dim")


def _print(lines: list[dict[str, object]]) -> None:
    """Print the tables; in a narrow terminal those columns that are wanted least stay away."""
    from comparison.report import tables

    left_out: dict[str, None] = {}
    for title, heads, rows, notes in tables(lines):
        cells = [heads, *rows]
        for head in LEAST_WANTED if sys.stdout.isatty() else ():
            if _width(cells) > shutil.get_terminal_size().columns and head in cells[0]:
                at = cells[0].index(head)
                cells = [[*row[:at], *row[at + 1 :]] for row in cells]
                left_out[head] = None
        say(title, style="italic")
        if rows:
            print_table(cells)
        for note in notes:
            say(note, style="yellow")
        say()
    if left_out:
        words = f"left out for want of width: {', '.join(left_out)}; --json has them all"
        say(words, style="dim")


def _width(cells: list[list[str]]) -> int:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return sum(widths) + GAP * (len(widths) - 1)


if __name__ == "__main__":
    compare_engines()
