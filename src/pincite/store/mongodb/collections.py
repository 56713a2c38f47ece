"""The six collections that other programs read, with their indexes and validators.

All documents of a run carry its ``run_id``. A run counts when ``traversal_indexes`` has a document
for each of its books, which is written last: before that, nobody may read the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pincite.core.errors import StoreError
from pincite.store.mongodb.client import Client
from pincite.store.mongodb.values import Record, batches

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


def prepare(client: Client) -> bool:
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


def send(client: Client, name: str, records: Iterable[Record]) -> int:
    """Insert documents in batches and return how many there were."""
    count = 0
    for batch in batches(records):
        with client.explained():
            client.collection(name).insert_many(batch)
        count += len(batch)
    return count


def newest(client: Client, ruleset: str, run_id: str = "") -> list[Mapping[str, Any]]:
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


def whole_runs(client: Client, ruleset: str) -> dict[str, list[Mapping[str, Any]]]:
    """Return the records of each run of which no book is missing, newest first."""
    with client.explained():
        found = list(client.collection(RUNS).find({"ruleset_id": ruleset}))
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for record in sorted(found, key=lambda each: (-each["sequence"], each["book_id"])):
        groups.setdefault(record["run_id"], []).append(record)
    return {run_id: group for run_id, group in groups.items() if len(group) == group[0]["books"]}


def forget(client: Client, ruleset: str, kept: Iterable[str]) -> None:
    """Delete all runs of a ruleset but these; the record that makes one count goes first."""
    others = {"ruleset_id": ruleset, "run_id": {"$nin": sorted(kept)}}
    with client.explained(), client.patient():
        for name in (RUNS, *OF_RUN):
            client.collection(name, journalled=name == RUNS).delete_many(others)
