"""Whatever moment a writer dies at, the index is the one before or the one after."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import crash_driver as driver
import pytest

from pincite.api import Index
from pincite.model.errors import IndexBusy, StoreError
from pincite.store.manifest import KEPT_GENERATIONS, check_files, current, read_manifest

pytestmark = pytest.mark.slow
SOURCE = Path(__file__).parents[2] / "src"
Play = Callable[..., int]
# All steps and five times the kills take minutes: `PINCITE_LONG_TESTS=1` tries them all.
LONG = bool(os.environ.get("PINCITE_LONG_TESTS"))
STRIDE = 1 if LONG else 4
KILLS = 5 if LONG else 1

# Searched by words: the driver's vectors are only there to be written.
WORDS = driver.SETTINGS.changed({"search.preset": "lexical", "tuning.spread": 0.0})


@pytest.fixture(scope="module")
def play() -> Iterator[Play]:
    """Run jobs in children of a process that has everything imported."""
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(SOURCE)}
    with subprocess.Popen(
        [sys.executable, "-W", "error", driver.__file__],
        env={**os.environ, **one_thread},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin and process.stdout

        def run(home: Path, **job: object) -> int:
            process.stdin.write(json.dumps({"home": str(home), **job}) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield run


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder in memory where there is one: a killed process loses nothing that it wrote."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do as the driver does, and undo it after the test."""
    monkeypatch.setattr(driver.builder, "SEGMENT_TERMS", 0)
    monkeypatch.setattr(driver.builder, "MERGE_FACTOR", 0)
    driver.make_small_segments()


def visible(home: Path) -> dict[str, str]:
    """Return the texts by document of the index after checking everything about it."""
    folder = home / "index"
    manifest = current(folder)
    for entry in (*manifest.segments, *manifest.vectors):
        assert check_files(folder, entry, full=True) == []
    assert {entry.segment for entry in manifest.vectors} <= {e.name for e in manifest.segments}
    with Index.open(folder, WORDS) as index:
        documents = index.documents()
        texts = {doc_id: index.snapshot.document(doc_id).text for doc_id in documents}
        for doc_id, text in texts.items():
            chunks = index.snapshot.chunks(doc_id)
            assert (
                "".join(text[c.span.start : c.own_end] for c in chunks if c.kind != "piece") == text
            )
            versions = re.findall(r"(?:version |v)(\d+)", "".join(c.text for c in chunks))
            assert len(set(versions)) == 1
        hits = index.search("version paragraph section", k=100).passages
        assert {hit.chunk.span.doc_id for hit in hits} == set(documents)
        assert len(hits) == len(index.snapshot)
    return texts


def check_after_crash(home: Path, number: int) -> None:
    """Check that each document is as before or as after the round in which the writer died."""
    old, new = driver.state(number - 1), driver.state(number)
    found = visible(home)
    for name, text in found.items():
        assert text in (old.get(name), new.get(name))
    assert old.keys() & new.keys() <= found.keys()


def ingest_when_free(home: Path) -> None:
    """Ingest, patient with a child that was born in the moment its parent died."""
    for _ in range(100):
        try:
            return driver.ingest_here(home)
        except IndexBusy:
            time.sleep(0.02)
    raise AssertionError("a dead writer keeps its lock")


def check_recovery(home: Path, number: int) -> None:
    """Check that the next ingest completes the round and leaves nothing behind."""
    driver.write_sources(home, number)
    ingest_when_free(home)
    assert visible(home) == driver.state(number)
    folder = home / "index"
    assert sorted(path.name for path in folder.iterdir()) == [
        "CURRENT",
        "generations",
        "segments",
        "vectors",
        "write.lock",
    ]
    kept = list((folder / "generations").iterdir())
    assert len(kept) <= KEPT_GENERATIONS
    for part in ("segments", "vectors"):
        named = {entry.name for file in kept for entry in getattr(read_manifest(file), part)}
        assert {path.name for path in (folder / part).iterdir()} == named
    with Index.open(folder, WORDS) as index:
        assert sum(entry.chunks for entry in index.snapshot.manifest.vectors) >= len(index.snapshot)


def test_kill_during_first_ingest(play: Play, scratch: Path) -> None:
    moments = random.Random(1)
    seconds = seconds_of_a_round(scratch)
    before_first_commit = 0
    for attempt in range(8 * KILLS):
        home = scratch / str(attempt)
        home.mkdir()
        kill_after = seconds * moments.uniform(0.01, 1.5)
        assert play(home, round=1, kill_after=kill_after) == -signal.SIGKILL
        number = int((home / "round").read_text()) if (home / "round").exists() else 1
        if (home / "index" / "CURRENT").exists():
            check_after_crash(home, number)
        else:
            before_first_commit += 1
            with pytest.raises(StoreError, match="no index"):
                Index.open(home / "index")
        check_recovery(home, number)
    assert before_first_commit


def seconds_of_a_round(scratch: Path) -> float:
    """Return how long a first ingest takes on this machine, as busy as it is."""
    home = scratch / "measured"
    home.mkdir()
    driver.write_sources(home, 1)
    start = time.perf_counter()
    driver.ingest(home)
    return time.perf_counter() - start


def test_kill_while_documents_come_change_and_go(play: Play, scratch: Path) -> None:
    moments = random.Random(2)
    seconds = seconds_of_a_round(scratch)
    home = scratch / "measured"
    (home / "round").write_text("1")
    number = 1
    for _ in range(15 * KILLS):
        kill_after = seconds * moments.uniform(0.05, 1.8)
        assert play(home, round=number + 1, kill_after=kill_after) == -signal.SIGKILL
        number = int((home / "round").read_text())
        check_after_crash(home, number)
        check_recovery(home, number)
    assert number > 5 * KILLS  # not all were killed before they began


@pytest.mark.parametrize("rebuild", [False, True])
def test_crash_before_write_steps(play: Play, scratch: Path, rebuild: bool) -> None:
    home = scratch / "home"
    home.mkdir()
    driver.write_sources(home, 1)
    driver.ingest_here(home)
    home.rename(scratch / "base")
    for step in count(1, STRIDE):
        shutil.copytree(scratch / "base", home)
        code = play(home, round=2, crash_at=step, rebuild=rebuild)
        if code == 0:
            break
        assert code == driver.CRASHED
        if rebuild:
            assert visible(home) in (driver.state(1), driver.state(2))
        check_after_crash(home, 2)
        check_recovery(home, 2)
        shutil.rmtree(home)
    assert step > 20
    assert visible(home) == driver.state(2)


def test_crash_before_write_steps_of_the_first_ingest(play: Play, scratch: Path) -> None:
    for step in count(1, STRIDE):
        home = scratch / str(step)
        home.mkdir()
        if play(home, round=1, crash_at=step) == 0:
            break
        check_recovery(home, 1)
        shutil.rmtree(home)
    assert step > 20
    assert visible(home) == driver.state(1)
