"""Short answers in paragraphs of an encyclopaedia (XQuAD, English).

The 1,190 questions of `xquad/xquad.en.json`: once with their own paragraph alone, once over all 240
paragraphs. The reader is trained on other paragraphs of the same 48 articles. A question belongs to
the half that was looked at by the hash of its article.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from answers_checks._asking import Judged, asker_of, said, settings_here
from checks import Figure, sampled
from experiments.collection import WHOLE_PAGES, write_pages
from experiments.indexes import opened_at
from finding_checks._halves import by_half
from finding_checks._indexes import index_folder
from pincite.model.types import Filters


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its right answers, its article, and the page that is its paragraph."""

    text: str
    answers: tuple[str, ...]
    article: str
    page: int


def read_asked(file: Path) -> tuple[list[str], list[Asked]]:
    """Return the paragraphs of a file in SQuAD's format, and its questions."""
    paragraphs: list[str] = []
    asked: list[Asked] = []
    for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for item in paragraph["qas"]:
                answers = tuple(dict.fromkeys(each["text"] for each in item["answers"]))
                asked.append(Asked(item["question"], answers, article["title"], len(paragraphs)))
            paragraphs.append(paragraph["context"])
    return paragraphs, asked


def run(data: Path) -> list[Figure]:
    """Return how good answers are with the paragraph given, and over all paragraphs."""
    settings = replace(settings_here(), ingest=WHOLE_PAGES)
    paragraphs, asked = read_asked(data / "xquad" / "xquad.en.json")
    asked = sampled(asked, lambda each: each.text)
    name = f"xquad-en-{settings.search.preset}"
    with tempfile.TemporaryDirectory(prefix="pincite-") as scratch:
        ((file, _),) = write_pages(paragraphs, Path(scratch) / "paragraphs.json")
        with (
            index_folder(name, [(file, file.name)], [settings]) as place,
            opened_at(place, settings) as index,
        ):
            asker = asker_of(index)
            given = [
                Judged(q.article, q.answers, said(asker, q.text, Filters(pages=(q.page, q.page))))
                for q in asked
            ]
            among = [Judged(q.article, q.answers, said(asker, q.text)) for q in asked]
    return list(_figures(given, among))


def _figures(given: list[Judged], among: list[Judged]) -> Iterator[Figure]:
    keys = [each.key for each in given]
    yield from by_half("paragraph given: F1", [each.f1 for each in given], keys, ">= .72")
    exact = [float(each.is_exact) for each in given]
    yield from by_half("paragraph given: exact", exact, keys)
    yield from by_half("all paragraphs: F1", [each.f1 for each in among], keys)
    quoted = [float(each.is_quoted) for each in among]
    yield from by_half("all paragraphs: quotation holds the answer", quoted, keys, ">= .88")
    yield Figure("words quoted", sum(each.words for each in among) / len(among), "", len(among))
