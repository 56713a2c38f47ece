"""The six collections that other programs read: their indexes and validators, runs read back.

All documents of a run carry its ``run_id``. A run counts when ``traversal_indexes`` has a document
for each of its books, which is written last: before that, nobody may read the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pincite.model.errors import StoreError
from pincite.model.settings import StoreSettings
from pincite.store.files import Array
from pincite.store.mongodb.engine import BATCH_ROWS, MongoAddress, MongoClient, Record, size_of
from pincite.store.server.engine_parts import batches

CHUNKS = "enriched_chunks"
EMBEDDINGS = "chunk_embeddings"
EDGES = "graph_edges"
NODES = "graph_nodes"
CONFIGS = "traversal_configs"
RUNS = "traversal_indexes"
# Of a run; configurations outlive runs.
OF_RUN = (CHUNKS, EMBEDDINGS, EDGES, NODES)
CONTENT_KINDS = ("spell", "feat", "item", "rule", "narrative", "table")
_TEXT = {"bsonType": "string"}
_TEXTS = {"bsonType": "array", "items": _TEXT}
_HASH = {"bsonType": "string", "pattern": "^[0-9a-f]{64}$"}
_NUMBER = {"bsonType": ["int", "long"]}
_DATE = {"bsonType": "date"}
_SCOPE = {"ruleset_id": _TEXT, "book_id": _TEXT, "run_id": _TEXT}

FIELDS: dict[str, dict[str, Any]] = {
    CHUNKS: {
        **_SCOPE,
        "chunk_id": _TEXT,
        "order": _NUMBER,
        "text": _TEXT,
        "page": {"bsonType": ["int", "long", "null"]},
        "content_kind": {"enum": list(CONTENT_KINDS)},
        "tags": _TEXTS,
        "traits": _TEXTS,
        "section_path": _TEXTS,
        "is_rule_bearing": {"bsonType": "bool"},
    },
    EMBEDDINGS: {
        **_SCOPE,
        "chunk_id": _TEXT,
        "model_id": _TEXT,
        "embedding": {"bsonType": "array", "minItems": 1, "items": {"bsonType": "double"}},
        "metadata": {
            "bsonType": "object",
            "required": ["text_hash", "created_at"],
            "properties": {"text_hash": _HASH, "created_at": _DATE},
        },
    },
    EDGES: {
        **_SCOPE,
        "source_id": _TEXT,
        "target_id": _TEXT,
        "relation": _TEXT,
        "metadata": {"bsonType": "object"},
    },
    NODES: {**_SCOPE, "node_id": _TEXT, "kind": _TEXT, "label": _TEXT},
    CONFIGS: {
        "ruleset_id": _TEXT,
        "version": _NUMBER,
        **{f"{kind}_names": _TEXTS for kind in ("condition", "spell", "feat", "item", "action")},
        "player_keywords": _TEXTS,
        "gm_keywords": _TEXTS,
        "intent_patterns": {"bsonType": "object"},
        "policies": {"bsonType": "object"},
        "created_at": _DATE,
        "updated_at": _DATE,
    },
    RUNS: {**_SCOPE, "sequence": _NUMBER, "books": _NUMBER, "counts": {"bsonType": "object"}},
}
# Keys of each index; those that are marked are unique.
INDEXES: dict[str, list[tuple[tuple[str, ...], bool]]] = {
    CHUNKS: [
        (("ruleset_id", "run_id", "chunk_id"), True),
        (("ruleset_id", "book_id", "run_id"), False),
    ],
    EMBEDDINGS: [
        # One vector of a model for each chunk of a run; other runs have their own.
        (("ruleset_id", "run_id", "model_id", "chunk_id"), True),
        (("ruleset_id", "book_id", "model_id"), False),
    ],
    EDGES: [(("ruleset_id", "book_id"), False), (("source_id",), False), (("target_id",), False)],
    NODES: [(("ruleset_id", "run_id", "book_id", "node_id"), True)],
    CONFIGS: [(("ruleset_id", "-version"), True)],
    RUNS: [(("ruleset_id", "book_id", "run_id"), True)],
}


def validator_of(name: str) -> dict[str, Any]:
    """Return the JSON schema of a collection's documents; more fields are welcome."""
    fields = FIELDS[name]
    schema = {"bsonType": "object", "required": sorted(fields), "properties": fields}
    return {"$jsonSchema": schema}


