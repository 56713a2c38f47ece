"""pincite bench: speed and quality on your own documents, beside other engines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pincite.cli.options import (
    DEFAULT_INDEX,
    IndexOption,
    JsonOption,
    err,
    folder_of,
    out,
    print_json,
    told,
)
from pincite.core.errors import SourceError


def bench(
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
    from pincite.bench.report import page
    from pincite.bench.run import chosen_peers, compare
    from pincite.bench.task import read_task
    from pincite.evaluate.judgements.files import load

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
    from rich.table import Table

    from pincite.bench.report import tables

    for title, heads, rows in tables(lines):
        table = Table(box=None, pad_edge=False, title=title, title_justify="left")
        for number, head in enumerate(heads):
            table.add_column(head, justify="right" if number else "left")
        for row in rows:
            table.add_row(*row)
        out.print(table)
        out.print()


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SourceError(f"cannot write {file}: {error}", hint="choose another file") from error
