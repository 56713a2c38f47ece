"""Is what answers quoted? The samples' questions and Part 97's, answered without a language model.

    python bench/quotes.py [--data DIR] [--set tuning.answer.quotes=1 ...]

A question counts if a quotation touches a place that answers it: for Part 97 a clause that it cites
to the letter, or the section if it cites no clause.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from experiments import part97
from experiments.indexes import make_index
from pincite.answer.asker import Asker
from pincite.api import Index
from pincite.model.settings import load_settings
from pincite.model.types import Span

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "samples"
Questions = Callable[[Index], Iterator[tuple[str, list[Span]]]]


def sample_questions(index: Index) -> Iterator[tuple[str, list[Span]]]:
    for line in (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        places = item["gold"].get("any") or item["gold"].get("all") or ()
        found = [c.span for p in places for c in index.show(p["locator"], p["document"])]
        if found:
            yield item["question"], found


def part97_questions(index: Index, file: Path) -> Iterator[tuple[str, list[Span]]]:
    for question in part97.read_questions(file):
        named = question.clauses or question.sections
        chunks = index.snapshot.found_by(named)
        found = [chunk.span for chunk in chunks if chunk.kind in ("section", "clause")]
        if found:
            yield question.text, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT / "../shared/data")
    parser.add_argument("--set", action="append", default=[], dest="sets")
    options = parser.parse_args()
    files = [(file, file.name) for file in sorted(SAMPLES.iterdir()) if file.suffix != ".jsonl"]
    law = options.data / "part97"
    report("samples", files, options.sets, sample_questions)
    if law.is_dir():
        questions = law / "questions_dev.jsonl"
        document = [(law / part97.DOCUMENT, part97.DOCUMENT)]
        report("part97", document, options.sets, lambda index: part97_questions(index, questions))


def report(
    name: str, files: Sequence[tuple[Path, str]], sets: Sequence[str], questions: Questions
) -> None:
    settings = load_settings(None, {}, ["answer.min_confidence=0", *sets])
    first = some = quotes = chars = count = 0
    with tempfile.TemporaryDirectory() as scratch:
        make_index(files, Path(scratch) / "index", [settings])
        with Index.open(Path(scratch) / "index", settings) as index:
            asker = Asker(index)
            asked = list(questions(index))
            start = time.process_time()
            for question, gold in asked:
                spans = [c.span for c in asker.answer(question).citations if c.span]
                touches = [any(place.overlap(span) for place in gold) for span in spans]
                count += 1
                first += touches[:1] == [True]
                some += any(touches)
                quotes += len(spans)
                chars += sum(map(len, spans))
            seconds = time.process_time() - start
    sys.stdout.write(
        f"{name}: {count} questions; the first quotation answers {first / count:.3f}, one of them "
        f"{some / count:.3f}; {quotes / count:.1f} quotations and {chars / count:.0f} characters "
        f"an answer; {1000 * seconds / count:.0f} ms of CPU\n"
    )


if __name__ == "__main__":
    main()
