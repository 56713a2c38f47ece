"""The reader as a re-ranker, beside the first stage in the same run.

The exam questions of Part 97 (the lettered clause among the first) and those of ObliQA (average
precision of the first ten, passages alone), each asked with `rerank.enabled` off and on, the other
settings as they come. `PINCITE_RERANK__MODEL` names a folder with another cross-encoder to compare.
p is of a paired randomisation test, sections and documents drawn as a whole.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from checks import Figure, sampled
from experiments import collection, obliqa, part97
from experiments.indexes import opened_at
from finding_checks._indexes import index_folder
from pincite.measure.statistics import randomisation_p
from pincite.model.settings import Settings


def run(data: Path) -> list[Figure]:
    """Return both rankings of both sets."""
    return [*_clauses(data / "part97"), *_obligations(data / "obliqa")]


def _stages(settings: Settings) -> tuple[Settings, Settings]:
    """Return the settings without and with re-ranking; no search is cut short by the clock."""
    model = os.environ.get("PINCITE_RERANK__MODEL", "shipped")
    rerank = {"rerank.enabled": True, "rerank.model": model, "rerank.budget_ms": 0}
    return settings, settings.changed(rerank)


def _clauses(folder: Path) -> list[Figure]:
    settings = Settings()
    settings = replace(settings, ingest=replace(settings.ingest, split_depth=1))
    questions = sampled(
        part97.read_questions(folder / "questions_dev.jsonl"), lambda each: each.text
    )
    files = [(folder / part97.DOCUMENT, part97.DOCUMENT)]
    found: list[list[part97.Scored]] = []
    with index_folder("part97", files, [settings]) as place:
        for each in _stages(settings):
            with opened_at(place, each) as index:
                found.append([part97.scored(index, question) for question in questions])
    figures: list[Figure] = []
    for depth in (1, 5):
        values = [
            [float((s.clause_rank or 10**6) <= depth) for s in each if s.has_clause]
            for each in found
        ]
        groups = [s.question.clauses[0] for s in found[0] if s.has_clause]
        figures += _compared(f"Part 97 clause @{depth}", values, groups)
    return figures


def _obligations(folder: Path) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="pincite-") as scratch:
        asked = obliqa.read(folder, folder / "questions_dev.json", Path(scratch))[0]
        settings = asked.fitted(Settings())
        questions = sampled(list(asked.questions), lambda each: each.text)
        values: list[list[float]] = []
        with index_folder(f"obliqa-{asked.name}", asked.files, [settings]) as place:
            for stage in _stages(settings):
                with opened_at(place, stage) as index:
                    places = collection.places_of(index, asked)
                    scored = [collection.scored(index, places, q, asked) for q in questions]
                values.append([each.values[f"{asked.name}_ap@10"] for each in scored])
    return _compared("ObliQA MAP@10", values, [each.group for each in questions])


def _compared(name: str, values: Sequence[Sequence[float]], groups: Sequence[str]) -> list[Figure]:
    first, second = values
    changes = [after - before for before, after in zip(first, second, strict=True)]
    p = randomisation_p(changes, groups)
    return [
        Figure(f"{name}: first stage", sum(first) / len(first), "", len(first)),
        Figure(f"{name}: re-ranked", sum(second) / len(second), "", len(second), f"p = {p:.3f}"),
    ]