def prepare(client: MongoClient) -> bool:
    """Make collections, indexes and validators; tell whether the server keeps the latter."""
    with client.explained(), client.patient():
        for name, indexes in INDEXES.items():
            client.set_validator(name, validator_of(name))
            models = [
                client.index_model([_direction(key) for key in keys], unique=is_unique)
                for keys, is_unique in indexes
            ]
            client.collection(name).create_indexes(models)
        return all("validator" in client.options_of(name) for name in INDEXES)


def _direction(key: str) -> tuple[str, int]:
    return (key[1:], -1) if key.startswith("-") else (key, 1)


def send(client: MongoClient, name: str, records: Iterable[Record]) -> int:
    """Insert documents in batches and return how many there were."""
    count = 0
    for batch in batches(records, size_of, BATCH_ROWS):
        with client.explained():
            client.collection(name).insert_many(batch)
        count += len(batch)
    return count


def newest(client: MongoClient, ruleset: str, run_id: str = "") -> list[Mapping[str, Any]]:
    """Return the records of a ruleset's newest whole run, or of the one that is named."""
    runs = whole_runs(client, ruleset)
    if run_id and run_id not in runs:
        raise StoreError(
            f"{client.address.shown} has no whole run {run_id!r} of {ruleset!r}",
            hint=f"whole ones: {', '.join(runs) or 'none'}",
        )
    if not runs:
        raise StoreError(
            f"{client.address.shown} has no run of {ruleset!r}",
            hint="make one: pincite publish URL --ruleset NAME",
        )
    return runs[run_id or next(iter(runs))]


def whole_runs(client: MongoClient, ruleset: str) -> dict[str, list[Mapping[str, Any]]]:
    """Return the records of each run of which no book is missing, newest first."""
    with client.explained():
        found = list(client.collection(RUNS).find({"ruleset_id": ruleset}))
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for record in sorted(found, key=lambda each: (-each["sequence"], each["book_id"])):
        groups.setdefault(record["run_id"], []).append(record)
    return {run_id: group for run_id, group in groups.items() if len(group) == group[0]["books"]}


def forget(client: MongoClient, ruleset: str, kept: Iterable[str]) -> None:
    """Delete all runs of a ruleset but these; the record that makes one count goes first."""
    others = {"ruleset_id": ruleset, "run_id": {"$nin": sorted(kept)}}
    with client.explained(), client.patient():
        for name in (RUNS, *OF_RUN):
            client.collection(name, journalled=name == RUNS).delete_many(others)


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """One published generation: row ``i`` of the matrix is the vector of ``chunks[i]``."""

    ruleset_id: str
    run_id: str
    model_id: str
    chunks: Sequence[Mapping[str, Any]]
    embeddings: Array  # float32, of length one
    chunk_id_to_index: Mapping[str, int]
    adjacency: Mapping[str, frozenset[str]]  # undirected, by ids of nodes
    config: Mapping[str, Any]


def load_run(
    url: str,
    ruleset: str,
    *,
    book: str = "",
    model: str = "",
    run_id: str = "",
    settings: StoreSettings | None = None,
) -> PublishedRun:
    """Return a ruleset's newest whole run, or the one that is named.

    Every chunk has a vector of the model, made from its very words, or there is a StoreError:
    nothing is filled in.

    Args:
        book: only this book of it.
        model: whose vectors; may be left out if the run has those of one model only.
    """
    client = MongoClient(MongoAddress(url), settings or StoreSettings())
    try:
        return _loaded(client, ruleset, book, model, run_id)
    finally:
        client.close()


