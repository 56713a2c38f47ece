"""Faults of Chroma, and of writers that fall silent and wake up again."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from tests.stores.documents import build, loaded, rules
from tests.stores.fault_contract import FaultContract

from pincite.index.builder import IndexBuilder
from pincite.model.errors import IndexBusy, StaleIndex, StoreError
from pincite.store.chroma import engine as chroma
from pincite.store.chroma.engine import ChromaLease
from pincite.store.location import open_engine, open_snapshot


class VectorFaults(FaultContract):
    """What a writer that dies or falls silent must not do."""

    def before_commit(self, engine: Any, kill: Callable[[], None]) -> None:
        """The manifest is there, and nobody names it."""
        make = engine._client.make_mark

        def dying_make(name: str, note: str) -> bool:
            if name.startswith("generation"):
                kill()
            return bool(make(name, note))

        engine._client.make_mark = dying_make

    def leftovers(self, url: str) -> set[str]:
        engine: Any = open_engine(url)
        engine.generations()
        kept = {home.number for home in engine._homes.values()}
        kept |= {each.home for each in engine._generations.values()}
        left = engine._client.homes() - kept
        engine.close()
        return {str(home) for home in left}

    def test_a_writer_that_fell_silent_commits_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another takes over; what the first one still sends is never seen."""
        url, settings = self.fresh(), self.settings()
        build(url, {"a.md": rules(1)})
        with monkeypatch.context() as silent:
            silent.setattr(ChromaLease, "_keep", lambda _: None)
            first = IndexBuilder(url, settings)
            first.__enter__()
        first.put(loaded("b.md", rules(2), settings))
        first._write()
        build(url, {"c.md": rules(3)})
        engine: Any = first._writer.engine  # type: ignore[attr-defined]
        with monkeypatch.context() as unaware:
            unaware.setattr(ChromaLease, "check", lambda _: None)
            # It does not know yet; what it sent was swept, or is swept by the next.
            with suppress(StoreError):  # its home is no more
                engine.insert("keys", "000002-0", [("late", "x", "b.md")])
            told = self.fails(lambda: engine.switch(2, engine._generation(1).manifest))
        assert "took over" in told.message
        self.fails(first.flush)
        first.__exit__(None, None, None)
        with open_snapshot(url) as snapshot:
            assert snapshot.documents() == ["a.md", "c.md"]
            assert snapshot.found_by(["late"]) == []
            assert snapshot.manifest.generation == 2
        build(
            url, {"d.md": rules(4)}
        )  # the first one's way out did not free anything of the second
        assert self.leftovers(url) == set()

    def test_a_number_that_was_swept_is_no_commit(self) -> None:
        url = self.fresh()
        build(url, {"a.md": rules(1)})
        engine: Any = open_engine(url)
        with engine.lock():
            manifest = engine._generation(1).manifest
            engine._client.make_mark("generation_9", '{"format": 1, "home": 1, "stamp": 1}')
            with pytest.raises(StoreError, match="took over"):
                engine.switch(7, manifest)
            engine._client.drop_mark("generation_9")
            engine._client.drop_mark("generation_7")
        engine.close()
        with open_snapshot(url) as snapshot:
            assert snapshot.documents() == ["a.md"]

    def test_a_writer_outlives_a_restart_of_the_server(self) -> None:
        """Its turn is a mark, which comes back with the server."""
        url, settings = self.fresh(), self.settings()
        build(url, {"a.md": rules(1)})
        with IndexBuilder(url, settings) as builder:
            builder.put(loaded("b.md", rules(2), settings))
            self.server.kill()
            self.server.start()
            builder.flush()
        with open_snapshot(url) as snapshot:
            assert snapshot.documents() == ["a.md", "b.md"]

    def test_a_living_writer_is_not_disturbed(self) -> None:
        url, settings = self.fresh(), self.settings()
        with IndexBuilder(url, settings) as builder:
            time.sleep(5.0)  # longer than the lease
            start = time.monotonic()
            with pytest.raises(IndexBusy, match="another process is writing"):
                build(url, {"b.md": rules(2)})
            assert time.monotonic() - start < self.no_hang
            builder.put(loaded("a.md", rules(1), settings))
            builder.flush()
        with open_snapshot(url) as snapshot:
            assert snapshot.documents() == ["a.md"]

    def test_an_index_of_another_version_is_refused(self, monkeypatch: pytest.MonkeyPatch) -> None:
        url = self.fresh()
        build(url, {"a.md": rules(1)})
        monkeypatch.setattr(chroma, "FORMAT", 99)
        with pytest.raises(StaleIndex, match="of version 1"):
            open_snapshot(url)
        with pytest.raises(StaleIndex, match="of version 1"):
            build(url, {"b.md": rules(2)})
