"""Values on their way into PostgreSQL and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pincite.core.errors import StoreError
from pincite.store.array_files import Array

PER_GENERATION = 1_000_000
# Rows of a COPY that are sent at a time.
BLOCK = 1000
_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_END = b"\xff\xff"


def to_number(name: str) -> int:
    """Return a segment's name as a number.

    >>> to_number("000007-12"), to_name(to_number("000007-12"))
    (7000012, '000007-12')
    """
    generation, _, place = name.partition("-")
    return int(generation) * PER_GENERATION + int(place)


def to_name(number: int) -> str:
    """Return the name that a number stands for."""
    generation, place = divmod(number, PER_GENERATION)
    return f"{generation:06d}-{place}"


def stored(value: Any) -> Any:
    """Return a value as the server can hold it: it has no sign for the character zero.

    >>> plain(stored("a\\x00b\\x01")) == "a\\x00b\\x01", stored("plain")
    (True, 'plain')
    """
    if not isinstance(value, str):
        return value
    if "\x00" in value or "\x01" in value:
        value = value.replace("\x01", "\x01a").replace("\x00", "\x01b")
    try:
        value.encode()
    except UnicodeEncodeError as error:  # half a character
        raise StoreError(
            f"{value[:40]!r} is not text that can be stored", hint="is the document's text damaged?"
        ) from error
    return value


def plain(value: Any) -> Any:
    """Return what :func:`stored` was given."""
    if isinstance(value, str) and "\x01" in value:
        return value.replace("\x01b", "\x00").replace("\x01a", "\x01")
    return value


def plain_row(row: Sequence[Any], segment: str, texts: Sequence[int]) -> tuple[Any, ...]:
    """Return a row with the name of its segment, and with its texts as they were given."""
    values = list(row)
    values[0] = segment
    for at in texts:
        values[at] = plain(values[at])
    return tuple(values)


def vector_rows(segment: int, model: int, vectors: Array) -> Iterator[bytes]:
    """Yield what a binary COPY of (segment, number, model, halfvec) consists of."""
    count, dimension = vectors.shape
    row = np.dtype(
        [
            ("fields", ">i2"),
            *[("segment_bytes", ">i4"), ("segment", ">i8")],
            *[("number_bytes", ">i4"), ("number", ">i4")],
            *[("model_bytes", ">i4"), ("model", ">i4")],
            *[("vector_bytes", ">i4"), ("dimension", ">i2"), ("unused", ">i2")],
            ("halves", ">f2", (dimension,)),
        ]
    )
    yield _SIGNATURE
    for at in range(0, count, BLOCK):
        some = vectors[at : at + BLOCK]
        rows = np.zeros(len(some), dtype=row)
        rows["fields"] = 4
        rows["segment_bytes"], rows["segment"] = 8, segment
        rows["number_bytes"], rows["number"] = 4, np.arange(at, at + len(some))
        rows["model_bytes"], rows["model"] = 4, model
        rows["vector_bytes"], rows["dimension"] = 4 + 2 * dimension, dimension
        rows["halves"] = some
        yield rows.tobytes()
    yield _END


def halves(data: bytes) -> Array:
    """Return the float16 numbers of a vector as the server sends it."""
    return np.frombuffer(data, dtype=">f2", offset=4).astype(np.float16)
