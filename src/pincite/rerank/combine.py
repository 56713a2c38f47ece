"""One order from two: the earlier score of a hit, and how probable it is that it answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pincite.core.settings import RerankSettings
from pincite.core.types import Hit, Ranking
from pincite.rerank.tiers import LIFTS, PLACE, lift_of

NAME = "rerank"
RRF_K = 60
TINY = 1e-9
SURE = 1e-6  # probabilities nearer to 0 or 1 than this count alike


def is_named(hit: Hit) -> bool:
    """Return whether the query names this very place."""
    return PLACE in hit.features


def combined(ranking: Ranking, judged: Mapping[str, float], settings: RerankSettings) -> Ranking:
    """Return all hits in the order that both scores give, tier by tier.

    ``judged`` holds probabilities by chunk id; what is not in it comes after what is, in its
    earlier order. No hit leaves its tier, because no new score exceeds the tier's best or falls
    below its worst. The features still add up: earlier ones shrink, "rerank" has the rest.
    """
    tiers: dict[float, list[Hit]] = {}
    for hit in ranking.hits:
        if not is_named(hit):
            tiers.setdefault(round(lift_of(hit), 9), []).append(hit)
    hits = [hit for hit in ranking.hits if is_named(hit)]
    for tier in tiers.values():
        hits += _blended(tier, judged, settings)
    return replace(ranking, hits=tuple(hits))


def _blended(
    tier: Sequence[Hit], judged: Mapping[str, float], settings: RerankSettings
) -> Iterator[Hit]:
    bases = [hit.score - lift_of(hit) for hit in tier]
    if settings.mode == "weighted" and 0 < settings.weight < 1:
        yield from _mixed(tier, bases, judged, settings.weight)
        return
    # Cosines may be negative: count from the lowest then, or p would pull the wrong way.
    floor = min(0.0, *bases)
    top = max(bases) - floor or 1.0
    by_p = sorted((h.chunk_id for h in tier if h.chunk_id in judged), key=lambda i: (-judged[i], i))
    order = {chunk_id: rank for rank, chunk_id in enumerate(by_p, 1)}
    for rank, (hit, base) in enumerate(zip(tier, bases, strict=True), 1):
        p = judged.get(hit.chunk_id)
        kept, share = _share(settings, (base - floor) / top, p, rank, order.get(hit.chunk_id))
        raw = hit.raw if p is None else {**hit.raw, NAME: p}
        if kept == 1.0:  # the score is as it was, to the last bit
            yield replace(hit, raw=raw)
            continue
        yield _moved(hit, base, floor + top * share, kept, p)


def _share(
    settings: RerankSettings, s: float, p: float | None, rank: int, p_rank: int | None
) -> tuple[float, float]:
    """Return what of the earlier features is kept, and the new score: of 1, as ``s`` is."""
    mode, w = settings.mode, settings.weight
    if mode == "union":
        return _union(settings, s, p, rank, p_rank)
    if mode == "replace" or w == 1.0:
        return (0.5, 0.5 * s) if p is None else (0.0, 0.51 + 0.49 * p)
    if mode == "rrf":
        return 1 - w, (1 - w) * _reciprocal(rank) + w * (_reciprocal(p_rank) if p_rank else 0.0)
    return 1.0, s  # a weight of nothing


def _mixed(
    tier: Sequence[Hit], bases: Sequence[float], judged: Mapping[str, float], weight: float
) -> Iterator[Hit]:
    """Both scores from the worst to the best of what was read, in the range that it had.

    Probabilities are taken as log odds: near 0 and 1 they would hardly differ. What was not read
    stays below, in its order.
    """
    read = [n for n, hit in enumerate(tier) if hit.chunk_id in judged]
    if not read:
        yield from tier
        return
    odds = {n: _log_odds(judged[tier[n].chunk_id]) for n in read}
    low, high = min(bases[n] for n in read), max(bases[n] for n in read)
    least, most = min(odds.values()), max(odds.values())
    others = [base for n, base in enumerate(bases) if n not in odds]
    # Rarely something above was not read: it had no words, or there was no time for it.
    above = max(others, default=low) - low
    for n, (hit, base) in enumerate(zip(tier, bases, strict=True)):
        if n not in odds:
            yield _moved(hit, base, base - above - TINY, 1.0, None) if above >= 0 else hit
            continue
        share = (odds[n] - least) / max(most - least, TINY)
        total = (1 - weight) * base + weight * (low + share * (high - low))
        yield _moved(hit, base, total, 1 - weight, judged[hit.chunk_id])


def _moved(hit: Hit, base: float, total: float, kept: float, p: float | None) -> Hit:
    features = {n: v if n in LIFTS else kept * v for n, v in hit.features.items()}
    features[NAME] = total - kept * base
    raw = hit.raw if p is None else {**hit.raw, NAME: p}
    return replace(hit, score=lift_of(hit) + total, features=features, raw=raw)


def _log_odds(p: float) -> float:
    inside = min(max(p, SURE), 1 - SURE)
    return math.log(inside / (1 - inside))


def _union(
    settings: RerankSettings, s: float, p: float | None, rank: int, p_rank: int | None
) -> tuple[float, float]:
    """The most probable, then the best of the first stage, then the others: three bands."""
    if p is not None and p_rank is not None and p_rank <= settings.union_reranked:
        return 0.0, 0.51 + 0.49 * p
    if rank <= settings.union_first:
        return 0.5, 0.5 * s
    return 0.25, 0.25 * s


def _reciprocal(rank: int) -> float:
    return (RRF_K + 1) / (RRF_K + rank)
