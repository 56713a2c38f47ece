"""What a vector database has to do for ``engine.py``: records, vectors, and marks made by one.

Such a server has no transactions, no unique keys and no updates on a condition. What it has is
collections, and of those that want to make a collection of one name, one succeeds. That is all that
an atomic commit needs: here it is called a mark.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from pincite.core.errors import StoreError
from pincite.store.array_files import Array

# Numbers that a record can be found by, beside its id.
KEYS = 5


class Absent(StoreError):
    """The server has no such collection or home: it was swept."""


class Record(NamedTuple):
    """A row of the contract's tables, or a part of one."""

    id: str  # begins with the number of its home
    keys: Sequence[int]  # 0: not to be found by this one
    body: str


class Found(NamedTuple):
    """A record that was asked for."""

    id: str
    body: str


class Near(NamedTuple):
    """A vector that is near."""

    home: int
    number: int
    score: float  # inner product


class Driver(Protocol):
    """One index's part of a server; safe to share between threads.

    A home is a number that a writer chose for what it writes under one name. Readings take a stamp:
    what was written before it is there for certain.
    """

    shown: str
    longest: int  # bytes of a record's body

    def server(self) -> str:
        """Return the server's name and version."""
        ...

    def stamp(self) -> int:
        """Return a time of the server, later than all that was written here before."""
        ...

    def seconds(self, stamp: int) -> float:
        """Return a stamp in seconds since some moment."""
        ...

    def marks(self) -> list[str]:
        """Return the names of all marks."""
        ...

    def make_mark(self, name: str, note: str) -> bool:
        """Make a mark; False if there is one of that name already. Durable when it returns."""
        ...

    def note(self, name: str) -> str | None:
        """Return the note of a mark; None if there is no such mark."""
        ...

    def drop_mark(self, name: str) -> None:
        """Remove a mark, if it is there."""
        ...

    def prepare(self) -> None:
        """Make what records are kept in, if need be; only a writer does."""
        ...

    def add_home(self, home: int) -> None:
        """Make a new home."""
        ...

    def homes(self) -> set[int]:
        """Return all homes that something may be left of."""
        ...

    def drop_homes(self, homes: Collection[int]) -> None:
        """Remove homes with all that is in them."""
        ...

    def remove(self) -> None:
        """Remove all that is of the index, marks last."""
        ...

    def put(self, home: int, records: Sequence[Record], *, replace: bool = False) -> None:
        """Add records, or replace one of the same id; durable when it returns."""
        ...

    def by_id(self, homes: Collection[int], ids: Sequence[str], after: int) -> list[Found]:
        """Return the records of these ids that are there, in any order."""
        ...

    def by_key(
        self, homes: Collection[int], place: int, keys: Sequence[int], after: int, limit: int = 0
    ) -> list[Found]:
        """Return the records of some homes whose key at a place is one of these."""
        ...

    def put_vectors(self, home: int, vectors: Array) -> None:
        """Add vectors (float32), numbered from 0; durable when it returns."""
        ...

    def vectors(
        self, home: int, dimension: int, numbers: Sequence[int], after: int
    ) -> dict[int, Array]:
        """Return the vectors of these numbers that are there."""
        ...

    def near(
        self,
        homes: Collection[int],
        dimension: int,
        vector: Array,
        wanted: int,
        after: int,
        among: Mapping[int, Array] | None = None,
    ) -> list[Near]:
        """Return the nearest vectors of some homes by the server's own index, in any order.

        Args:
            among: of each home, only these numbers count.
        """
        ...

    def close(self) -> None: ...
