"""An adapter for the questions of one corpus, from judged ones, with what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pincite.encode.models import Array
from pincite.index.filters import NOTHING
from pincite.measure.coverage import Corpus, CoveredGold
from pincite.measure.grades import GradedQuestion, parse, tabulated
from pincite.measure.harness import EvalOptions, ask
from pincite.measure.learning import FOLDS, folds_by_group
from pincite.measure.questions import Question
from pincite.measure.statistics import Comparison, compare
from pincite.model.errors import ConfigError, SourceError
from pincite.search.adapter import QueryAdapter
from pincite.search.reader import IndexReader
from pincite.search.row_scorers import Meaning, MeaningScores

MEASURES = tuple(map(parse, ("nDCG@10", "RR@10", "Hit@1")))  # the first one decides
# So many of the nearest wrong chunks are what the right one has to beat.
RIVALS = 30
TEMPERATURE = 0.05
# What keeps a map near none at all: the smallest that helps those held out is taken.
RIDGES = (0.3, 1.0, 3.0, 10.0)
STEPS, RATE = 60, 0.003
INNER_FOLDS = 3
MIN_QUESTIONS = 20


@dataclass(frozen=True, slots=True)
class Lessons:
    """Questions that can teach: each with the vector that is right and some that are not."""

    questions: tuple[Question, ...]
    groups: tuple[str, ...]  # never in two folds
    asked: Array  # a vector a question
    texts: Array  # of each question: the right window, then its rivals

    def of(self, chosen: Array) -> Lessons:
        """Return those that are chosen."""
        at = np.flatnonzero(chosen).tolist()
        return Lessons(
            tuple(self.questions[i] for i in at),
            tuple(self.groups[i] for i in at),
            self.asked[chosen],
            self.texts[chosen],
        )


@dataclass(frozen=True, slots=True)
class Worth:
    """What an adapter gains on questions about documents that it has not learned from."""

    before: dict[str, float]
    after: dict[str, float]
    gains: dict[str, Comparison]

    @property
    def is_worth_it(self) -> bool:
        return self.gains[str(MEASURES[0])].verdict == "better"

    def plain(self) -> dict[str, Any]:
        """Return all of it, for reports."""
        gains = {name: gain.plain() for name, gain in self.gains.items()}
        return {"before": self.before, "after": self.after, "gains": gains}


def lessons_of(index: IndexReader, questions: Sequence[Question]) -> Lessons:
    """Return what questions teach; those without an answer in the index teach nothing."""
    meaning = _plain_meaning(index)
    corpus = Corpus(index.snapshot)
    golds = [gold for question in questions if (gold := corpus.gold(question)).is_evaluable]
    found = [_pair(meaning, gold) for gold in golds]
    kept = [(g, pair) for g, pair in zip(golds, found, strict=True) if pair is not None]
    if len(kept) < MIN_QUESTIONS:
        raise SourceError(
            f"{len(kept)} questions are too few to learn from", hint=f"give {MIN_QUESTIONS} or more"
        )
    return Lessons(
        tuple(gold.question for gold, _ in kept),
        _groups([gold for gold, _ in kept]),
        np.stack([pair[0] for _, pair in kept]),
        np.stack([pair[1] for _, pair in kept]),
    )


def _plain_meaning(index: IndexReader) -> Meaning:
    meaning = index.searcher.meaning
    if meaning is None:
        raise ConfigError("the index has no vectors to adapt to", hint="see: pincite doctor")
    if meaning.adapter is not None:
        raise ConfigError("the settings name an adapter already", hint="set search.adapter = ''")
    return meaning


def _groups(golds: Sequence[CoveredGold]) -> tuple[str, ...]:
    """Return the document of each question; of few documents, the first place that answers it."""
    by_document = [gold.question.group or min(gold.documents) for gold in golds]
    if len(set(by_document)) >= FOLDS:
        return tuple(by_document)
    return tuple(gold.question.group or min(gold.chunks) for gold in golds)


def _pair(meaning: Meaning, gold: CoveredGold) -> tuple[Array, Array] | None:
    """Return a question's vector, and the windows of what is right and of what is near."""
    asked, rows = meaning.encode(gold.question.text), meaning.rows
    scores = MeaningScores(meaning.vectors, rows, asked, rows.masks(NOTHING))
    near = scores.best(RIVALS + len(gold.chunks))
    names = rows.ids[near].astype(str).tolist()
    wrong = [row for row, name in zip(near, names, strict=True) if name not in gold.chunks]
    right = _nearest_window(meaning, rows.find(sorted(gold.chunks)), asked)
    if right is None or len(wrong) < RIVALS:
        return None
    rivals = [_nearest_window(meaning, np.array([row]), asked) for row in wrong[:RIVALS]]
    return asked, np.stack([right, *(each for each in rivals if each is not None)])


