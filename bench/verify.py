"""Are wrong answers caught? Quoted answers are changed on purpose and checked as a model's are.

    python bench/verify.py [--data DIR] [--most N]

Answers come from the sample questions and Part 97's. Each sentence is written as a model would,
"According to PLACE, WORDS [n]", and must pass unchanged. Then one thing is made wrong:

- id: a number of no source, or of another source that does not have these words;
- number: another number, near or far, that the sentence does not have;
- number from the source: one that stands elsewhere in the very same source (the hard case);
- unit: another unit of the same or of another kind;
- place: another place of the same document.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from experiments.indexes import make_index
from pincite.answer.asker import Asker
from pincite.answer.values import Answer, Sentence, Source
from pincite.answer.verify import Verifier
from pincite.api import Index
from pincite.model.locators import mention_spans
from pincite.model.settings import Answering, Settings
from pincite.model.units import quantities

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "samples"
UNITS = ["mm", "m", "km", "A", "V", "W", "kW", "kHz", "MHz", "GHz", "days", "hours", "percent"]
_WITH_UNIT = re.compile(
    r"(?<![\w.,])(\d[\d,.]*\d|\d)\s(mm²?|c?m|km|A|k?V|k?W|[kMG]?Hz|days|%)(?!\w)"
)

Case = tuple[str, str, tuple[int, ...]]  # kind, sentence, cited


def collections(data: Path, most: int) -> Iterator[tuple[str, list[tuple[Path, str]], list[str]]]:
    """Yield names, files and questions of the collections."""
    lines = (SAMPLES / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    files = [(file, file.name) for file in sorted(SAMPLES.iterdir()) if file.suffix != ".jsonl"]
    yield "samples", files, [json.loads(line)["question"] for line in lines]
    part97 = data / "part97"
    if part97.is_dir():
        lines = (part97 / "questions_dev.jsonl").read_text(encoding="utf-8").splitlines()
        asked = list(dict.fromkeys(json.loads(line)["question"] for line in lines))
        yield "part97", [(part97 / "part97.md", "part97.md")], asked[:most]


def written(answer: Answer, sentence: Sentence) -> str:
    """Return a quotation as a model would write it."""
    return f"According to {sentence.citations[0].locator}, {sentence.text}"


def changed(
    answer: Answer, sentence: Sentence, index: Index, dice: random.Random
) -> Iterator[Case]:
    text, number = written(answer, sentence), sentence.citations[0].source
    source = answer.sources[number - 1]
    yield "id", text, (max(s.number for s in answer.sources) + dice.randint(1, 9),)
    others = [s for s in answer.sources if not _says(s, sentence, source)]
    if others:
        yield "id", text, (dice.choice(others).number,)
    found = [q for q in quantities(sentence.text) if sentence.text[q.start].isdigit()]
    if found:
        yield from _numbers(text, sentence, source, number, dice)
    for match in list(_WITH_UNIT.finditer(sentence.text))[:1]:
        other = dice.choice([unit for unit in UNITS if unit != match.group(2)])
        wrong = f"{match.group(1)} {other}".join(_around(sentence.text, *match.span()))
        yield "unit", text.replace(sentence.text, wrong), (number,)
    places = index.snapshot.chunks(source.span.doc_id)
    own = {key for key, _, _ in mention_spans(f"{source.text} {source.locator} {text}")}
    named = [
        chunk.locator
        for chunk in places
        for keys in [mention_spans(chunk.locator)]
        if keys and keys[0][0] not in own and not source.span.overlap(chunk.span)
    ]
    if named and mention_spans(sentence.citations[0].locator):
        yield "place", f"According to {dice.choice(named)}, {sentence.text}", (number,)


def _says(other: Source, sentence: Sentence, source: Source) -> bool:
    return other.number == source.number or sentence.citations[0].quote in other.text


def _numbers(
    text: str, sentence: Sentence, source: Source, number: int, dice: random.Random
) -> Iterator[Case]:
    figures = list(re.finditer(r"(?<![\w.,(])\d+(?:\.\d+)?(?![\w.,)]*[\w(])", sentence.text))
    said = set(re.findall(r"\d+(?:\.\d+)?", sentence.text))
    if not figures:
        return
    chosen = dice.choice(figures)
    value = float(chosen.group())
    wrong = [value + 1, value * 2 + 1, value * 10, max(1.0, value // 2) + 0.5]
    new = next(f"{each:g}" for each in dice.sample(wrong, 4) if f"{each:g}" not in said)
    swapped = new.join(_around(sentence.text, *chosen.span()))
    yield "number", text.replace(sentence.text, swapped), (number,)
    inside = sorted(set(re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.(])", source.text)) - said)
    if inside:
        swapped = dice.choice(inside).join(_around(sentence.text, *chosen.span()))
        yield "number from the source", text.replace(sentence.text, swapped), (number,)


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    return text[:start], text[end:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=ROOT / "../shared/data")
    parser.add_argument("--most", type=int, default=1000, help="questions of Part 97")
    parser.add_argument("--show", action="store_true", help="print what was not caught")
    options = parser.parse_args()
    for name, files, questions in collections(options.data, options.most):
        with tempfile.TemporaryDirectory() as scratch:
            make_index(files, Path(scratch) / "index", [Settings()])
            with Index.open(Path(scratch) / "index") as index:
                report(name, index, questions, show=options.show)


def report(name: str, index: Index, questions: list[str], *, show: bool) -> None:
    asker = Asker(index, Answering(min_confidence=0.0))
    dice = random.Random(97)
    caught: dict[str, list[bool]] = defaultdict(list)
    in_place: list[bool] = []
    for question in questions:
        answer = asker.answer(question)
        for sentence in answer.sentences:
            citation = sentence.citations[0]
            assert citation.span is not None
            document = index.snapshot.text(citation.span.doc_id)
            source = answer.sources[citation.source - 1]
            stands = document[citation.span.start : citation.span.end] == citation.quote
            in_place.append(stands and source.holds(citation.span))
            verifier = Verifier(answer.sources, index.opened.analyzer_of(source.span.doc_id))
            checked, _ = verifier.check(written(answer, sentence), (citation.source,))
            caught["unchanged, and passes"].append(checked.verdict == "supported")
            if checked.verdict != "supported" and show:
                sys.stdout.write(f"  PASSES NOT: {checked.problems} {checked.text[:200]}\n")
            for kind, text, cited in changed(answer, sentence, index, dice):
                checked, rejected = verifier.check(text, cited)
                is_caught = checked.verdict == "unsupported" and bool(rejected)
                caught[kind].append(is_caught)
                if show and not is_caught and kind != "number from the source":
                    sys.stdout.write(f"  {kind} NOT CAUGHT: {cited} {text[:240]}\n")
    sys.stdout.write(f"{name}: {len(questions)} questions, {len(in_place)} quotations\n")
    caught = {"quotation stands in the cited place": in_place, **caught}
    for kind, values in caught.items():
        share = 100 * sum(values) / len(values)
        sys.stdout.write(f"  {kind:38} {share:6.1f} %  of {len(values)}\n")


if __name__ == "__main__":
    main()
