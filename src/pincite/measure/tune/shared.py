"""What trials have in common: gathered candidates, folds, learned rankers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any, Literal, TypeVar

import numpy as np

from pincite.index.filters import audience_of
from pincite.index.opened import OpenIndex
from pincite.index.postings import Array
from pincite.measure.coverage import Corpus, CoveredGold
from pincite.measure.grades import GradedQuestion
from pincite.measure.learning import Examples, fit, fit_calibrated, folds_by_group
from pincite.measure.questions import Question
from pincite.measure.tune.space import LEARNED_K, Trial, Watcher
from pincite.model.errors import SourceError
from pincite.model.settings import LATE, RerankSettings, Settings
from pincite.model.tuning import RerankTuning
from pincite.model.types import Chunk, Filters, PairScorer, Query, section_of
from pincite.search.build import RERANKED, build
from pincite.search.candidates import Candidates
from pincite.search.feature_table import NAMES, Features
from pincite.search.learned import RankerModel, feature_lines, judged
from pincite.search.pipeline import Gather, RowScorer, Scores, Searcher, Stage
from pincite.search.query import ParsedQuery

Made = TypeVar("Made")


@dataclass(frozen=True)
class TrialPlan:
    """A search whose stages have names, so that what two plans share is found."""

    settings: Settings
    k: int
    searcher: Searcher
    stages: Sequence[tuple[Hashable, Stage]]  # each with a name for it and all before it


class Ground:
    """The questions' places in one index, and the searches that are asked there."""

    def __init__(
        self, opened: OpenIndex, questions: Sequence[Question], scorer: PairScorer | None
    ) -> None:
        self.opened = opened
        self.scorer = scorer
        self.corpus = Corpus(opened.snapshot)
        self.golds = [self.corpus.gold(question) for question in questions]
        self._encoders: dict[str, Callable[[str], Array]] = {}
        self._parsed: dict[Hashable, ParsedQuery] = {}
        self._memory: dict[Hashable, Any] = {}  # of the question that is being asked
        self._asked = -1
        self._unsearched: dict[str, Chunk | None] = {}  # None for those that are searched

    def plan(self, settings: Settings, k: int) -> TrialPlan:
        """Return the stages of a search with these settings; those of equal ones share tables."""
        reads = settings.rerank.enabled or settings.search.preset == RERANKED
        # No way around a model that fails: it is what is measured.
        strict = settings.changed({"tuning.rerank.on_error": "raise"})
        searcher = build(strict, self.opened, self.scorer if reads else None)
        if searcher.meaning is not None:  # a question's vector is the same for all trials
            own = lru_cache(maxsize=None)(searcher.meaning.encode)
            name = searcher.meaning.encoder.spec.id
            searcher.meaning.encode = self._encoders.setdefault(name, own)
        done: Hashable = (_first_stage(settings), searcher.limit(k))
        stages = []
        for at, (name, stage) in enumerate(searcher.stages):
            done = (done, name, _settings_of(name, settings) if at >= searcher.first else "")
            # Scorers score a question once for all trials, but where a route decides for each
            # search which rows are scored.
            if isinstance(stage, Gather) and stage.router is None:
                scorers: list[RowScorer] = [_Shared(each, self._once) for each in stage.scorers]
                stage = replace(stage, scorers=scorers)
            stages.append((done, stage))
        return TrialPlan(settings, k, searcher, stages)

    def table(self, at: int, plan: TrialPlan) -> Candidates:
        """Return what a search finds for a question, in order."""
        if at != self._asked:
            self._asked, self._memory = at, {}
        query = self.query(self.golds[at].question.text, plan)
        table = Candidates.empty(plan.searcher.limit(plan.k))
        for key, stage in plan.stages:
            table = self._once(key, lambda: stage(query, table))  # noqa: B023 (called at once)
        return table.best(plan.k)

    def query(self, text: str, plan: TrialPlan) -> ParsedQuery:
        """Return the question as a search reads it; plans that read alike share one."""
        reader, query = plan.searcher.reader, Query(text)
        if plan.settings.search.audience != "off":
            filters = Filters(audience=audience_of(text, self.opened.filters))
            query = Query(text, filters=filters)
        if (query, reader) not in self._parsed:
            self._parsed[query, reader] = ParsedQuery(query, reader)
        return self._parsed[query, reader]

    def line(self, at: int, ids: Sequence[str]) -> GradedQuestion:
        """Return what the hits of a question bring."""
        gold = self.golds[at]
        new = [i for i in ids if i not in gold.chunks and i not in self._unsearched]
        for chunk in self.opened.snapshot.get(new) if new else ():
            self._unsearched[chunk.id] = None if chunk.searched else chunk
        meets = []
        for i in ids:
            # Not among the gold: a place above a searched one may meet a need. What was judged to
            # be no answer and what nobody judged bring the same.
            above = None if i in gold.chunks else self._unsearched[i]
            meets.append(gold.met_by(above) if above else gold.chunks.get(i, {}))
        return GradedQuestion(meets, gold.ideal, len(gold.question.needs))

    def _once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made under this key for this question; else make it."""
        if key not in self._memory:
            self._memory[key] = make()
        found: Made = self._memory[key]
        return found

    def forget(self) -> None:
        """Drop what is remembered of a question: the next trials are others."""
        self._memory, self._asked = {}, -1


class _Shared:
    """A scorer that scores a question once, however many searches ask."""

    def __init__(self, inner: RowScorer, once: Callable[[Hashable, Callable[[], Any]], Any]):
        self.name, self.floor = inner.name, inner.floor
        self.key = inner.key
        self._inner = inner
        self._once = once

    def score(self, query: ParsedQuery, masks: list[Array | None]) -> Scores:
        key = (self.key, id(query))
        scores: Scores = self._once(key, lambda: self._inner.score(query, masks))
        return scores


def _first_stage(settings: Settings) -> str:
    """Return a name for what the first stages depend on: not on settings of later ones."""
    preset = settings.search.preset
    preset = "default" if preset in (LATE, RERANKED, "hybrid") else preset
    search = replace(settings.search, preset=preset, late_weight=0.0)
    tuning = replace(settings.tuning, spread=0.0, rerank=RerankTuning())
    whole = replace(settings, search=search, tuning=tuning, rerank=RerankSettings())
    return whole.fingerprint()


def _settings_of(stage: str, settings: Settings) -> Hashable:
    """Return what a re-ranking stage depends on."""
    if stage == "late":
        return settings.late_weight
    if stage == "learned":
        return settings.search.ranker
    return settings.tuning.spread if stage == "spread" else settings.reranking


By = Literal["document", "section", "wording"]


@dataclass(frozen=True)
class Folds:
    """A group and a fold for every question; a group is in one fold."""

    groups: tuple[str, ...]
    fold: Array
    by: By

    @property
    def count(self) -> int:
        return int(self.fold.max()) + 1

    def left_out(self, number: int) -> Array:
        """Return which questions are not in a fold: those that may be learned from."""
        return np.asarray(self.fold != number)


def folded(golds: Sequence[CoveredGold], corpus: Corpus, count: int) -> Folds:
    """Return the folds: by document if there are enough, else by section, else by wording."""

    def sections(gold: CoveredGold) -> list[str]:
        chunks = corpus.snapshot.get(sorted(gold.chunks))
        return [f"{c.span.doc_id}#{section_of(c.locator) or c.page}" for c in chunks]

    wordings = [f"words: {gold.question.wording}" for gold in golds]
    own = [[f"group: {g.question.group}"] * bool(g.question.group) for g in golds]
    every = list(zip(golds, own, wordings, strict=True))
    levels: dict[By, list[list[str]]] = {
        "document": [[*sorted(gold.documents), *group, words] for gold, group, words in every],
        "section": [[*sections(gold), *group, words] for gold, group, words in every],
        "wording": [[words] for words in wordings],
    }
    for by, keys in levels.items():
        groups = tied(keys)
        if len(set(groups)) >= count:
            return Folds(groups, folds_by_group(groups, count), by)
    many = len(set(groups))
    if many < 2:
        raise SourceError(
            f"{len(golds)} questions with an answer, all alike: nothing can be held out",
            hint="give more questions, about different places",
        )
    return Folds(groups, folds_by_group(groups, many), "wording")


def tied(keys: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return a group for every question: those that share a key, directly or by others, have one.

    >>> tied([["a"], ["a", "b"], ["b"], ["c"]])
    ('a', 'a', 'a', 'c')
    """
    parent: dict[str, str] = {}

    def home(key: str) -> str:
        parent.setdefault(key, key)
        while parent[key] != key:
            parent[key] = key = parent[parent[key]]
        return key

    for each in keys:
        first = home(each[0])
        for key in each[1:]:
            one, other = sorted((first, home(key)))
            parent[other] = first = one
    return tuple(home(each[0]) for each in keys)


