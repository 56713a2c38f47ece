"""The section and the lettered clause that answer an exam question (47 CFR Part 97).

The 328 questions of `part97/questions_dev.jsonl`, their text alone, every lettered item a chunk,
as `python bench/reproduce.py part97` asks them. A question belongs to the half that was looked at
by the hash of its text; pools repeat questions.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from checks import Figure
from experiments import part97
from experiments.indexes import opened_at
from finding_checks._halves import by_half
from finding_checks._indexes import index_folder
from pincite.model.settings import Settings

ASKED = {
    "section @1": ">= .72",
    "section @5": ">= .95",
    "clause @1": ">= .62",
    "clause @5": ">= .90",
}


def run(data: Path) -> list[Figure]:
    """Return recall of sections and of clauses."""
    settings = Settings()
    settings = replace(settings, ingest=replace(settings.ingest, split_depth=1))
    folder, figures = data / "part97", []
    questions = part97.read_questions(folder / "questions_dev.jsonl")
    files = [(folder / part97.DOCUMENT, part97.DOCUMENT)]
    with index_folder("part97", files, [settings]) as place, opened_at(place, settings) as index:
        scored = [part97.scored(index, question) for question in questions]
    for level in ("section", "clause"):
        judged = [each for each in scored if getattr(each, f"has_{level}")]
        keys = [each.question.text for each in judged]
        for depth in (1, 5, 10):
            ranks = [getattr(each, f"{level}_rank") or 10**6 for each in judged]
            values = [float(rank <= depth) for rank in ranks]
            name = f"{level} @{depth}"
            figures += by_half(name, values, keys, ASKED.get(name, ""))
    return figures
