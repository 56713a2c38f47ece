"""From judged questions to examples: what a ranker learns from is what the pipeline finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pincite.core.errors import SourceError
from pincite.evaluate.judgements.coverage import Corpus
from pincite.evaluate.judgements.files import load
from pincite.evaluate.judgements.questions import Place
from pincite.learn.examples import Examples
from pincite.learn.labels import Gold, grade_by_place
from pincite.learn.train import FOLDS
from pincite.search.diversity import section_of
from pincite.search.learned import feature_lines
from pincite.search.pipeline import features_of
from pincite.search.reader import IndexReader

MAX_QUESTION_CHARS = 10_000


@dataclass(frozen=True, slots=True)
class Judged:
    """A question with the places that answer it."""

    text: str
    golds: tuple[Gold, ...]
    section: str  # of the first place


def read_judged(file: Path, index: IndexReader) -> list[Judged]:
    """Return the questions of a file of judgements that have a place in the index.

    Questions without an answer teach nothing here.
    """
    corpus = Corpus(index.snapshot)
    found = []
    for question in load(file).questions:
        places = [place for place in question.places if place.grade]
        golds = [gold for place in places for gold in _golds(place, corpus)]
        if golds:
            first = places[0]
            section = section_of(first.locator or first.section or first.table or str(first.page))
            found.append(Judged(question.text[:MAX_QUESTION_CHARS], tuple(golds), section))
    if not found:
        raise SourceError(
            f"no question of {file} is answered by this index",
            hint="check the names of documents: pincite list",
        )
    return found


def _golds(place: Place, corpus: Corpus) -> list[Gold]:
    """Return where a place stands; nothing in another edition of the documents."""
    if place.kind == "page" and place.document in corpus.snapshot.documents():
        return [Gold(place.document, page=place.page)]
    return [Gold(span.doc_id, span=span) for span in corpus.spans(place)]


def examples_of(index: IndexReader, judged: Sequence[Judged], k: int) -> Examples:
    """Return the candidates of the index's pipeline for each question, with features and grades.

    Questions are kept together by document; where too few documents are asked about to hold some
    back, by section.
    """
    features = features_of(index.settings, index.opened)
    tables, grades, sizes = [], [], []
    for each in judged:
        query = index.parse(each.text)
        found = index.searcher.search(query.query, max(k, index.settings.search.depth))
        table = feature_lines(features, query, found, k)
        chunks = index.snapshot.get(found.names()[: len(table)])
        tables.append(table)
        grades += [grade_by_place(chunk, each.golds) for chunk in chunks]
        sizes.append(len(table))
    documents = [each.golds[0].doc_id for each in judged]
    if len(set(documents)) < FOLDS:
        documents = [f"{d}#{each.section}" for d, each in zip(documents, judged, strict=True)]
    return Examples(
        np.concatenate(tables), np.array(grades, float), np.array(sizes), tuple(documents), k
    )


def first_right(examples: Examples, scores: np.ndarray[Any, Any]) -> float:
    """Return the share of questions whose best candidate by these scores is a right one."""
    parts = zip(examples.starts.tolist(), examples.sizes.tolist(), strict=True)
    best = [start + int(np.argmax(scores[start : start + n])) for start, n in parts if n]
    return float((examples.grades[best] > 0).sum()) / max(1, len(examples.sizes))
