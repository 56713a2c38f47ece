"""Values as records of a driver: put, looked up, and put together from their parts."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pincite.core.errors import StoreError
from pincite.store.vectordb import values
from pincite.store.vectordb.driver import Driver, Found, Record

# In one question: ids, which may all have long bodies, and keys.
MOST_IDS = 500
MOST_KEYS = 2_000
# A page of a table is what is read at a time where all of it is read.
PAGE_ROWS = 10_000
PAGE_BYTES = 8_000_000


@dataclass(slots=True)
class Home:
    """Where all is that was written under one name, and how much."""

    number: int
    pages: dict[str, int] = field(default_factory=dict)  # of each table, and each name of a blob
    dimension: int = 0
    vectors: int = 0


class Value(NamedTuple):
    """A row or a blob that was found."""

    home: int
    id: str
    value: Any


def new_home() -> int:
    """Return a number that nobody has; vectors are numbered with it in 63 bits."""
    return 1 + secrets.randbelow((1 << 31) - 1)


class Records:
    """Reads after a stamp: what was written before it is there, and one's own writing as well."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._after = 0
        self._is_behind = False  # something was written since
        self._filled: dict[str, tuple[int, int]] = {}  # rows, and bytes of the last page, by place

    def not_before(self, stamp: int) -> None:
        """Read what was written before a stamp from now on."""
        self._after = max(self._after, stamp)

    def wrote(self) -> None:
        self._is_behind = True

    @property
    def after(self) -> int:
        if self._is_behind:
            self._is_behind = False
            self.not_before(self._driver.stamp())
        return self._after

    def by_id(self, homes: Collection[int], ids: Sequence[str]) -> list[Value]:
        """Return the values of these ids that are there."""
        return self._whole(homes, self._ask_ids(homes, ids))

    def _ask_ids(self, homes: Collection[int], ids: Sequence[str]) -> list[Found]:
        after = self.after
        return [
            each
            for some in values.pieces(ids, MOST_IDS)
            for each in self._driver.by_id(homes, some, after)
        ]

    def by_key(
        self, homes: Collection[int], place: int, keys: Iterable[int], limit: int = 0
    ) -> list[Value]:
        """Return the values of some homes that are looked up by one of these keys."""
        after = self.after
        found = [
            each
            for some in values.pieces(list(dict.fromkeys(keys)), MOST_KEYS)
            for each in self._driver.by_key(homes, place, some, after, limit)
        ]
        return self._whole(homes, found)

    def all_of(self, homes: Iterable[Home], name: str) -> list[Value]:
        """Return all rows of a table, or all blobs of a name, one page after the other."""
        return [
            each
            for home in homes
            for page in range(home.pages.get(name, 0))
            for each in self.by_key([home.number], 0, [values.page_key(name, page)])
        ]

    def _whole(self, homes: Collection[int], found: Iterable[Found]) -> list[Value]:
        """Return the values of records, with the parts of long ones."""
        firsts = {each.id: values.parts_of(each.body) for each in found}
        missing = [values.part_id(i, n) for i, (size, _) in firsts.items() for n in range(1, size)]
        parts = {each.id: each.body for each in self._ask_ids(homes, missing)}
        rows = []
        for record_id, (size, first) in firsts.items():
            try:
                more = [parts[values.part_id(record_id, n)] for n in range(1, size)]
            except KeyError as error:
                raise StoreError(
                    f"{self._driver.shown}: a part of {record_id} is no longer there",
                    hint="open the index again",
                ) from error
            value = values.unpacked("".join((first, *more)))
            rows.append(Value(int(record_id.partition("/")[0]), record_id, value))
        return rows

    def put(self, home: int, records: Iterable[Record]) -> None:
        for batch in values.batches(records):
            self._driver.put(home, batch)
        self.wrote()

    def of_row(self, home: Home, table: str, row: Sequence[Any]) -> Iterator[Record]:
        """Return the records of a row of the contract's tables."""
        is_blob = table == "blobs"
        name = f"blobs/{row[0]}" if is_blob else table
        size = sum(len(value) for value in row if isinstance(value, str | bytes))
        serial, page = self._next(home, name, size)
        keys = [values.page_key(name, page)]
        if is_blob:
            record_id, value = f"{home.number}/{name}/{row[1]}", row[2]
        else:
            record_id, value = f"{home.number}/{name}/{serial}", list(row)
            keys += values.row_keys(table, row)
        return values.records_of(record_id, keys, value, self._driver.longest)

    def _next(self, home: Home, name: str, size: int) -> tuple[int, int]:
        """Return the number of a new row and that of its page."""
        place = f"{home.number}/{name}"
        serial, filled = self._filled.get(place, (0, 0))
        page = home.pages.get(name, 0) - 1
        if page < 0 or filled >= PAGE_BYTES or (serial and serial % PAGE_ROWS == 0):
            page, filled = page + 1, 0
        home.pages[name] = page + 1
        self._filled[place] = (serial + 1, filled + size)
        return serial, page
