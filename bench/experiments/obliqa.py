"""ObliQA: questions about obligations, answered by passages of financial regulations.

A regulation is a document and each of its passages a page of it: the passage is what is judged,
so it is what is indexed. Passages are given twice: bare, and with the headings above them, which
are short passages with others inside (a passage lies in the one whose id its own begins with).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.collection import WHOLE_PAGES, Collection, Question
from pincite.model.types import Chunk

MEASURES = ("recall@10", "ap@10", "hit@1")
MAX_HEADING_WORDS = 16
SEPARATOR = " › "
Passages = Sequence[Mapping[str, Any]]


def read(data: Path, questions: Path, scratch: Path) -> list[Collection]:
    """Return the passages bare, and under their headings."""
    bare = read_passages(data, questions, scratch / "bare")
    return [bare, read_passages(data, questions, scratch / "headed", is_headed=True)]


def read_passages(
    data: Path, questions: Path, scratch: Path, *, is_headed: bool = False
) -> Collection:
    """Return the collection: a file for each regulation, questions by the ids of passages."""
    scratch.mkdir(parents=True, exist_ok=True)
    files, ids = [], dict[tuple[str, int], str]()
    for source in sorted((data / "documents").glob("*.json"), key=lambda each: int(each.stem)):
        passages = json.loads(source.read_text("utf-8"))
        above = headings(passages) if is_headed else [""] * len(passages)
        texts = [f"{head}\n{each['Passage']}" for head, each in zip(above, passages, strict=True)]
        pages = [{"text": text.strip(), "page_idx": at} for at, text in enumerate(texts)]
        file = scratch / source.name
        file.write_text(json.dumps(pages), "utf-8")
        files.append((file, file.name))
        for at, each in enumerate(passages):
            ids[file.name, at] = f"{each['DocumentID']}/{each['PassageID']}"

    def place_of(chunk: Chunk) -> str:
        return ids[chunk.span.doc_id, chunk.page or 0]

    asked = []
    for item in json.loads(questions.read_text("utf-8")):
        gold = [f"{each['DocumentID']}/{each['PassageID']}" for each in item["Passages"]]
        asked.append(Question(item["Question"], frozenset(gold), gold[0].partition("/")[0]))
    name = "headed" if is_headed else "bare"
    return Collection(files, asked, MEASURES, place_of, name, ingest=WHOLE_PAGES)


def headings(passages: Passages) -> list[str]:
    """Return the headings above each passage as one line, the outermost first."""
    keys = [re.sub(r"[\s.]+", ".", str(each["PassageID"])).strip(".") for each in passages]
    own: dict[str, str] = {}
    found = []
    for key, passage in zip(keys, passages, strict=True):
        ends = [match.start() for match in re.finditer(r"[.(]", key)]
        above = [key[:end].strip(".") for end in ends if end]
        found.append(SEPARATOR.join(own[each] for each in above if own.get(each)))
        text = passage["Passage"].strip()
        is_heading = len(text.split()) <= MAX_HEADING_WORDS and text[-1:] not in ".;:"
        own[key] = text if is_heading else ""
    return found
