"""What every store of an index has to do, one suite for all of them.

    class TestMyStore(StoreContract):
        def fresh(self) -> str:
            return f"mystore://localhost/{uuid4().hex}"

Answers are compared with those of an index in a folder, which passes the same tests.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.stores.documents import build, exported, library, lines_of, loaded, rules

from pincite.index.builder import IndexBuilder
from pincite.index.opened import OpenIndex
from pincite.model.errors import IndexBusy, PinciteError, StaleIndex, StoreError, is_server
from pincite.model.settings import IngestSettings, Settings
from pincite.model.types import Document, Filters, ParsedDocument, Ranking, ReaderWarning
from pincite.search.reader import IndexReader
from pincite.store.location import (
    GenerationPoller,
    Location,
    exists,
    open_snapshot,
    open_writer,
    remove_index,
    shape_of,
)
from pincite.update import embed_index, remove

HOME = Path(__file__).parents[2]  # where a program of its own finds the tests
QUERIES = (
    "how many days to inspect a boiler",
    "3.2(a)",
    "clearance near a crane",
    "vesel registraton",
    "navire capitaine",
    "漢字 🚢",
    "exception for a furnace out of use",
    "part 4",
    "the",
)
FILTERS = (
    Filters(documents=("codes/part-[1-4].md",)),
    Filters(kinds=("exception",)),
    Filters(path=("duty to repair",)),
    Filters(documents=("codes/part-2.md",), kinds=("table", "row")),
    Filters(documents=("no/such.md",)),
)
_KILLED = """
import os, sys
from pincite.index.builder import IndexBuilder
from pincite.model.settings import Settings
from tests.stores.documents import library, loaded
settings = Settings()
builder = IndexBuilder(sys.argv[1], settings)
builder.__enter__()
for name, text in library().items():
    builder.put(loaded("killed/" + name, text, settings))
