"""SRD 5.1: questions about spells, with the spell's name masked out.

With its name a question is a look-up; without it, the rule has to be found by what it says. The
rules are one file for each spell, monster or item; a hit is a chunk of the spell's file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from experiments.collection import Collection, Question
from pincite.model.errors import MALFORMED, SourceError
from pincite.model.types import Chunk
from pincite.read.load import find_files

MEASURES = ("hit@1", "hit@5", "mrr")
SPELLS = "Spells"
TWIN = "(Alt)"  # folders with the same rules once more, by letter
# Adds no words: "this spell" would be evidence for every spell.
MASK = "…"


def read(data: Path, questions: Path, scratch: Path) -> list[Collection]:
    """Return the collection; all rules are searched, cut as the settings say."""
    files = [
        (file, doc_id)
        for file, doc_id in find_files([data])
        if "/" in doc_id and TWIN not in doc_id and file.suffix == ".md"
    ]
    spells = {_letters(Path(doc_id).stem): doc_id for _, doc_id in files if _is_spell(doc_id)}
    if not spells:
        raise SourceError(
            f"no spells in {data / SPELLS}", hint="give the folder of the SRD with --data"
        )
    asked = []
    for text, source in read_questions(questions):
        doc_id = spells.get(_letters(Path(source).stem))
        gold = frozenset([doc_id] if doc_id else [])
        asked.append(Question(masked(text, Path(doc_id).stem) if doc_id else text, gold, source))
    return [Collection(files, asked, MEASURES, _document_of)]


def read_questions(file: Path) -> list[tuple[str, str]]:
    """Return the questions, each with the name of the document that answers it."""
    try:
        items = json.loads(file.read_text(encoding="utf-8"))
        return [(str(item["question"]), str(item["source_document"])) for item in items]
    except (OSError, *MALFORMED) as error:
        raise SourceError(
            f"{file} is not a question file of SRD spells: {error!r}",
            hint="it is a JSON list with question and source_document",
        ) from error


def masked(text: str, name: str) -> str:
    """Return the text without the name, however it is written, and without its emphasis.

    >>> masked("For **Heroes’ feast**, who may eat?", "Heroes' Feast")
    'For …, who may eat?'
    """
    words = r"\W+".join(map(re.escape, re.findall(r"\w+", name)))
    return re.sub(rf"[*_]*\b{words}\b[*_]*", MASK, text, flags=re.IGNORECASE)


def _is_spell(doc_id: str) -> bool:
    return doc_id.startswith(f"{SPELLS}/")


def _letters(name: str) -> str:
    """Return what two ways to write a file's name have in common."""
    return re.sub(r"[\W_]", "", name).lower()


def _document_of(chunk: Chunk) -> str:
    return chunk.span.doc_id
