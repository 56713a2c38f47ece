"""The abstracts that a scientific claim cites (SciFact).

The 809 claims of `scifact/claims_train.csv` over 5,183 abstracts, each one chunk, as `python
bench/reproduce.py scifact` asks them. A claim belongs to the half that was looked at by the hash
of the abstracts that it cites.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from checks import Figure
from experiments import collection, scifact
from experiments.indexes import opened_at
from finding_checks._halves import by_half
from finding_checks._indexes import index_folder
from pincite.model.settings import Settings

ASKED = {"ndcg@10": ">= .78"}


def run(data: Path) -> list[Figure]:
    """Return nDCG, recall and mean reciprocal rank."""
    folder, figures = data / "scifact", []
    with tempfile.TemporaryDirectory(prefix="pincite-") as scratch:
        (asked,) = scifact.read(folder, folder / "claims_train.csv", Path(scratch))
        settings = asked.fitted(Settings())
        with (
            index_folder("scifact", asked.files, [settings]) as place,
            opened_at(place, settings) as index,
        ):
            places = collection.places_of(index, asked)
            claims = [each for each in asked.questions if each.gold]
            results = [collection.scored(index, places, each, asked) for each in claims]
    groups = [each.group for each in results]
    for measure in asked.measures:
        values = [each.values[measure] for each in results]
        figures += by_half(measure, values, groups, ASKED.get(measure, ""))
    return figures
