"""From settings to a search: which stages a preset has, and what each of them needs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from pincite.encode.encoders import open_encoder
from pincite.encode.models import ModelSpec, TokenEncoder, spec_of
from pincite.index.filters import Groups
from pincite.index.opened import OpenIndex, Rows
from pincite.index.vectors import TokenIndex, VectorIndex
from pincite.model.errors import ConfigError
from pincite.model.settings import LATE, Settings
from pincite.model.types import PairScorer
from pincite.search.adapter import QueryAdapter
from pincite.search.documents import CardEvidence
from pincite.search.graph import NeighbourLift
from pincite.search.late import LateInteraction
from pincite.search.metrics import Metrics
from pincite.search.neighbours import Neighbours
from pincite.search.pair_scorers import open_scorer
from pincite.search.pipeline import Diversify, Gather, Searcher, Spread, Stage, put_places_first
from pincite.search.query import QueryReader
from pincite.search.rerank import CrossEncode, Threshold
from pincite.search.routing import Router
from pincite.search.row_scorers import FieldNames, Meaning, WordScorer

if TYPE_CHECKING:
    from pincite.search.feature_table import Features

# The hybrid with its best candidates read, whatever the settings say.
RERANKED = "hybrid+rerank"
PRESETS = ("default", "hybrid", "hybrid+graph", LATE, RERANKED, "lexical", "dense", "traversal")


def build(
    settings: Settings,
    index: OpenIndex,
    scorer: PairScorer | None = None,
    metrics: Metrics | None = None,
) -> Searcher:
    """Return the search that the settings name; a scorer of one's own re-ranks in any case.

    Several searches may count into the same metrics.
    """
    preset = settings.search.preset
    if preset not in PRESETS:
        raise ConfigError(f"no pipeline {preset!r}", hint=f"known: {', '.join(PRESETS)}")
    settings = _effective(settings)
    return _Builder(settings, index).searcher(scorer or open_scorer(settings.reranking), metrics)


def _effective(settings: Settings) -> Settings:
    """Return the settings with what the preset switches on, and without what is left out."""
    preset, out = settings.search.preset, settings.left_out
    rerank, search, tuning = settings.rerank, settings.search, settings.tuning
    if preset == RERANKED:
        rerank = replace(rerank, enabled=True)
    if preset == "hybrid+graph" and tuning.graph.mode == "off":
        tuning = replace(tuning, graph=replace(tuning.graph, mode="bfs"))
    if "graph" in out:
        tuning = replace(tuning, graph=replace(tuning.graph, mode="off"))
    if "spread" in out:
        tuning = replace(tuning, spread=0.0)
    if "pairs" in out:
        tuning = replace(tuning, lexical=replace(tuning.lexical, bigram_weight=0.0))
    if "windows" in out:
        tuning = replace(tuning, lexical=replace(tuning.lexical, window_weight=0.0))
    if "routing" in out:
        search = replace(search, route_by="off")
    if "dense" in out:
        search = replace(search, meaning_weight=0.0)
    return replace(settings, rerank=rerank, search=search, tuning=tuning)


class _Builder:
    """Makes the stages of one search."""

    def __init__(self, settings: Settings, index: OpenIndex) -> None:
        self.settings = settings
        self.index = index
        self.rows = Rows(index)
        self.neighbours = Neighbours(index.snapshot)
        self.preset = settings.search.preset
        self.is_walk = self.preset == "traversal"

    def searcher(self, scorer: PairScorer | None, metrics: Metrics | None) -> Searcher:
        settings, index = self.settings, self.index
        rerank, spread = settings.reranking, settings.tuning.spread
        is_plain = self.is_walk or self.preset == "dense"
        words, meaning = self._words(), self._meaning()
        router = self._router(words) if words else None
        late = self._late(meaning) if words and meaning else None
        first: list[tuple[str, Stage]] = self._walk() if self.is_walk else []
        if not self.is_walk:
            gather = self._gather(words, meaning, router)
            first.append((gather.name, gather))
        if settings.tuning.graph.mode != "off" and not is_plain:
            first.append(
                ("graph", NeighbourLift(self.neighbours, settings.tuning.graph, self.rows))
            )
        if "places" not in settings.left_out and not is_plain:
            first.append(("place", partial(put_places_first, self.rows)))
        later: list[tuple[str, Stage]] = [("late", late)] if late else []
        reranker = None
        if scorer is not None:
            metrics = metrics or Metrics(log_queries=settings.serve.log_queries)
            reranker = CrossEncode(index.snapshot, scorer, rerank, metrics, analyzer=index.analyzer)
            later.append(("rerank", reranker))
            if rerank.threshold:
                later.append(("threshold", Threshold(rerank)))
        if spread and not is_plain:
            later.append(("spread", Spread(index.snapshot, spread)))
        if settings.search.ranker and not is_plain:  # it learned from the order after spreading
            later.append(("learned", self._learned()))
        if scorer is not None and rerank.diversify != "off":  # last: a later one could undo it
            groups = Diversify(index.snapshot, rerank.diversify, rerank.max_per_group)
            later.append(("diversify", groups))
        return Searcher(
            self._reader(is_plain=is_plain),
            [*first, *later],
            len(first),
            settings.tuning.depth,
            self._notes(meaning),
            words,
            meaning,
            late,
            reranker,
            router,
        )

    def _reader(self, *, is_plain: bool) -> QueryReader:
        out, tuning = self.settings.left_out, self.settings.tuning
        return QueryReader(
            self.index,
            self.neighbours,
            content_only=tuning.lexical.content_words,
            has_pairs=tuning.lexical.bigram_weight > 0,
            # A walk compares no words of texts, so it has none to correct.
            has_typos="typos" not in out and not self.is_walk,
            has_aliases="aliases" not in out and tuning.alias_weight > 0,
            has_places="places" not in out and not is_plain,
            has_entities="names" not in out and not is_plain,
            documents=None if "documents" in out else CardEvidence(self.index),
        )

    def _words(self) -> WordScorer | None:
        if self.is_walk or self.preset == "dense":
            return None
        weight = self.settings.tuning.alias_weight
        lexical, out = self.settings.tuning.lexical, self.settings.left_out
        evidence = [] if "vocabulary" in out else [FieldNames(self.index, lexical)]
        return WordScorer(self.index, lexical, self.rows, alias_weight=weight, evidence=evidence)

    def _meaning(self) -> Meaning | None:
        """Return what scores by meaning; None where it counts nothing or there are no vectors."""
        spec = spec_of(self.settings.embedding)
        if self.preset == "dense" and spec is None:
            raise ConfigError("no embedding model", hint="set embedding.model")
        if self.preset != "dense" and (
            self.preset in ("lexical", "traversal")
            or not self.settings.search.meaning_weight
            or not (spec and self.index.has_vectors(spec.id, spec.stand_in))
        ):
            return None
        return open_meaning(self.settings, self.index, self.rows)

    def _gather(
        self, words: WordScorer | None, meaning: Meaning | None, router: Router | None
    ) -> Gather:
        weight, graph = self.settings.search.meaning_weight, self.settings.tuning.graph
        weight = meaning.share(weight) if meaning else weight
        scorers = [(words, 1 - weight), (meaning, weight)] if words else [(meaning, 1.0)]
        asked = [(scorer, share) for scorer, share in scorers if scorer is not None and share > 0]
        return Gather(
            self.rows,
            [scorer for scorer, _ in asked],
            [share for _, share in asked],
            self.settings.tuning.fusion,
            self.settings.tuning.depth,
            keep=graph.pool if graph.mode != "off" else 0,
            router=router,
        )

    def _notes(self, meaning: Meaning | None) -> tuple[str, ...]:
        """Return that there is no meaning, to who asked for it by the name of a pipeline."""
        is_asked_for = self.preset in ("hybrid", "hybrid+graph", LATE, RERANKED)
        if meaning is not None or not is_asked_for or not self.settings.search.meaning_weight:
            return ()
        return (_no_vectors(spec_of(self.settings.embedding)),)

    def _router(self, words: WordScorer) -> Router | None:
        by = self.settings.search.route_by
        if by == "off":
            return None
        groups = Groups(self.index.snapshot, by)
        return Router(self.index, words, self.settings.tuning.routing, groups)

    def _late(self, meaning: Meaning) -> LateInteraction | None:
        """Return late interaction, where it is wanted and the index has what it needs."""
        weight, spec = self.settings.late_weight, meaning.encoder.spec
        if not weight or not spec.has_tokens:
            return None
        tokens = TokenIndex(self.index.snapshot, spec.id)
        if tokens.is_empty:
            raise ConfigError(
                "the index has no vectors of tokens, which late interaction compares",
                hint="pincite ingest with --set search.late_weight=0.3 adds them; "
                "search.late_weight=0 does without",
            )
        return LateInteraction(tokens, cast(TokenEncoder, meaning.encoder), self.rows, weight)

    def _learned(self) -> Stage:
        # Few searches have a model, and others need not wait for what it imports.
        from pincite.search.learned import Learned

        return Learned.load(self.settings.search.ranker, features_of(self.settings, self.index))

    def _walk(self) -> list[tuple[str, Stage]]:
        """Return the graph alone: names and headings to start from, then links by intent."""
        # Few searches walk, and reading the configuration takes longer than a look-up.
        from pincite.index.graph_walk import TraversalIndex
        from pincite.model.traversal import load_traversal
        from pincite.search.traversal import Traversal

        walker = TraversalIndex.build(self.index.snapshot, self.index.analyzer)
        config = load_traversal(self.settings.search.traversal)
        return [("traversal", Traversal(walker, config, self.index.filters))]


def open_meaning(settings: Settings, index: OpenIndex, rows: Rows) -> Meaning:
    """Return what scores by meaning with the encoder that the settings name."""
    encoder = open_encoder(settings.encoding)
    if encoder is None:
        raise ConfigError("no embedding model", hint="set embedding.model")
    spec = encoder.spec
    file = settings.search.adapter
    adapter = QueryAdapter.load(file, spec.id) if file else None
    return Meaning(VectorIndex(index.snapshot, spec.id, spec.stand_in), encoder, rows, adapter)


def _no_vectors(spec: ModelSpec | None) -> str:
    why = f"the index has no vectors of {spec.id}" if spec else "embedding.model is none"
    return f"searched by words alone: {why}"


def features_of(settings: Settings, index: OpenIndex) -> Features:
    """Return what works out features, with all that the index has of meaning."""
    from pincite.search.feature_table import Features

    rows = Rows(index)
    spec = spec_of(settings.embedding)
    if spec is None or not index.has_vectors(spec.id, spec.stand_in):
        return Features(index, rows)
    meaning = open_meaning(settings, index, rows)
    tokens = TokenIndex(index.snapshot, spec.id)
    late = None
    if spec.has_tokens and not tokens.is_empty:
        encoder = cast(TokenEncoder, meaning.encoder)
        late = LateInteraction(tokens, encoder, rows, 0.0).matches
    return Features(index, rows, meaning.cosines, late)
