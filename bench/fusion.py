"""What learning fusion weights buys on documents that were not learned from, and what parts buy.

    python bench/fusion.py [--data ../shared/data] [--questions 150] [--only part97,srd-5.1,scifact]

For each collection: the choice of method and weight by cross-validation over groups of questions
about one document, with held-out figures of choosing and of the default; then names, aliases,
spread and graph, each turned on and off, with 95 % intervals.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from experiments import part97, scifact, srd
from experiments.choosing import choose, fusions, measured, parts
from experiments.collection import Collection, Question
from pincite.model.locators import locator_key
from pincite.model.settings import IngestSettings, load_settings
from pincite.model.types import Chunk, section_of

MEASURE = "mrr"


def part97_collection(data: Path, _: Path) -> Collection:
    """Return Part 97 with its sections as places; questions about one section are one group."""
    questions = [
        Question(each.text, frozenset(each.sections), " ".join(each.sections))
        for each in part97.read_questions(data / "part97" / "questions_dev.jsonl")
    ]

    def section(chunk: Chunk) -> str:
        return locator_key(section_of(chunk.locator))

    files = [(data / "part97" / part97.DOCUMENT, part97.DOCUMENT)]
    lettered = IngestSettings(split_depth=1)
    return Collection(files, questions, (MEASURE,), section, "part97", ingest=lettered)


def srd_collection(data: Path, scratch: Path) -> Collection:
    home = data / "srd-5.1"
    return srd.read(home, home / "spell_questions_dev.json", scratch)[0]


def scifact_collection(data: Path, scratch: Path) -> Collection:
    home = data / "scifact"
    return scifact.read(home, home / "claims_train.csv", scratch)[0]


COLLECTIONS: dict[str, Callable[[Path, Path], Collection]] = {
    "part97": part97_collection,
    "srd-5.1": srd_collection,
    "scifact": scifact_collection,
}


def report(name: str, collection: Collection, wanted: int) -> None:
    judged = [question for question in collection.questions if question.gold]
    some = replace(collection, questions=judged[:: max(1, len(judged) // wanted)])
    settings = load_settings(overrides=["search.preset=hybrid"])
    table = measured(some, fusions(settings), MEASURE)
    choice = choose(table)
    print(f"\n{name}: {len(table.groups)} questions in {len(set(table.groups))} groups, {MEASURE}")
    for pipeline, values in sorted(table.values.items(), key=lambda each: -each[1].mean())[:5]:
        print(f"  {pipeline:<20}{values.mean():.3f}  (the same questions)")
    print(f"  chosen: {choice.name}; in folds: {', '.join(choice.folds)}")
    for each in ("chosen", "default"):
        low, high = choice.held_out.intervals[each]
        print(f"  held out, {each:<8} {choice.held_out.values[each]:.3f} [{low:.3f}, {high:.3f}]")
    shown = "better" if choice.is_shown else "no difference shown"
    print("  held out, gain     {:+.3f} [{:+.3f}, {:+.3f}]  {}".format(*choice.gain, shown))
    for part in parts(some, settings, MEASURE):
        low, high = part.interval
        print(f"  {part.name:<10}{part.gain:+.4f} [{low:+.4f}, {high:+.4f}]  {part.verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("PINCITE_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--questions", type=int, default=150, help="of each, at least")
    parser.add_argument("--only", default=",".join(COLLECTIONS))
    given = parser.parse_args()
    for name in given.only.split(","):
        with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
            report(name, COLLECTIONS[name](given.data, Path(scratch)), given.questions)


if __name__ == "__main__":
    main()
