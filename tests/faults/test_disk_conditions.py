"""Full, read-only and slow disks, many writers, clocks that jump, and earlier formats."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import fault_workload as workload
import freeze_index
import pytest
from scripts.release.build import unpack

from pincite.api import Index
from pincite.maintain.repair import repair_index
from pincite.model.errors import IndexBusy, StaleIndex
from pincite.store.format import FORMAT
from pincite.store.manifest import current, damage, point_to
from pincite.store.snapshot import Snapshot
from pincite.update import ingest_files

FROZEN = Path(__file__).parent / "frozen"
YEARS = 365 * 24 * 3600.0
# A disk of one megabyte that gets full, then read-only; a namespace of its own undoes the mount.
SMALL_DISK = """
mount -t tmpfs -o size=1m none "$1" || exit 99
cp -r "$2/." "$1/index" && shift 2
"$@" ingest big.md --index disk/index; echo "code $?"
"$@" doctor --index disk/index; echo "code $?"
mount -o remount,ro disk
"$@" ingest small.md --index disk/index; echo "code $?"
"$@" search version --index disk/index --set search.preset=lexical > found; echo "code $?"
mount -o remount,rw,size=40m disk
"$@" ingest big.md --index disk/index --set embedding.model=none; echo "code $?"
"""


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    with workload.small_segments():
        yield


@pytest.mark.slow
def test_a_disk_that_is_full_and_one_that_is_read_only(
    tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    workload.bring(tmp_path / "index", workload.state(2))
    (tmp_path / "disk").mkdir()
    words = " ".join(f"word{i}" for i in range(60_000))
    (tmp_path / "big.md").write_text(f"# Big\n\n{words}\n")
    (tmp_path / "small.md").write_text("# Small\n\nwords\n")
    program = [sys.executable, "-c", "from pincite.cli.main import run; run()"]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", SMALL_DISK, "sh", "disk", "index", *program],
        cwd=tmp_path,
        env=clean_environment,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    if done.returncode == 99 or "unshare:" in done.stderr:
        pytest.skip("this user may not mount a disk")
    codes = [line for line in done.stdout.splitlines() if line.startswith("code ")]
    assert codes == ["code 4", "code 0", "code 4", "code 0", "code 0"], done.stdout + done.stderr
    assert "free some disk space" in done.stderr and "read-only" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_slow_disk_holds_up_the_writer_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers open and search while a sync takes its time; a second writer is told at once."""
    workload.bring(tmp_path / "index", workload.state(1))
    fsync, waiting = os.fsync, []

    def slow(handle: int) -> None:
        waiting.append(handle)
        time.sleep(0.03)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", slow)
    writer = Thread(target=workload.bring, args=(tmp_path / "index", workload.state(2)))
    writer.start()
    seen, refused = set(), 0
    while writer.is_alive():
        seen.add(frozenset(workload.content(tmp_path / "index").texts.items()))
        if len(waiting) > 3 and writer.is_alive():
            start = time.thread_time()
            try:
                workload.bring(tmp_path / "index", workload.state(2))
            except IndexBusy:
                refused += 1
                assert time.thread_time() - start < 1.0
    writer.join()
    assert len(waiting) > 10 and refused
    assert frozenset(workload.state(1).items()) in seen
    workload.check_complete(tmp_path / "index", workload.state(2), vectors=False)


def add_patiently(folder: Path, number: int) -> None:
    """Add three documents one after the other, whenever nobody else is writing."""
    for version in range(3):
        file = folder.parent / f"{number}-{version}.md"
        file.write_text(workload.document(number, version))
        while True:
            try:
                (outcome,) = ingest_files([(file, file.name)], folder, workload.SETTINGS)
                assert outcome.status == "added"
                break
            except IndexBusy:
                time.sleep(random.uniform(0.001, 0.02))


@pytest.mark.slow
def test_many_writers_lose_nothing_to_each_other(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [
        context.Process(target=add_patiently, args=(tmp_path / "index", number))
        for number in range(3)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(200)
    assert [writer.exitcode for writer in writers] == [0] * 3
    assert damage(tmp_path / "index") == []
    with Snapshot.open(tmp_path / "index") as snapshot:
        assert len(snapshot.documents()) == 9


@pytest.mark.parametrize("years", [-40, -10, 10, 100])
def test_clocks_that_jump_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, years: int
) -> None:
    """Between any two looks at the clock; and files of the index get dates of any year."""
    dice, folder = random.Random(years), tmp_path / "index"

    def jumping(real: object) -> object:
        return lambda: max(0.0, real() + dice.choice([0, years * YEARS]))  # type: ignore[operator]

    now, now_ns = time.time, time.time_ns
    monkeypatch.setattr(time, "time", jumping(now))
    monkeypatch.setattr(time, "time_ns", lambda: int(max(0, now_ns() + years * YEARS * 1e9)))
    newest = 0
    for number in range(1, 5):
        workload.bring(folder, workload.state(number))
        workload.encode(folder)
        for file in folder.rglob("*"):
            then = max(0.0, now() + dice.choice([0, years, -years]) * YEARS)
            os.utime(file, (then, then))
        assert current(folder).generation > newest
        newest = current(folder).generation
        workload.check_complete(folder, workload.state(number), vectors=True)
    (folder / "CURRENT").unlink()
    assert repair_index(folder).fell_back_to == newest  # by its number, not by its date


@pytest.fixture(params=[2, 3])
def frozen(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An index that an earlier version wrote."""
    archive = FROZEN / f"format-{request.param}.tar.xz"
    unpack(archive, tmp_path / "index")
    return tmp_path / "index"


def expected(folder: Path) -> object:
    number = json.loads((next((folder / "generations").iterdir())).read_text())["format"]
    return json.loads((FROZEN / f"format-{number}.json").read_text())


def test_an_index_of_an_earlier_version_is_read_and_written(frozen: Path) -> None:
    was = expected(frozen)
    assert damage(frozen) == []
    assert freeze_index.found(frozen) == was
    assert len(workload.content(frozen).vectors) > 50
    freeze_index.put(frozen, "new.txt", "1. New words about a waiting list.")
    assert b'"format": %d' % FORMAT in max((frozen / "generations").iterdir()).read_bytes()
    assert damage(frozen) == []
    with Index.open(frozen, workload.WORDS) as index:
        assert len(index.documents()) == 4
        assert index.search("new words waiting").passages[0].chunk.span.doc_id == "new.txt"


def test_an_index_of_an_earlier_version_is_repaired(frozen: Path) -> None:
    was = freeze_index.found(frozen)
    for name in ("CURRENT", f"segments/{current(frozen).segments[0].name}/arrays.bin"):
        (frozen / name).unlink()
    report = repair_index(frozen)
    assert not report.lost and report.fell_back_to and report.rebuilt
    assert damage(frozen) == [] and freeze_index.found(frozen) == was


def test_formats_that_are_too_old_or_too_new_are_told(frozen: Path) -> None:
    newest = current(frozen).generation
    file = frozen / "generations" / f"{newest:06d}.json"
    for number in (1, FORMAT + 1):
        file.write_text(json.dumps({**json.loads(file.read_text()), "format": number}))
        point_to(frozen, newest)
        with pytest.raises(StaleIndex, match=f"format {number}") as told:
            Snapshot.open(frozen)
        assert "--rebuild" in told.value.hint