# With fewer questions that a candidate answers there is nothing to learn that would hold.
MIN_EXAMPLES = 100


class LearnedTrials:
    """Learns rankers on folds; rankings and features of one set of settings serve all kinds."""

    def __init__(
        self,
        folds: Folds,
        depth: int,
        value: Callable[[Ground, int, Sequence[Sequence[str]]], Array],
    ) -> None:
        self.folds = folds
        self.depth = depth
        self._value = value
        self._last: tuple[str, list[Candidates], Examples] | None = None

    def values(self, ground: Ground, trial: Trial, watcher: Watcher | None) -> list[Array]:
        """Return for each fold that is left out what the trial brings for every question."""
        tables, examples = self._examples(ground, trial, watcher)
        count, fold = self.folds.count, self.folds.fold
        models = {}
        for one, other in combinations_with_replacement(range(count), 2):
            kept = (fold != one) & (fold != other) & (examples.sizes > 0)
            models[one, other] = fit(trial.learned, examples.of(kept), NAMES)
        found = np.zeros((count, len(tables)))
        starts, sizes = examples.starts.tolist(), examples.sizes.tolist()
        for at, table in enumerate(tables):
            lines = examples.table[starts[at] : starts[at] + sizes[at]]
            own = int(fold[at])
            pairs = [(min(own, other), max(own, other)) for other in range(count)]
            ordered = [judged(models[pair], table, lines).best(self.depth) for pair in pairs]
            found[:, at] = self._value(ground, at, [each.names() for each in ordered])
        return list(found)

    def model(self, ground: Ground, trial: Trial, about: dict[str, Any]) -> RankerModel:
        """Return the ranker of all questions, to be used from now on."""
        _, examples = self._examples(ground, trial, None)
        some = examples.of(examples.sizes > 0)
        return fit_calibrated(trial.learned, some, NAMES, about)[0]

    def _examples(
        self, ground: Ground, trial: Trial, watcher: Watcher | None
    ) -> tuple[list[Candidates], Examples]:
        """Return the candidates of every question, with features and grades."""
        name = trial.settings.fingerprint()
        if self._last is None or self._last[0] != name:
            features = Features(ground.opened)
            plan = ground.plan(trial.settings, max(self.depth, trial.settings.tuning.depth))
            tables, lines, grades, sizes = [], [], [], []
            for at, gold in enumerate(ground.golds):
                table = ground.table(at, plan)
                query = ground.query(gold.question.text, plan)
                own = feature_lines(features, query, table, LEARNED_K)
                lines.append(own)
                met = [gold.chunks.get(i, {}) for i in table.names()[: len(own)]]
                grades += [max(each.values(), default=0.0) for each in met]
                sizes.append(len(own))
                tables.append(table.best(max(self.depth, LEARNED_K)))
                if watcher:
                    watcher.asked(1)
            ground.forget()
            examples = Examples(
                np.concatenate(lines),
                np.array(grades, float),
                np.array(sizes),
                self.folds.groups,
                LEARNED_K,
            )
            self._last = name, tables, examples
        return self._last[1], self._last[2]
