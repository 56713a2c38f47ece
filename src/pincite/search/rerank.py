"""The stage that reads the best candidates together with the question, and what follows from it.

One order is made of two: the earlier score of a candidate, and how probable it is that it answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from pincite.index.tokens import QueryAnalyzer
from pincite.model.errors import PinciteError
from pincite.model.settings import Reranking
from pincite.model.types import PairScorer
from pincite.search.candidates import Candidates
from pincite.search.guard import Breaker, Busy, Guard, Resting, TookTooLong
from pincite.search.metrics import Metrics, Outcome
from pincite.search.query import ParsedQuery, is_bare_name
from pincite.search.windows import BadScores, PairCache, PairReader, select_windows, windows_of
from pincite.store.files import Array
from pincite.store.snapshot import Snapshot

NAME = "rerank"
# Left of the time for what comes after: making passages of hits.
RESERVE = 0.05
# With less than this left nothing is begun.
MIN_SECONDS = 0.02
RRF_K = 60
# Pairs that are scored at once: a model here gives in-between results, a service saves requests.
LOCAL_BATCH, SERVICE_BATCH = 8, 64
# Searches that are read for at a time, and that may wait for it; the others are not re-ranked.
WORKERS, WAITING = 4, 16
# After so many failures in a row nothing is read for so many seconds; then one search tries.
BREAKER_FAILURES, BREAKER_SECONDS = 5, 30.0
TINY = 1e-9
SURE = 1e-6  # probabilities nearer to 0 or 1 than this count alike
OUTCOMES: dict[type[Exception], Outcome] = {
    TookTooLong: "timeout",
    Busy: "busy",
    Resting: "open",
    BadScores: "bad_scores",
}
WHY = {
    "timeout": "the model did not answer in time",
    "busy": "too many searches are being re-ranked at once",
    "open": "the model failed several times and is left alone for a while",
    "bad_scores": "the model gave scores that are no probabilities",
    "model_error": "the model failed",
    "skipped_timeout": "the first stage used up the time",
}


@dataclass(frozen=True, slots=True)
class _ReadPairs:
    """What came of reading."""

    scores: Mapping[str, float]  # by text
    outcome: Outcome
    known: int = 0  # pairs that were remembered
    error: Exception | None = None


class CrossEncode:
    """Reads the best ``pool`` candidates in the order of their promise, as far as time allows.

    Whatever goes wrong with the model, the earlier order comes out, with a note that says so.
    Places that the query names are not read: they are what was asked for.

    Args:
        analyzer: reads the windows of long chunks, to choose among them; None reads them all.
        batch: pairs that are scored at once; 0: what suits the model.
        breaker: what keeps from asking a model that fails.
    """

    name = NAME

    def __init__(
        self,
        snapshot: Snapshot,
        scorer: PairScorer,
        settings: Reranking,
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.monotonic,
        analyzer: QueryAnalyzer | None = None,
        batch: int = 0,
        breaker: Breaker | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.analyzer = analyzer
        self.scorer = scorer
        self.settings = settings
        self.metrics = metrics or Metrics()
        batch = batch or (SERVICE_BATCH if settings.url else LOCAL_BATCH)
        self.reader = PairReader(scorer, PairCache(settings.cache_pairs), batch)
        self.breaker = breaker or Breaker(BREAKER_FAILURES, BREAKER_SECONDS, clock)
        self.guard = Guard(WORKERS, WAITING, self.breaker)

    def __call__(self, query: ParsedQuery, table: Candidates) -> Candidates:
        started = time.monotonic()
        deadline = query.query.deadline
        pool = table.open_to_reranking()[: self.settings.pool]
        reason = self._needless(query.text, table, pool) or self._hopeless(deadline)
        if reason:
            self.metrics.judged(reason, time.monotonic() - started)
            return _with_note(table, reason, 0, len(pool)) if reason in WHY else table
        windows = self._windows(query, table.names(pool))
        texts = list(dict.fromkeys(text for own in windows.values() for text in own))
        read = self._read(query.text, texts, deadline)
        if read.error is not None and self.settings.on_error == "raise":
            raise read.error
        judged = {
            chunk_id: max(read.scores[text] for text in own)
            for chunk_id, own in windows.items()
            if own and all(text in read.scores for text in own)
        }
        # A chunk without words answers nothing; but it was looked at.
        judged |= {chunk_id: 0.0 for chunk_id, own in windows.items() if not own and judged}
        self.metrics.judged(
            read.outcome,
            time.monotonic() - started,
            list(judged.values()),
            pairs=len(texts),
            known=read.known,
            error=read.error,
        )
        found = combined(table, judged, self.settings) if judged else table
        return _with_note(found, read.outcome, len(judged), len(pool), read.error)

    def _windows(self, query: ParsedQuery, ids: list[str]) -> dict[str, list[str]]:
        """Return what is read of each chunk."""
        chunks = self.snapshot.get(ids)
        windows = {c.id: windows_of(c, self.settings.window_tokens) for c in chunks}
        most = self.settings.windows
        if self.analyzer is None or not most:
            return windows
        weights = query.content_weights
        return {
            name: select_windows(weights, own, most, self.analyzer) for name, own in windows.items()
        }

    def _needless(self, text: str, table: Candidates, pool: Array) -> Outcome | None:
        """Return why nothing has to be read, if so."""
        if not len(table):
            return "empty"
        if table.is_named.any() and (is_bare_name(text) or not len(pool)):
            return "named"
        share = crc32(text.encode("utf-8", "replace")) / 2**32
        if share >= self.settings.rollout:
            return "held_back"
        margin = self.settings.certain_margin
        if margin and len(table) > 1:
            first, second = table.exported_scores()[table.order()[:2]].tolist()
            return "certain" if first > 0 and (first - second) / first >= margin else None
        return None

    def _hopeless(self, deadline: float | None) -> Outcome | None:
        """Return why reading would come to nothing, before any work is put into it."""
        if deadline is not None and deadline - time.monotonic() < MIN_SECONDS:
            return "skipped_timeout"
        is_open = self.breaker.state == "open" and self.settings.on_error == "fallback"
        return "open" if is_open else None

    def _read(self, query: str, texts: list[str], deadline: float | None) -> _ReadPairs:
        """Return the scores of texts, as many as there are, and what went wrong if anything did."""
        if deadline is not None:
            deadline -= RESERVE * max(0.0, deadline - time.monotonic())
        known: Mapping[str, float] = {}
        found: list[Mapping[str, float]] = []
        error: Exception | None = None
        try:
            known = self.reader.known(query, texts)
            missing = [text for text in texts if text not in known]
            if not missing:
                return _ReadPairs(known, "complete", len(known))
            self.guard.run(
                lambda: self.reader.read(query, missing, found, deadline),
                deadline,
                is_fair=lambda: self.reader.is_loaded,
            )
        except Exception as caught:
            error = caught
        scores = dict(known)
        for part in tuple(found):  # a thread that was given up may still add to it
            scores |= part
        if error is not None:
            outcome = OUTCOMES.get(type(error), "model_error")
            # What was read in time counts; what a broken model gave does not.
            usable = scores if outcome == "timeout" else known
            return _ReadPairs(usable, outcome, len(known), error)
        return _ReadPairs(
            scores, "complete" if len(scores) == len(texts) else "partial", len(known)
        )


def _with_note(
    table: Candidates, outcome: Outcome, judged: int, pool: int, error: Exception | None = None
) -> Candidates:
    if outcome == "complete":
        return table
    why = WHY.get(outcome, "the time was up")
    if outcome == "model_error" and isinstance(error, PinciteError):
        why += f": {error.message}"  # a key that is missing, a file that is damaged
    if judged:
        return table.with_note(f"only {judged} of {pool} candidates were re-ranked: {why}")
    return table.with_note(f"not re-ranked: {why}")


def combined(table: Candidates, judged: Mapping[str, float], settings: Reranking) -> Candidates:
    """Return the candidates with scores of both, tier by tier.

    ``judged`` holds probabilities by chunk id; what is not in it comes after what is, in its
    earlier order. No new score exceeds a tier's best or falls below its worst. The parts still add
    up: earlier ones shrink, "rerank" has the rest.
    """
    chance = np.array([judged.get(name, np.nan) for name in table.names()])
    base = table.score
    kept, total = np.ones(len(table)), np.array(base)
    for at in table.by_tier(table.open_to_reranking()):
        if settings.mode == "weighted" and 0 < settings.weight < 1:
            kept[at], total[at] = _mixed(base[at], chance[at], settings.weight)
        else:
            kept[at], total[at] = _banded(base[at], chance[at], settings)
    moved = (kept != 1.0) | (total != base)
    parts = {name: np.where(moved, kept * values, values) for name, values in table.parts.items()}
    parts[NAME] = np.where(moved, total - kept * base, np.nan)
    chance = np.where(table.is_named, np.nan, chance)
    return replace(table, parts=parts, raw={**table.raw, NAME: chance})


def _mixed(base: Array, chance: Array, weight: float) -> tuple[Array, Array]:
    """Return what is kept and new scores: both from the worst to the best of what was read.

    Probabilities are taken as log odds: near 0 and 1 they would hardly differ. What was not read
    stays below, in its order.
    """
    read = ~np.isnan(chance)
    if not read.any():
        return np.ones(len(base)), base
    inside = np.clip(np.where(read, chance, 0.5), SURE, 1 - SURE)
    odds = np.log(inside / (1 - inside))
    low, high = base[read].min(), base[read].max()
    share = (odds - odds[read].min()) / max(np.ptp(odds[read]), TINY)
    # Rarely something above was not read: it had no words, or there was no time for it.
    above = base[~read].max(initial=low) - low if (~read).any() else 0.0
    below = base - above - TINY if (base[~read] >= low).any() else base
    both = (1 - weight) * base + weight * (low + share * (high - low))
    return np.where(read, 1 - weight, 1.0), np.where(read, both, below)


def _banded(base: Array, chance: Array, settings: Reranking) -> tuple[Array, Array]:
    """Return what is kept and new scores of the ways that order by rank or in bands."""
    mode, w = settings.mode, settings.weight
    # Cosines may be negative: count from the lowest then, or p would pull the wrong way.
    floor = min(0.0, float(base.min()))
    top = float(base.max()) - floor or 1.0
    share = (base - floor) / top
    read = ~np.isnan(chance)
    p = np.where(read, chance, 0.0)
    rank = np.arange(1, len(base) + 1)
    p_rank = np.empty(len(base))  # of what was read; equal ones in their earlier order
    p_rank[np.lexsort((rank, -p, ~read))] = rank
    if mode == "union":  # the most probable, then the best of the first stage, then the others
        bands = [read & (p_rank <= settings.union_reranked), rank <= settings.union_first]
        kept = np.select(bands, [0.0, 0.5], 0.25)
        share = np.select(bands, [0.51 + 0.49 * p, 0.5 * share], 0.25 * share)
    elif mode == "replace" or w == 1.0:
        kept = np.where(read, 0.0, 0.5)
        share = np.where(read, 0.51 + 0.49 * p, 0.5 * share)
    elif mode == "rrf":
        kept = np.full(len(base), 1 - w)
        by_chance = np.where(read, (RRF_K + 1) / (RRF_K + p_rank), 0.0)
        share = (1 - w) * (RRF_K + 1) / (RRF_K + rank) + w * by_chance
    else:  # a weight of nothing
        return np.ones(len(base)), base
    # Where all is kept the score is as it was, to the last bit.
    return kept, np.where(kept == 1.0, base, floor + top * share)


class Threshold:
    """Keeps what is at least so probable; an empty table with a note is a fine result.

    It compares probabilities alone, never scores of another stage on another scale. Places that
    the query names stay. What nobody judged lies behind the pool, or was not reached in time: the
    former is left out if the whole pool was judged (it is less promising than what failed), the
    latter cannot be held against a candidate, so then all of it stays, behind what was judged.
    """

    name = "threshold"

    def __init__(self, settings: Reranking) -> None:
        self.threshold = settings.threshold
        self.pool = settings.pool
        self.unjudged = settings.unjudged

    def __call__(self, query: ParsedQuery, table: Candidates) -> Candidates:
        chance = table.raw.get(NAME, np.full(len(table), np.nan))
        is_named, is_judged = table.is_named, ~np.isnan(chance)
        count = int(is_judged.sum())
        is_whole = count > 0 and count >= min(self.pool, int((~is_named).sum()))
        keeps = self.unjudged == "keep" or (self.unjudged == "auto" and not is_whole)
        kept = is_named | np.where(is_judged, chance >= self.threshold, keeps)
        found = table.take(np.flatnonzero(kept))
        if len(found) or not count:
            return found
        return found.with_note(
            f"nothing relevant: the best of {count} candidates is an answer with a "
            f"probability of {chance[is_judged].max():.2f}, and rerank.threshold is "
            f"{self.threshold:g}"
        )
