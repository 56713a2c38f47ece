"""OHR-Bench with a learned ranker: every question by a model that never saw its document.

The published set-up is here too, with its leak: it splits the lines of candidates at random, so
that each question it is measured on has lines in training.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from experiments.indexes import opened
from experiments.ohr_bench import (
    Question,
    Scored,
    domain_files,
    fixed_pieces,
    is_gold,
    read_questions,
    scored_chunks,
)
from experiments.set_bm25 import SetBm25
from pincite.api import Index
from pincite.index.postings import Array
from pincite.measure.learning import SEED, Examples, folds_by_group, out_of_fold, scorer_of
from pincite.measure.words import WordNumbers, lcs_score
from pincite.model.settings import Settings
from pincite.model.types import Chunk
from pincite.search.build import features_of
from pincite.search.feature_table import NAMES
from pincite.search.features import OF_WORDS, bm25_rank, match_words, rank_confidence_ratio
from pincite.search.learned import feature_lines

K = 10  # candidates that a model sees, in training and in use
POOL = 100  # candidates that features look at
FOLDS = 10
PUBLISHED_K = 5
PUBLISHED_OVERLAP = 0.3
TRAINED_SHARE = 0.7
KINDS = ("lambdamart", "logistic")
LEAK = (
    "leak: the published split puts 70 % of the lines into training, not of the questions. Nearly "
    "every question has lines of its own there, and its gold. forest, honest: the same features, "
    "labels and forest, each question by a model that saw no question about its document."
)
_PLAIN = re.compile(r"\w+")


@dataclass(frozen=True)
class Asked:
    """A question with its candidates, best first; a model reorders the first ``len(table)``."""

    question: Question
    chunks: Sequence[Chunk]
    table: Array
    grades: Array


def run(data: Path, questions: Path, pipelines: Sequence[Settings]) -> Iterator[list[Scored]]:
    """Yield for each question the first stage's result and that of each kind of ranker."""
    asked, missing = asked_with_features(data, questions, pipelines[0])
    examples = joined_examples(asked, K)
    folds = folds_by_group(examples.groups, FOLDS)
    learned = [out_of_fold(examples, partial(scorer_of, k, NAMES), folds) for k in KINDS]
    yield from _rows(asked, examples, learned)
    yield from ([] for _ in range(missing))


def run_published(
    data: Path, questions: Path, pipelines: Sequence[Settings]
) -> Iterator[list[Scored]]:
    """Yield for each question: set-BM25, the published forest with its leak, and without."""
    asked, missing = _asked(data, questions, _by_plain_words, pipelines[0])
    examples = joined_examples(asked, PUBLISHED_K)
    names = (*OF_WORDS, "bm25_rank", "rank_confidence_ratio")
    fit = partial(scorer_of, "forest", names)
    lines = np.random.default_rng(SEED).random(len(examples.table)) < TRAINED_SHARE
    leaky = fit(_of_lines(examples, lines))(examples.table)
    honest = out_of_fold(examples, fit, folds_by_group(examples.groups, FOLDS))
    yield from _rows(asked, examples, [leaky, honest])
    yield from ([] for _ in range(missing))


def _of_lines(examples: Examples, lines: Array) -> Examples:
    """Return a part of the lines, torn from their questions; only a forest can learn from that."""
    count = int(lines.sum())
    groups = ("",) * count
    ones = np.ones(count, dtype=np.int64)
    return Examples(examples.table[lines], examples.grades[lines], ones, groups, examples.k)


def _rows(
    asked: Sequence[Asked], examples: Examples, learned: Sequence[Array]
) -> Iterator[list[Scored]]:
    words = WordNumbers()
    for each, start in zip(asked, examples.starts.tolist(), strict=True):
        orders = [list(range(len(each.chunks)))]
        for scores in learned:
            own = scores[start : start + len(each.table)]
            first = np.argsort(-own, kind="stable").tolist()
            orders.append([*first, *range(len(first), len(each.chunks))])
        yield [
            scored_chunks([each.chunks[i] for i in order], each.question, words) for order in orders
        ]


