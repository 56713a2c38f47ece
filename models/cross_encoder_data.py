"""Make the groups that the shipped cross-encoder is trained on: a question, a passage, rivals.

Questions come from public sets with permissive licences, and from regulations by taking words out
of their sentences. Rivals are what Pincite's own first stage finds and is not the answer. Nothing
here reads a set that Pincite is measured on.

    python models/cross_encoder_data.py DATA_FOLDER OUTPUT.jsonl [SOURCE ...]
"""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "bench"))  # how experiments make an index
from experiments.collection import WHOLE_PAGES
from experiments.indexes import make_index
from pincite.api import Index
from pincite.model.settings import Settings
from pincite.model.types import Filters
from pincite.update import ingest_files

QUESTIONS = {"qamr": 12000, "policyqa": 6500, "medquad": 8000, "wikitables": 8000, "laws": 9000}
RIVALS = 7
DEPTH = 30
# Questions of a law are a part of one of its sentences.
LEADS = ("What", "When", "Which", "Who must", "Is it allowed:", "What is required:", "How", "", "")


@dataclass
class Source:
    """Passages by document, and questions with the passages that answer them."""

    passages: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    # the question, its document, and the number of the passage that answers it
    questions: list[tuple[str, str, int]] = field(default_factory=list)
    within: bool = False  # a question is about its own document


def lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as text:
        for line in text:
            yield json.loads(line)


