"""Why a place is not among the hits: the stage that lost it, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pincite.index.opened import OpenIndex
from pincite.index.vectors import NO_VECTOR
from pincite.model.types import Chunk
from pincite.search.candidates import Candidates
from pincite.search.documents import DOCUMENT, weigh
from pincite.search.pipeline import HYBRID, Searcher
from pincite.search.query import ParsedQuery
from pincite.search.row_scorers import Meaning, WordScorer

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


def why_not(searcher: Searcher, query: ParsedQuery, place: Chunk, k: int) -> WhyNot:
    """Return the way of a place through a search, and where it was lost."""
    index = searcher.reader.index
    chunks = searched_in(index, place)
    if not chunks:
        return WhyNot(place, [], "index", "the place has no text of its own that is searched")
    if not index.filters.keep(query.filters, [chunk.id for chunk in chunks]):
        return WhyNot(chunks[0], [], "filters", "the filters leave it out")
    last, views = chunks[0], []
    for name, scores, ids, width in stages(searcher, query, k):
        ranks = {chunk_id: rank for rank, chunk_id in enumerate(ids, 1)}
        found = [chunk for chunk in chunks if chunk.id in ranks]
        needed = scores[min(width, len(scores)) - 1] if scores else None
        if not found:
            views.append(StageView(name, None, None, needed, False))
            continue
        last = min(found, key=lambda chunk: ranks[chunk.id])
        rank = ranks[last.id]
        views.append(StageView(name, rank, scores[rank - 1], needed, rank <= width))
    return WhyNot(last, views, *_verdict(views, {*proposers(searcher)}))


def searched_in(index: OpenIndex, place: Chunk) -> list[Chunk]:
    """Return the searched chunks inside a place, or those that hold it."""
    document = [c for c in index.snapshot.chunks(place.span.doc_id) if c.searched]
    inside = [c for c in document if c.span.overlap(place.span) == len(c.span)]
    return inside or [c for c in document if c.span.overlap(place.span)]


def stages(
    searcher: Searcher, query: ParsedQuery, k: int
) -> Iterator[tuple[str, list[float], list[str], int]]:
    """Yield of every stage the scores and ids of its order, and how many count there.

    What scorers propose side by side are columns of the first table, and come before it.
    """
    depth = max(k, searcher.depth)
    table = Candidates.empty(DEEP)
    for number, (name, stage) in enumerate(searcher.stages):
        if number == searcher.first:
            table = table.best(depth)
        table = stage(query, table)
        # One of several needs only to propose a place.
        for scorer in proposers(searcher) if not number else ():
            yield scorer, *_by_column(table, scorer), depth
        order = table.order()
        yield name, table.exported_scores()[order].tolist(), table.names(order), k


def proposers(searcher: Searcher) -> Sequence[str]:
    """Return the names of scorers that propose candidates side by side."""
    name = searcher.stages[0][0]
    return (WordScorer.name, Meaning.name) if name == HYBRID else ()


def _by_column(table: Candidates, name: str) -> tuple[list[float], list[str]]:
    """Return scores and ids in the order of one scorer."""
    values = table.raw.get(name)
    if values is None:
        return [], []
    floor = WordScorer.floor if name == WordScorer.name else NO_VECTOR
    if DOCUMENT in table.raw:
        values = weigh(values, table.raw[DOCUMENT], floor)
    at = np.flatnonzero(values > floor)
    at = at[np.lexsort((table.ids[at], -values[at]))]
    return values[at].tolist(), table.names(at)


def proposals(searcher: Searcher, query: ParsedQuery) -> dict[str, list[str]]:
    """Return the order of each scorer that proposes candidates side by side with another."""
    names = proposers(searcher)
    table = searcher.stages[0][1](query, Candidates.empty(DEEP)) if names else Candidates.empty()
    return {name: _by_column(table, name)[1] for name in names}


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
