"""Chroma behind the contract of ``store/server``.

A generation is a mark (``client.py``): of two writers that make the same number, one succeeds, and
that is the commit. Its note says where the manifest is and the server's time.

An index has one collection for its records and one for each set of vectors. All that is written
under one name has a home of its own, a number by chance.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from pincite.model.errors import StaleIndex, StoreError
from pincite.model.settings import StoreSettings
from pincite.store.chroma.client import (
    ChromaClient,
    ChromaRecord,
    Near,
    part_id,
    parts_of,
    records_of,
)
from pincite.store.files import Array
from pincite.store.manifest import manifest_of
from pincite.store.server.contract import TABLES, Row, StoreEngine
from pincite.store.server.engine_parts import (
    Absent,
    Lease,
    SegmentHomes,
    batches,
    gone,
    key_of,
    nearest_of_all,
    pieces,
    unpacked,
)

FORMAT = 1
# In one question: ids, which may all have long bodies, keys, and vectors.
MAX_IDS = 500
MAX_KEYS = 2_000
MAX_VECTORS = 5_000
# A page of a table is what is read at a time where all of it is read.
PAGE_ROWS = 10_000
PAGE_BYTES = 8_000_000
BATCH_ROWS = 2_000
# A filter that leaves no more vectors than this has them named to the server.
MAX_NAMED = 4_000
MAX_NEAR = 16_000  # more than this no server gives at a time


@dataclass(slots=True)
class Home:
    """Where all is that was written under one name, and how much."""

    number: int
    pages: dict[str, int] = field(default_factory=dict)  # of each table, and each name of a blob
    dimension: int = 0
    vectors: int = 0


def new_home() -> int:
    """Return a number that nobody has."""
    return 1 + secrets.randbelow((1 << 31) - 1)


class Value(NamedTuple):
    """A row or a blob that was found."""

    home: int
    id: str
    value: Any


class ChromaGeneration(NamedTuple):
    """What is known of a generation."""

    home: int  # of its manifest
    stamp: int  # of its commit, in nanoseconds
    manifest: bytes


class ChromaLease(Lease):
    """A mark whose note names a home: there, a record changes again and again.

    A writer that was thought dead may wake up. That is harmless: generations are marks as well,
    made by one, and what it wrote has homes of its own.
    """

    def __init__(self, client: ChromaClient) -> None:
        super().__init__(client.shown)
        self.home = new_home()  # of what is written about this turn
        self._client = client
        self._note = json.dumps({"home": self.home})
        self._last = 0  # the newest mark that was seen
        self._mark = ""
        self._beats = 0

    def take(self) -> None:
        """Take it; IndexBusy if another writer lives."""
        self.wait()
        number = self._last + 1
        mark = f"lock_{number}"
        if not self._client.make_mark(mark, self._note):
            raise self.busy()
        self._mark = mark
        locks = self._client.marks("lock")
        if locks and locks[-1] > number:  # somebody else was faster
            self._client.drop_mark(mark)
            raise self.busy()
        for other in locks:
            if other < number:
                self._client.drop_mark(f"lock_{other}")
        self._client.add_home(self.home)
        self.beat()
        self.begin()

    def look(self) -> tuple[str, str | None] | None:
        locks = self._client.marks("lock")
        note = self._client.note(f"lock_{locks[-1]}") if locks else None
        self._last = locks[-1] if note is not None else 0
        if note is None:  # nobody, or it has just gone
            return None
        home = int(json.loads(note)["home"])
        try:
            return note, self._client.by_id([home], [f"{home}/beat"]).get(f"{home}/beat")
        except Absent:
            return note, None  # its home is not made yet, or no more

    def beat(self) -> None:
        record = ChromaRecord(f"{self.home}/beat", (), f"{self._beats}")
        self._beats += 1
        self._client.put(self.home, [record], replace=True)
        self.check()

    def check(self) -> None:
        """Raise StoreError if another writer has taken over."""
        if not self._is_lost and self._client.note(self._mark) != self._note:
            self._is_lost = True
        super().check()

    def give_back(self) -> None:
        """Let the next writer in at once; without this it waits until the lease is over."""
        self.end()
        if self._mark and self._client.note(self._mark) == self._note:
            self._client.drop_mark(self._mark)


class ChromaEngine(StoreEngine):
    """One index in Chroma."""

    def __init__(self, url: str, settings: StoreSettings | None = None, client: Any = None) -> None:
        settings = settings or StoreSettings()
        self._client: ChromaClient = client or ChromaClient(url, settings)
        self.shown = self._client.shown
        self._exact = settings.exact
        self._homes: SegmentHomes[Home] = SegmentHomes(
            self.shown
        )  # of the segments that were heard of
        self._generations: dict[int, ChromaGeneration] = {}  # they never change
        self._lease: ChromaLease | None = None
        self._filled: dict[str, tuple[int, int]] = {}  # rows, and bytes of the last page, by place
        self._matrices: dict[str, Array] = {}
        self._lock = Lock()

    def close(self) -> None:
        self._client.close()

    def server(self) -> str:
        return f"Chroma {self._client.version()}"

    # Generations

    def stamp(self) -> str:
        numbers = self._numbers()
        # Numbers come again where an index was dropped and made anew; what a note says does not.
        note = self._client.note(f"generation_{numbers[-1]}") if numbers else None
        return f"{numbers[-1]} {note}" if note else ""

    def head(self) -> bytes | None:
        numbers = self._numbers()
        return self._generation(numbers[-1]).manifest if numbers else None

    def generations(self) -> dict[int, tuple[float, bytes]]:
        numbers = self._numbers()
        if not numbers:
            return {}
        now = self._client.stamp()
        found = {numbers[-1]: self._generation(numbers[-1])}
        for number in numbers[:-1]:
            with suppress(Absent):  # made anew by a writer that slept: it never counted
                found[number] = self._generation(number)
        return {number: ((now - each.stamp) / 1e9, each.manifest) for number, each in found.items()}

    def _numbers(self) -> list[int]:
        return self._client.marks("generation")

    def _generation(self, number: int) -> ChromaGeneration:
        """Return a generation, and learn the homes that its manifest names."""
        if number not in self._generations:
            self._generations[number] = self._read_generation(number)
        return self._generations[number]

    def _read_generation(self, number: int) -> ChromaGeneration:
        text = self._client.note(f"generation_{number}")
        if text is None:
            raise Absent(f"{self.shown}: generation {number} is gone", hint="try again")
        note = json.loads(text)
        if note["format"] != FORMAT:
            raise StaleIndex(
                f"{self.shown} is of version {note['format']}, this Pincite wants {FORMAT}",
                hint="write to it once with the newest Pincite, and read it with that",
            )
        home = int(note["home"])
        found = self._by_id([home], [f"{home}/manifest/{number}"])
        if not found:
            raise Absent(f"{self.shown}: its manifest is gone", hint="try again")
        manifest, homes = found[0].value
        for name, facts in json.loads(homes).items():
            self._homes.setdefault(name, Home(**facts))
        return ChromaGeneration(home, int(note["stamp"]), manifest)

    # Reading records

    def _by_id(self, homes: Collection[int], ids: Sequence[str]) -> list[Value]:
        """Return the values of these ids that are there."""
        return self._whole(homes, self._bodies(homes, ids))

    def _bodies(self, homes: Collection[int], ids: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for some in pieces(ids, MAX_IDS):
            found |= self._client.by_id(homes, some)
        return found

    def _by_key(self, homes: Collection[int], place: int, keys: Iterable[int]) -> list[Value]:
        """Return the values of some homes that are looked up by one of these keys."""
        found: dict[str, str] = {}
        for some in pieces(list(dict.fromkeys(keys)), MAX_KEYS):
            found |= self._client.by_key(homes, place, some)
        return self._whole(homes, found)

    def _all_of(self, homes: Iterable[Home], name: str) -> list[Value]:
        """Return all rows of a table, or all blobs of a name, one page after the other."""
        return [
            each
            for home in homes
            for page in range(home.pages.get(name, 0))
            for each in self._by_key([home.number], 0, [key_of("page", name, page)])
        ]

    def _whole(self, homes: Collection[int], found: Mapping[str, str]) -> list[Value]:
        """Return the values of records, with the parts of long ones."""
        firsts = {record_id: parts_of(body) for record_id, body in found.items()}
        missing = [part_id(i, n) for i, (size, _) in firsts.items() for n in range(1, size)]
        parts = self._bodies(homes, missing)
        rows = []
        for record_id, (size, first) in firsts.items():
            try:
                more = [parts[part_id(record_id, n)] for n in range(1, size)]
            except KeyError as error:
                raise gone(self.shown, f"a part of {record_id}") from error
            value = unpacked("".join((first, *more)))
            rows.append(Value(int(record_id.partition("/")[0]), record_id, value))
        return rows

    def select(
        self,
        table: str,
        columns: Sequence[str],
        segments: Sequence[str],
        by: str = "",
        values: Sequence[Any] = (),
        limit: int = 0,
    ) -> list[Row]:
        names = {self._homes[segment].number: segment for segment in segments}
        if not names:
            return []
        at = {column: place for place, column in enumerate(TABLES[table].columns)}
        if by:
            keys = (key_of(table, by, value) for value in values)
            rows = self._by_key(list(names), 1 + TABLES[table].looked_up.index(by), keys)
            known = set(values)  # two values may have the same key
            rows = [row for row in rows if row.value[at[by]] in known]
        else:
            rows = self._all_of([self._homes[segment] for segment in segments], table)
        return [(names[row.home], *(row.value[at[column]] for column in columns)) for row in rows]

    def blobs(
        self, name: str, wanted: Mapping[str, Sequence[int] | None]
    ) -> list[tuple[str, int, bytes]]:
        homes = {self._homes[segment].number: segment for segment in wanted}
        whole = [self._homes[segment] for segment, numbers in wanted.items() if numbers is None]
        ids = [
            f"{self._homes[segment].number}/blobs/{name}/{number}"
            for segment, numbers in wanted.items()
            for number in numbers or ()
        ]
        found = self._all_of(whole, f"blobs/{name}") + self._by_id(list(homes), ids)
        return [(homes[each.home], int(each.id.rpartition("/")[2]), each.value) for each in found]

    # Vectors

    def vectors(self, name: str, numbers: Sequence[int]) -> Array:
        home = self._homes[name]
        found: dict[int, Array] = {}
        for some in pieces(list(dict.fromkeys(numbers)), MAX_VECTORS):
            found |= self._client.vectors(home.number, some)
        try:
            return np.stack([found[number] for number in numbers]).astype(np.float16)
        except KeyError as error:
            raise gone(self.shown, f"a part of vectors {name}") from error

    def nearest(
        self, names: Sequence[str], vector: Array, wanted: int, allowed: Mapping[str, Array]
    ) -> list[tuple[str, int, float]]:
        if self._exact or wanted > MAX_NEAR:
            return nearest_of_all(self._matrix, names, vector, wanted, allowed)
        homes = {self._homes[name].number: name for name in names}
        among = {self._homes[name].number: allowed[name] for name in names if name in allowed}
        near = self._client.near([home for home in homes if home not in among], vector, wanted)
        filtered = [self._homes[name] for name in names if len(allowed.get(name, ()))]
        near += self._near_filtered(filtered, vector, wanted, among)
        best = sorted(near, key=lambda each: (-each.score, each.home, each.number))[:wanted]
        return [(homes[each.home], each.number, each.score) for each in best]

    def _near_filtered(
        self, homes: Sequence[Home], vector: Array, wanted: int, among: Mapping[int, Array]
    ) -> list[Near]:
        """Return the nearest of those that a filter leaves.

        Few are named to the server. Of many so many more are asked for that enough should be left;
        if they are not, all are named, some at a time.
        """
        numbers = [home.number for home in homes]
        left = sum(len(among[number]) for number in numbers)
        if left <= MAX_NAMED:
            return self._client.near(numbers, vector, wanted, among)
        size = sum(home.vectors for home in homes)
        more = min(size, math.ceil(1.5 * wanted * size / left) + 10)
        if more <= MAX_NEAR:
            near = _allowed(self._client.near(numbers, vector, more), homes, among)
            if len(near) >= min(wanted, left):
                return near
        return [
            each
            for number in numbers
            for some in pieces(among[number].tolist(), MAX_NAMED)
            for each in self._client.near([number], vector, wanted, {number: np.array(some)})
        ]

    def _matrix(self, name: str) -> Array:
        """Return all vectors of a name as float32, from memory if they were read before."""
        with self._lock:
            if name not in self._matrices:
                numbers = range(self._homes[name].vectors)
                self._matrices[name] = self.vectors(name, numbers).astype(np.float32)
            return self._matrices[name]

    # Writing

    @contextmanager
    def lock(self) -> Iterator[None]:
        self.head()  # one of another version is not to be touched
        self._client.prepare()
        lease = ChromaLease(self._client)
        try:
            lease.take()
            self._lease = lease
            yield
        finally:
            self._lease = None
            with suppress(StoreError):  # of a server that is gone: the lease runs out
                lease.give_back()

    @property
    def _writing(self) -> ChromaLease:
        if self._lease is None:
            raise ValueError("take the lock first")
        return self._lease

    @contextmanager
    def _written(self) -> Iterator[ChromaLease]:
        """Lend the lease for some writing; homes that are gone were swept by another writer."""
        lease = self._writing
        try:
            yield lease
        except Absent as error:
            raise lease.lost() from error

    def _claim(self, segment: str) -> Home:
        """Return the home of a segment that is being written."""
        lease = self._writing
        if segment not in self._homes:
            home = Home(new_home())
            lease.check()
            self._client.add_home(home.number)
            self._homes[segment] = home
        return self._homes[segment]

    def insert(self, table: str, segment: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._written():
            home = self._claim(segment)
            self._put(home.number, (r for row in rows for r in self._records(home, table, row)))

    def _put(self, home: int, records: Iterable[ChromaRecord]) -> None:
        for batch in batches(records, lambda record: len(record.body), BATCH_ROWS):
            self._client.put(home, batch)

    def _records(self, home: Home, table: str, row: Sequence[Any]) -> Iterator[ChromaRecord]:
        """Return the records of a row of the contract's tables."""
        is_blob = table == "blobs"
        name = f"blobs/{row[0]}" if is_blob else table
        size = sum(len(value) for value in row if isinstance(value, str | bytes))
        serial, page = self._next(home, name, size)
        keys = [key_of("page", name, page)]
        if is_blob:
            return records_of(f"{home.number}/{name}/{row[1]}", keys, row[2])
        values = dict(zip(TABLES[table].columns, row, strict=True))
        keys += [key_of(table, column, values[column]) for column in TABLES[table].looked_up]
        return records_of(f"{home.number}/{name}/{serial}", keys, list(row))

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

    def put_vectors(self, name: str, model: str, vectors: Array) -> None:
        with self._written():
            home = self._claim(name)
            home.vectors, home.dimension = vectors.shape
            if len(vectors):
                self._client.put_vectors(home.number, vectors.astype(np.float32))

    def switch(self, number: int, manifest: bytes) -> None:
        named = manifest_of(manifest, origin=self.shown)
        homes = json.dumps({each.name: asdict(self._homes[each.name]) for each in named.entries})
        with self._written() as lease:
            key = f"{lease.home}/manifest/{number}"
            self._put(lease.home, records_of(key, [], [manifest, homes]))
        lease.check()
        note = json.dumps({"format": FORMAT, "home": lease.home, "stamp": self._client.stamp()})
        # The one write that counts. A number that was swept long ago can be made again, so it has
        # to be the newest, too.
        is_made = self._client.make_mark(f"generation_{number}", note)
        if not is_made or self._numbers()[-1] != number:
            raise lease.lost()

    def sweep(self, generations: Sequence[int], segments: Sequence[str]) -> None:
        present = self._client.homes()
        numbers = self._numbers()
        # Checked after looking: whoever takes over makes homes that were not seen here.
        self._writing.check()
        kept = {self._homes[segment].number for segment in segments} | {self._writing.home}
        for number in numbers:
            if number in generations or number == numbers[-1]:
                kept.add(self._generation(number).home)
            else:
                self._client.drop_mark(f"generation_{number}")
                self._generations.pop(number, None)
        self._client.drop_homes(present - kept)

    def remove(self) -> bool:
        with self.lock():
            for number in self._numbers():  # from now on there is no index
                self._client.drop_mark(f"generation_{number}")
            self._client.remove()
        return True


def _allowed(near: Sequence[Near], homes: Sequence[Home], among: Mapping[int, Array]) -> list[Near]:
    """Return those that a filter leaves."""
    masks = {home.number: np.zeros(home.vectors, dtype=bool) for home in homes}
    for number, mask in masks.items():
        mask[among[number]] = True
    return [each for each in near if masks[each.home][each.number]]