def windows(text: str, words: int) -> list[str]:
    """Return stretches of a text of about so many words."""
    parts = text.split()
    pieces = max(1, round(len(parts) / words))
    size = -(-len(parts) // pieces)
    return [" ".join(parts[at : at + size]) for at in range(0, len(parts), size)] or [""]


def qamr(data: Path, chance: random.Random) -> Source:
    source = Source()
    number: dict[str, int] = {}
    for row in lines(data / "qamr.jsonl.gz"):
        text = re.sub(r" ([,.;:?!)])", r"\1", row["passage"]).replace(" 's", "'s")
        if text not in number:
            number[text] = len(number)
            source.passages["sentences"].append(text)
        source.questions.append((row["query"], "sentences", number[text]))
    return source


def policyqa(data: Path, chance: random.Random) -> Source:
    source = Source(within=True)
    number: dict[tuple[str, str], int] = {}
    for row in lines(data / "policyqa.jsonl.gz"):
        text = " ".join(row["passage"].split()[:110])
        site = row["doc"]
        if (site, text) not in number:
            number[site, text] = len(source.passages[site])
            source.passages[site].append(text)
        source.questions.append((row["query"], site, number[site, text]))
    return source


def medquad(data: Path, chance: random.Random) -> Source:
    source = Source()
    rows = list(lines(data / "medquad.jsonl.gz"))
    for row in chance.sample(rows, QUESTIONS["medquad"]):
        pieces = windows(row["passage"], chance.choice((40, 60, 80, 100)))[:2]
        query = row["query"].replace(" ?", "?").replace("What is (are)", "What is")
        source.questions.append((query, "answers", len(source.passages["answers"])))
        source.passages["answers"] += pieces
    return source


def wikitables(data: Path, chance: random.Random) -> Source:
    """A table is cut into stretches of rows, each under the table's head."""
    source = Source()
    pieces: dict[str, list[tuple[int, set[str]]]] = {}
    for row in lines(data / "wikitables.jsonl.gz"):
        head, *rows = row["text"].split("\n")
        at: list[tuple[int, set[str]]] = []
        part: list[str] = []
        limit = chance.choice((35, 60, 90))
        for line in [*rows, ""]:
            if part and (not line or sum(len(x.split()) for x in part) > limit):
                text = "\n".join([head, *part])
                at.append((len(source.passages["tables"]), words_of(text)))
                source.passages["tables"].append(text)
                part = []
            part.append(line)
        pieces[row["table"]] = at
    for row in lines(data / "wikitables-questions.jsonl.gz"):
        if row["table"] not in pieces:
            continue
        asked = words_of(row["query"])
        best = max(pieces[row["table"]], key=lambda each: (len(asked & each[1]), -each[0]))
        source.questions.append((row["query"], "tables", best[0]))
    return source


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def laws(data: Path, chance: random.Random) -> Source:
    """Clauses of regulations; a question is what is left of a sentence, or a heading."""
    source = Source(within=True)
    files = [*data.parent.glob("canada-regs/eng/*"), *data.parent.glob("docx/*.docx")]
    with tempfile.TemporaryDirectory() as folder:
        list(ingest_files([(file, file.name) for file in files], Path(folder) / "ix", Settings()))
        with Index.open(Path(folder) / "ix") as index:
            for name in index.documents():
                for chunk in index.snapshot.chunks(name):
                    clause(source, name, chunk, chance)
    return source


def clause(source: Source, name: str, chunk: Any, chance: random.Random) -> None:
    body = " ".join(chunk.text.split())
    if chunk.kind in ("document", "definitions") or len(body.split()) < 15:
        return
    heading = " › ".join(chunk.path[1:])
    body = " ".join(body.split()[:110])
    sentences = [s for s in re.split(r"(?<=[.;:])\s+", body) if 8 <= len(s.split()) <= 45]
    if not sentences:
        return
    sentence = chance.choice(sentences)
    rest = body.replace(sentence, " ").strip()
    keep = chance.uniform(0.35, 0.8)
    kept = [word for word in sentence.split() if chance.random() < keep][:18]
    query = " ".join([chance.choice(LEADS), *kept]).strip(" .;:")
    if chance.random() < 0.15 and chunk.path[1:]:
        query, rest = chunk.path[-1], body
        heading = " › ".join(chunk.path[1:-1])
    shown = rest if len(rest.split()) >= 20 and chance.random() < 0.4 else body
    source.questions.append((query, name, len(source.passages[name])))
    source.passages[name].append(f"{heading}\n{shown}".strip())


def groups(source: Source, wanted: int, chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield a question with what answers it, and the best of what does not."""
    chance.shuffle(source.questions)
    also: dict[tuple[str, str], set[str]] = defaultdict(set)
    for query, name, number in source.questions:
        key = (query.lower(), name if source.within else "")
        also[key].add(source.passages[name][number][:200])
    with tempfile.TemporaryDirectory() as scratch:
        files = []
        for at, (name, texts) in enumerate(source.passages.items()):
            file = Path(scratch) / f"{at}.json"
            file.write_text(json.dumps([{"text": t, "page_idx": n} for n, t in enumerate(texts)]))
            files.append((file, f"{name}.json"))
        settings = Settings(ingest=WHOLE_PAGES)
        make_index(files, Path(scratch) / "ix", [settings])
        with Index.open(Path(scratch) / "ix", settings) as index:
            pages = {
                chunk.id: (name.removesuffix(".json"), chunk.page or 0)
                for name in index.documents()
                for chunk in index.snapshot.chunks(name)
            }
            for query, name, number in source.questions[:wanted]:
                filters = Filters(documents=(f"{name}.json",)) if source.within else Filters()
                found = index.search_ranking(query, DEPTH, filters).ids
                gold = source.passages[name][number]
                right = also[query.lower(), name if source.within else ""]
                texts = [source.passages[doc][page] for doc, page in map(pages.get, found)]
                rivals = [t for t in texts if t[:200] not in right and t != gold]
                if name.endswith((".xml", ".docx")):  # laws repeat themselves
                    asked = words_of(query)
                    rivals = [t for t in rivals if len(asked - words_of(t)) > len(asked) // 10]
                if len(rivals) < 3:
                    continue
                # Half of them the hardest, half any of the others.
                some = rivals[:3] + chance.sample(rivals[3:], min(RIVALS - 3, len(rivals) - 3))
                yield {"query": query, "texts": [gold, *some], "doc": f"{name}/{number}"}


def main() -> None:
    data, output, *names = sys.argv[1:]
    with open(output, "w", encoding="utf-8") as file:
        for name in names or QUESTIONS:
            chance = random.Random(f"pincite {name}")
            source = globals()[name](Path(data), chance)
            print(name, len(source.questions), "questions", flush=True)
            for group in groups(source, QUESTIONS[name], chance):
                file.write(json.dumps({"source": name, **group}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
