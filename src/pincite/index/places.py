"""The places of a segment as columns, so that a filter is a few array operations.

A row of the columns is a chunk in the order in which the segment's database numbers them, searched
or not. What many chunks share (document, path, tags, ...) is a number; the vocabulary behind the
numbers is kept beside them as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from pincite.core.errors import StaleIndex, StoreError
from pincite.core.types import Facts, Loaded
from pincite.index.postings import narrow
from pincite.store.files import Array
from pincite.store.segment import Segment

NUMBERS = ("start", "own_end", "end", "page", "searched")
CODES = ("document", "kind", "path", "content", "tags", "traits")
NO_PAGE = 0  # and page 0, which files have whose pages are counted from it, is 1
# These have no facts of their own: they are about the same as what they are a part of.
PARTS = ("row", "piece")


class PlaceColumns:
    """Collects the columns of documents on their way into a segment."""

    def __init__(self) -> None:
        self._numbers: dict[str, list[int]] = {name: [] for name in (*NUMBERS, *CODES)}
        self._values: dict[str, dict[str, int]] = {name: {} for name in CODES}

    def add(self, loaded: Loaded) -> None:
        """Add all chunks of a document."""
        nothing = Facts()
        for chunk in loaded.chunks:
            owner = chunk.parent if chunk.kind in PARTS and chunk.parent else chunk.id
            facts = loaded.facts.get(owner, nothing)
            self._append(
                start=chunk.span.start,
                own_end=chunk.own_end,
                end=chunk.span.end,
                page=NO_PAGE if chunk.page is None else max(NO_PAGE, chunk.page + 1),
                searched=chunk.searched,
                document=self._code("document", chunk.span.doc_id),
                kind=self._code("kind", chunk.kind),
                path=self._code("path", chunk.path),
                content=self._code("content", facts.content_kind),
                tags=self._code("tags", facts.tags),
                traits=self._code("traits", facts.traits),
            )

    def _append(self, **numbers: int) -> None:
        for name, number in numbers.items():
            self._numbers[name].append(number)

    def _code(self, column: str, value: str | Sequence[str]) -> int:
        known = self._values[column]
        return known.setdefault(json.dumps(value, ensure_ascii=False), len(known))

    def arrays(self) -> dict[str, Array]:
        """Return the columns and their vocabularies as arrays of a segment."""
        columns = {name: np.array(some, dtype=np.int64) for name, some in self._numbers.items()}
        return _as_arrays(columns, self._values)


def merged_places(parts: Iterable[Places]) -> dict[str, Array]:
    """Return the live places of several segments as arrays of one."""
    columns: dict[str, list[Array]] = {name: [] for name in (*NUMBERS, *CODES)}
    values: dict[str, dict[str, int]] = {name: {} for name in CODES}
    for part in parts:
        live = part.live
        for name in NUMBERS:
            columns[name].append(part.column(name)[live])
        for name in CODES:
            codes, inverse = np.unique(part.column(name)[live], return_inverse=True)
            known, mine = values[name], part.values(name)
            texts = (json.dumps(mine[code], ensure_ascii=False) for code in codes.tolist())
            new = [known.setdefault(text, len(known)) for text in texts]
            columns[name].append(np.array(new, dtype=np.int64)[inverse])
    joined = {name: np.concatenate(some) for name, some in columns.items()}
    return _as_arrays(joined, values)


def _as_arrays(columns: dict[str, Array], values: dict[str, dict[str, int]]) -> dict[str, Array]:
    arrays = {f"place_{name}": narrow(column) for name, column in columns.items()}
    for name, known in values.items():
        text = f"[{', '.join(known)}]".encode("utf-8", "surrogatepass")
        arrays[f"place_{name}_values"] = np.frombuffer(text, dtype=np.uint8)
    return arrays


class Places:
    """The columns of one segment, read when they are first asked for."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self._read: dict[str, list[Any]] = {}
        self.numbered: dict[str, tuple[Array, list[str]]] = {}  # groups, see pincite.index.groups

    def column(self, name: str) -> Array:
        """Return a column: one number for each chunk."""
        try:
            column = self.segment.arrays[f"place_{name}"]
        except KeyError as error:
            raise StaleIndex(
                "the index was built by a version that kept nothing to filter by",
                hint="build it again: pincite ingest FILES --rebuild",
            ) from error
        if len(column) != len(self.segment.arrays["place_start"]):
            raise self._damaged()
        return column

    def values(self, name: str) -> list[Any]:
        """Return what the codes of a column mean."""
        if name not in self._read:
            self.column(name)
            raw = self.segment.arrays[f"place_{name}_values"].tobytes()
            try:
                self._read[name] = json.loads(raw.decode("utf-8", "surrogatepass"))
            except ValueError as error:
                raise self._damaged() from error
        return self._read[name]

    def where(self, name: str, wanted: Iterable[bool]) -> Array:
        """Return which chunks have a value that is wanted; ``wanted`` goes along the values."""
        table = np.fromiter(wanted, dtype=bool, count=len(self.values(name)))
        return np.asarray(table[self.column(name)])

    @cached_property
    def searched(self) -> Array:
        """The chunks that are rows of the index, in the order of the rows."""
        return np.flatnonzero(self.column("searched"))

    @cached_property
    def live(self) -> Array:
        """Which chunks belong to documents that are still in the index."""
        dropped = self.segment.dropped
        return self.where("document", (name not in dropped for name in self.values("document")))

    def rows_with(self, chosen: Array) -> Array:
        """Return which rows hold own words of a chosen chunk.

        Rows do not overlap and stand in the order of the text, so those that a stretch touches
        are neighbours: two binary searches a stretch.
        """
        documents = self.column("document").astype(np.int64) << 32
        at = self.searched
        starts = documents[at] + self.column("start")[at]
        ends = documents[at] + self.column("end")[at]
        chosen_at = np.flatnonzero(chosen & (self.column("own_end") > self.column("start")))
        first = documents[chosen_at] + self.column("start")[chosen_at]
        last = documents[chosen_at] + self.column("own_end")[chosen_at]
        size = len(at) + 1
        begun = np.bincount(np.searchsorted(ends, first, side="right"), minlength=size)
        ended = np.bincount(np.searchsorted(starts, last, side="left"), minlength=size)
        return np.asarray(np.cumsum(begun - ended)[:-1] > 0)

    def _damaged(self) -> StoreError:
        name = self.segment.entry.name
        return StoreError(f"segment {name} is damaged", hint="run: pincite doctor")
