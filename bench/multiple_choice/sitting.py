"""Sits an exam: finds evidence, chooses, and chooses again with random evidence beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from multiple_choice.chooser import WEIGHTS, Choice, Evidence, choose, features
from multiple_choice.fitting import fit, folds, groups
from multiple_choice.questions import ExamQuestion
from multiple_choice.words import Words
from pincite.api import Index
from pincite.measure.statistics import SEED
from pincite.model.types import Chunk, Ranking, Span
from pincite.store.files import Array

DEPTHS = (1, 5, 10, 20)
DEPTH = 2 * max(DEPTHS)  # hits that are looked at for gold places
READ = 10  # chunks that the chooser reads of each search
# A choice below this probability is a guess, and is called one: about half of them are right.
GUESS = 0.4

Chooser = Callable[[ExamQuestion, Evidence], Choice]
Level = str  # "section" or "clause"


@dataclass(frozen=True, slots=True)
class Sat:
    """One question as it was sat."""

    question: ExamQuestion
    choice: Choice
    random_choice: Choice | None  # of the same chooser with random evidence
    ranks: dict[tuple[str, Level], int | None]  # of the first gold hit, by search and level
    has: dict[Level, bool]  # whether a gold place of a level is in the documents

    @property
    def unanswerable(self) -> str:
        """Why the documents do not answer it; empty if they should."""
        if self.question.unanswerable:
            return self.question.unanswerable
        # What the key names most exactly decides: a section whose clause is missing does not do.
        named = "clause" if self.question.clauses else "section"
        if self.question.sections and not (self.has[named]):
            return f"{self.question.gold} is not in the documents"
        return ""

    @property
    def is_right(self) -> bool:
        return self.choice.option is not None and self.choice.option == self.question.correct

    @property
    def is_guess(self) -> bool:
        return self.choice.option is not None and self.choice.probability < GUESS

    def found_at(self, depth: int = READ) -> bool:
        """Return whether what was read holds a gold place, the most exact one that is there."""
        level = "clause" if self.has["clause"] else "section"
        return any((self.ranks[by, level] or DEPTH + 1) <= depth for by in ("question", "both"))

    @property
    def outcome(self) -> str:
        """What came of it, in a few words."""
        if self.is_right:
            return "right (a guess)" if self.is_guess else "right"
        if self.choice.option is None:
            return "abstained"
        if not (self.has["section"] or self.has["clause"]):
            return "wrong: no place to find"
        return "wrong: found, wrong choice" if self.found_at() else "wrong: evidence not found"


@dataclass(frozen=True, slots=True)
class _Found:
    """A question with what was found for it, before anything is chosen."""

    question: ExamQuestion
    evidence: Evidence
    beside: Evidence | None  # random
    ranks: dict[tuple[str, Level], int | None]
    has: dict[Level, bool]


class Sitting:
    """Asks the questions of an exam to one index."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.words = Words(index.opened)
        self._random = np.random.default_rng(SEED)

    def evidence(
        self, question: ExamQuestion, *, with_each: bool = True
    ) -> tuple[Evidence, dict[str, Ranking]]:
        """Return what is found for a question, alone and with its options."""
        both = f"{question.text} {' '.join(question.options)}"
        rankings = {
            "question": self.index.search_ranking(question.text, DEPTH),
            "both": self.index.search_ranking(both, DEPTH),
        }
        options = question.options if with_each else ()
        single = [self.index.search_ranking(f"{question.text} {each}", 1) for each in options]
        return Evidence(
            self._chunks(rankings["question"]),
            self._chunks(rankings["both"]),
            [_score(ranking) for ranking in single],
        ), rankings

    def _chunks(self, ranking: Ranking) -> list[Chunk]:
        return self.index.snapshot.get(ranking.ids[:READ])

    @cached_property
    def _all_ids(self) -> list[str]:
        parts = self.index.opened.lexical.segments
        return [each.decode() for part in parts for each in part.ids[part.live]]

    def random_evidence(self) -> Evidence:
        """Return as many chunks as are usually read, drawn by chance."""
        ids = self._all_ids
        wanted = min(READ, len(ids))
        drawn = [self._random.choice(len(ids), wanted, replace=False) for _ in range(2)]
        chunks = [self.index.snapshot.get([ids[at] for at in some]) for some in drawn]
        return Evidence(chunks[0], chunks[1])

    def ranks(
        self, question: ExamQuestion, rankings: dict[str, Ranking]
    ) -> tuple[dict[tuple[str, Level], int | None], dict[Level, bool]]:
        """Return where each search has its first gold place, and which of them there are."""
        gold = {
            "section": self._spans(question.sections),
            "clause": self._spans(question.clauses),
        }
        chunks = {by: self.index.snapshot.get(ranking.ids) for by, ranking in rankings.items()}
        found = {
            (by, level): _first_rank(each, spans)
            for by, each in chunks.items()
            for level, spans in gold.items()
        }
        return found, {level: bool(spans) for level, spans in gold.items()}

    def _spans(self, keys: Sequence[str]) -> list[Span]:
        found = self.index.snapshot.found_by(keys)
        return [c.span for c in found if c.kind not in ("document", "text", "piece")]


