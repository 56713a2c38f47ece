"""What typing errors, other names and walks do to search: `python bench/query_words.py DATA`.

DATA is the folder with srd-5.1 and part97; the samples come with the project. Every question gets
one slip in one word, always the same one; a hit is a place that lies in what answers the question.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from experiments.part97 import read_questions
from pincite import Index, find_files, ingest_files
from pincite.model.locators import locator_key
from pincite.model.settings import load_settings
from pincite.model.types import Chunk

SAMPLES = Path(__file__).parents[1] / "samples"
SEED = 7
RUNS = {
    "lexical": [],
    "without typos": ["search.without=typos"],
    "without aliases": ["search.without=aliases"],
    "traversal": ["search.preset=traversal"],
}
STOP = {
    *("which", "where", "whose", "would", "could", "should", "about", "their", "there", "these"),
    *("those", "under", "over", "after", "before", "while"),
}
Question = tuple[str, Callable[[Chunk], bool]]
_LETTERS = re.compile(r"[^\W\d_]{5,}")


def srd(index: Index, data: Path) -> Iterator[Question]:
    named = {_slug(doc.split("/")[-1][:-3]): doc for doc in index.documents() if "Spells/" in doc}
    for item in json.loads((data / "srd-5.1/spell_questions_dev.json").read_text("utf-8")):
        gold = named.get(item["source_document"].split("/")[-1][:-3])
        if gold:
            yield item["question"], lambda chunk, gold=gold: chunk.span.doc_id == gold


def samples(index: Index, _: Path) -> Iterator[Question]:
    for line in (SAMPLES / "questions.jsonl").read_text("utf-8").splitlines():
        item = json.loads(line)
        named = item["gold"].get("any", []) + item["gold"].get("all", [])
        spans = [index.show(each["locator"], each["document"])[0].span for each in named]
        if spans:
            yield item["question"], lambda chunk, spans=spans: any(map(chunk.span.overlap, spans))


def part97(index: Index, data: Path) -> Iterator[Question]:
    for question in read_questions(data / "part97/questions_dev.jsonl"):
        found = index.snapshot.found_by([locator_key(each) for each in question.sections])
        spans = [each.span for each in found if each.kind in ("section", "clause")]
        if spans:
            yield (
                question.text,
                lambda chunk, spans=spans: any(
                    span.overlap(chunk.span) == len(chunk.span) for span in spans
                ),
            )


def slipped(question: str, chance: random.Random) -> str:
    """Return the question with one slip inside one of its longer words."""
    words = question.split()
    plain = [re.sub(r"\W", "", word) for word in words]
    can = [
        i
        for i, word in enumerate(plain)
        if len(word) >= 5 and word.isalpha() and words[i].lower() not in STOP
    ]
    match = _LETTERS.search(words[at]) if can and (at := chance.choice(can)) >= 0 else None
    if match is None:
        return question
    letters = list(match.group())
    place = chance.randrange(1, len(letters) - 1)
    kind = chance.choice("siod")
    if kind == "s":
        letters[place], letters[place + 1] = letters[place + 1], letters[place]
    elif kind == "i":
        letters.insert(place, chance.choice("aeiorstn"))
    elif kind == "o":
        del letters[place]
    else:
        other = [letter for letter in "abcdefghijklmnoprstuvw" if letter != letters[place]]
        letters[place] = chance.choice(other)
    words[at] = words[at][: match.start()] + "".join(letters) + words[at][match.end() :]
    return " ".join(words)


def recalls(index: Index, questions: list[Question]) -> str:
    ranks = []
    for text, is_gold in questions:
        chunks = index.snapshot.get(index.search_ranking(text, 10).ids)
        ranks.append(next((n for n, chunk in enumerate(chunks, 1) if is_gold(chunk)), 99))
    return " ".join(f"@{k} {sum(r <= k for r in ranks) / len(ranks):.3f}" for k in (1, 5, 10))


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", re.sub("['’]", "", name.lower())).strip("-")


def main(data: Path) -> None:
    book = [
        (file, name)
        for file, name in find_files([data / "srd-5.1"])
        if "(Alt)" not in name and "PROVENANCE" not in name
    ]
    corpora = {
        "srd-5.1 spells": (book, srd),
        "samples": (find_files([SAMPLES]), samples),
        "part97 sections": ([(data / "part97/part97.md", "part97.md")], part97),
    }
    for name, (files, asked) in corpora.items():
        with tempfile.TemporaryDirectory() as folder:
            list(ingest_files(files, folder))
            for run, sets in RUNS.items():
                settings = load_settings(overrides=["search.preset=lexical", *sets])
                with Index.open(folder, settings) as index:
                    questions = list(asked(index, data))
                    chance = random.Random(SEED)
                    slips = [(slipped(text, chance), is_gold) for text, is_gold in questions]
                    print(
                        f"{name:16} {run:16} n {len(questions)}  {recalls(index, questions)}"
                        f"   with slips {recalls(index, slips)}",
                        flush=True,
                    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
