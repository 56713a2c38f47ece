"""A vector database behind the contract of ``store/server``.

A generation is a mark (``driver.py``): of two writers that make the same number, one succeeds, and
that is the commit. Its note says where the manifest is and a stamp of the server; whoever reads the
generation asks for what was written before that stamp, on whichever node it is.

All that is written under one name has a home of its own, a number by chance. So what a writer that
was thought dead still sends is never a part of another's segment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from pincite.core.errors import StaleIndex, StoreError
from pincite.core.store_settings import StoreSettings
from pincite.store.array_files import Array
from pincite.store.manifest import manifest_of
from pincite.store.server.contract import TABLES, Row
from pincite.store.server.exact import nearest_of_all
from pincite.store.vectordb.driver import Absent, Driver
from pincite.store.vectordb.nearest import MOST_NEAR, nearest
from pincite.store.vectordb.records import Home, Records, Value, new_home
from pincite.store.vectordb.turn import Turn
from pincite.store.vectordb.values import key_of, pieces, records_of

FORMAT = 1
_GENERATION = "generation_"
# Vectors read at a time.
VECTORS = 5_000


class Generation(NamedTuple):
    """What is known of a generation."""

    home: int  # of its manifest
    stamp: int  # of its commit
    manifest: bytes


class VectorEngine:
    """One index in a vector database."""

    def __init__(self, driver: Driver, settings: StoreSettings) -> None:
        self._driver = driver
        self._records = Records(driver)
        self._exact = settings.exact
        self._homes: dict[str, Home] = {}  # of the segments that were heard of
        self._generations: dict[int, Generation] = {}  # they never change
        self._turn: Turn | None = None
        self._matrices: dict[str, Array] = {}
        self._lock = Lock()

    @property
    def shown(self) -> str:
        return self._driver.shown

    def close(self) -> None:
        self._driver.close()

    def server(self) -> str:
        return self._driver.server()

    # Generations

    def stamp(self) -> str:
        numbers = self._numbers()
        # Numbers come again where an index was dropped and made anew; what a note says does not.
        note = self._driver.note(f"{_GENERATION}{numbers[-1]}") if numbers else None
        return f"{numbers[-1]} {note}" if note else ""

    def head(self) -> bytes | None:
        numbers = self._numbers()
        return self._generation(numbers[-1]).manifest if numbers else None

    def generations(self) -> dict[int, tuple[float, bytes]]:
        numbers = self._numbers()
        if not numbers:
            return {}
        now = self._driver.seconds(self._driver.stamp())
        found = {numbers[-1]: self._generation(numbers[-1])}
        for number in numbers[:-1]:
            with suppress(Absent):  # made anew by a writer that slept: it never counted
                found[number] = self._generation(number)
        return {
            number: (now - self._driver.seconds(each.stamp), each.manifest)
            for number, each in found.items()
        }

    def _numbers(self) -> list[int]:
        marks = [mark for mark in self._driver.marks() if mark.startswith(_GENERATION)]
        return sorted(int(mark.removeprefix(_GENERATION)) for mark in marks)

    def _generation(self, number: int) -> Generation:
        """Return a generation, and learn the homes that its manifest names."""
        if number not in self._generations:
            self._generations[number] = self._read_generation(number)
        return self._generations[number]

    def _read_generation(self, number: int) -> Generation:
        text = self._driver.note(f"{_GENERATION}{number}")
        if text is None:
            raise Absent(f"{self.shown}: generation {number} is gone", hint="try again")
        note = json.loads(text)
        if note["format"] != FORMAT:
            raise StaleIndex(
                f"{self.shown} is of version {note['format']}, this Pincite wants {FORMAT}",
                hint="write to it once with the newest Pincite, and read it with that",
            )
        home, stamp = int(note["home"]), int(note["stamp"])
        self._records.not_before(stamp)
        found = self._records.by_id([home], [f"{home}/manifest/{number}"])
        if not found:
            raise Absent(f"{self.shown}: its manifest is gone", hint="try again")
        manifest, homes = found[0].value
        for name, facts in json.loads(homes).items():
            self._homes.setdefault(name, Home(**facts))
        return Generation(home, stamp, manifest)

    # Reading

    def _home(self, segment: str) -> Home:
        try:
            return self._homes[segment]
        except KeyError as error:
            raise self._gone(segment) from error

    def _gone(self, name: str) -> StoreError:
        return StoreError(f"{self.shown}: {name} is no longer there", hint="open the index again")

    def select(
        self,
        table: str,
        columns: Sequence[str],
        segments: Sequence[str],
        by: str = "",
        values: Sequence[Any] = (),
        limit: int = 0,
    ) -> list[Row]:
        names = {self._home(segment).number: segment for segment in segments}
        if not names:
            return []
        all_columns = list(TABLES[table].columns)
        places = [all_columns.index(column) for column in columns]
        if by:
            rows = self._looked_up(table, list(names), by, values, limit)
        else:
            rows = self._records.all_of(map(self._home, segments), table)
        return [(names[row.home], *(row.value[place] for place in places)) for row in rows]

    def _looked_up(
        self, table: str, homes: Sequence[int], by: str, wanted: Sequence[Any], limit: int
    ) -> list[Value]:
        keys = [key_of(table, by, value) for value in wanted]
        place = 1 + TABLES[table].looked_up.index(by)
        found = self._records.by_key(homes, place, keys, limit)
        # Two values may have the same key.
        at, known = list(TABLES[table].columns).index(by), set(wanted)
        return [row for row in found if row.value[at] in known]

    def blobs(
        self, name: str, wanted: Mapping[str, Sequence[int] | None]
    ) -> list[tuple[str, int, bytes]]:
        homes = {self._home(segment).number: segment for segment in wanted}
        whole = [self._home(segment) for segment, numbers in wanted.items() if numbers is None]
        ids = [
            f"{self._home(segment).number}/blobs/{name}/{number}"
            for segment, numbers in wanted.items()
            for number in numbers or ()
        ]
        found = self._records.all_of(whole, f"blobs/{name}")
        found += self._records.by_id(list(homes), ids)
        return [(homes[each.home], int(each.id.rpartition("/")[2]), each.value) for each in found]

    def vectors(self, name: str, numbers: Sequence[int]) -> Array:
        home = self._home(name)
        found: dict[int, Array] = {}
        after = self._records.after
        for some in pieces(list(dict.fromkeys(numbers)), VECTORS):
            found |= self._driver.vectors(home.number, home.dimension, some, after)
        try:
            return np.stack([found[number] for number in numbers]).astype(np.float16)
        except KeyError as error:
            raise self._gone(f"a part of vectors {name}") from error

    def nearest(
        self, names: Sequence[str], vector: Array, wanted: int, allowed: Mapping[str, Array]
    ) -> list[tuple[str, int, float]]:
        if self._exact or wanted > MOST_NEAR:
            return nearest_of_all(self._matrix, names, vector, wanted, allowed)
        homes = {name: self._home(name) for name in names}
        among = {homes[name].number: allowed[name] for name in homes if name in allowed}
        after = self._records.after
        near = nearest(self._driver, list(homes.values()), vector, wanted, among, after)
        called = {home.number: name for name, home in homes.items()}
        return [(called[each.home], each.number, each.score) for each in near]

    def _matrix(self, name: str) -> Array:
        """Return all vectors of a name as float32, from memory if they were read before."""
        with self._lock:
            if name not in self._matrices:
                numbers = range(self._home(name).vectors)
                self._matrices[name] = self.vectors(name, numbers).astype(np.float32)
            return self._matrices[name]

    # Writing

    @contextmanager
    def lock(self) -> Iterator[None]:
        self.head()  # one of another version is not to be touched
        self._driver.prepare()
        turn = Turn(self._driver, new_home())
        try:
            turn.take()
            self._turn = turn
            yield
        finally:
            self._turn = None
            with suppress(StoreError):  # of a server that is gone: the lease runs out
                turn.give_back()

    @property
    def _writing(self) -> Turn:
        if self._turn is None:
            raise ValueError("take the lock first")
        return self._turn

    @contextmanager
    def _written(self) -> Iterator[Turn]:
        """Lend the turn for some writing; homes that are gone were swept by another writer."""
        turn = self._writing
        try:
            yield turn
        except Absent as error:
            raise turn.lost() from error

    def _claim(self, segment: str) -> Home:
        """Return the home of a segment that is being written."""
        turn = self._writing
        if segment not in self._homes:
            home = Home(new_home())
            turn.check()
            self._driver.add_home(home.number)
            self._homes[segment] = home
        return self._homes[segment]

    def insert(self, table: str, segment: str, rows: Iterable[Sequence[Any]]) -> None:
        with self._written():
            home = self._claim(segment)
            made = (each for row in rows for each in self._records.of_row(home, table, row))
            self._records.put(home.number, made)

    def put_vectors(self, name: str, model: str, vectors: Array) -> None:
        with self._written():
            home = self._claim(name)
            home.vectors, home.dimension = vectors.shape
            if len(vectors):
                self._driver.put_vectors(home.number, vectors.astype(np.float32))
            self._records.wrote()

    def switch(self, number: int, manifest: bytes) -> None:
        named = manifest_of(manifest, origin=self.shown)
        names = [entry.name for entry in named.segments]
        names += [entry.name for entry in named.vectors]
        homes = json.dumps({name: asdict(self._home(name)) for name in names})
        with self._written() as turn:
            key = f"{turn.home}/manifest/{number}"
            value = [manifest, homes]
            self._records.put(turn.home, records_of(key, [], value, self._driver.longest))
        turn.check()
        stamp = self._driver.stamp()
        note = json.dumps({"format": FORMAT, "home": turn.home, "stamp": stamp})
        # The one write that counts. A number that was swept long ago can be made again, so it has
        # to be the newest, too.
        is_made = self._driver.make_mark(f"{_GENERATION}{number}", note)
        if not is_made or self._numbers()[-1] != number:
            raise turn.lost()
        self._records.not_before(stamp)

    def sweep(self, generations: Sequence[int], segments: Sequence[str]) -> None:
        present = self._driver.homes()
        numbers = self._numbers()
        # Checked after looking: whoever takes over makes homes that were not seen here.
        self._writing.check()
        kept = {self._home(segment).number for segment in segments} | {self._writing.home}
        for number in numbers:
            if number in generations or number == numbers[-1]:
                kept.add(self._generation(number).home)
            else:
                self._driver.drop_mark(f"{_GENERATION}{number}")
                self._generations.pop(number, None)
        self._driver.drop_homes(present - kept)

    def remove(self) -> None:
        with self.lock():
            for number in self._numbers():  # from now on there is no index
                self._driver.drop_mark(f"{_GENERATION}{number}")
            self._driver.remove()
