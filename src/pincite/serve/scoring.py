"""Scores of texts for a question, and vectors of texts: what other programs ask models for."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from pincite.core.errors import ConfigError
from pincite.core.settings import Settings
from pincite.core.stages import PairScorer
from pincite.embed.encoders import open_encoder
from pincite.embed.models import Encoder
from pincite.search.scorers import LazyScorer, open_scorer
from pincite.search.windows import checked, stretches
from pincite.serve.errors import took_too_long

# Pairs between two looks at the clock.
BATCH = 16


@dataclass(frozen=True, slots=True)
class Scored:
    """One text: how probable it is that it answers, and how probable each stretch of it."""

    index: int
    score: float
    spans: tuple[tuple[int, int, float], ...]


def scorer_of(settings: Settings) -> PairScorer:
    """Return the scorer of the settings, whether or not searches use it."""
    scorer = open_scorer(replace(settings.rerank, enabled=True))
    if scorer is None:
        raise ConfigError("no re-ranking model", hint="set rerank.model")
    return scorer


def scored(
    scorer: PairScorer,
    query: str,
    texts: Sequence[str],
    *,
    window_tokens: int,
    seconds: float,
    is_raw: bool = False,
) -> list[Scored]:
    """Return the texts best first; a long one counts with its best stretch, and none is cut."""
    due = time.monotonic() + seconds
    windows = [stretches(text, window_tokens) for text in texts]
    flat = list(
        dict.fromkeys(
            text[a:b].strip() for text, own in zip(texts, windows, strict=True) for a, b in own
        )
    )
    known: dict[str, float] = {}
    for at in range(0, len(flat), BATCH):
        if time.monotonic() > due:
            raise took_too_long(seconds)
        some = flat[at : at + BATCH]
        known.update(zip(some, _scores(scorer, query, some, is_raw=is_raw), strict=True))
    lowest = min(known.values(), default=0.0) if is_raw else 0.0
    found = []
    for number, (text, own) in enumerate(zip(texts, windows, strict=True)):
        spans = tuple((a, b, known[text[a:b].strip()]) for a, b in own)
        best = max((score for _, _, score in spans), default=lowest)
        found.append(Scored(number, best, spans))
    return sorted(found, key=lambda each: (-each.score, each.index))


def _scores(
    scorer: PairScorer, query: str, texts: Sequence[str], *, is_raw: bool
) -> Sequence[float]:
    if is_raw:
        loaded: Any = scorer.load() if isinstance(scorer, LazyScorer) else scorer
        if hasattr(loaded, "logits"):
            return cast(list[float], loaded.logits(query, texts))
    return checked(scorer.score(query, texts), len(texts))


def encoder_of(settings: Settings) -> Encoder:
    encoder = open_encoder(settings.embedding)
    if encoder is None:
        raise ConfigError("no embedding model", hint="set embedding.model")
    return encoder


def embedded(
    encoder: Encoder, texts: Sequence[str], *, is_query: bool, seconds: float
) -> tuple[Any, int]:
    """Return the vectors of texts, and how many tokens they have."""
    due = time.monotonic() + seconds
    found = [np.zeros((0, encoder.spec.dimension), np.float32)]
    tokens = 0
    for at in range(0, len(texts), BATCH):
        if time.monotonic() > due:
            raise took_too_long(seconds)
        some = texts[at : at + BATCH]
        tokens += sum(len(encoder.token_starts(text)) for text in some)
        if is_query:
            found.append(np.array([encoder.encode_query(text) for text in some], np.float32))
        else:
            prefix = encoder.spec.text_prefix
            found.append(np.asarray(encoder.encode([prefix + t for t in some]), np.float32))
    return np.concatenate(found), tokens


def as_base64(vector: Any) -> str:
    """Return a vector as OpenAI's clients ask for it: little-endian floats of 32 bits."""
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode("ascii")
