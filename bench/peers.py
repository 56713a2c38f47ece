"""Pincite beside other engines on published questions: speed, memory, size, quality, one run.

    python bench/peers.py [--peer all] [--corpus part97,scifact,ohr-bench] [--questions 200]
                          [--rounds 3] [--save FILE] [--html FILE] [--markdown FILE]

Every engine gets the same chunks: lettered clauses of Part 97, abstracts of SciFact, pieces of at
most 1,024 tokens of OHR-Bench's finance, law and manuals; with the headings and introductions that
Pincite indexes above each, and in a column of its own without them. Environments of peers are made
in .bench (several GB for all of them). Vectors of all peers are those of sentence-transformers with
all-MiniLM-L6-v2, the model that Pincite's own encoder comes from; cross-encoders have the same
weights as Pincite's. On OHR-Bench vectors do not help, so that words alone are compared.
bench/compare.py does the same with an index and questions of your own.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from comparison.report import markdown, page
from comparison.run import chosen_peers, compare
from comparison.task import Task, read_task
from experiments import ohr_bench, part97
from pincite.measure.imports import read_part97, read_scifact, write_abstracts
from pincite.measure.questions import JudgedPlace, Question
from pincite.model.settings import Settings, load_settings
from pincite.update import embed_index, ingest_files

ONE_LANGUAGE = "ingest.language=english"
PIECES = (ONE_LANGUAGE, "ingest.chunking=fixed", "ingest.profile=none")
DOMAINS = ("finance", "law", "manual")
Files = Sequence[tuple[Path, str]]


def made(files: Files, folder: Path, settings: Settings, *, with_vectors: bool) -> Path:
    """Return the folder with an index of some files."""
    deque(ingest_files(files, folder, settings), maxlen=0)
    if with_vectors:
        deque(embed_index(folder, settings), maxlen=0)
    return folder


def task_part97(data: Path, scratch: Path, most: int) -> Task:
    settings = load_settings(overrides=["ingest.split_depth=1", "search.late_weight=0.3"])
    file = data / part97.DOCUMENT
    index = made([(file, part97.DOCUMENT)], scratch / "index", settings, with_vectors=True)
    asked = read_part97(data / "questions_dev.jsonl", {})
    return read_task("Part 97", index, asked.questions, most)


def task_scifact(data: Path, scratch: Path, most: int) -> Task:
    settings = load_settings(overrides=[*PIECES, "ingest.max_tokens=1000000"])
    claims, file = data / "claims_train.csv", scratch / "abstracts.json"
    pages = write_abstracts(claims, file)
    index = made([(file, file.name)], scratch / "index", settings, with_vectors=True)
    questions = []
    for each in read_scifact(claims, {}).questions:
        known = [place for need in each.needs for place in need if place.document in pages]
        needs = tuple((JudgedPlace(file.name, page=pages[place.document]),) for place in known)
        questions.append(Question(each.id, each.text, needs, group=each.group))
    return read_task("SciFact", index, questions, most)


def task_ohr_bench(data: Path, scratch: Path, most: int) -> Task:
    settings = load_settings(overrides=[*PIECES])
    files = [
        (file, f"{domain}/{file.name}")
        for domain in DOMAINS
        for file in ohr_bench.domain_files(data / "gt", domain)
    ]
    index = made(files, scratch / "index", settings, with_vectors=False)
    questions = [
        Question(
            each.id,
            each.text,
            ((JudgedPlace(each.doc_ids[1], page=each.page),),),
            evidence=each.evidence,
            group=each.document,
        )
        for each in ohr_bench.read_questions(data / "qas_dev.json")
        if each.domain in DOMAINS
    ]
    return read_task("OHR-Bench", index, questions, most)


TASKS: dict[str, Callable[[Path, Path, int], Task]] = {
    "part97": task_part97,
    "scifact": task_scifact,
    "ohr-bench": task_ohr_bench,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("PINCITE_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--corpus", default=",".join(TASKS))
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--home", type=Path, default=Path(".bench"))
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--save", type=Path, help="JSON lines")
    parser.add_argument("--html", type=Path)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory(prefix="pincite-bench-") as scratch:
        tasks = []
        for name in given.corpus.split(","):
            folder = Path(scratch) / name
            folder.mkdir()
            tasks.append(TASKS[name](given.data / name, folder, given.questions))
        peers = chosen_peers(given.peer)
        for line in compare(tasks, peers, given.home, given.rounds, lambda text: print(text)):
            lines.append(line)
            if given.save:  # as it goes: a long run may be stopped
                given.save.write_text("".join(json.dumps(each) + "\n" for each in lines))
    print(markdown(lines))
    if given.markdown:
        given.markdown.write_text(markdown(lines))
    if given.html:
        given.html.write_text(page(lines))


if __name__ == "__main__":
    main()