def _nearest_window(meaning: Meaning, rows: Array, asked: Array) -> Array | None:
    """Return the window of some rows that is nearest to a question; None if they have none."""
    found = [np.zeros((0, len(asked)), np.float32)]
    for number, (_, inner) in meaning.rows.by_segment(rows):
        part = meaning.vectors.segments[number]
        if part is not None:
            found.append(part.exact[np.isin(part.rows, inner)].astype(np.float32))
    windows = np.concatenate(found)
    return windows[int(np.argmax(windows @ asked))] if len(windows) else None


def fit(lessons: Lessons, ridge: float) -> Array:
    """Return the map under which right windows beat their rivals (softmax, Adam)."""
    size = lessons.asked.shape[1]
    change, mean, square = (np.zeros((size, size), np.float32) for _ in range(3))
    for step in range(1, STEPS + 1):
        moved = lessons.asked + lessons.asked @ change
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        moved /= lengths
        shares = (lessons.texts @ moved[:, :, None])[:, :, 0] / TEMPERATURE
        shares = np.exp(shares - shares.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        shares[:, 0] -= 1
        pull = (shares[:, None] @ lessons.texts)[:, 0] / TEMPERATURE
        pull = (pull - np.vecdot(pull, moved)[:, None] * moved) / lengths
        gradient = lessons.asked.T @ pull / len(lessons.asked) + ridge * change
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient * gradient
        corrected = mean / (1 - 0.9**step), square / (1 - 0.99**step)
        change -= RATE * (1 - step / STEPS) * corrected[0] / (np.sqrt(corrected[1]) + 1e-8)
    return change


def first_share(lessons: Lessons, change: Array) -> float:
    """Return the mean reciprocal rank of what is right among its rivals."""
    moved = lessons.asked + lessons.asked @ change
    scores = (lessons.texts @ moved[:, :, None])[:, :, 0]
    return float((1 / (1 + (scores[:, 1:] > scores[:, :1]).sum(axis=1))).mean())


def chosen_fit(lessons: Lessons) -> Array:
    """Return the map of all lessons, held back as much as serves those that are held out best."""
    folds = folds_by_group(lessons.groups, min(INNER_FOLDS, len(set(lessons.groups))))
    totals = [
        sum(
            first_share(lessons.of(folds == fold), fit(lessons.of(folds != fold), ridge))
            * float((folds == fold).sum())
            for fold in np.unique(folds).tolist()
        )
        for ridge in RIDGES
    ]
    return fit(lessons, RIDGES[int(np.argmax(totals))])


def worth_of(
    index: IndexReader, lessons: Lessons, tell: Callable[[str], None] = lambda _: None
) -> Worth:
    """Return what searches gain, each question asked with a map that never saw its document."""
    count = min(FOLDS, len(set(lessons.groups)))
    if count < 2:
        raise SourceError(
            "all questions are about one place: nothing can be held out",
            hint="give questions about other places too",
        )
    folds = folds_by_group(lessons.groups, count)
    graded: tuple[list[GradedQuestion], list[GradedQuestion]] = ([], [])
    groups: list[str] = []
    for fold in np.unique(folds).tolist():
        tell(f"asking part {fold + 1} of {count}")
        held = lessons.of(folds == fold)
        other = adapted(index, chosen_fit(lessons.of(folds != fold)))
        groups += held.groups
        for asked, answers in ask([index, other], held.questions, EvalOptions(10, 10, MEASURES)):
            for lines, answer in zip(graded, answers, strict=True):
                meets = [hit.meets for hit in answer.hits]
                lines.append(GradedQuestion(meets, asked.ideal, asked.needs, {}, answer.taken))
    before, after = map(tabulated, graded)
    values = {str(each): (each.of(before), each.of(after)) for each in MEASURES}
    return Worth(
        {name: float(one.mean()) for name, (one, _) in values.items()},
        {name: float(two.mean()) for name, (_, two) in values.items()},
        {name: compare(one, two, groups) for name, (one, two) in values.items()},
    )


def learned(index: IndexReader, lessons: Lessons, worth: Worth) -> QueryAdapter:
    """Return the adapter of all lessons, with what it is worth."""
    model = _plain_meaning(index).encoder.spec.id
    about = {"questions": len(lessons.questions), "before": worth.before, "after": worth.after}
    return QueryAdapter(model, chosen_fit(lessons), about)


def adapted(index: IndexReader, change: Array) -> IndexReader:
    """Return an index that asks with a map."""
    meaning = _plain_meaning(index)
    other = IndexReader(index.opened, index.settings)
    assert other.searcher.meaning is not None
    other.searcher.meaning.adapter = QueryAdapter(meaning.encoder.spec.id, change)
    return other
