"""The composition: a pipeline is a retriever and a list of re-rankers, read from top to bottom."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from pincite.core.errors import ConfigError
from pincite.core.late_settings import LATE
from pincite.core.settings import RoutingSettings, Settings
from pincite.core.stages import PairScorer, Reranker, Retriever
from pincite.core.types import Query, Ranking, Step
from pincite.embed.encoders import open_encoder
from pincite.embed.models import Encoder, ModelSpec, TokenEncoder, spec_of
from pincite.index.groups import Groups
from pincite.index.opened import OpenIndex
from pincite.index.token_index import TokenIndex
from pincite.index.vectors import VectorIndex
from pincite.rerank.diversify import Diversify
from pincite.rerank.late import LateInteraction
from pincite.rerank.metrics import Metrics
from pincite.rerank.pairs import CrossEncode
from pincite.rerank.promise import Promise
from pincite.rerank.scorers import open_scorer
from pincite.rerank.threshold import Threshold
from pincite.retrieve.dense import Dense
from pincite.retrieve.entities import EntityFirst
from pincite.retrieve.graph import GraphBoost
from pincite.retrieve.hybrid import Hybrid
from pincite.retrieve.lexical import Lexical
from pincite.retrieve.neighbours import Neighbours
from pincite.retrieve.place import PlaceFirst
from pincite.retrieve.routing import Routed, Router
from pincite.retrieve.rows import Rows
from pincite.retrieve.spread import Spread

if TYPE_CHECKING:
    from pincite.learn.features import Features


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Runs a query through its stages; keeps nothing between queries."""

    retriever: Retriever
    rerankers: Sequence[Reranker] = ()
    depth: int = 100
    notes: tuple[str, ...] = ()  # what the reader of every ranking should know, in plain words

    def steps(self, query: Query, k: int) -> Iterator[Step]:
        """Yield the ranking after each stage with the time that the stage took."""
        start = time.perf_counter()
        # Candidates beyond k are for re-rankers to choose from.
        ranking = self.retriever.retrieve(query, max(k, self.depth) if self.rerankers else k)
        if self.notes:
            ranking = replace(ranking, notes=(*ranking.notes, *self.notes))
        yield Step(self.retriever.name, ranking, time.perf_counter() - start)
        for stage in self.rerankers:
            start = time.perf_counter()
            ranking = stage.rerank(ranking)
            yield Step(stage.name, ranking, time.perf_counter() - start)

    def search(self, query: Query, k: int) -> Ranking:
        """Return the best ``k`` hits."""
        *_, last = self.steps(query, k)
        return last.ranking.top(k)

    def without(self, stage: str) -> Pipeline:
        """Return the pipeline without one of its re-rankers, for ablations."""
        kept = tuple(each for each in self.rerankers if each.name != stage)
        if len(kept) == len(self.rerankers):
            names = ", ".join(each.name for each in self.rerankers) or "none"
            raise ConfigError(f"no stage {stage!r} to leave out", hint=f"stages: {names}")
        return replace(self, rerankers=kept)


def build(
    settings: Settings,
    index: OpenIndex,
    scorer: PairScorer | None = None,
    metrics: Metrics | None = None,
) -> Pipeline:
    """Return the pipeline that the settings name; a scorer of one's own re-ranks in any case.

    Several pipelines may count into the same metrics.
    """
    preset = PRESETS.get(settings.search.pipeline)
    if preset is None:
        raise ConfigError(
            f"no pipeline {settings.search.pipeline!r}", hint=f"known: {', '.join(PRESETS)}"
        )
    if settings.search.pipeline == RERANKED:
        settings = replace(settings, rerank=replace(settings.rerank, enabled=True))
    scorer = scorer or open_scorer(settings.rerank)
    pipeline = preset(settings, index)
    if scorer is None:
        return pipeline
    metrics = metrics or Metrics(log_queries=settings.rerank.log_queries)
    return _reranked(pipeline, settings, index, scorer, metrics)


def _reranked(
    pipeline: Pipeline, settings: Settings, index: OpenIndex, scorer: PairScorer, metrics: Metrics
) -> Pipeline:
    """Return the pipeline with pairs read before its hits are spread."""
    chosen = settings.rerank
    stages: list[Reranker] = [s for s in pipeline.rerankers if not isinstance(s, Spread)]
    promise = Promise(index)
    stages.append(CrossEncode(index.snapshot, scorer, chosen, metrics, promise=promise))
    if chosen.threshold:
        stages.append(Threshold(chosen))
    stages += [s for s in pipeline.rerankers if isinstance(s, Spread)]
    if chosen.diversify != "off":  # last: what comes after could break its promise
        stages.append(Diversify(index.snapshot, chosen.diversify, chosen.most_per_group))
    return replace(pipeline, rerankers=stages)


def lexical(settings: Settings, index: OpenIndex) -> Pipeline:
    """Words alone: BM25 with pairs and windows, named places first."""
    words = _words(settings, index)
    return _with_places(words, words, settings, index)


def dense(settings: Settings, index: OpenIndex) -> Pipeline:
    """Meaning alone: the nearest vectors."""
    typos = settings.search.typos
    nearest = _dense(open_encoder(settings.embedding), index, Rows(index), typos=typos)
    return Pipeline(nearest, depth=settings.search.depth)


