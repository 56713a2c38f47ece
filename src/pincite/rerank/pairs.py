"""The stage that reads the best candidates together with the question."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from zlib import crc32

from pincite.core.errors import PinciteError
from pincite.core.settings import RerankSettings
from pincite.core.stages import PairScorer
from pincite.core.types import Hit, Ranking
from pincite.rerank.breaker import Breaker
from pincite.rerank.cache import PairCache
from pincite.rerank.combine import NAME, combined, is_named
from pincite.rerank.guard import Busy, Guard, Resting, TookTooLong
from pincite.rerank.metrics import Metrics, Outcome
from pincite.rerank.promise import Promise
from pincite.rerank.reading import BadScores, Reader, windows_of
from pincite.store.snapshot import Snapshot

# Left of the time for what comes after: making passages of hits.
RESERVE = 0.05
# With less than this left nothing is begun.
LEAST_SECONDS = 0.02
# A query of so few words that names a place is its name; there is nothing to read for.
MOST_WORDS_OF_A_NAME = 2
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
class _Read:
    """What came of reading."""

    scores: Mapping[str, float]  # by text
    outcome: Outcome
    known: int = 0  # pairs that were remembered
    error: Exception | None = None


class CrossEncode:
    """Reads the best ``pool`` candidates in the order of their promise, as far as time allows.

    Whatever goes wrong with the model, the earlier order comes out, with a note that says so.
    Places that the query names are not read: they are what was asked for.
    """

    name = NAME

    def __init__(
        self,
        snapshot: Snapshot,
        scorer: PairScorer,
        settings: RerankSettings,
        metrics: Metrics | None = None,
        clock: Callable[[], float] = time.monotonic,
        promise: Promise | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.promise = promise
        self.scorer = scorer
        self.settings = settings
        self.metrics = metrics or Metrics()
        batch = settings.batch or (64 if settings.url else 8)
        self.reader = Reader(scorer, PairCache(settings.cache_pairs), batch)
        self.breaker = Breaker(settings.breaker_failures, settings.breaker_seconds, clock)
        self.guard = Guard(settings.workers, settings.waiting, self.breaker)

    def rerank(self, ranking: Ranking) -> Ranking:
        started = time.monotonic()
        pool = [hit for hit in ranking.hits if not is_named(hit)][: self.settings.pool]
        reason = self._needless(ranking, pool) or self._hopeless(ranking.query.deadline)
        if reason:
            self.metrics.judged(reason, time.monotonic() - started)
            return _with_note(ranking, reason, {}, pool) if reason in WHY else ranking
        chunks = self.snapshot.get([hit.chunk_id for hit in pool])
        windows = {c.id: windows_of(c, self.settings.window_tokens) for c in chunks}
        if self.promise is not None and self.settings.windows:
            windows = self.promise.best(ranking.query.text, windows, self.settings.windows)
        texts = list(dict.fromkeys(text for hit in pool for text in windows[hit.chunk_id]))
        read = self._read(ranking.query.text, texts, ranking.query.deadline)
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
        found = combined(ranking, judged, self.settings) if judged else ranking
        return _with_note(found, read.outcome, judged, pool, read.error)

    def _needless(self, ranking: Ranking, pool: list[Hit]) -> Outcome | None:
        """Return why nothing has to be read, if so."""
        if not ranking.hits:
            return "empty"
        first = ranking.hits[0]
        is_name = len(ranking.query.text.split()) <= MOST_WORDS_OF_A_NAME
        if is_named(first) and (is_name or not pool):
            return "named"
        share = crc32(ranking.query.text.encode("utf-8", "replace")) / 2**32
        if share >= self.settings.rollout:
            return "held_back"
        margin = self.settings.certain_margin
        if margin and len(ranking.hits) > 1 and first.score > 0:
            lead = (first.score - ranking.hits[1].score) / first.score
            return "certain" if lead >= margin else None
        return None

    def _hopeless(self, deadline: float | None) -> Outcome | None:
        """Return why reading would come to nothing, before any work is put into it."""
        if deadline is not None and deadline - time.monotonic() < LEAST_SECONDS:
            return "skipped_timeout"
        is_open = self.breaker.state == "open" and self.settings.on_error == "fallback"
        return "open" if is_open else None

    def _read(self, query: str, texts: list[str], deadline: float | None) -> _Read:
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
                return _Read(known, "complete", len(known))
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
            return _Read(usable, outcome, len(known), error)
        return _Read(scores, "complete" if len(scores) == len(texts) else "partial", len(known))


def _with_note(
    ranking: Ranking,
    outcome: Outcome,
    judged: Mapping[str, float],
    pool: list[Hit],
    error: Exception | None = None,
) -> Ranking:
    if outcome == "complete":
        return ranking
    why = WHY.get(outcome, "the time was up")
    if outcome == "model_error" and isinstance(error, PinciteError):
        why += f": {error.message}"  # a key that is missing, a file that is damaged
    if judged:
        note = f"only {len(judged)} of {len(pool)} candidates were re-ranked: {why}"
    else:
        note = f"not re-ranked: {why}"
    return replace(ranking, notes=(*ranking.notes, note))
