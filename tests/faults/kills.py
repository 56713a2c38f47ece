"""Real kills: python bench/faults.py kill --runs 1000

A process that has everything imported forks a child, the child writes, and SIGKILL ends it: after a
random time, and once at each named write point (a write path, a kind of step, a kind of file). Then
the index is read as a user would find it, the same work is done again in peace, and what the index
says is compared with a clean build.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from fault_workload import INDEX, Broken, Path_, files_path, paths, scratch, small_segments
from simulated_disk import Disk

from pincite.api import Index
from pincite.model.errors import IndexBusy

LOCK_SECONDS = 10.0


@dataclass
class Found:
    """What came of all runs."""

    kills: Counter[str] = field(default_factory=Counter)  # by write path
    early: Counter[str] = field(
        default_factory=Counter
    )  # of those, before anything was acknowledged
    points: dict[str, int] = field(default_factory=dict)  # named write points, by write path
    recovery: list[float] = field(default_factory=list)  # seconds to read the index after a kill
    failures: list[str] = field(default_factory=list)


class Killer(Disk):
    """Counts write steps by name, and kills its process at one of them."""

    def __init__(self, root: Path, at: int | None) -> None:
        super().__init__(root, None, random.Random(0), root)
        self.at = at
        self.names: list[str] = []

    def step(self, kind: str, path: Path) -> bool:
        self.names.append(f"{kind} {_kind_of(path)}")
        if self.at is not None and len(self.names) > self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(kind, path)


def _kind_of(path: Path) -> str:
    """Return a name for files that differ only by their numbers."""
    parts = path.parts[-2:] if path.name.count(".") or path.suffix else path.parts[-1:]
    return re.sub(r"\d+", "N", "/".join(parts))


class Kills:
    """Homes as they are before each write path, made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found = Found()
        self.paths = [*paths(), files_path()]
        self.steps: list[list[str]] = []
        self.seconds: list[float] = []
        for number, path in enumerate(self.paths):
            home = folder / f"base-{number}"
            home.mkdir()
            path.prepare(home)
            quiet = self._home(number, "quiet")
            killer = Killer(quiet, None)
            with killer.attached():
                path.act(quiet)
            self.steps.append(killer.names)
            shutil.rmtree(quiet)
            quiet = self._home(number, "timed")
            start = time.perf_counter()
            _, acknowledged = self._child(path, quiet)
            self.seconds.append(time.perf_counter() - start)
            assert acknowledged
            path.finish(quiet)
            shutil.rmtree(quiet)
            self.found.points[path.name] = len(set(killer.names))

    def _home(self, number: int, name: str) -> Path:
        return Path(shutil.copytree(self.folder / f"base-{number}", self.folder / name))

    def _child(
        self, path: Path_, home: Path, *, at: int | None = None, after: float | None = None
    ) -> tuple[int, bool]:
        """Write in a child that is killed; return how it ended, and whether it acknowledged."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            os.setpgid(0, 0)  # its readers of files belong to it
            _work(path, home, at, write)
        os.close(write)
        if after is not None:
            time.sleep(after)
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # its children have the other end of the pipe
        acknowledged = os.read(read, 1) == b"k"
        os.close(read)
        return code, acknowledged

    def play(self, number: int, *, at: int | None = None, after: float | None = None) -> None:
        """Kill one writer, and check all that must hold."""
        path, home = self.paths[number], self._home(number, "killed")
        try:
            code, acknowledged = self._child(path, home, at=at, after=after)
            if code != -signal.SIGKILL and code != 0:
                raise Broken(f"it ended with {code}")
            self.found.kills[path.name] += code != 0
            self.found.early[path.name] += code != 0 and not acknowledged
            if acknowledged:
                path.finish(home, tidy=False)
            start = time.perf_counter()
            if (home / INDEX / "CURRENT").exists():
                with suppress(Exception), Index.open(home / INDEX) as index:
                    len(index.snapshot)
            self.found.recovery.append(time.perf_counter() - start)
            path.check(home)
            _patiently(path, home)
            path.finish(home)
        except Exception as error:
            where = f"step {at}" if at is not None else f"after {after:.3f} s"
            self.found.failures.append(f"{path.name}, {where}: {error!r}")
        finally:
            shutil.rmtree(home)


def _work(path: Path_, home: Path, at: int | None, write: int) -> None:
    try:
        if at is None:
            path.act(home)
        else:
            with Killer(home, at).attached():
                path.act(home)
        os.write(write, b"k")
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    os._exit(0)


def _patiently(path: Path_, home: Path) -> None:
    """Do the work in peace; a child that was born in the moment its parent died may hold a lock."""
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            return path.act(home)
        except IndexBusy:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def run(runs: int, *, points: bool = True, seed: int = 0) -> Found:
    """Kill so many writers at random times, and one at each named write point."""
    dice = random.Random(seed)
    with scratch() as folder, small_segments():
        kills = Kills(folder)
        for turn in range(runs):
            number = turn % len(kills.paths)
            kills.play(number, after=kills.seconds[number] * dice.uniform(0, 1.1))
        for number, names in enumerate(kills.steps if points else []):
            for name in sorted(set(names)):
                kills.play(number, at=names.index(name))
        return kills.found


def table(found: Found) -> str:
    head = ["write path", "kills", "before it was acknowledged", "named write points"]
    rows = [
        [name, found.kills[name], found.early[name], points]
        for name, points in found.points.items()
    ]
    sums = [sum(int(row[at]) for row in rows) for at in range(1, len(head))]
    lines = [head, ["---"] * len(head), *rows, ["all", *sums]]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