def hybrid(settings: Settings, index: OpenIndex) -> Pipeline:
    """Words and meaning, named places first; words alone where there are no vectors.

    Who asked for meaning by the name of a pipeline is told that there is none.
    """
    rows = Rows(index)
    words = _words(settings, index, rows)
    weight = settings.hybrid.dense_weight
    spec = spec_of(settings.embedding)
    if not weight or spec is None or not index.has_vectors(spec.id):
        by_words = _with_places(words, words, settings, index)
        is_asked_for = weight and settings.search.pipeline != "default"
        return replace(by_words, notes=(_no_vectors(spec),)) if is_asked_for else by_words
    encoder = open_encoder(settings.embedding)  # one for all: a question is encoded once
    both = Hybrid(
        [
            (words, 1 - weight),
            (_dense(encoder, index, rows, typos=settings.search.typos), weight),
        ],
        rows,
        method=settings.hybrid.method,
        depth=settings.search.depth,
    )
    return _with_places(
        both, words, settings, index, _late(encoder, settings.late_weight, index, rows)
    )


def _no_vectors(spec: ModelSpec | None) -> str:
    why = f"the index has no vectors of {spec.id}" if spec else "embedding.model is none"
    return f"searched by words alone: {why}"


def hybrid_graph(settings: Settings, index: OpenIndex) -> Pipeline:
    """The hybrid with a lift for neighbours of the best, whatever the settings say."""
    mode = "bfs" if settings.graph.mode == "off" else settings.graph.mode
    return hybrid(replace(settings, graph=replace(settings.graph, mode=mode)), index)


def _words(settings: Settings, index: OpenIndex, rows: Rows | None = None) -> Lexical:
    search = settings.search
    alias_weight = search.alias_weight if search.aliases else 0.0
    return Lexical(index, settings.lexical, rows, alias_weight=alias_weight, typos=search.typos)


def _dense(encoder: Encoder | None, index: OpenIndex, rows: Rows, *, typos: bool = False) -> Dense:
    if encoder is None:
        raise ConfigError("no embedding model", hint="set embedding.model")
    return Dense(VectorIndex(index.snapshot, encoder.spec.id), encoder, rows, typos=typos)


def _late(encoder: Encoder | None, weight: float, index: OpenIndex, rows: Rows) -> list[Reranker]:
    """Return late interaction, where it is wanted and the index has what it needs."""
    if not weight or encoder is None or not encoder.spec.has_tokens:
        return []
    tokens = TokenIndex(index.snapshot, encoder.spec.id)
    if tokens.is_empty:
        raise ConfigError(
            "the index has no vectors of tokens, which late interaction compares",
            hint="pincite ingest with --set late.weight=0.3 adds them; late.weight=0 does without",
        )
    return [LateInteraction(tokens, cast(TokenEncoder, encoder), rows, weight)]


def _routed(
    inner: Lexical | Hybrid, words: Lexical, settings: RoutingSettings, index: OpenIndex
) -> Lexical | Hybrid | Routed:
    """Return the retriever with a router before it, if the settings ask for one."""
    if settings.by == "off":
        return inner
    return Routed(inner, Router(words, Groups(index.snapshot, settings.by)), settings)


def _with_places(
    found: Lexical | Hybrid,
    words: Lexical,
    settings: Settings,
    index: OpenIndex,
    rerankers: Sequence[Reranker] = (),
) -> Pipeline:
    """Put what a query names before what it means, re-rank the rest, and spread it."""
    inner = _routed(found, words, settings.routing, index)
    around: Retriever = inner
    neighbours = Neighbours(index.snapshot)
    if settings.search.names:
        around = EntityFirst(inner, neighbours, index.analyzer)
    if settings.graph.mode != "off":
        around = GraphBoost(around, neighbours, settings.graph)
    if settings.search.locators:
        around = PlaceFirst(around, index.snapshot, index.analyzer, index.filters, words)
    spread = settings.search.spread
    last: list[Reranker] = [Spread(index.snapshot, spread)] if spread else []
    if settings.learn.model:  # at the end: it learned from the order after spreading
        last.append(_learned(settings, words, index))
    return Pipeline(around, [*rerankers, *last], depth=settings.search.depth)


def _learned(settings: Settings, words: Lexical, index: OpenIndex) -> Reranker:
    # Few searches have a model, and others need not wait for what it imports.
    from pincite.rerank.learned import Learned

    return Learned.load(settings.learn.model, features_of(settings, index, words.rows))


def features_of(settings: Settings, index: OpenIndex, rows: Rows | None = None) -> Features:
    """Return what works out features, with all that the index has of meaning."""
    from pincite.learn.features import Features

    rows = rows or Rows(index)
    spec = spec_of(settings.embedding)
    if spec is None or not index.has_vectors(spec.id):
        return Features(index, rows)
    encoder = open_encoder(settings.embedding)
    tokens = TokenIndex(index.snapshot, spec.id)
    late = None
    if spec.has_tokens and not tokens.is_empty:
        late = LateInteraction(tokens, cast(TokenEncoder, encoder), rows, 0.0).matches
    return Features(index, rows, _dense(encoder, index, rows), late)


def traversal(settings: Settings, index: OpenIndex) -> Pipeline:
    """The graph alone: names and headings to start from, then links by the question's intent."""
    # Few searches walk, and reading the configuration takes longer than a look-up.
    from pincite.core.traversal import load_traversal
    from pincite.index.graph_walk import TraversalIndex
    from pincite.retrieve.traversal import Traversal

    walker = TraversalIndex.build(index.snapshot, index.analyzer)
    config = load_traversal(settings.search.traversal)
    return Pipeline(Traversal(walker, config, index.filters))


# The hybrid with its best candidates read, whatever the settings say.
RERANKED = "hybrid+rerank"
PRESETS: dict[str, Callable[[Settings, OpenIndex], Pipeline]] = {
    "default": hybrid,
    "hybrid": hybrid,
    "hybrid+graph": hybrid_graph,
    LATE: hybrid,
    RERANKED: hybrid,
    "lexical": lexical,
    "dense": dense,
    "traversal": traversal,
}
