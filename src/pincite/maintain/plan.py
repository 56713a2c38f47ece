"""What an index will take in a server: a small part of it is copied there, and removed again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pincite.index.builder import IndexBuilder
from pincite.maintain.copy import digest, vectors_of
from pincite.model.errors import ConfigError, StoreError, is_server, redact_url
from pincite.model.settings import Settings, StoreSettings
from pincite.store.location import (
    Location,
    exists,
    open_engine,
    open_snapshot,
    place_beside,
    remove_index,
)
from pincite.store.snapshot import Snapshot

SAMPLE_CHUNKS = 2_000
# What a reader keeps of each searched chunk: without filters, and with all of their columns.
READER_BYTES = (25, 120)


@dataclass(frozen=True, slots=True)
class StorePlan:
    """Estimates for a whole index, from a part of it that was copied."""

    chunks: int
    sample: int  # chunks that were copied
    sample_seconds: float
    seconds: float
    disk_mb: float | None  # of one copy; None where the server does not tell
    reader_mb: tuple[float, float]


def plan(source: Location, target: str, store: StoreSettings | None = None) -> StorePlan:
    """Copy some documents into a place of their own in a server, measure, and remove them."""
    if not is_server(target):
        raise ConfigError("a plan is for a server", hint="--store postgresql://host/database")
    store, place = store or StoreSettings(), place_beside(target, "_plan")
    with open_snapshot(source, store) as snapshot:
        total = len(snapshot)
        if not total:
            raise StoreError("the index has no chunk to copy", hint="pincite ingest FILES")
        if exists(place, store):  # of a plan that was killed
            remove_index(place, store)
        _copied(snapshot, place, store, SAMPLE_CHUNKS // 4)  # a server that just began is slow
        sample, seconds, size = _copied(snapshot, place, store, SAMPLE_CHUNKS)
    share = total / sample
    low, high = (total * each / 1e6 for each in READER_BYTES)
    disk = None if size is None else size * share / 1e6
    return StorePlan(total, sample, seconds, seconds * share, disk, (low, high))


def _copied(
    snapshot: Snapshot, place: str, store: StoreSettings, size: int
) -> tuple[int, float, int | None]:
    """Return how many chunks were copied, in how many seconds, and the bytes that they take."""
    view = snapshot.hiding(frozenset(snapshot.documents()) - _some(snapshot, size))
    shape = snapshot.manifest.shape
    settings = replace(Settings.from_shape(shape, origin=redact_url(place)), store=store)
    profile = str(shape.get("profile", {}).get("fingerprint", ""))
    start = time.monotonic()
    try:
        with IndexBuilder(place, settings, profile=profile) as builder:
            for part in view.segments:
                if part.doc_ids():
                    vectors = vectors_of(view, part)
                    if digest(part, vectors) != digest(*builder.copy(part, vectors)):
                        raise StoreError(
                            f"{redact_url(place)} gave back something else than was copied",
                            hint="is its disk sound?",
                        )
        took = time.monotonic() - start
        engine = open_engine(place, store)
        try:
            return len(view), took, engine.size()
        finally:
            engine.close()
    finally:
        with suppress(StoreError):  # what is left is removed by the next plan
            remove_index(place, store)


def _some(snapshot: Snapshot, size: int) -> frozenset[str]:
    """Return documents from all over the index that have so many searched chunks together."""
    documents = snapshot.documents()
    count, chosen = 0, set[str]()
    for name in _spread(documents):
        if count >= size:
            break
        chosen.add(name)
        count += sum(chunk.searched for chunk in snapshot.chunks(name))
    return frozenset(chosen)


def _spread(names: Sequence[str]) -> list[str]:
    """Return names so that the first ones come from everywhere: every other one, then the rest.

    >>> _spread("abcdefg")
    ['a', 'e', 'c', 'g', 'b', 'd', 'f']
    """
    step = 1 << max(0, (len(names) - 1).bit_length() - 1)
    order = list(range(0, len(names), step))
    while step > 1:
        order += range(step // 2, len(names), step)
        step //= 2
    return [names[at] for at in order]
