"""Publish the current generation of an index to MongoDB, as a run that counts when it is whole."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pincite.core.errors import StoreError
from pincite.core.locations import redact_url
from pincite.core.store_settings import StoreSettings
from pincite.publish.config import Names
from pincite.publish.records import Scope, SegmentVectors, records_of
from pincite.store.location import open_snapshot
from pincite.store.mongodb.engine import MongoAddress, MongoClient, MongoLease, Record
from pincite.store.mongodb.runs import (
    CHUNKS,
    CONFIGS,
    EDGES,
    EMBEDDINGS,
    NODES,
    RUNS,
    forget,
    prepare,
    send,
    whole_runs,
)
from pincite.store.snapshot import Snapshot

KEPT_RUNS = 2
# One publisher at a time in a database; a document of this collection says who.
LEASE = "pincite_publish"


@dataclass(frozen=True, slots=True)
class Published:
    """What a publication did."""

    run_id: str
    books: int
    chunks: int
    embeddings: int
    edges: int
    is_new: bool  # False: the run was there already
    is_validated: bool  # whether the server keeps the validators


def publish(
    location: str | Path,
    url: str,
    ruleset: str,
    *,
    run_id: str = "",
    kept: int = KEPT_RUNS,
    settings: StoreSettings | None = None,
) -> Published:
    """Write the current generation of an index as a run; readers see all of it or nothing.

    Args:
        ruleset: what the documents of the index, its books, are called together.
        run_id: the run's name; made of the generation if it is left out.
        kept: so many whole runs of the ruleset stay, this one included.
    """
    settings = settings or StoreSettings()
    client = MongoClient(MongoAddress(url), settings)
    try:
        with open_snapshot(location, settings) as snapshot, _publishing(client) as lease:
            run = Scope(ruleset, run_id or name_of(snapshot), datetime.now(UTC))
            is_validated = prepare(client)
            runs = whole_runs(client, ruleset)
            if run.run_id in runs:
                return _told(run.run_id, runs[run.run_id], False, is_validated)
            forget(client, ruleset, runs)  # what a publisher that died left
            records = _write(client, snapshot, run, lease, redact_url(location))
            lease.check()
            send(client, RUNS, records)
            forget(client, ruleset, [run.run_id, *list(runs)[: max(0, kept - 1)]])
            return _told(run.run_id, records, True, is_validated)
    finally:
        client.close()


@contextmanager
def _publishing(client: MongoClient) -> Iterator[MongoLease]:
    lease = MongoLease(client, client.collection(LEASE, journalled=True))
    lease.take()
    try:
        yield lease
    finally:
        with suppress(StoreError):  # of a server that is gone: the lease runs out
            lease.give_back()


def name_of(snapshot: Snapshot) -> str:
    """Return the name of a generation's run: the same generation has the same name."""
    digest = hashlib.sha256(snapshot.manifest.to_bytes()).hexdigest()
    return f"{snapshot.manifest.generation:06d}-{digest[:8]}"


def _write(
    client: MongoClient, snapshot: Snapshot, run: Scope, lease: MongoLease, origin: str
) -> list[Record]:
    """Write all that belongs to a run and return the records that make it count."""
    models = sorted({each.entry.model for each in snapshot.vectors})
    if not models:
        raise StoreError("the index has no vectors", hint="give it some: pincite ingest")
    graph, names = snapshot.graph_rows(), Names()
    counts: dict[str, Counter[str]] = {}
    for segment in snapshot.segments:
        vectors = SegmentVectors.of(snapshot, segment)
        for entry in segment.entries():
            lease.check()
            loaded = entry.loaded
            names.see(loaded.chunks, loaded.facts)
            found = records_of(loaded, run, vectors, models, graph)
            book = Counter({name: send(client, name, some) for name, some in found.items()})
            counts[loaded.document.id] = book
    version = _config_version(client, run, names.config(snapshot.manifest.shape))
    about = {
        "sequence": lease.term,
        "books": len(counts),
        "models": models,
        "config_version": version,
        "generation": snapshot.manifest.generation,
        "origin": origin,
        "created_at": run.made,
    }
    return [{**run.of(book), **about, "counts": _plain(count)} for book, count in counts.items()]


def _plain(count: Counter[str]) -> dict[str, int]:
    names = {"chunks": CHUNKS, "embeddings": EMBEDDINGS, "edges": EDGES, "nodes": NODES}
    return {short: count[name] for short, name in names.items()}


def _config_version(client: MongoClient, run: Scope, config: Record) -> int:
    """Return the version of a configuration: the newest if it says the same, or a new one."""
    with client.explained():
        known = list(client.collection(CONFIGS).find({"ruleset_id": run.ruleset_id}))
        newest: Any = max(known, key=lambda each: each["version"], default=None)
        if newest is not None and all(newest.get(key) == value for key, value in config.items()):
            return int(newest["version"])
        version = 1 if newest is None else int(newest["version"]) + 1
        dates = {"created_at": run.made, "updated_at": run.made}
        client.collection(CONFIGS).insert_one(
            {"ruleset_id": run.ruleset_id, "version": version, **config, **dates}
        )
    return version


def _told(run_id: str, records: Sequence[Any], is_new: bool, is_validated: bool) -> Published:
    def total(key: str) -> int:
        return sum(int(record["counts"][key]) for record in records)

    return Published(
        run_id,
        len(records),
        total("chunks"),
        total("embeddings"),
        total("edges"),
        is_new,
        is_validated,
    )
