"""Texts encoded in batches, here or on the nodes of a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import TypeVar

from pincite.cluster import Cluster, WorkPiece
from pincite.encode.cache import CacheLookup, Computed, VectorCache, computed
from pincite.encode.encoders import open_encoder
from pincite.encode.models import Array, Encoder
from pincite.model.errors import ClusterError, ConfigError
from pincite.model.settings import Encoding

Kept = TypeVar("Kept")


def encode_batches(
    batches: Iterable[tuple[Kept, Sequence[str]]],
    cache: VectorCache,
    settings: Encoding,
    cluster: Cluster | None,
    *,
    with_tokens: bool,
) -> Iterator[tuple[Kept, Array, list[Array]]]:
    """Yield each batch with the vectors of its texts and the codes of their tokens, in order."""
    spec, values = cache.encoder.spec, json.dumps(asdict(settings))
    looked_up = ((kept, cache.asked(texts, with_tokens=with_tokens)) for kept, texts in batches)
    # A service has machines of its own, and its key stays here.
    if cluster is None or spec.source == "service":
        for kept, asked in looked_up:
            fresh = computed(cache.encoder, asked.texts, with_tokens=with_tokens)
            yield kept, *cache.answered(asked, fresh)
        return

    def piece(pair: tuple[Kept, CacheLookup]) -> WorkPiece[tuple[Kept, CacheLookup]]:
        texts = list(pair[1].texts)
        arguments = (values, spec.id, texts, with_tokens) if texts else None
        return WorkPiece(pair, arguments, sum(map(len, texts)))

    for (kept, asked), fresh in cluster.distribute(encode_texts, map(piece, looked_up)):
        yield kept, *cache.answered(asked, fresh or Computed.nothing())


def encode_texts(
    settings_text: str, model: str, texts: Sequence[str], with_tokens: bool
) -> Computed:
    """On a node: encode texts with the model of this id."""
    return computed(_encoder(settings_text, model), texts, with_tokens=with_tokens)


@lru_cache(maxsize=1)
def _encoder(settings_text: str, model: str) -> Encoder:
    """Return the one encoder of this process."""
    settings = replace(Encoding(**json.loads(settings_text)), threads=1)
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
