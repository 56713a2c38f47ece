"""The clause of a category in a contract that is given (CUAD).

The 60 contracts of `cuad/txt` with the categories that each has clauses of; asked is the category's
name and description (`experiments/cuad.py`). Clauses whose words do not stand in the text are left
out. A contract belongs to the half that was looked at by the hash of its name.
"""

from __future__ import annotations

from pathlib import Path

from checks import Figure
from experiments import cuad
from experiments.indexes import opened_at
from finding_checks._halves import by_half
from finding_checks._indexes import index_folder
from pincite.model.settings import Settings


def run(data: Path) -> list[Figure]:
    """Return how often a clause of the category is among the first hits."""
    settings, figures = Settings(), []
    asked = cuad.read_asked(data / "cuad" / "clauses.jsonl")
    files = [(file, file.name) for file in sorted((data / "cuad" / "txt").glob("*.txt"))]
    with index_folder("cuad", files, [settings]) as place, opened_at(place, settings) as index:
        found = list(cuad.ranks(index, asked))
    keys = [each.contract for each, _ in found]
    note = f"{len(asked) - len(found)} left out"
    for depth in cuad.DEPTHS:
        values = [float((rank or 10**6) <= depth) for _, rank in found]
        figures += by_half(f"clause @{depth}", values, keys, ">= .75" if depth == 5 else "", note)
    return figures
