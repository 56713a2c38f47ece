"""Where answers are lost on the way from the documents to the first hits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pincite.core.stages import Retriever
from pincite.core.types import Query, Ranking, Step
from pincite.pipeline import Pipeline

NOT_IN_CORPUS = "not in the documents"
CHUNKING = "chunking"
FIRST_STAGE = "first stage"  # nobody proposed it
FUSION = "fusion"  # one of several had it among the first, together they have not
ORDER = "order"  # a candidate, but never among the first
# The reader's order of causes; stages of the pipeline come behind, in their own order.
CAUSES = (NOT_IN_CORPUS, CHUNKING, FIRST_STAGE, FUSION, ORDER)


def ranks(steps: Sequence[Step], answers: Mapping[str, object]) -> dict[str, int | None]:
    """Return the rank of the first hit that answers, after each stage."""
    return {step.stage: _rank(step.ranking, answers) for step in steps}


def _rank(ranking: Ranking, answers: Mapping[str, object]) -> int | None:
    found = (rank for rank, chunk_id in enumerate(ranking.ids, 1) if chunk_id in answers)
    return next(found, None)


def lost_at(
    pipeline: Pipeline,
    query: Query,
    seen: Mapping[str, int | None],
    answers: Mapping[str, object],
    k: int,
) -> str:
    """Return what lost the answer; empty if it is among the first ``k``.

    ``seen`` has the ranks after each stage, in order. A stage that had it among the first ``k``
    and hands it to one that has not: the latter lost it.
    """
    stages = list(seen)
    kept = [rank is not None and rank <= k for rank in seen.values()]
    if kept[-1]:
        return ""
    if any(kept):
        last = max(at for at, is_kept in enumerate(kept) if is_kept)
        return stages[last + 1]
    for part in _parts(pipeline.retriever):
        rank = _rank(part.retrieve(query, k), answers)
        if rank is not None:
            return FUSION
    return FIRST_STAGE if seen[stages[0]] is None else ORDER


def _parts(retriever: Retriever) -> Iterator[Retriever]:
    """Yield the retrievers that propose candidates side by side."""
    inner = getattr(retriever, "inner_retrievers", ())
    for part in inner:
        if len(inner) > 1:
            yield part
        yield from _parts(part)
