"""What a server has to do to hold an index: the whole of it, on one page.

A segment is the same thing as in a folder: some documents with all that belongs to them, written
once and never changed. In a server it is rows of the tables below, each marked with the segment's
name. A generation is a manifest: which segments count, and which of their documents were dropped.
So a server needs no transaction over many rows and no update of any row: rows come first, unseen;
then one write makes a manifest the current one. What a killed writer left has a name that no
manifest knows, and the next writer sweeps it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pincite.store.files import Array

Kind = Literal["int", "text", "bytes"]
# A segment's name, then the columns that were asked for.
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ServerTable:
    """Rows of one kind. Every row also has the name of its segment."""

    columns: Mapping[str, Kind]
    looked_up: tuple[str, ...]  # the columns that rows are asked for by
    optional: tuple[str, ...] = ()  # the columns that may be None


TABLES: dict[str, ServerTable] = {
    "documents": ServerTable(
        {"number": "int", "id": "text", "title": "text", "meta": "text"}, ("id", "number")
    ),
    # Apart from the above, which is read for all documents at once.
    "texts": ServerTable(
        {"document": "text", "text": "text", "findings": "text", "boxes": "bytes"}, ("document",)
    ),
    "chunks": ServerTable(
        {
            "ordinal": "int",  # the order of the text
            "id": "text",
            "document": "text",
            "start": "int",
            "stop": "int",
            "own_end": "int",
            "kind": "text",
            "locator": "text",
            "title": "text",
            "path": "text",
            "page": "int",
            "parent": "text",  # a chunk's id
            "searched": "int",
            "context": "text",
            "facts": "text",
        },
        ("id", "document", "parent"),
        ("page", "parent", "facts"),
    ),
    "keys": ServerTable({"key": "text", "chunk": "text", "document": "text"}, ("key", "document")),
    "links": ServerTable(
        {
            "ordinal": "int",
            "document": "text",
            "source": "text",
            "relation": "text",
            "target": "text",
            "start": "int",
            "stop": "int",
        },
        ("document", "source", "target", "relation"),
    ),
    # Pages of arrays and buckets of postings: numbered, and always asked for by name and number.
    "blobs": ServerTable({"name": "text", "number": "int", "data": "bytes"}, ()),
}


class StoreEngine(Protocol):
    """A server as an index uses it, a base of all engines; safe to share between threads.

    Whatever goes wrong with the server (gone, slow, full) is a StoreError that says so, in bounded
    time. Reading again after an error works when the server is back.
    """

    shown: str  # where the index is, as people may read it: without a password

    def head(self) -> bytes | None:
        """Return the current manifest; None if there is no index yet."""
        ...

    def generations(self) -> dict[int, tuple[float, bytes]]:
        """Return the manifests that are kept, by number, each with its age in seconds."""
        ...

    def lock(self) -> AbstractContextManager[None]:
        """Hold the lock of the one writer; IndexBusy if another one has it.

        The server itself gives it back when the writer dies.
        """
        ...

    def insert(self, table: str, segment: str, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows, durable when this returns; values stand in the order of the table's columns."""
        ...

    def select(
        self,
        table: str,
        columns: Sequence[str],
        segments: Sequence[str],
        by: str = "",
        values: Sequence[Any] = (),
        limit: int = 0,
    ) -> list[Row]:
        """Return the rows of some segments, in any order: (segment, columns...).

        Args:
            by: a column to look up; its value is one of ``values``. Without it, all rows.
            limit: any so many rows are enough; 0 for all.
        """
        ...

    def blobs(
        self, name: str, wanted: Mapping[str, Sequence[int] | None]
    ) -> list[tuple[str, int, bytes]]:
        """Return segment, number and data of the blobs of a name that some segments have.

        Args:
            wanted: for each segment the numbers, or None for all; those that it lacks are left out.
        """
        ...

    def switch(self, number: int, manifest: bytes) -> None:
        """Make a manifest the current one: durably, at once, after all that was inserted.

        StoreError if the lock was lost meanwhile.
        """
        ...

    def sweep(self, generations: Sequence[int], segments: Sequence[str]) -> None:
        """Delete all manifests but these, and the rows and vectors of all segments but these."""
        ...

    def put_vectors(self, name: str, model: str, vectors: Array) -> None:
        """Keep vectors (float16, one a row) under a name; they are numbered from 0."""
        ...

    def vectors(self, name: str, numbers: Sequence[int]) -> Array:
        """Return some vectors of a name as float16, bit by bit as they were put, in this order."""
        ...

    def nearest(
        self, names: Sequence[str], vector: Array, wanted: int, allowed: Mapping[str, Array]
    ) -> list[tuple[str, int, float]]:
        """Return name, number and inner product of the nearest vectors of a model, nearest first.

        Exactly, or nearly so by the server's own index: its documentation says which.

        Args:
            names: all of one model.
            allowed: of a name in it, only vectors with these numbers count.
        """
        ...

    def close(self) -> None: ...

    # What an engine may do besides

    def stamp(self) -> str:
        """Return what only the current manifest has, whoever wrote it; empty if there is none.

        It is asked for every second: worth writing where there is something cheaper.
        """
        head = self.head()
        return "" if head is None else hashlib.sha256(head).hexdigest()

    def server(self) -> str:
        """Return the server's name and version."""
        return self.shown.partition(":")[0]

    def size(self) -> int | None:
        """Return the bytes on disk of one copy of the index; None if the server does not tell."""
        return None

    def remove(self) -> bool:
        """Remove the index and all that was made for it; False if that cannot be done.

        IndexBusy if somebody writes.
        """
        return False
