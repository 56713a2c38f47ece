"""An index from one store into another: folder to server, server to folder, server to server.

Segments are copied one after the other, each with its vectors, and read back before the next one.
What was copied when a crash comes stays; asking again copies the rest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from pincite.index.builder import IndexBuilder
from pincite.model.errors import ConfigError, StoreError, redact_url
from pincite.model.settings import Settings, StoreSettings
from pincite.store.location import Location, exists, open_snapshot
from pincite.store.segment import Segment, Vectors
from pincite.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Copied:
    """One segment that is in both places."""

    documents: int
    chunks: int
    done: int  # documents so far
    total: int
    is_new: bool  # false: an earlier copy had it


def copy_index(
    source: Location, target: Location, store: StoreSettings | None = None
) -> Iterator[Copied]:
    """Copy an index and yield each segment when it is there, compared with what was read."""
    if source == target:
        raise ConfigError("source and target are the same", hint="name another place")
    with open_snapshot(source, store) as snapshot:
        snapshot.verify()  # or damage would get a valid checksum
        parts = [part for part in snapshot.segments if part.doc_ids()]
        digests = [digest(part, vectors_of(snapshot, part)) for part in parts]
        shape = snapshot.manifest.shape
        settings = Settings.from_shape(shape, origin=redact_url(source))
        if store is not None:
            settings = replace(settings, store=store)
        profile = str(shape.get("profile", {}).get("fingerprint", ""))
        total, done = len(snapshot.documents()), 0
        _refuse_others(_known(target, store), digests, target)
        with IndexBuilder(target, settings, profile=profile) as builder:
            # Looked at again by the one writer: another copy may have been faster.
            known = _known(target, store)
            _refuse_others(known, digests, target)
            for part, wanted in zip(parts, digests, strict=True):
                size = len(part.doc_ids())
                done += size
                if wanted not in known:
                    copy, vectors = builder.copy(part, vectors_of(snapshot, part))
                    if digest(copy, vectors) != wanted:
                        raise StoreError(
                            f"{redact_url(target)} gave back something else than was copied",
                            hint="is its disk sound? remove the copy and make it again",
                        )
                yield Copied(size, int(part.live_rows().sum()), done, total, wanted not in known)


def _refuse_others(known: Mapping[str, int], digests: Sequence[str], target: Location) -> None:
    """Raise ConfigError if the target has something that is not in the source."""
    if other := known.keys() - set(digests):
        raise ConfigError(
            f"{redact_url(target)} has an index of its own ({known[other.pop()]} documents)",
            hint="copy into a new place, or remove what is there",
        )


def _known(target: Location, store: StoreSettings | None) -> dict[str, int]:
    """Return what the target has: a digest of each segment, with its number of documents."""
    if not exists(target, store):
        return {}
    with open_snapshot(target, store) as snapshot:
        return {
            digest(part, vectors_of(snapshot, part)): len(part.doc_ids())
            for part in snapshot.segments
        }


def vectors_of(snapshot: Snapshot, part: Segment) -> list[Vectors]:
    """Return the vectors of a segment, of each model."""
    return [each for each in snapshot.vectors if each.entry.segment == part.entry.name]


def digest(part: Segment, vectors: list[Vectors]) -> str:
    """Return a hash of all that a segment says: documents, places, links, terms and vectors."""
    found = hashlib.sha256()
    for entry in part.entries():
        record = json.dumps([asdict(entry.loaded), list(entry.keys)], sort_keys=True)
        found.update(record.encode())
    live = part.live_rows()
    found.update(np.asarray(part.arrays["ids"][live], dtype="S16").tobytes())
    lengths = np.diff(part.arrays["stream_offsets"])
    stream = part.arrays["stream"][np.repeat(live, lengths)]
    found.update(part.arrays["term_keys"][stream].tobytes())
    found.update(lengths[live].astype(np.int64).tobytes())
    number = np.cumsum(live) - 1
    for each in sorted(vectors, key=lambda each: each.entry.model):
        kept = np.flatnonzero(live[each.rows])
        found.update(each.entry.model.encode())
        found.update(number[each.rows[kept]].astype(np.int64).tobytes())
        found.update(np.asarray(each.exact[kept], dtype=np.float16).tobytes())
        if each.tokens is not None:
            found.update(b"tokens")
    return found.hexdigest()
