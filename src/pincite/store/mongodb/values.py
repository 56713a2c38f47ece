"""Rows on their way into MongoDB and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pincite.store.array_files import Array
from pincite.store.server.contract import TABLES, Row

Record = dict[str, Any]
# A document of the server has at most 16 MB; a value that is longer than this is cut.
LONGEST = 4_000_000
# What is sent at a time, so that one answer of the server never takes long.
BATCH_ROWS = 1_000
BATCH_BYTES = 8_000_000
VECTOR_BLOCK_BYTES = 1_000_000


def record_of(table: str, home: str, values: Sequence[Any]) -> tuple[Record, list[Record]]:
    """Return a row as a document, and the parts of those of its values that are too long."""
    columns = TABLES[table].columns
    record: Record = {"segment": home, **dict(zip(columns, values, strict=True))}
    parts: list[Record] = []
    if table == "blobs":
        return {"_id": blob_key(home, values[0], values[1]), **record}, parts
    for column in columns:
        value = record[column]
        if isinstance(value, str | bytes) and len(value) > LONGEST // 4:  # of 4 bytes a sign
            data = value.encode() if isinstance(value, str) else value
            if len(data) > LONGEST:
                name = f"{table}/{column}/{values[0]}"
                cut = [data[at : at + LONGEST] for at in range(0, len(data), LONGEST)]
                parts += [record_of("blobs", home, (name, *each))[0] for each in enumerate(cut)]
                record[column] = {"parts": name}
    return record, parts


def blob_key(home: str, name: str, number: int) -> str:
    return f"{home}/{name}/{number}"


def row_of(record: Mapping[str, Any], segment: str, columns: Sequence[str]) -> Row:
    return (segment, *(record[column] for column in columns))


def joined(kind: str, parts: Sequence[bytes]) -> str | bytes:
    """Return a value that was cut."""
    whole = b"".join(parts)
    return whole.decode() if kind == "text" else whole


def batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield records in batches that are neither many nor large."""
    batch: list[Record] = []
    size = 0
    for record in records:
        batch.append(record)
        size += sum(len(value) for value in record.values() if isinstance(value, str | bytes))
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def vector_records(home: str, model: str, vectors: Array) -> Iterator[Record]:
    """Yield vectors as documents of many each."""
    count, dimension = vectors.shape
    rows = max(1, VECTOR_BLOCK_BYTES // max(1, 2 * dimension))
    halves = np.ascontiguousarray(vectors, dtype="<f2")
    for number, at in enumerate(range(0, count, rows)):
        yield {
            "_id": f"{home}/{number}",
            "segment": home,
            "model": model,
            "number": number,
            "dimension": dimension,
            "data": halves[at : at + rows].tobytes(),
        }


def matrix_of(records: Iterable[Mapping[str, Any]]) -> Array:
    """Return the vectors that some documents hold, all of one name, as float32."""
    ordered = sorted(records, key=lambda each: int(each["number"]))
    blocks = [np.frombuffer(each["data"], dtype="<f2").astype(np.float32) for each in ordered]
    return np.concatenate(blocks).reshape(-1, ordered[0]["dimension"])