def asked_with_features(data: Path, questions: Path, settings: Settings) -> tuple[list[Asked], int]:
    """Return all questions with the pipeline's candidates, and how many have no document."""
    return _asked(data, questions, _by_features, settings)


def joined_examples(asked: Sequence[Asked], k: int) -> Examples:
    """Return what models learn from; questions about one document are one group."""
    return Examples(
        table=np.concatenate([each.table for each in asked]),
        grades=np.concatenate([each.grades for each in asked]),
        sizes=np.array([len(each.table) for each in asked]),
        groups=tuple(f"{each.question.domain}/{each.question.document}" for each in asked),
        k=k,
    )


Candidates = Callable[[Index, Sequence[Question]], Iterator[Asked]]


def _asked(
    data: Path, questions: Path, candidates: Candidates, settings: Settings
) -> tuple[list[Asked], int]:
    """Return all questions with their candidates, and how many have no document."""
    by_domain: dict[str, list[Question]] = {}
    for question in read_questions(questions):
        by_domain.setdefault(question.domain, []).append(question)
    found: list[Asked] = []
    missing = 0
    for domain, some in sorted(by_domain.items()):
        files = [(file, file.name) for file in domain_files(data / "gt", domain)]
        with opened(files, [fixed_pieces(settings)], lenient=True) as (index,):
            known = set(index.documents())
            usable = [each for each in some if not known.isdisjoint(each.doc_ids)]
            missing += len(some) - len(usable)
            found += candidates(index, usable)
    return found, missing


def _by_features(index: Index, questions: Sequence[Question]) -> Iterator[Asked]:
    """Yield the candidates of the pipeline with all features; graded by page."""
    features = features_of(index.settings, index.opened)
    for question in questions:
        query = index.parse(question.text)
        found = index.searcher.search(query.query, POOL)
        chunks = index.snapshot.get(found.names()[:20])
        table = feature_lines(features, query, found, K)
        grades = np.array([float(is_gold(chunk, question)) for chunk in chunks[: len(table)]])
        yield Asked(question, chunks, table, grades)


def _by_plain_words(index: Index, questions: Sequence[Question]) -> Iterator[Asked]:
    """Yield the candidates of set-BM25 with the published features of words; graded as published.

    Without semantic_similarity: encoding all pages takes a quarter of an hour.
    """
    chunks = [c for d in index.documents() for c in index.snapshot.chunks(d) if c.searched]
    ranker = SetBm25([chunk.text for chunk in chunks])
    plain = [_PLAIN.findall(chunk.text.lower()) for chunk in chunks]
    df: dict[str, int] = {}
    for text in plain:
        for word in set(text):
            df[word] = df.get(word, 0) + 1
    words = WordNumbers()
    for question in questions:
        order = ranker.best(question.text, 20)
        asked = _PLAIN.findall(question.text.lower())
        idf = [np.log(1 + len(chunks) / (1 + df.get(word, 0))) for word in dict.fromkeys(asked)]
        best = order[:PUBLISHED_K]
        matches = match_words(asked, idf, [plain[i] for i in best])
        rank = np.arange(len(best))
        columns = [feature(matches) for feature in OF_WORDS.values()]
        table = np.stack([*columns, bm25_rank(rank), rank_confidence_ratio(rank)], axis=1)
        evidence = words.of(question.evidence)
        grades = [
            grade_as_published(
                on_page=is_gold(chunks[i], question),
                overlap=lcs_score(evidence, words.of(chunks[i].text)),
            )
            for i in best
        ]
        yield Asked(question, [chunks[i] for i in order], table, np.array(grades, dtype=float))


def grade_as_published(*, on_page: bool, overlap: float) -> int:
    """Return 1 on the right page, or with a common subsequence of 0.3 of the evidence.

    A third of all random chunks pass that: words like "of" and "the" are common subsequences. It
    is here to repeat published figures, not to learn from.
    """
    return int(on_page or overlap > PUBLISHED_OVERLAP)
