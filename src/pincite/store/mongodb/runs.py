"""Reading a published run back: all of it, aligned, or an error that says what is wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pincite.core.errors import StoreError
from pincite.core.store_settings import StoreSettings
from pincite.store.array_files import Array
from pincite.store.mongodb.client import Address, Client
from pincite.store.mongodb.collections import CHUNKS, CONFIGS, EDGES, EMBEDDINGS, newest


@dataclass(frozen=True, slots=True)
class Run:
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
) -> Run:
    """Return a ruleset's newest whole run, or the one that is named.

    Every chunk has a vector of the model, made from its very words, or there is a StoreError:
    nothing is filled in.

    Args:
        book: only this book of it.
        model: whose vectors; may be left out if the run has those of one model only.
    """
    client = Client(Address(url), settings or StoreSettings())
    try:
        return _loaded(client, ruleset, book, model, run_id)
    finally:
        client.close()


def _loaded(client: Client, ruleset: str, book: str, model: str, run_id: str) -> Run:
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
    return Run(
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
