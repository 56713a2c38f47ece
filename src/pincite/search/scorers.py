"""From settings to a pair scorer: one that loads when it is first needed, or one behind HTTP.

Behind HTTP is what Cohere, Jina, vLLM, Infinity and others answer at /rerank.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from threading import Lock
from typing import Any

from pincite.core.errors import MALFORMED, ModelError
from pincite.core.settings import RerankSettings
from pincite.core.stages import PairScorer
from pincite.embed.service import Purpose, Service
from pincite.search.metrics import log
from pincite.search.windows import BadScores, checked

# Nobody waits for a search longer than that: a service that asks for more is left alone.
PATIENCE = 1.0
RERANK = Purpose(
    "rerank",
    "rerank",
    "the re-ranking service",
    too_many="rerank.batch and rerank.workers",
    refused="check rerank.model, or lower rerank.batch and rerank.window_tokens",
)


class LazyScorer:
    """A scorer that is loaded once, by whoever needs it first; the others wait for it."""

    def __init__(self, name: str, load: Callable[[], PairScorer]) -> None:
        self.name = name
        self._load = load
        self._lock = Lock()
        self._loaded: PairScorer | None = None

    @property
    def ready(self) -> bool:
        """Whether it is loaded."""
        return self._loaded is not None

    @property
    def id(self) -> str:
        return self.load().id

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return self.load().score(query, texts)

    def load(self) -> PairScorer:
        """Return the loaded scorer; an attempt that fails may be made again."""
        if self._loaded is not None:
            return self._loaded
        with self._lock:
            if self._loaded is None:
                started = time.monotonic()
                log("cross_encoder_loading", model=self.name)
                self._loaded = self._load()
                seconds = round(time.monotonic() - started, 3)
                log("cross_encoder_loaded", model=self.name, seconds=seconds)
            return self._loaded


def open_scorer(settings: RerankSettings) -> PairScorer | None:
    """Return the scorer that the settings name; None if they want none.

    Indexes that name the same model share one: it is loaded once for all of them.
    """
    if not settings.enabled or settings.model == "none":
        return None
    if settings.url:
        service = Service(
            settings.url,
            model=settings.model,
            api_key_env=settings.api_key_env,
            timeout_seconds=settings.timeout_seconds,
            retries=settings.retries,
            purpose=RERANK,
            patience=PATIENCE,
        )
        return HttpScorer(service)
    return _local(settings.model, settings.threads)


@lru_cache(maxsize=4)
def _local(name: str, threads: int) -> LazyScorer:
    return LazyScorer(name, lambda: _load(name, threads))


def _load(name: str, threads: int) -> PairScorer:
    try:
        open_cross_encoder = import_module("pincite.search.cross_encoder").open_cross_encoder
    except ImportError as error:
        raise ModelError(
            f"no cross-encoder {name!r} can run here: {error}",
            hint="set rerank.url to a service that has one, or rerank.enabled = false",
        ) from error
    scorer: PairScorer = open_cross_encoder(name, threads)
    return scorer


class HttpScorer:
    """Sends a question with its texts in one request; every text has to come back scored."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.id = f"{service.address} {service.model}"

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        body = {
            "query": _whole(query),
            "documents": [_whole(text) for text in texts],
            "top_n": len(texts),
            "return_documents": False,
        }
        return self._scores(self.service.ask(body), len(texts))

    def _scores(self, answer: Any, count: int) -> list[float]:
        """Return the scores of an answer in the order of the texts."""
        try:
            results = answer["results"]
            scores = {row["index"]: row["relevance_score"] for row in results}
            if len(results) != count or sorted(scores) != list(range(count)):
                raise self._strange(f"{len(results)} scores for {count} texts, or misnumbered ones")
            if not all(type(score) in (int, float) for score in scores.values()):
                raise self._strange("scores that are no numbers")
        except MALFORMED as error:
            raise self._strange("an answer that holds no scores") from error
        try:
            return checked([scores[at] for at in range(count)], count)
        except (BadScores, OverflowError):
            raise self._strange("scores that are not from 0 to 1") from None

    def _strange(self, what: str) -> BadScores:
        return BadScores(
            f"{self.service.name} gave {what}",
            hint="is it a re-ranking model, and does it give probabilities?",
        )


def _whole(text: str) -> str:
    """Return the text without half characters, which JSON cannot carry everywhere."""
    return text.encode("utf-8", "replace").decode("utf-8")
