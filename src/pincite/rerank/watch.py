"""Following a search that re-ranks from its start to its end, for the log and the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pincite.core.types import Hit, Query, Step
from pincite.rerank.combine import NAME
from pincite.rerank.metrics import Metrics


def watched(metrics: Metrics, query: Query, wanted: int, steps: Iterator[Step]) -> Iterator[Step]:
    """Yield the steps of a search, telling when it begins and what the first stage found."""
    metrics.began(query.text, wanted)
    first = next(steps)
    metrics.retrieved(len(first.ranking.hits), first.seconds)
    yield first
    yield from steps


def finished(
    metrics: Metrics,
    query: Query,
    steps: Sequence[Step],
    hits: Sequence[Hit],
    documents: Sequence[str],
    seconds: float,
) -> None:
    """Tell what came out of a search: its hits, and the document of each."""
    metrics.finished(
        query.text,
        [hit.raw[NAME] for hit in hits if NAME in hit.raw],
        retrieved=len(steps[0].ranking.hits),
        documents=documents,
        first_stage=steps[0].seconds,
        reranking=sum(step.seconds for step in steps if step.stage == NAME),
        total=seconds,
    )
