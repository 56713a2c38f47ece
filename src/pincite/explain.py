"""Why a place is not among the hits: the stage that lost it, and by how much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pincite.core.stages import Retriever
from pincite.core.types import Chunk, Query, Ranking
from pincite.index.opened import OpenIndex
from pincite.pipeline import Pipeline

# Ranks are looked for so far down; what is below is as good as absent.
DEEP = 2000
# What lost a place that none of several retrievers proposes, as `pincite eval` calls it.
FIRST_STAGE = "first stage"


@dataclass(frozen=True, slots=True)
class StageView:
    """Where a place stood after a stage."""

    stage: str
    rank: int | None  # None: not found at all, or below the first 2,000
    score: float | None
    needed: float | None  # the score of the last one that counts here
    is_kept: bool  # it counts here: among the candidates, or among the hits


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The way of one place through a search."""

    chunk: Chunk  # the searched chunk of the place that came farthest
    stages: list[StageView]
    # A stage, "first stage", "filters" or "index"; empty if the place is among the hits.
    lost_at: str
    reason: str


def why_not(pipeline: Pipeline, index: OpenIndex, query: Query, place: Chunk, k: int) -> WhyNot:
    """Return the way of a place through the pipeline, and where it was lost."""
    chunks = searched_in(index, place)
    if not chunks:
        return WhyNot(place, [], "index", "the place has no text of its own that is searched")
    if not index.filters.keep(query.filters, [chunk.id for chunk in chunks]):
        return WhyNot(chunks[0], [], "filters", "the filters leave it out")
    last, views = chunks[0], []
    for name, ranking, width in stages(pipeline, query, k):
        ranks = {chunk_id: rank for rank, chunk_id in enumerate(ranking.ids, 1)}
        found = [chunk for chunk in chunks if chunk.id in ranks]
        needed = ranking.hits[min(width, len(ranking.hits)) - 1].score if ranking.hits else None
        if not found:
            views.append(StageView(name, None, None, needed, False))
            continue
        last = min(found, key=lambda chunk: ranks[chunk.id])
        rank = ranks[last.id]
        score = ranking.hits[rank - 1].score
        views.append(StageView(name, rank, score, needed, rank <= width))
    return WhyNot(last, views, *_verdict(views, _parts(pipeline.retriever)))


def searched_in(index: OpenIndex, place: Chunk) -> list[Chunk]:
    """Return the searched chunks inside a place, or those that hold it."""
    document = [c for c in index.snapshot.chunks(place.span.doc_id) if c.searched]
    inside = [c for c in document if c.span.overlap(place.span) == len(c.span)]
    return inside or [c for c in document if c.span.overlap(place.span)]


def stages(pipeline: Pipeline, query: Query, k: int) -> Iterator[tuple[str, Ranking, int]]:
    """Yield every stage's full ranking with how many of its hits count there."""
    depth = max(k, pipeline.depth)
    yield from _inner(pipeline.retriever, query, depth, k)
    ranking = pipeline.retriever.retrieve(query, DEEP)
    yield pipeline.retriever.name, ranking, k
    for reranker in pipeline.rerankers:
        ranking = reranker.rerank(ranking.top(depth))
        yield reranker.name, ranking, k


def _inner(
    retriever: Retriever, query: Query, depth: int, k: int
) -> Iterator[tuple[str, Ranking, int]]:
    """Yield the rankings of retrievers inside a retriever, innermost first."""
    parts = getattr(retriever, "inner_retrievers", ())
    for part in parts:
        yield from _inner(part, query, depth, k)
        # One of several needs only to propose a place; a single one decides.
        yield part.name, part.retrieve(query, DEEP), depth if len(parts) > 1 else k


def _verdict(views: list[StageView], parts: set[str]) -> tuple[str, str]:
    """Return the stage that lost the place and the reason in words."""
    final = views[-1]
    if final.is_kept:
        return "", f"it is among the hits, at rank {final.rank}"
    if parts and not any(view.is_kept for view in views if view.stage in parts):
        names = " nor ".join(sorted(parts))
        return FIRST_STAGE, f"neither {names} proposes it among the first candidates"
    lost = next(view for view in views if view.stage not in parts and not view.is_kept)
    return lost.stage, _loss(lost)


def _loss(view: StageView) -> str:
    if view.rank is None or view.score is None or view.needed is None:
        return f"{view.stage} does not have it among its first {DEEP:,}"
    gap = view.needed - view.score
    return (
        f"{view.stage} puts it at rank {view.rank}: its score is {view.score:.3f}, "
        f"the last hit has {view.needed:.3f} ({gap:.3f} more)"
    )


def _parts(retriever: Retriever) -> set[str]:
    """Return the names of retrievers that propose candidates side by side."""
    inner = getattr(retriever, "inner_retrievers", ())
    if len(inner) > 1:
        return {part.name for part in inner}
    return set().union(*(_parts(part) for part in inner))