builder._write()
os._exit(9)
"""


class StoreContract:
    """Tests of one kind of store; a subclass says where a new, empty one is."""

    # Search by meaning may miss this share of the hits that an exact one finds.
    least_recall = 1.0

    def fresh(self) -> Location:
        """Return where an index can be made: nothing is there yet."""
        raise NotImplementedError

    def settings(self) -> Settings:
        """Return the settings that the store is opened with."""
        return Settings()

    @contextmanager
    def pair(self) -> Iterator[tuple[Location, Path]]:
        """Lend a new store and a new folder."""
        with tempfile.TemporaryDirectory(prefix="pincite-contract-") as folder:
            yield self.fresh(), Path(folder) / "index"

    def test_an_empty_store_says_so(self) -> None:
        location = self.fresh()
        error = _error(lambda: open_snapshot(location))
        assert isinstance(error, StoreError) and "pincite ingest" in error.hint

    def test_everything_comes_back_as_it_was_put(self) -> None:
        with self.pair() as (location, folder):
            for each in (location, folder):
                build(each, library())
            one, other = (
                exported(each, folder.parent / f"{n}") for n, each in enumerate((location, folder))
            )
            assert one == other
            with open_snapshot(location) as mine, open_snapshot(folder) as theirs:
                assert mine.documents() == theirs.documents() == sorted(library())
                for name in mine.documents():
                    assert mine.document(name) == theirs.document(name)
                    assert mine.chunks(name) == theirs.chunks(name)
                    assert mine.links(name) == theirs.links(name)
                    assert mine.chunks_within(name, 40, 300) == theirs.chunks_within(name, 40, 300)
                    ids = [chunk.id for chunk in theirs.chunks(name)]
                    assert mine.get(ids[::-1]) == theirs.get(ids[::-1])
                    assert mine.facts(ids) == theirs.facts(ids)
                    assert mine.places(ids) == theirs.places(ids)
                    assert [mine.children(i) for i in ids] == [theirs.children(i) for i in ids]
                keys = ["3.2", "3.2(a)", "duty to repair", "nothing", ""]
                assert mine.found_by(keys) == theirs.found_by(keys)
                assert mine.documents_with(keys) == theirs.documents_with(keys)
                assert mine.editions() == theirs.editions()

    def test_odd_and_large_values(self) -> None:
        text = "A\x00B\x01 \ufeff \u2028 ' \" \\ % $1 {}\n" + "word " * 60_000 + "x" * 3_000_000
        document = Document("o'dd \\ %s $1.txt", text, "T\x00", {"k\x01": "v\x00"})
        finding = ReaderWarning("bad_page", "\x00 {}", 3)
        found_ids = []
        with self.pair() as (location, folder):
            for each in (location, folder):
                with IndexBuilder(each, Settings()) as builder:
                    builder.put(ParsedDocument(document, lines_of(document), findings=[finding]))
                    builder.flush()
                with open_snapshot(each) as snapshot:
                    found = snapshot.document(document.id)
                    assert (found.text, found.title) == (document.text, document.title)
                    assert found.meta["k\x01"] == "v\x00"
                    assert snapshot.findings(document.id) == [finding]
                    assert snapshot.documents_with(["\ud800", "x" * 20_000]) == {}
                    found_ids.append([chunk.id for chunk in snapshot.chunks(document.id)])
        assert found_ids[0] == found_ids[1]

    def test_putting_again_changes_nothing(self) -> None:
        with self.pair() as (location, folder):
            build(location, library())
            before = exported(location, folder.parent / "before")
            size = _size(location)
            build(location, library())
            build(location, library())
            assert exported(location, folder.parent / "after") == before
            assert _size(location) == size

    def test_a_generation_is_seen_as_a_whole_or_not_at_all(self) -> None:
        settings = Settings()
        location = self.fresh()
        build(location, {"a.md": rules(1)})
        with open_snapshot(location) as old:
            with IndexBuilder(location, settings) as builder:
                builder.put(loaded("b.md", rules(2), settings))
                builder.drop("a.md")
                builder._write()
                assert old.documents() == ["a.md"]
                with open_snapshot(location) as current:
                    assert current.documents() == ["a.md"]
                builder.flush()
            with open_snapshot(location) as new:
                assert new.documents() == ["b.md"]
                assert new.manifest.generation > old.manifest.generation
            assert old.documents() == ["a.md"]
            assert old.text("a.md").startswith("# Part 1")

    def test_what_was_not_committed_is_never_seen(self) -> None:
        settings = Settings()
        location = self.fresh()
        build(location, {"a.md": rules(1)})
        with IndexBuilder(location, settings) as builder:
            builder.put(loaded("b.md", rules(2), settings))
            builder._write()
        with open_snapshot(location) as snapshot:
            assert snapshot.documents() == ["a.md"]

    def test_a_killed_writer_leaves_nothing(self) -> None:
        location = self.fresh()
        build(location, {"a.md": rules(1)})
        command = [sys.executable, "-c", _KILLED, str(location)]
        done = subprocess.run(command, capture_output=True, timeout=120, check=False, cwd=HOME)
        assert done.returncode == 9, done.stderr.decode()
        with open_snapshot(location) as snapshot:
            assert snapshot.documents() == ["a.md"]
        build(location, {"b.md": rules(2)})  # its lock is free, and what it left is swept
        with open_snapshot(location) as snapshot:
            assert snapshot.documents() == ["a.md", "b.md"]
            assert snapshot.found_by(["3.2"]) == []

    def test_there_is_one_writer(self) -> None:
        location = self.fresh()
        build(location, {"a.md": rules(1)})
        with open_writer(location, shape_of(location)):
            assert isinstance(_error(lambda: build(location, {"b.md": rules(2)})), IndexBusy)
        build(location, {"b.md": rules(2)})

    def test_other_settings_ask_for_a_rebuild(self) -> None:
        location = self.fresh()
        build(location, {"a.md": rules(1)})
        other = Settings(ingest=IngestSettings(language="none"))
        error = _error(lambda: build(location, {"b.md": rules(2)}, other))
        assert isinstance(error, StaleIndex)
        with IndexBuilder(location, other, rebuild=True) as builder:
            builder.put(loaded("b.md", rules(2), other))
            with open_snapshot(location) as snapshot:
                assert snapshot.documents() == ["a.md"]
            builder.flush()
        with open_snapshot(location) as snapshot:
            assert snapshot.documents() == ["b.md"]
            assert snapshot.manifest.shape["tokens"]["language"] == "none"

    def test_removed_documents_leave_no_trace(self) -> None:
        with self.pair() as (location, folder):
            build(location, {**library(), "gone.md": rules(20, 12)})
            assert remove(location, ["gone.md", "never.md"]) == ["gone.md"]
            build(folder, library())
            self._same_searches(location, folder)

    def test_many_small_writes_equal_one_large_one(self) -> None:
        with self.pair() as (location, folder):
            for number, (name, text) in enumerate(library().items()):
                build(location, {name: text, "changing.md": rules(30 + number)})
            build(folder, {**library(), "changing.md": rules(30 + number)})
            self._same_searches(location, folder)

    def test_search_is_the_same_as_in_a_folder(self) -> None:
        with self.pair() as (location, folder):
            for each in (location, folder):
                build(each, library())
            self._same_searches(location, folder)
            for each in (location, folder):
                for _ in embed_index(each, self.settings()):
                    pass
            self._same_searches(location, folder)

    def test_an_asker_sees_what_is_open_to_them(self) -> None:
        settings = Settings()
        with self.pair() as (location, folder):
            for each in (location, folder):
                with IndexBuilder(each, settings) as builder:
                    for name, text in library().items():
                        tags = "staff" if name.endswith("-2.md") else ""
                        builder.put(loaded(name, text, settings, access=tags))
                    builder.flush()
            with _opened(location, settings) as mine, _opened(folder, settings) as theirs:
                ours, others = (
                    IndexReader(each.opened.seen_by(()), settings) for each in (mine, theirs)
                )
                assert ours.documents() == others.documents() != mine.documents()
                for query in QUERIES:
                    assert _hits(ours.search_ranking(query, 10)) == _hits(
                        others.search_ranking(query, 10)
                    )
                assert _error(lambda: ours.show("2.1")).message == "no place '2.1'"

    def test_readers_see_whole_generations_while_somebody_writes(self) -> None:
        location = self.fresh()
        build(location, {"a.md": rules(1), "b.md": rules(1)})

        def read(_: int) -> list[tuple[str, str]]:
            with open_snapshot(location) as snapshot:
                return [(name, snapshot.text(name)) for name in snapshot.documents()]

        with ThreadPoolExecutor(3) as pool:
            waiting = []
            for number in range(2, 7):
                waiting += [pool.submit(read, n) for n in range(4)]
                build(location, {"a.md": rules(number), "b.md": rules(number)})
            for each in waiting:
                (one, text), (other, same) = each.result(60)
                assert (one, other) == ("a.md", "b.md")
                assert text == same

    def test_whoever_watches_learns_of_a_new_generation(self) -> None:
        location = self.fresh()
        watches = [GenerationPoller(location), GenerationPoller(location)]
        seen = [{each.stamp() for each in watches}]
        for number in (1, 2):
            build(location, {"a.md": rules(number)})
            # Looking changes nothing, and all who look see the same.
            seen += [{each.stamp() for each in watches} for _ in range(2)]
        if is_server(location) and remove_index(str(location)):
            assert {each.stamp() for each in watches} == {""} and not exists(location)
            build(location, {"a.md": rules(1)})
            assert {each.stamp() for each in watches}.isdisjoint({"", *set().union(*seen)})
        for each in watches:
            each.close()
        assert seen[0] == {""} and all(len(each) == 1 for each in seen)
        assert seen[0] != seen[1] == seen[2] != seen[3] == seen[4]

    def _same_searches(self, location: Location, folder: Path) -> None:
        settings = self.settings()
        with _opened(location, settings) as mine, _opened(folder, settings) as theirs:
            for query in QUERIES:
                self._compare(mine, theirs, query, Filters())
                found, wanted = mine.search(query), theirs.search(query)
                if self.least_recall == 1.0:
                    assert found.passages == wanted.passages
                    assert mine.companions(found) == theirs.companions(wanted)
                assert found.corrections == wanted.corrections
                assert mine.missing_places(query) == theirs.missing_places(query)
            for filters in FILTERS:
                assert mine.explain_filters(filters) == theirs.explain_filters(filters)
                for query in QUERIES[:3]:
                    self._compare(mine, theirs, query, filters)

    def _compare(
        self, mine: IndexReader, theirs: IndexReader, query: str, filters: Filters
    ) -> None:
        found = _hits(mine.search_ranking(query, 20, filters))
        wanted = _hits(theirs.search_ranking(query, 20, filters))
        if self.least_recall == 1.0:
            assert found == wanted, (query, filters)
            return
        missed = {hit[0] for hit in wanted} - {hit[0] for hit in found}
        assert len(missed) <= (1 - self.least_recall) * len(wanted), (query, filters)


def _opened(location: Location, settings: Settings) -> IndexReader:
    return IndexReader(OpenIndex.open(location, settings.store), settings)


def _hits(ranking: Ranking) -> list[tuple[str, float, dict[str, float]]]:
    return [(hit.chunk_id, hit.score, dict(hit.features)) for hit in ranking.hits]


def _size(location: Location) -> int:
    with open_snapshot(location) as snapshot:
        return len(snapshot)


def _error(work: object) -> PinciteError:
    """Return what goes wrong; something has to."""
    assert callable(work)
    try:
        work()
    except PinciteError as error:
        return error
    raise AssertionError("nothing went wrong")
