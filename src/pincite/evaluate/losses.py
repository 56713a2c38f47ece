"""Where answers are lost on the way from the documents to the first hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pincite.search.candidates import Step
from pincite.search.explain import proposals
from pincite.search.pipeline import Searcher

NOT_IN_CORPUS = "not in the documents"
CHUNKING = "chunking"
FIRST_STAGE = "first stage"  # nobody proposed it
FUSION = "fusion"  # one of several had it among the first, together they have not
ORDER = "order"  # a candidate, but never among the first
# The reader's order of causes; stages of the pipeline come behind, in their own order.
CAUSES = (NOT_IN_CORPUS, CHUNKING, FIRST_STAGE, FUSION, ORDER)


def ranks(steps: Sequence[Step], answers: Mapping[str, object]) -> dict[str, int | None]:
    """Return the rank of the first candidate that answers, after each stage."""
    return {step.stage: _rank(step.table.names(step.table.order()), answers) for step in steps}


def _rank(ids: Sequence[str], answers: Mapping[str, object]) -> int | None:
    found = (rank for rank, chunk_id in enumerate(ids, 1) if chunk_id in answers)
    return next(found, None)


def lost_at(
    searcher: Searcher, steps: Sequence[Step], answers: Mapping[str, object], k: int
) -> str:
    """Return what lost the answer; empty if it is among the first ``k``.

    A stage that had it among the first ``k`` and hands it to one that has not: the latter lost it.
    """
    seen = ranks(steps, answers)
    stages = list(seen)
    kept = [rank is not None and rank <= k for rank in seen.values()]
    if kept[-1]:
        return ""
    if any(kept):
        last = max(at for at, is_kept in enumerate(kept) if is_kept)
        return stages[last + 1]
    query = searcher.reader.read(steps[0].query)
    if any(_rank(ids[:k], answers) for ids in proposals(searcher, query).values()):
        return FUSION
    return FIRST_STAGE if seen[stages[searcher.first - 1]] is None else ORDER
