"""The cell of a table with hierarchies in its heads (AIT-QA).

The 515 questions of `aitqa/` on 116 tables of airlines' annual reports. Each table is a document of
its own, written as a Markdown table with its heads joined, and asked alone: the question says
nothing of the document. Right is a short answer that is the cell's text. A question belongs to the
half that was looked at by the hash of its table. Best published 51.8 % exact.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from answers_checks._asking import Judged, asker_of, said, settings_here
from checks import Figure, sampled
from experiments.indexes import opened_at
from finding_checks._halves import by_half
from finding_checks._indexes import index_folder
from pincite.model.types import Filters

BELOW = " > "


def lines(file: Path) -> list[dict[str, Any]]:
    """Return the objects of a file with one a line."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def as_markdown(table: dict[str, Any]) -> str:
    """Return a table as text: heads with what is above them, rows with their groups.

    >>> heads, rows = [["2018", "Q1"], ["2018", "Q2"]], [["Sales", "Goods"]]
    >>> print(as_markdown({"column_header": heads, "row_header": rows, "data": [["1", "2"]]}))
    | | 2018 > Q1 | 2018 > Q2 |
    |---|---|---|
    | Sales > Goods | 1 | 2 |
    """
    heads = [BELOW.join(_cells(head)) for head in table["column_header"]]
    names = [BELOW.join(_cells(row)) for row in table["row_header"]]
    rows = [list(_cells(row)) for row in table["data"]]
    if names:  # of some tables the source has a name more than rows
        heads, rows = ["", *heads], [[name, *row] for name, row in zip(names, rows, strict=False)]
    written = ["| " + " | ".join(heads).lstrip() + " |", "|" + "---|" * len(heads)]
    return "\n".join([*written, *("| " + " | ".join(row) + " |" for row in rows)])


def _cells(values: Sequence[str]) -> list[str]:
    return [" ".join(str(value).split()).replace("|", "/") for value in values]


def run(data: Path) -> list[Figure]:
    """Return how often the cell is the answer, and how often it is quoted."""
    folder, settings = data / "aitqa", settings_here()
    asked = sampled(lines(folder / "aitqa_questions.jsonl"), lambda each: each["question"])
    with tempfile.TemporaryDirectory(prefix="pincite-") as scratch:
        files = []
        for table in lines(folder / "aitqa_tables.jsonl"):
            file = Path(scratch) / f"{table['id']}.md"
            file.write_text(f"# {table['id']}\n\n{as_markdown(table)}\n", encoding="utf-8")
            files.append((file, file.name))
        name = f"aitqa-{settings.search.preset}"
        with (
            index_folder(name, files, [settings]) as place,
            opened_at(place, settings) as index,
        ):
            asker = asker_of(index)
            judged = [
                Judged(
                    each["table_id"],
                    each["answers"],
                    said(asker, each["question"], Filters(documents=(f"{each['table_id']}.md",))),
                )
                for each in asked
            ]
    keys = [each.key for each in judged]
    exact = [float(each.is_exact) for each in judged]
    quoted = [float(each.is_quoted) for each in judged]
    found = [float(not each.said.is_found) for each in judged]
    return [
        *by_half("right cell", exact, keys, ">= .60"),
        *by_half("quotation holds the cell", quoted, keys),
        *by_half("refused", found, keys),
    ]
