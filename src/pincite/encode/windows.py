"""Texts as windows that fit a model, encoded in batches here or on a cluster."""

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
from pincite.model.types import Chunk

# Long enough for a clause, short enough that its vector means one thing (decision 7).
WINDOW_TOKENS = 144
# Neighbouring windows share so much that no sentence is torn in both.
OVERLAP_TOKENS = 24
HEADING_TOKENS = 48
SEPARATOR = " › "


def windows_of(chunk: Chunk, encoder: Encoder) -> list[str]:
    """Return the texts to encode for a chunk; none for one without words."""
    body = chunk.text.strip()
    if not body:
        return []
    starts = encoder.token_starts(body)
    if not starts:
        return []
    heading = _heading(chunk, encoder)
    start = f"{encoder.spec.text_prefix}{heading}\n"
    return [start + body[a:b].strip() for a, b in cut(starts, len(body))]


def cut(
    starts: Sequence[int], end: int, size: int = WINDOW_TOKENS, overlap: int = OVERLAP_TOKENS
) -> list[tuple[int, int]]:
    """Return stretches of at most ``size`` tokens that together cover the text.

    They are as equal as they can be: a short rest would have a vector of its own.

    >>> cut(range(0, 50, 5), 50, size=6, overlap=2)
    [(0, 30), (20, 50)]
    >>> cut([0, 4], 9, size=6, overlap=2)
    [(0, 9)]
    """
    count = len(starts)
    if count <= size:
        return [(0, end)]
    pieces = -(-(count - overlap) // (size - overlap))
    step = (count - size) / (pieces - 1)
    found = []
    for number in range(pieces):
        first = round(number * step)
        last = first + size
        found.append((starts[first] if first else 0, starts[last] if last < count else end))
    return found


def _heading(chunk: Chunk, encoder: Encoder) -> str:
    """Return the headings above a chunk, the nearest ones if they are many."""
    # The first one is the document's title: the same for all of its chunks.
    names = list(chunk.path[1:] if len(chunk.path) > 1 else chunk.path)
    while names:
        line = SEPARATOR.join(names)
        starts = encoder.token_starts(line)
        if len(starts) <= HEADING_TOKENS:
            return line
        if len(names) == 1:
            return line[: starts[HEADING_TOKENS]]
        names.pop(0)
    return ""


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
