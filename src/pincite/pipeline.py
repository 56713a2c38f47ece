"""The composition: a pipeline is a retriever and a list of re-rankers, read from top to bottom."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from pincite.core.errors import ConfigError
from pincite.core.settings import Settings
from pincite.core.stages import Reranker, Retriever
from pincite.core.types import Query, Ranking, Step
from pincite.index.opened import OpenIndex
from pincite.retrieve.lexical import Lexical
from pincite.retrieve.place import PlaceFirst


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Runs a query through its stages; keeps nothing between queries."""

    retriever: Retriever
    rerankers: Sequence[Reranker] = ()
    depth: int = 100

    def steps(self, query: Query, k: int) -> Iterator[Step]:
        """Yield the ranking after each stage with the time that the stage took."""
        start = time.perf_counter()
        # Candidates beyond k are for re-rankers to choose from.
        ranking = self.retriever.retrieve(query, max(k, self.depth) if self.rerankers else k)
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


def build(settings: Settings, index: OpenIndex) -> Pipeline:
    """Return the pipeline that the settings name."""
    preset = PRESETS.get(settings.search.pipeline)
    if preset is None:
        raise ConfigError(
            f"no pipeline {settings.search.pipeline!r}", hint=f"known: {', '.join(PRESETS)}"
        )
    return preset(settings, index)


def lexical(settings: Settings, index: OpenIndex) -> Pipeline:
    """Words alone: BM25 with pairs and windows, named places first."""
    retriever: Retriever = Lexical(index.lexical, index.analyzer, settings.lexical)
    if settings.search.locators:
        retriever = PlaceFirst(retriever, index.snapshot, index.analyzer)
    return Pipeline(retriever, depth=settings.search.depth)


PRESETS: dict[str, Callable[[Settings, OpenIndex], Pipeline]] = {
    "default": lexical,
    "lexical": lexical,
}
