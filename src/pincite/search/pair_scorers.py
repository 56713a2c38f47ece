"""From settings to a pair scorer: one that loads when it is first needed, or one behind HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING, cast

from pincite.model.errors import ModelError
from pincite.model.settings import Reranking
from pincite.model.types import PairScorer
from pincite.search.metrics import log

if TYPE_CHECKING:
    from pincite.search.cross_encoder import CrossEncoder

# Nobody waits for a search longer than that: a service that asks for more is left alone.
PATIENCE = 1.0


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


def open_scorer(settings: Reranking) -> PairScorer | None:
    """Return the scorer that the settings name; None if they want none.

    Indexes that name the same model share one: it is loaded once for all of them.
    """
    if not settings.enabled or settings.model == "none":
        return None
    if settings.url:  # loaded here: a search without one needs no HTTP
        from pincite.encode.http import HttpService
        from pincite.search.http_scorer import RERANK, HttpScorer

        service = HttpService(
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
def open_reader(name: str) -> CrossEncoder | None:
    """Return the model that reads for answers; None if none is wanted, or it gives scores alone."""
    if name == "none":
        return None
    model = import_module("pincite.search.cross_encoder").open_cross_encoder(name, room="answer")
    return cast("CrossEncoder", model) if model.can_read else None


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
