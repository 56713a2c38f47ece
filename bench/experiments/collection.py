"""A test collection: documents, questions, and the places that answer each question.

A place is whatever the experiment judges: a document, or one paragraph of many.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.indexes import Files, opened
from figures import Figures
from pincite.api import Index
from pincite.model.errors import SourceError
from pincite.model.settings import IngestSettings, Settings
from pincite.model.types import Chunk
from trec_tables import value

DEPTH = 100  # hits that are asked for; measures look at these


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the places that answer it; no places if the documents lack them."""

    text: str
    gold: frozenset[str]
    group: str  # questions of one group are alike and are resampled together


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents to ingest, questions to ask, measures to take."""

    files: Files
    questions: Sequence[Question]
    measures: Sequence[str]
    place_of: Callable[[Chunk], str]
    name: str = ""  # stands before its figures where an experiment has several collections
    language: str = "english"
    ingest: IngestSettings | None = None  # where the experiment says how documents are cut

    def fitted(self, settings: Settings) -> Settings:
        """Return a pipeline's settings with what the collection decides.

        The language is the collection's, unless the settings choose another than the default.
        """
        language = settings.ingest.language
        if language == IngestSettings().language:
            language = self.language
        ingest = replace(self.ingest or settings.ingest, language=language)
        return replace(settings, ingest=ingest)


@dataclass(frozen=True, slots=True)
class Scored:
    """The measures of one question under one pipeline."""

    group: str
    values: Mapping[str, float]


# Makes the collections of an experiment from its folder, a question file and a scratch folder.
Read = Callable[[Path, Path, Path], Sequence[Collection]]


def run(
    read: Read, data: Path, questions: Path, pipelines: Sequence[Settings]
) -> Iterator[list[Scored]]:
    """Yield for each question what each pipeline got; nothing for one that cannot be judged."""
    with tempfile.TemporaryDirectory(prefix="pincite-") as scratch:
        collections = read(data, questions, Path(scratch))
        if not any(question.gold for each in collections for question in each.questions):
            raise SourceError(
                f"{questions} has no question that the documents of {data} answer",
                hint="give the folder with --data and a file of its questions with --questions",
            )
        for collection in collections:
            fitted = [collection.fitted(settings) for settings in pipelines]
            with opened(collection.files, fitted) as indexes:
                places = [places_of(index, collection) for index in indexes]
                for question in collection.questions:
                    asked = zip(indexes, places, strict=True) if question.gold else ()
                    yield [scored(*each, question, collection) for each in asked]


def places_of(index: Index, collection: Collection) -> dict[str, str]:
    """Return the place of every chunk; to load the chunks of each ranking takes longer."""
    chunks = (chunk for name in index.documents() for chunk in index.snapshot.chunks(name))
    return {chunk.id: collection.place_of(chunk) for chunk in chunks}


def scored(
    index: Index, places: Mapping[str, str], question: Question, collection: Collection
) -> Scored:
    found = [places[chunk_id] for chunk_id in index.search_ranking(question.text, DEPTH).ids]
    prefix = f"{collection.name}_" if collection.name else ""
    values = {f"{prefix}{name}": value(name, found, question.gold) for name in collection.measures}
    return Scored(question.group, values)


def summarise(results: Sequence[Scored]) -> Figures:
    """Return the mean of every measure over the questions that have it."""
    figures = Figures()
    for name in dict.fromkeys(name for each in results for name in each.values):
        judged = [each for each in results if name in each.values]
        figures.add(name, [each.values[name] for each in judged], [each.group for each in judged])
    return figures


# Each text is a page of one document and each page one chunk, whatever its length.
WHOLE_PAGES = IngestSettings(chunking="fixed", profile="none", max_tokens=1_000_000)


def write_pages(texts: Sequence[str], file: Path) -> Files:
    """Write texts as the pages of one document, numbered from 0, and return it as files."""
    pages = [{"text": text, "page_idx": number} for number, text in enumerate(texts)]
    file.write_text(json.dumps(pages), encoding="utf-8")
    return [(file, file.name)]


def page_of(chunk: Chunk) -> str:
    """Return the page as the place."""
    return str(chunk.page)