def _loaded(client: MongoClient, ruleset: str, book: str, model: str, run_id: str) -> PublishedRun:
    records = [r for r in newest(client, ruleset, run_id) if book in ("", r["book_id"])]
    if not records:
        raise StoreError(
            f"{client.address.shown}: no book {book!r} in {ruleset!r}", hint="look it up"
        )
    run_id = records[0]["run_id"]
    model = model or _only_model(records)
    wanted = {"ruleset_id": ruleset, "run_id": run_id, **({"book_id": book} if book else {})}
    with client.explained():
        chunks = list(client.collection(CHUNKS).find(wanted, {"_id": 0}))
        vectors = list(client.collection(EMBEDDINGS).find({**wanted, "model_id": model}))
        edges = list(client.collection(EDGES).find(wanted))
        configs = list(
            client.collection(CONFIGS).find(
                {"ruleset_id": ruleset, "version": records[0]["config_version"]}
            )
        )
    if not configs:
        raise _damaged(run_id, "its configuration is not there")
    _check_counts(run_id, "chunks", len(chunks), records, "chunks")
    _check_counts(run_id, "edges", len(edges), records, "edges")
    chunks.sort(key=lambda each: (each["book_id"], each["order"]))
    at = aligned(run_id, chunks, vectors)
    return PublishedRun(
        ruleset_id=ruleset,
        run_id=run_id,
        model_id=model,
        chunks=chunks,
        embeddings=at,
        chunk_id_to_index={each["chunk_id"]: n for n, each in enumerate(chunks)},
        adjacency=_adjacency(edges),
        config=configs[0],
    )


def aligned(
    run_id: str, chunks: Sequence[Mapping[str, Any]], vectors: Sequence[Mapping[str, Any]]
) -> Array:
    """Return the vectors in the order of the chunks; StoreError unless they fit one by one."""
    if len({each["chunk_id"] for each in chunks}) != len(chunks):
        raise _damaged(run_id, "a chunk is there twice")
    of_chunk = {each["chunk_id"]: each for each in vectors}
    if len(of_chunk) != len(vectors):
        raise _damaged(run_id, "a chunk has two vectors of one model")
    missing = [each["chunk_id"] for each in chunks if each["chunk_id"] not in of_chunk]
    if missing:
        raise _damaged(run_id, f"{len(missing)} chunks have no vector, the first is {missing[0]}")
    if len(vectors) > len(chunks):
        raise _damaged(run_id, f"{len(vectors) - len(chunks)} vectors belong to no chunk")
    for chunk in chunks:
        if of_chunk[chunk["chunk_id"]]["metadata"]["text_hash"] != text_hash(chunk["text"]):
            raise _damaged(run_id, f"the vector of {chunk['chunk_id']} is of other words")
    rows = [of_chunk[chunk["chunk_id"]]["embedding"] for chunk in chunks]
    if len({len(row) for row in rows}) > 1:
        raise _damaged(run_id, "vectors differ in length")
    matrix = np.array(rows, dtype=np.float32)
    if not np.isfinite(matrix).all() or not matrix.any(axis=-1).all():
        raise _damaged(run_id, "a vector has no direction")
    return matrix


def text_hash(text: str) -> str:
    """Return what tells whether a vector is of these words.

    >>> text_hash("")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _only_model(records: Sequence[Mapping[str, Any]]) -> str:
    models = sorted({str(model) for record in records for model in record["models"]})
    if len(models) != 1:
        raise StoreError(
            f"run {records[0]['run_id']} has vectors of {len(models)} models",
            hint=f"name one: {', '.join(models)}",
        )
    return models[0]


def _check_counts(
    run_id: str, what: str, found: int, records: Sequence[Mapping[str, Any]], key: str
) -> None:
    wanted = sum(int(record["counts"][key]) for record in records)
    if found != wanted:
        raise _damaged(run_id, f"it has {found} of its {wanted} {what}")


def _adjacency(edges: Sequence[Mapping[str, Any]]) -> dict[str, frozenset[str]]:
    near: dict[str, set[str]] = {}
    for edge in edges:
        source, target = edge["source_id"], edge["target_id"]
        if source != target:
            near.setdefault(source, set()).add(target)
            near.setdefault(target, set()).add(source)
    return {node: frozenset(others) for node, others in near.items()}


def _damaged(run_id: str, reason: str) -> StoreError:
    return StoreError(
        f"run {run_id} cannot be used: {reason}",
        hint="it was deleted or changed meanwhile; publish the index again",
    )
