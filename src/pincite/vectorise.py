"""Give an index the vectors that its chunks lack. Search by words works meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pincite.cluster import connected
from pincite.core.settings import Settings, StoreSettings
from pincite.embed.cache import VectorCache, cache_folder
from pincite.embed.encoders import open_encoder
from pincite.embed.encoding import encode_batches
from pincite.embed.models import Array, Encoder, spec_of
from pincite.embed.windows import windows_of
from pincite.index.ragged import Tokens, following, joined
from pincite.index.vectors import check_dimension, packed
from pincite.store.location import open_snapshot, open_writer, shape_of
from pincite.store.segment import Segment, Vectors
from pincite.store.snapshot import Snapshot

# Encoded between two reports of progress: a second or two.
BATCH = 128


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the work is, in chunks."""

    done: int
    total: int
    without: int = 0  # chunks that have no vector after all: no words, or the encoder failed


def embed_index(location: str | Path, settings: Settings | None = None) -> Iterator[Progress]:
    """Compute missing vectors, segment by segment, and yield the progress.

    The write lock is held only while a segment's vectors are put in place. What was computed when
    a crash comes is in the cache.
    """
    settings = settings or Settings()
    spec = spec_of(settings.embedding)
    if spec is None:
        return
    with open_snapshot(location, settings.store) as snapshot:
        with_tokens = spec.has_tokens and settings.keeps_tokens
        work = [
            (part, known if known is None or known.tokens is not None or not with_tokens else None)
            for part, known in zip(snapshot.segments, snapshot.vectors_of(spec.id), strict=True)
        ]
        missing = [_missing_rows(part, vectors) for part, vectors in work]
        total = sum(len(rows) for rows in missing)
        if not total:
            return
        encoder = open_encoder(settings.embedding)
        assert encoder is not None
        dimension = encoder.spec.dimension
        for _, old in work:
            if old is not None:
                check_dimension(old, dimension, spec.id)
        home = cache_folder() if settings.embedding.cache else None
        done = without = 0
        with (
            closing(VectorCache(encoder, home)) as cache,
            connected(settings.cluster) as cluster,
        ):
            for (part, vectors), rows in zip(work, missing, strict=True):
                if not len(rows):
                    continue
                found_rows, found = [np.zeros(0, np.int64)], [np.zeros((0, dimension), np.float16)]
                tokens: list[Tokens] = []
                batches = _batches(snapshot, part, rows, encoder)
                for batch, encoded, codes in encode_batches(
                    batches, cache, settings.embedding, cluster, with_tokens=with_tokens
                ):
                    tokens += [joined(codes)] if codes else []
                    found_rows.append(batch.rows)
                    found.append(encoded)
                    done += batch.chunks
                    without += batch.chunks - len(np.unique(batch.rows[encoded.any(axis=1)]))
                    yield Progress(done, total, without)
                if not any(encoded.any() for encoded in found):
                    continue
                if vectors is not None:
                    found_rows.append(vectors.rows)
                    found.append(vectors.exact)
                    tokens += [vectors.tokens] if vectors.tokens is not None else []
                whole = following(tokens) if with_tokens else None
                arrays = packed(np.concatenate(found_rows), np.concatenate(found), whole)
                _put(location, settings.store, part.entry.name, spec.id, arrays)


def without_vectors(location: str | Path, settings: Settings) -> int:
    """Return how many chunks lack a vector of the model that the settings name."""
    spec = spec_of(settings.embedding)
    if spec is None:
        return 0
    with open_snapshot(location, settings.store) as snapshot:
        pairs = zip(snapshot.segments, snapshot.vectors_of(spec.id), strict=True)
        return sum(len(_missing_rows(part, known)) for part, known in pairs)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Some chunks of a segment."""

    chunks: int
    rows: Array  # of every window


def _missing_rows(part: Segment, vectors: Vectors | None) -> Array:
    """Return the live rows of a segment that have no vector."""
    wanted = part.live_rows()
    if vectors is not None:
        wanted[vectors.rows] = False
    return np.flatnonzero(wanted)


def _batches(
    snapshot: Snapshot, part: Segment, rows: Array, encoder: Encoder
) -> Iterator[tuple[_Batch, list[str]]]:
    """Yield the windows of chunks, so many chunks at a time."""
    for at in range(0, len(rows), BATCH):
        some = rows[at : at + BATCH]
        ids = [chunk_id.decode() for chunk_id in part.arrays["ids"][some].tolist()]
        windows = [windows_of(chunk, encoder) for chunk in snapshot.get(ids)]
        own = np.repeat(some, [len(texts) for texts in windows])
        yield _Batch(len(some), own), [text for each in windows for text in each]


def _put(
    location: str | Path, store: StoreSettings, segment: str, model: str, arrays: dict[str, Array]
) -> None:
    """Make the vectors visible, if the segment is still there."""
    with open_writer(location, shape_of(location, store), settings=store) as writer:
        if any(entry.name == segment for entry in writer.segments):
            writer.add_vectors(segment, model, arrays)
            writer.commit()
