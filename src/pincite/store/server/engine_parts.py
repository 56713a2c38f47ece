"""What engines have in common: the lease of the one writer, homes, packing, comparing vectors."""

from __future__ import annotations

import base64
import hashlib
import json
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Event, Thread
from typing import Any, TypeVar

import numpy as np

from pincite.model.errors import IndexBusy, StoreError, StoreFull, StoreUnavailable
from pincite.store.files import Array

LEASE_SECONDS = 12.0
BEAT_SECONDS = 1.5
WATCH_SECONDS = 0.5
LAST_BEAT_SECONDS = 1.0
# What is sent at a time, so that one answer of the server never takes long.
BATCH_BYTES = 8_000_000
CONNECTIONS = 8  # so many questions are asked of a server at a time; more wait
T = TypeVar("T")
COMPRESSED_FROM = 1_000  # shorter texts hardly get shorter
# Texts that begin like this are marked as well, so the two are never confused.
_BYTES, _TEXT = "\x00bytes:", "\x00text:"


class Absent(StoreError):
    """The server has no such collection: it was swept."""


class Conflict(StoreError):
    """There is a collection of that name already."""


class Lease(ABC):
    """The right to write, in a server that does not notice when a writer dies.

    A writer gives signs of life again and again. Who wants to write while somebody holds the lease
    watches them: if they change, the other one lives; if they stand still for the lease, it is
    dead, and a new writer takes its place. Only waiting is measured, so no two clocks need agree.
    """

    def __init__(self, shown: str) -> None:
        self.shown = shown
        self._is_lost = False
        self._ended = Event()
        self._beating = Thread(target=self._keep, name="pincite-lease", daemon=True)

    @abstractmethod
    def look(self) -> tuple[Any, Any] | None:
        """Return who holds the lease, and its last sign of life; None if nobody does."""

    @abstractmethod
    def beat(self) -> None:
        """Give a sign of life; StoreError if the server is away or the lease was lost."""

    def wait(self) -> None:
        """Return when nobody holds the lease or who does is dead; IndexBusy if it lives."""
        seen, left = self.look(), LEASE_SECONDS
        while seen is not None and left > 0:
            time.sleep(WATCH_SECONDS)
            left -= WATCH_SECONDS
            now = self.look()
            if now is not None and now[0] != seen[0]:
                left = LEASE_SECONDS  # somebody else was faster: does that one live?
            elif now is not None and now[1] != seen[1]:
                raise self.busy()
            seen = now

    def begin(self) -> None:
        """Give signs of life until :meth:`end`."""
        self._beating.start()

    def end(self) -> None:
        self._ended.set()
        if self._beating.is_alive():
            self._beating.join(LAST_BEAT_SECONDS)

    def _keep(self) -> None:
        while not self._ended.wait(BEAT_SECONDS) and not self._is_lost:
            # A server that is away comes back with the lease as it was, or it does not.
            with suppress(StoreError):
                self.beat()

    def check(self) -> None:
        """Raise StoreError if another writer is known to have taken over."""
        if self._is_lost:
            raise self.lost()

    def busy(self) -> IndexBusy:
        return IndexBusy(f"another process is writing to {self.shown}", hint="try again later")

    def lost(self) -> StoreError:
        return StoreError(
            f"{self.shown}: another writer took over while this one was silent",
            hint="run the same command again; nothing of this run is visible",
        )


class SegmentHomes(dict[str, T]):
    """Where what was written under a name is: with a mark of its own writer.

    So what a writer that was thought dead still sends is never a part of another's segment.
    """

    def __init__(self, shown: str) -> None:
        self.shown = shown

    def __missing__(self, name: str) -> T:
        raise gone(self.shown, name)


class Troubles:
    """What is told of a server that does not do what it should."""

    def __init__(self, shown: str, seconds: float) -> None:
        self._shown = shown
        self._seconds = seconds

    def busy(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self._shown}: all connections were busy for {self._seconds:g} s",
            hint="ask for less at a time",
        )

    def slow(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self._shown} did not answer within {self._seconds:g} s",
            hint="is the server overloaded? store.timeout_seconds is how long to wait",
        )

    def unreachable(self, reason: object) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self._shown} cannot be reached: {reason}",
            hint="is the server running, the URL right?",
        )

    def full(self, reason: str) -> StoreFull:
        return StoreFull(f"{self._shown} has no room left: {reason}", hint="free some disk space")

    def half_character(self, text: str) -> StoreError:
        return StoreError(
            f"{text[:40]!r} is not text that can be stored", hint="is the document's text damaged?"
        )


def gone(shown: str, what: str) -> StoreError:
    """Return the error of a reader whose generation was swept."""
    return StoreError(f"{shown}: {what} is no longer there", hint="open the index again")


def batches(items: Iterable[T], size_of: Callable[[T], int], rows: int) -> Iterator[list[T]]:
    """Yield items in batches that are neither many nor large.

    >>> [len(batch) for batch in batches(["a", "b" * BATCH_BYTES, "c"], len, rows=100)]
    [2, 1]
    """
    batch: list[T] = []
    size = 0
    for item in items:
        batch.append(item)
        size += size_of(item)
        if len(batch) >= rows or size >= BATCH_BYTES:
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


def nearest_of_all(
    matrix_of: Callable[[str], Array],
    names: Sequence[str],
    vector: Array,
    wanted: int,
    allowed: Mapping[str, Array],
) -> list[tuple[str, int, float]]:
    """Return name, number and inner product of the nearest rows of some matrices (float32).

    They are compared here, for servers that do not, or not exactly.
    """
    best: list[tuple[str, int, float]] = []
    for name in names:
        matrix = matrix_of(name)
        numbers = allowed.get(name)
        some = matrix if numbers is None else matrix[numbers]
        scores = np.vecdot(some, vector.astype(np.float32))
        top = _best(scores, wanted)
        found = top if numbers is None else numbers[top]
        best += zip([name] * len(top), found.tolist(), scores[top].tolist(), strict=True)
    return sorted(best, key=lambda each: -each[2])[:wanted]


def _best(scores: Array, wanted: int) -> Array:
    """Return the places of the highest scores, highest first, ties in order."""
    near = np.arange(len(scores))
    if wanted < len(scores):
        least = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
        near = np.flatnonzero(scores >= least)
    return near[np.argsort(-scores[near], kind="stable")][:wanted]


def key_of(table: str, column: str, value: Any) -> int:
    """Return the number that rows with a value are looked up by; never 0.

    >>> key_of("keys", "key", "3.2") == key_of("keys", "key", "3.2") != key_of("keys", "key", "3.3")
    True
    """
    named = f"{table}\x00{column}\x00{value}".encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(named, digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True) or 1


def packed(value: Any) -> str:
    """Return a row or bytes as text without odd characters, for servers that keep no bytes.

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
