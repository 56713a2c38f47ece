"""SQuAD in other languages: a question, and the paragraph that it was written for.

A file in SQuAD's format holds both: all its paragraphs are searched for each of its questions.
"""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from experiments.collection import WHOLE_PAGES, Collection, Question, page_of, write_pages
from pincite.model.errors import SourceError

MEASURES = ("recall@1", "recall@5", "recall@10", "mrr")
MAX_BYTES = 200_000_000
# Stemmers for the languages of XQuAD; there is none for Chinese, Thai and Vietnamese.
LANGUAGES = {
    "ar": "arabic",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "hi": "hindi",
    "ro": "romanian",
    "ru": "russian",
    "tr": "turkish",
}


def read_squad_it(data: Path, questions: Path, scratch: Path) -> list[Collection]:
    """Return the Italian collection."""
    return [read_collection(questions, scratch, "", "italian")]


def read_xquad(data: Path, questions: Path, scratch: Path) -> list[Collection]:
    """Return a collection for each language: of a folder, or of one file ``xquad.de.json``."""
    files = sorted(questions.glob("xquad.*.json")) if questions.is_dir() else [questions]
    if not files:
        raise SourceError(f"no xquad.*.json in {questions}", hint="give the folder with --data")
    return [_of_language(file, scratch) for file in files]


def _of_language(file: Path, scratch: Path) -> Collection:
    name = file.name.split(".")[1] if file.name.count(".") > 1 else ""
    # A file that does not tell its language is read as the settings say.
    return read_collection(file, scratch, name, LANGUAGES.get(name, "none") if name else "english")


def read_collection(file: Path, scratch: Path, name: str, language: str) -> Collection:
    """Return the paragraphs and questions of a file; a paragraph that comes twice is one."""
    numbers: dict[str, str] = {}
    asked = []
    try:
        for article in _content(file)["data"]:
            for paragraph in article["paragraphs"]:
                number = numbers.setdefault(paragraph["context"], str(len(numbers)))
                gold = frozenset([number])
                asked += [
                    Question(str(item["question"]), gold, group=str(article["title"]))
                    for item in paragraph["qas"]
                ]
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        raise SourceError(
            f"{file} is not a file in SQuAD's format: {error!r}",
            hint="it is JSON, or JSON in gzip: data > paragraphs > context and qas",
        ) from error
    files = write_pages(list(numbers), scratch / f"paragraphs-{name or 'all'}.json")
    return Collection(files, asked, MEASURES, page_of, name, language, ingest=WHOLE_PAGES)


def _content(file: Path) -> Any:
    with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as source:
        data = source.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES / 1e6:.0f} MB")
    return json.loads(data)