def _score(ranking: Ranking) -> float:
    """Return how well words alone find the best hit; pipelines without words say nothing."""
    return next((hit.raw.get("lexical", 0.0) for hit in ranking.hits), 0.0)


def _first_rank(chunks: Sequence[Chunk], gold: Sequence[Span]) -> int | None:
    """Return the rank of the first chunk that lies in a gold place, or holds one."""
    for rank, chunk in enumerate(chunks, 1):
        for place in gold:
            shared = place.overlap(chunk.span)
            if shared and shared in (len(place), len(chunk.span)):
                return rank
    return None


def sit(
    index: Index,
    questions: Sequence[ExamQuestion],
    *,
    least: float = 0.0,
    fold_count: int = 0,
    control: bool = True,
) -> Iterator[Sat]:
    """Yield each question as it was sat without a language model.

    Args:
        least: a choice below this probability is not made.
        fold_count: fit the weights on the other questions in so many folds of whole sections;
            0 takes the shipped weights.
        control: choose with random evidence too.
    """
    sitting = Sitting(index)
    found: list[_Found] = []
    for question in questions:
        evidence, rankings = sitting.evidence(question)
        beside = sitting.random_evidence() if control else None
        ranks, has = sitting.ranks(question, rankings)
        found.append(_Found(question, evidence, beside, ranks, has))
        if not fold_count:
            yield _sat(sitting, found.pop(), WEIGHTS, least)
    if fold_count:
        tables = [features(each.question, each.evidence, sitting.words) for each in found]
        fitted = _fitted(questions, tables, fold_count)
        yield from (
            _sat(sitting, each, weights, least) for each, weights in zip(found, fitted, strict=True)
        )


def _sat(sitting: Sitting, found: _Found, weights: Sequence[float], least: float) -> Sat:
    words = sitting.words
    choice = choose(found.question, found.evidence, words, weights, least)
    control = choose(found.question, found.beside, words, weights) if found.beside else None
    return Sat(found.question, choice, control, found.ranks, found.has)


def _fitted(
    questions: Sequence[ExamQuestion], tables: Sequence[Array], count: int
) -> list[Sequence[float]]:
    """Return for each question the weights that its own section had no part in."""
    weights: list[Sequence[float]] = [WEIGHTS] * len(questions)
    for held in folds(groups(questions), count):
        others = [
            (table, question.correct)
            for at, (table, question) in enumerate(zip(tables, questions, strict=True))
            if at not in held and question.correct is not None
        ]
        if others:
            learned = fit([table for table, _ in others], [right for _, right in others])
            for at in held:
                weights[at] = learned.tolist()
    return weights


def sit_with(index: Index, questions: Sequence[ExamQuestion], chooser: Chooser) -> Iterator[Sat]:
    """Yield each question as somebody else chooses with our evidence, such as a model."""
    sitting = Sitting(index)
    for question in questions:
        evidence, rankings = sitting.evidence(question, with_each=False)
        yield Sat(question, chooser(question, evidence), None, *sitting.ranks(question, rankings))
