"""What trials have in common: gathered candidates, folds, learned rankers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypeVar

import numpy as np

from pincite.index.filters import audience_of
from pincite.index.opened import OpenIndex
from pincite.index.postings import Array
from pincite.measure.coverage import Corpus, CoveredGold
from pincite.measure.grades import GradedQuestion, Measure, tabulated
from pincite.measure.learning import Examples, fit, fit_calibrated, folds_by_group
from pincite.measure.questions import Question
from pincite.measure.tune.space import LEARNED_K, Trial, Watcher
from pincite.model.errors import SourceError
from pincite.model.settings import LATE, RerankSettings, Settings
from pincite.model.tuning import RerankTuning
from pincite.model.types import Filters, PairScorer, Query
from pincite.search.candidates import Candidates
from pincite.search.diversity import section_of
from pincite.search.feature_table import NAMES, Features
from pincite.search.gather import Gather, RowScorer, Scores
from pincite.search.learned import feature_lines, judged
from pincite.search.pipeline import RERANKED, Searcher, Stage, build
from pincite.search.query import ParsedQuery
from pincite.search.ranker import RankerModel

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
        self._searched: dict[str, bool] = {}

    def plan(self, settings: Settings, k: int) -> TrialPlan:
        """Return the stages of a search with these settings; those of equal ones share tables."""
        reads = settings.rerank.enabled or settings.search.preset == RERANKED
        searcher = build(_strict(settings), self.opened, self.scorer if reads else None)
        if searcher.meaning is not None:  # a question's vector is the same for all trials
            own = lru_cache(maxsize=None)(searcher.meaning.encode)
            name = searcher.meaning.encoder.spec.id
            searcher.meaning.encode = self._encoders.setdefault(name, own)
        done: Hashable = (_first_stage(settings), searcher.limit(k))
        stages = []
        for at, (name, stage) in enumerate(searcher.stages):
            done = (done, name, _settings_of(name, settings) if at >= searcher.first else "")
            stages.append((done, self._sharing(stage) if isinstance(stage, Gather) else stage))
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
        return self._parsed.setdefault((query, reader), reader.read(query))

    def line(self, at: int, ids: Sequence[str]) -> GradedQuestion:
        """Return what the hits of a question bring."""
        gold = self.golds[at]
        self._look_up([i for i in ids if i not in gold.chunks])
        meets = [gold.chunks[i] if i in gold.chunks else self._met(i, gold) for i in ids]
        return GradedQuestion(meets, gold.ideal, len(gold.question.needs))

    def _met(self, chunk_id: str, gold: CoveredGold) -> Any:
        """Return what a chunk meets that is not among the gold: a place above a searched one may.

        What was judged to be no answer and what nobody judged bring the same.
        """
        if self._searched[chunk_id]:
            return {}
        return gold.met_by(self.opened.snapshot.get([chunk_id])[0])

    def _look_up(self, ids: Sequence[str]) -> None:
        new = [chunk_id for chunk_id in ids if chunk_id not in self._searched]
        if new:
            chunks = self.opened.snapshot.get(new)
            self._searched |= {chunk.id: chunk.searched for chunk in chunks}

    def _once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made under this key for this question; else make it."""
        if key not in self._memory:
            self._memory[key] = make()
        found: Made = self._memory[key]
        return found

    def _sharing(self, gather: Gather) -> Gather:
        """Return a first stage whose scorers score a question once for all trials.

        Not where a route decides for each search which rows are scored.
        """
        if gather.router is not None:
            return gather
        return replace(gather, scorers=[_Shared(each, self._once) for each in gather.scorers])

    def forget(self) -> None:
        """Drop what is remembered of a question: the next trials are others."""
        self._memory, self._asked = {}, -1


