"""Texts of many chunks become vectors: by the encoder of this process, or on a cluster's nodes.

The cache is the parent's alone: what it knows is not sent, and what nodes worked out is kept there.
A node's process loads the model once, with one thread, for Ray gives a task one processor.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Generic, TypeVar

from pincite.cluster import LOST, Cluster, Piece
from pincite.core.errors import ClusterError, ConfigError
from pincite.core.settings import EmbeddingSettings, Settings, merged
from pincite.embed.cache import Asked, Computed, VectorCache, computed
from pincite.embed.encoders import open_encoder
from pincite.embed.models import Array, Encoder

Kept = TypeVar("Kept")


class Encoding(Generic[Kept]):
    """Encodes batch after batch, in order."""

    def __init__(
        self,
        cache: VectorCache,
        settings: EmbeddingSettings,
        cluster: Cluster | None,
        *,
        with_tokens: bool,
    ) -> None:
        self._cache = cache
        self._spec = cache.encoder.spec
        # A service has machines of its own, and its key stays here.
        self._cluster = cluster if self._spec.source != "service" else None
        self._settings = json.dumps(asdict(settings))
        self._with_tokens = with_tokens

    def of(
        self, batches: Iterable[tuple[Kept, Sequence[str]]]
    ) -> Iterator[tuple[Kept, Array, list[Array]]]:
        """Yield each batch with the vectors of its texts and the codes of their tokens."""
        if self._cluster is None:
            for kept, texts in batches:
                asked = self._cache.asked(texts, with_tokens=self._with_tokens)
                fresh = computed(self._cache.encoder, asked.texts, with_tokens=self._with_tokens)
                yield kept, *self._cache.answered(asked, fresh)
            return
        pieces = (self._piece(kept, texts) for kept, texts in batches)
        for done in self._cluster.spread(encode_texts, pieces):
            if done.result is LOST:
                raise ClusterError(
                    "texts could not be encoded: every node that tried was lost",
                    hint="look at the nodes' memory; the same command goes on where it was",
                )
            kept, asked = done.kept
            yield kept, *self._cache.answered(asked, done.result or Computed.nothing())

    def _piece(self, kept: Kept, texts: Sequence[str]) -> Piece[tuple[Kept, Asked]]:
        asked = self._cache.asked(texts, with_tokens=self._with_tokens)
        more = (self._settings, self._spec.id, list(asked.texts), self._with_tokens)
        return Piece((kept, asked), more if asked.texts else None, sum(map(len, asked.texts)))


def encode_texts(
    settings_text: str, model: str, texts: Sequence[str], with_tokens: bool
) -> Computed:
    """On a node: encode texts with the model of this id."""
    return computed(_encoder(settings_text, model), texts, with_tokens=with_tokens)


@lru_cache(maxsize=1)
def _encoder(settings_text: str, model: str) -> Encoder:
    """Return the one encoder of this process."""
    values = {"embedding": json.loads(settings_text)}
    settings = replace(merged(Settings(), values, origin="parent").embedding, threads=1)
    try:
        encoder = open_encoder(settings)
    except ConfigError as error:
        raise ClusterError(
            f"a node lacks the encoder: {error}", hint="put its folder on all nodes, at one path"
        ) from error
    assert encoder is not None
    if encoder.spec.id != model:
        raise ClusterError(
            f"a node has the encoder {encoder.spec.id} and the parent {model}",
            hint="put the same folder on all nodes",
        )
    return encoder
