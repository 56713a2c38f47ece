"""The rule that answers a question about a spell whose name is masked (SRD 5.1).

The 661 questions of `srd-5.1/spell_questions_dev.json`, as `python bench/reproduce.py srd-5.1`
asks them. A question belongs to the half that was looked at by the hash of its spell.
"""

from __future__ import annotations

from pathlib import Path

from checks import Figure
from experiments import collection, srd
from experiments.indexes import opened_at
from finding_checks._halves import by_half
from finding_checks._indexes import index_folder
from pincite.model.settings import Settings

ASKED = {"hit@1": "not below .366", "hit@5": "not below .526"}  # what decision 7 has


def run(data: Path) -> list[Figure]:
    """Return how often the spell is found, and its mean reciprocal rank."""
    folder, figures = data / "srd-5.1", []
    (asked,) = srd.read(folder, folder / "spell_questions_dev.json", folder)
    settings = asked.fitted(Settings())
    with index_folder("srd", asked.files, [settings]) as place, opened_at(place, settings) as index:
        places = collection.places_of(index, asked)
        questions = [each for each in asked.questions if each.gold]
        results = [collection.scored(index, places, each, asked) for each in questions]
    groups = [each.group for each in results]
    for measure in asked.measures:
        values = [each.values[measure] for each in results]
        figures += by_half(measure, values, groups, ASKED.get(measure, ""))
    return figures