class _Shared:
    """A scorer that scores a question once, however many searches ask."""

    def __init__(self, inner: RowScorer, once: Callable[[Hashable, Callable[[], Any]], Any]):
        self.name, self.part_names, self.floor = inner.name, inner.part_names, inner.floor
        self.key = inner.key
        self._inner = inner
        self._once = once

    def score(self, query: ParsedQuery, masks: list[Array | None]) -> Scores:
        key = (self.key, id(query))
        scores: Scores = self._once(key, lambda: self._inner.score(query, masks))
        return scores


def gains(ground: Ground, at: int, plans: Sequence[TrialPlan], measure: Measure) -> Array:
    """Return what a question brings under some plans."""
    rankings = [ground.table(at, plan).names() for plan in plans]
    return values_of(ground, at, rankings, measure)


def values_of(
    ground: Ground, at: int, rankings: Sequence[Sequence[str]], measure: Measure
) -> Array:
    """Return what rankings of one question bring."""
    if not rankings:
        return np.zeros(0)
    return measure.of(tabulated([ground.line(at, ids) for ids in rankings]))


def _strict(settings: Settings) -> Settings:
    """Return the settings with no way around a model that fails: it is what is measured."""
    return settings.changed({"tuning.rerank.on_error": "raise"})


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

    @property
    def largest(self) -> int:
        """How many questions the largest group has."""
        return max(Counter(self.groups).values())

    def left_out(self, number: int) -> Array:
        """Return which questions are not in a fold: those that may be learned from."""
        return np.asarray(self.fold != number)


def folded(golds: Sequence[CoveredGold], corpus: Corpus, count: int) -> Folds:
    """Return the folds: by document if there are enough, else by section, else by wording."""
    levels: dict[By, list[list[str]]] = {
        "document": [_documents(gold) for gold in golds],
        "section": [_sections(gold, corpus) for gold in golds],
        "wording": [[_wording(gold)] for gold in golds],
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


def _wording(gold: CoveredGold) -> str:
    return f"words: {gold.question.wording}"


def _group(gold: CoveredGold) -> list[str]:
    return [f"group: {gold.question.group}"] if gold.question.group else []


def _documents(gold: CoveredGold) -> list[str]:
    return [*sorted(gold.documents), *_group(gold), _wording(gold)]


def _sections(gold: CoveredGold, corpus: Corpus) -> list[str]:
    chunks = corpus.snapshot.get(sorted(gold.chunks))
    names = {
        f"{chunk.span.doc_id}#{section_of(chunk.locator) or chunk.page}": None for chunk in chunks
    }
    return [*names, *_group(gold), _wording(gold)]


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
        count = self.folds.count
        models = {
            (one, other): self._model(trial.learned, examples, one, other)
            for one in range(count)
            for other in range(one, count)
        }
        found = np.zeros((count, len(tables)))
        starts, sizes = examples.starts.tolist(), examples.sizes.tolist()
        for at, table in enumerate(tables):
            lines = examples.table[starts[at] : starts[at] + sizes[at]]
            own = int(self.folds.fold[at])
            pairs = [(min(own, other), max(own, other)) for other in range(count)]
            ordered = [judged(models[pair], table, lines).best(self.depth) for pair in pairs]
            found[:, at] = self._value(ground, at, [each.names() for each in ordered])
        return list(found)

    def model(self, ground: Ground, trial: Trial, about: dict[str, Any]) -> RankerModel:
        """Return the ranker of all questions, to be used from now on."""
        _, examples = self._examples(ground, trial, None)
        some = examples.of(examples.sizes > 0)
        return fit_calibrated(trial.learned, some, NAMES, about)[0]

    def _model(self, kind: str, examples: Examples, one: int, other: int) -> RankerModel:
        fold = self.folds.fold
        kept = (fold != one) & (fold != other) & (examples.sizes > 0)
        return fit(kind, examples.of(kept), NAMES)

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
                grades += [_grade(chunk_id, gold) for chunk_id in table.names()[: len(own)]]
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


def _grade(chunk_id: str, gold: CoveredGold) -> float:
    return max(gold.chunks.get(chunk_id, {}).values(), default=0.0)
