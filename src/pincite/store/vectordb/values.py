"""Rows as records of text: a server of vectors keeps no bytes, and none that are long."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from pincite.core.errors import StoreError
from pincite.store.server.contract import TABLES
from pincite.store.vectordb.driver import KEYS, Record

# Shorter ones hardly get shorter.
COMPRESSED_FROM = 1_000
# What is sent at a time, so that one answer of the server never takes long.
BATCH_ROWS = 2_000
BATCH_BYTES = 8_000_000
_HEAD = re.compile(r"(\d+)([jz])")
# Texts that begin like this are marked as well, so the two are never confused.
_BYTES, _TEXT = "\x00bytes:", "\x00text:"
T = TypeVar("T")


def key_of(table: str, column: str, value: Any) -> int:
    """Return the number that rows with a value are looked up by; never 0.

    >>> key_of("keys", "key", "3.2") == key_of("keys", "key", "3.2") != key_of("keys", "key", "3.3")
    True
    """
    named = f"{table}\x00{column}\x00{value}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(named, digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True) or 1


def packed(value: Any) -> str:
    """Return a row or bytes as text without odd characters.

    >>> unpacked(packed([1, None, "a\\x00b", b"\\xff"])), unpacked(packed(b"\\x00" * 5000))[:2]
    ([1, None, 'a\\x00b', b'\\xff'], b'\\x00\\x00')
    """
    if isinstance(value, bytes):
        return "z" + base64.b64encode(b"b" + zlib.compress(value, 1)).decode()
    plain = json.dumps([_plain(each) for each in value], separators=(",", ":"))
    if len(plain) < COMPRESSED_FROM:
        return "j" + plain
    return "z" + base64.b64encode(b"j" + zlib.compress(plain.encode(), 1)).decode()


def unpacked(text: str) -> Any:
    """Return what :func:`packed` was given."""
    try:
        if text[:1] == "j":
            return [_restored(each) for each in json.loads(text[1:])]
        data = base64.b64decode(text[1:])
        whole = zlib.decompress(data[1:])
        return whole if data[:1] == b"b" else [_restored(each) for each in json.loads(whole)]
    except (ValueError, zlib.error) as error:
        raise StoreError(f"a record is damaged: {error}", hint="copy the index anew") from error


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return _BYTES + base64.b64encode(value).decode()
    if isinstance(value, str) and value.startswith("\x00"):
        return _TEXT + value
    return value


def _restored(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("\x00"):
        is_text = value.startswith(_TEXT)
        return value[len(_TEXT) :] if is_text else base64.b64decode(value[len(_BYTES) :])
    return value


def records_of(record_id: str, keys: Sequence[int], value: Any, longest: int) -> Iterator[Record]:
    """Yield a value as one record, or as the parts of a long one; the first tells how many."""
    text = packed(value)
    room = longest - 12  # for the head
    parts = [text[at : at + room] for at in range(0, len(text), room)]
    all_keys = (*keys, *[0] * (KEYS - len(keys)))
    yield Record(record_id, all_keys, f"{len(parts)}{parts[0]}")
    for number, part in enumerate(parts[1:], 1):
        yield Record(part_id(record_id, number), (0,) * KEYS, part)


def part_id(record_id: str, number: int) -> str:
    return f"{record_id}/+{number}"


def parts_of(body: str) -> tuple[int, str]:
    """Return how many parts a value has, and the text of the first.

    >>> parts_of("12zABC")
    (12, 'zABC')
    """
    head = _HEAD.match(body)
    if head is None:
        raise StoreError("a record is damaged", hint="copy the index anew")
    return int(head[1]), body[head.end(1) :]


def row_keys(table: str, row: Sequence[Any]) -> list[int]:
    """Return the keys of the columns that a row is looked up by."""
    at = {column: place for place, column in enumerate(TABLES[table].columns)}
    return [key_of(table, column, row[at[column]]) for column in TABLES[table].looked_up]


def page_key(name: str, page: int) -> int:
    """Return the key by which all rows of one page of a table are found."""
    return key_of("page", name, page)


def batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Yield records in batches that are neither many nor large."""
    batch: list[Record] = []
    size = 0
    for record in records:
        batch.append(record)
        size += len(record.body)
        if len(batch) >= BATCH_ROWS or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def pieces(sequence: Sequence[T], size: int) -> Iterator[list[T]]:
    """Yield a sequence in lists of at most some items.

    >>> list(pieces("abc", 2))
    [['a', 'b'], ['c']]
    """
    for at in range(0, len(sequence), size):
        yield list(sequence[at : at + size])
