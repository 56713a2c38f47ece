"""One index with judged questions, asked under many settings: what they share is done once.

The stages are those of a search, built by the same function. While one question is asked, the
table after every stage that several trials have in common is kept, with the scores of words and of
meaning that the first stage starts from; what a question says is read once for all trials.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from pincite.core.late_settings import LATE, LateSettings
from pincite.core.settings import RerankSettings, Settings
from pincite.core.stages import PairScorer
from pincite.core.types import Filters, Query
from pincite.evaluate.grades import Line, tabulated
from pincite.evaluate.judgements.coverage import Corpus, Gold
from pincite.evaluate.judgements.questions import Question
from pincite.evaluate.measures import Measure
from pincite.index.audiences import audience_of
from pincite.index.opened import OpenIndex
from pincite.index.postings import Array
from pincite.search.candidates import Candidates
from pincite.search.gather import Gather, RowScorer, Scores
from pincite.search.pipeline import RERANKED, Searcher, Stage, build
from pincite.search.query import ParsedQuery

Made = TypeVar("Made")


@dataclass(frozen=True)
class Plan:
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

    def plan(self, settings: Settings, k: int) -> Plan:
        """Return the stages of a search with these settings; those of equal ones share tables."""
        reads = settings.rerank.enabled or settings.search.pipeline == RERANKED
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
        return Plan(settings, k, searcher, stages)

    def table(self, at: int, plan: Plan) -> Candidates:
        """Return what a search finds for a question, in order."""
        if at != self._asked:
            self._asked, self._memory = at, {}
        query = self.query(self.golds[at].question.text, plan)
        table = Candidates.empty(plan.searcher.limit(plan.k))
        for key, stage in plan.stages:
            table = self._once(key, lambda: stage(query, table))  # noqa: B023 (called at once)
        return table.best(plan.k)

    def query(self, text: str, plan: Plan) -> ParsedQuery:
        """Return the question as a search reads it; plans that read alike share one."""
        reader, query = plan.searcher.reader, Query(text)
        if plan.settings.search.audience != "off":
            filters = Filters(audience=audience_of(text, self.opened.filters))
            query = Query(text, filters=filters)
        return self._parsed.setdefault((query, reader), reader.read(query))

    def line(self, at: int, ids: Sequence[str]) -> Line:
        """Return what the hits of a question bring."""
        gold = self.golds[at]
        self._look_up([i for i in ids if i not in gold.chunks])
        meets = [gold.chunks[i] if i in gold.chunks else self._met(i, gold) for i in ids]
        return Line(meets, gold.ideal, len(gold.question.needs))

    def _met(self, chunk_id: str, gold: Gold) -> Any:
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


def gains(ground: Ground, at: int, plans: Sequence[Plan], measure: Measure) -> Array:
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
    return replace(settings, rerank=replace(settings.rerank, on_error="raise"))


def _first_stage(settings: Settings) -> str:
    """Return a name for what the first stages depend on: not on settings of later ones."""
    search = settings.search
    pipeline = "default" if search.pipeline in (LATE, RERANKED, "hybrid") else search.pipeline
    plain = replace(search, pipeline=pipeline, spread=0.0)
    whole = replace(settings, search=plain, late=LateSettings(), rerank=RerankSettings())
    return whole.fingerprint()


def _settings_of(stage: str, settings: Settings) -> Hashable:
    """Return what a re-ranking stage depends on."""
    if stage == "late":
        return settings.late_weight
    if stage == "learned":
        return settings.learn
    return settings.search.spread if stage == "spread" else settings.rerank
