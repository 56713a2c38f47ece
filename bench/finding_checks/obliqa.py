"""The passages of financial regulations that answer a question about obligations (ObliQA).

The 2,788 questions of `obliqa/questions_dev.json` over all 40 regulations; each of the 13,732
passages is a page, and what is judged. Once the passages alone are indexed, once under their
headings (`experiments/obliqa.py`). A question belongs to the half that was looked at by the hash
of the document of its first passage. Published on other questions of the set: BM25 R@10 .761 and
MAP@10 .624, best .833 and .702.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from checks import Figure
from experiments import collection, obliqa
from experiments.indexes import opened_at
from finding_checks._halves import by_half
from finding_checks._indexes import index_folder
from pincite.model.settings import Settings

ASKED = {"recall@10": ">= .84", "ap@10": ">= .72"}


def run(data: Path) -> list[Figure]:
    """Return recall and average precision of the first ten."""
    folder, figures = data / "obliqa", []
    with tempfile.TemporaryDirectory(prefix="pincite-") as scratch:
        for each in obliqa.read(folder, folder / "questions_dev.json", Path(scratch)):
            settings = each.fitted(Settings())
            name = f"obliqa-{each.name}"
            with (
                index_folder(name, each.files, [settings]) as place,
                opened_at(place, settings) as index,
            ):
                figures += _measured(each, index)
    return figures


def _measured(asked: collection.Collection, index: collection.Index) -> list[Figure]:
    places = collection.places_of(index, asked)
    results = [collection.scored(index, places, each, asked) for each in asked.questions]
    groups, figures = [each.group for each in results], []
    for measure in asked.measures:
        values = [each.values[f"{asked.name}_{measure}"] for each in results]
        figures += by_half(f"{asked.name} {measure}", values, groups, ASKED.get(measure, ""))
    return figures
