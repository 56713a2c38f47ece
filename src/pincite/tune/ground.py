"""One index with judged questions, asked under many settings: what they share is done once.

The stages are those of a search, built by the same function. Only their pieces are remembered while
one question is asked: the scores of words under equal settings, the question's vector and its
nearest chunks, what it names, how its words match a candidate, and the ranking after every stage
that several trials have in common.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from pincite.core.late_settings import LATE, LateSettings
from pincite.core.settings import RerankSettings, Settings
from pincite.core.stages import PairScorer, Reranker, Retriever
from pincite.core.types import Filters, Query, Ranking
from pincite.evaluate.grades import Line, tabulated
from pincite.evaluate.judgements.coverage import Corpus, Gold
from pincite.evaluate.judgements.questions import Question
from pincite.evaluate.measures import Measure
from pincite.index.audiences import audience_of
from pincite.index.opened import OpenIndex
from pincite.index.postings import Array
from pincite.search.pipeline import RERANKED, build
from pincite.search.late import LateInteraction
from pincite.search.meaning import Dense
from pincite.search.places import EntityFirst
from pincite.search.words import Lexical
from pincite.search.places import PlaceFirst
from pincite.index.rows import Run

Made = TypeVar("Made")
Part = TypeVar("Part")
AnyRun = TypeVar("AnyRun", bound=Run)


@dataclass(frozen=True)
class Plan:
    """A pipeline whose stages have names, so that what two plans share is found."""

    settings: Settings
    k: int
    depth: int
    first: str
    retriever: Retriever
    stages: Sequence[tuple[Hashable, Reranker]]  # each with a name for it and all before it


class Ground:
    """The questions' places in one index, and the pipelines that are asked there."""

    def __init__(
        self, opened: OpenIndex, questions: Sequence[Question], scorer: PairScorer | None
    ) -> None:
        self.opened = opened
        self.scorer = scorer
        self.corpus = Corpus(opened.snapshot)
        self.golds = [self.corpus.gold(question) for question in questions]
        self._parts: dict[Hashable, Any] = {}  # of pipelines
        self._names: dict[Hashable, int] = {}  # a number for every beginning of a pipeline
        self._memory: dict[Hashable, Any] = {}  # of the question that is being asked
        self._kept: dict[Hashable, Any] = {}  # of all questions: small, and dear to make
        self._asked = -1
        self._searched: dict[str, bool] = {}

    def plan(self, settings: Settings, k: int) -> Plan:
        """Return the stages of a search with these settings, shared with plans made before."""
        reads = settings.rerank.enabled or settings.search.pipeline == RERANKED
        pipeline = build(_strict(settings), self.opened, self.scorer if reads else None)
        depth = max(k, pipeline.depth) if pipeline.rerankers else k
        first = _first_stage(settings)
        done: Hashable = (first, depth)
        steps = []
        for stage in pipeline.rerankers:
            own = (stage.name, _settings_of(stage.name, settings))
            done = self._names.setdefault((done, own), len(self._names))
            steps.append((done, self._shared(own, stage)))
        return Plan(settings, k, depth, first, self._shared(first, pipeline.retriever), steps)

    def ranking(self, at: int, plan: Plan) -> Ranking:
        """Return what a search finds for a question."""
        if at != self._asked:
            self._asked, self._memory = at, {}
        query = self.query(self.golds[at].question.text, plan.settings)
        key: Hashable = (plan.first, plan.depth)
        if key not in self._memory:
            self._memory[key] = plan.retriever.retrieve(query, plan.depth)
        ranking: Ranking = self._memory[key]
        for key, stage in plan.stages:
            if key not in self._memory:
                self._memory[key] = stage.rerank(ranking)
            ranking = self._memory[key]
        return ranking.top(plan.k)

    def query(self, text: str, settings: Settings) -> Query:
        """Return the question as a search asks it."""
        if settings.search.audience == "off":
            return Query(text)
        return Query(text, filters=Filters(audience=audience_of(text, self.opened.filters)))

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

    def _once(self, key: Hashable, make: Callable[[], Made], *, keep: bool = False) -> Made:
        """Return what was made under this key, for this question or for good; else make it."""
        memory = self._kept if keep else self._memory
        if key not in memory:
            memory[key] = make()
        found: Made = memory[key]
        return found

    def _shared(self, key: Hashable, made: Part) -> Part:
        """Return the part that was made under this key before, or this one."""
        if key not in self._parts:
            for part in _inside(made):
                self._share(part)
            self._parts[key] = made
        found: Part = self._parts[key]
        return found

    def _share(self, part: object) -> None:
        """Let a part of a pipeline ask the memory first."""
        if isinstance(part, Lexical):
            scored = part.begin
            words = ("words", part.settings, part.alias_weight, part.typos)
            part.begin = lambda query: self._once((words, query), lambda: _lasting(scored(query)))  # type: ignore[method-assign]
        elif isinstance(part, Dense):
            near, encode = part.begin, part.encode
            meaning = ("meaning", part.encoder.spec.id)
            part.begin = lambda query: self._once((meaning, query), lambda: _lasting(near(query)))  # type: ignore[method-assign]
            part.encode = lambda text: self._once((meaning, text), lambda: encode(text), keep=True)  # type: ignore[assignment]
        elif isinstance(part, EntityFirst):
            named = part.subset
            part.subset = lambda text: self._once(("named", text), lambda: named(text), keep=True)  # type: ignore[method-assign]
        elif isinstance(part, PlaceFirst):
            places = part.places
            part.places = lambda text: iter(  # type: ignore[method-assign]
                self._once(("places", text), lambda: list(places(text)), keep=True)
            )
        elif isinstance(part, LateInteraction):
            part.matches = self._remembered_matches(part.matches)  # type: ignore

    def _remembered_matches(
        self, matches: Callable[[str, Sequence[str]], Array]
    ) -> Callable[[str, Sequence[str]], Array]:
        """Return the same comparison, which compares a candidate with a question once."""

        def remembered(question: str, ids: Sequence[str]) -> Array:
            known: dict[str, float] = self._once(("late", question), dict, keep=True)
            new = [chunk_id for chunk_id in ids if chunk_id not in known]
            if new:
                known.update(zip(new, matches(question, new).tolist(), strict=True))
            return np.array([known[chunk_id] for chunk_id in ids])

        return remembered

    def forget(self) -> None:
        """Drop pipelines and what is remembered: the next trials are others."""
        self._parts, self._memory, self._asked = {}, {}, -1


def gains(ground: Ground, at: int, plans: Sequence[Plan], measure: Measure) -> Array:
    """Return what a question brings under some plans."""
    rankings = [ground.ranking(at, plan).ids for plan in plans]
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
    """Return a name for what the first stage depends on: settings of later ones leave it alone."""
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


def _lasting(run: AnyRun) -> AnyRun:
    """Return a first stage's scores of one question, which answer the same question but once."""
    best, parts = lru_cache(run.best), run.parts
    known: dict[bytes, Array] = {}

    def of_rows(rows: Array) -> Array:
        key = rows.tobytes()
        if key not in known:
            known[key] = parts(rows)
        return known[key]

    run.best, run.parts = best, of_rows  # type: ignore[method-assign]
    return run


def _inside(part: object) -> Iterator[object]:
    """Yield a part of a pipeline and all inside of it."""
    yield part
    for inner in getattr(part, "inner_retrievers", ()):
        yield from _inside(inner)
