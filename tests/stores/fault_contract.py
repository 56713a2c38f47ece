"""What every store in a server has to do when the server dies, hangs or comes back.

    class TestMyFaults(FaultContract):
        server = ...                      # something with the methods of Faulty
        def fresh(self) -> str: ...

Nothing that was acknowledged is lost, nothing is seen by halves, and nobody waits for ever.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from tests.stores.documents import build, library, loaded, rules

from pincite.index.builder import IndexBuilder
from pincite.model.errors import IndexBusy, StoreError, StoreUnavailable
from pincite.model.settings import Settings, StoreSettings
from pincite.search.reader import IndexReader
from pincite.store.location import open_snapshot

ASKED, ALSO_ASKED = "how many days to inspect a boiler", "clearance near a crane"


class Faulty(Protocol):
    """A server that tests can do harm to."""

    def start(self) -> None:
        """Start it, or start it again, and wait until it answers."""

    def kill(self) -> None:
        """Kill it at once, with all of its processes."""

    def freeze(self) -> None:
        """Let it hang: connections stay open and nobody answers."""

    def thaw(self) -> None:
        """Let it go on."""


class FaultContract:
    """Tests of one kind of server; a subclass names one and says where a new store is in it."""

    server: Faulty
    # So long an error may take: the time-out, one more try, and a busy machine.
    no_hang = 20.0
    # So often a server is killed right after it acknowledged something.
    kills = 3

    def fresh(self) -> str:
        """Return where an index can be made: nothing is there yet."""
        raise NotImplementedError

    def settings(self) -> Settings:
        """Return the settings that the store is opened with; time-outs are short."""
        return Settings(store=StoreSettings(timeout_seconds=2.0))

    def in_time(self, work: Callable[[], Any]) -> Any:
        """Return what a piece of work gives as soon as the server is back."""
        until = time.monotonic() + self.no_hang
        while True:
            try:
                return work()
            except StoreError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.2)

    def before_commit(self, engine: Any, kill: Callable[[], None]) -> None:
        """Let something happen right before the write that makes a generation count."""
        switch = engine.switch

        def dying_switch(number: int, manifest: bytes) -> None:
            kill()
            switch(number, manifest)

        engine.switch = dying_switch

    def leftovers(self, url: str) -> set[str]:
        """Return what is in the store and belongs to no generation that is kept."""
        return set()

    def fails(self, work: Callable[[], object]) -> StoreError:
        """Return the error of some work, which has to come soon."""
        start = time.monotonic()
        try:
            work()
        except StoreError as error:
            assert time.monotonic() - start < self.no_hang
            assert error.hint
            assert "127.0.0.1" in error.message, error.message
            return error
        raise AssertionError("nothing went wrong")

    def is_away(self, work: Callable[[], object]) -> StoreUnavailable:
        """Return the error of some work, which says that the server is what is missing."""
        error = self.fails(work)
        assert isinstance(error, StoreUnavailable), error
        return error

    def test_killed_while_searching(self) -> None:
        """Answers are right or an error, never something else; and right again afterwards."""
        url, settings = self.fresh(), self.settings()
        build(url, library())
        with IndexReader.open(url, settings) as index:
            before = index.search(ASKED).passages
            wanted = index.search_ranking(ASKED, 10).hits
            wrong: list[object] = []
            asked, done = threading.Event(), threading.Event()

            def ask() -> None:
                while not done.is_set():
                    try:
                        hits = index.search_ranking(ASKED, 10).hits
                        if hits != wanted:
                            wrong.append(hits)
                        asked.set()
                    except StoreError:
                        time.sleep(0.05)

            threads = [threading.Thread(target=ask) for _ in range(2)]
            for thread in threads:
                thread.start()
            assert asked.wait(self.no_hang), "no search ended before the server was killed"
            self.server.kill()
            self.is_away(lambda: index.search(ALSO_ASKED))
            self.is_away(lambda: open_snapshot(url, settings.store))
            self.server.start()
            # It may need a while until it answers again; the index that is open gets there.
            assert self.in_time(lambda: index.search(ASKED).passages) == before
            assert index.search(ALSO_ASKED).passages
            done.set()
            for thread in threads:
                thread.join(self.no_hang)
            assert not wrong, (wrong[0], wanted)

    def test_killed_while_rows_are_written(self) -> None:
        self._killed(lambda engine: self._kill_amid(engine, "chunks"))

    def test_killed_while_arrays_are_written(self) -> None:
        self._killed(lambda engine: self._kill_amid(engine, "blobs"))

    def test_killed_before_the_commit(self) -> None:
        self._killed(lambda engine: self.before_commit(engine, self.server.kill))

    def _kill_amid(self, engine: Any, table: str) -> None:
        """Kill the server when some of a table's rows are in and the others are not."""
        insert = engine.insert

        def dying_insert(name: str, segment: str, rows: Iterable[Sequence[Any]]) -> None:
            sent = list(rows)
            if name == table:
                insert(name, segment, sent[: len(sent) // 2])
                self.server.kill()
                sent = sent[len(sent) // 2 :]
            insert(name, segment, sent)

        engine.insert = dying_insert

    def _killed(self, prepare: Callable[[Any], None]) -> None:
        """Whenever the server dies, the old generation is there, and asking again gives the new."""
        url, settings = self.fresh(), self.settings()
        build(url, {"a.md": rules(1)})
        with IndexBuilder(url, settings) as builder:
            for name, text in library().items():
                builder.put(loaded(name, text, settings))
            writer: Any = builder._writer
            prepare(writer.engine)
            self.fails(builder.flush)
        self.server.start()
        with open_snapshot(url) as snapshot:
            assert snapshot.documents() == ["a.md"]
            assert snapshot.found_by(["3.2"]) == []
        build(url, library())  # waits until the dead one's lock is free, if it has to
        with open_snapshot(url) as snapshot:
            assert snapshot.documents() == sorted([*library(), "a.md"])
        assert self.leftovers(url) == set()

    def test_what_was_acknowledged_survives_a_kill(self) -> None:
        url = self.fresh()
        names = []
        for number in range(self.kills):
            names.append(f"{number}.md")
            build(url, {names[-1]: rules(number + 1)})
            self.server.kill()
            self.server.start()
            with open_snapshot(url) as snapshot:
                assert snapshot.documents() == names

    def test_a_server_that_hangs_is_told_in_time(self) -> None:
        url, settings = self.fresh(), self.settings()
        build(url, library())
        with IndexReader.open(url, settings) as index:
            before = index.search(ASKED).passages
            self.server.freeze()
            try:
                told = self.is_away(lambda: index.search(ALSO_ASKED)).message
                assert "did not answer within" in told or "cannot be reached" in told, told
                self.is_away(lambda: open_snapshot(url, settings.store))
                self.is_away(lambda: build(url, {"b.md": rules(2)}, settings))
            finally:
                self.server.thaw()
            assert self.in_time(lambda: index.search(ASKED).passages) == before
            assert index.search(ALSO_ASKED).passages

    def test_of_many_writers_one_at_a_time(self) -> None:
        url = self.fresh()
        told: list[str] = []

        def write(number: int) -> None:
            try:
                build(url, {f"{number}.md": rules(number)})
                told.append(f"{number}.md")
            except IndexBusy:
                pass

        threads = [threading.Thread(target=write, args=(n,)) for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with open_snapshot(url) as snapshot:
            assert told and snapshot.documents() == sorted(told)
