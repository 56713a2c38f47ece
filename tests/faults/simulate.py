"""Faults of a disk by seed: python tests/faults/simulate.py --seeds 5000

A seed chooses a write path, what goes wrong, at which write step, and what the disk remembers of
what was not synced; then the same work is done again, maybe with another fault, and at last in
peace. A seed that fails is printed with its number, and --only NUMBER plays it alone.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fault_workload import Broken, Path_, paths, require, scratch, small_segments
from simulated_disk import CRASH, ERRORS, KINDS, Crash, Disk, Fault

from pincite.model.errors import PinciteError

MOST_FAULTS = 3
WEIGHTS = [5, 1, 2, 2, 1, 1]  # of KINDS


@dataclass
class Found:
    """What came of all seeds."""

    seeds: int = 0
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)  # (path, kind)
    steps: dict[str, int] = field(default_factory=dict)  # of each path in peace
    kinds: dict[str, Counter[str]] = field(default_factory=dict)
    failures: list[tuple[int, str, str]] = field(default_factory=list)


class Simulation:
    """Homes as they are before each write path, made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found = Found()
        self.paths = paths()
        for number, path in enumerate(self.paths):
            home = folder / f"base-{number}"
            home.mkdir()
            path.prepare(home)
            quiet = folder / "quiet"
            shutil.copytree(home, quiet)
            disk = Disk(quiet, None, random.Random(0), folder / "none")
            with disk.attached():
                path.act(quiet)
            path.finish(quiet)
            self.found.steps[path.name] = disk.steps
            self.found.kinds[path.name] = disk.kinds
            shutil.rmtree(quiet)

    def play(self, seed: int) -> None:
        """Play one seed; Broken if something that must hold does not."""
        self.found.seeds += 1
        dice = random.Random(seed)
        number = seed % len(self.paths)
        path = self.paths[number]
        home = self.folder / f"{seed}-0"
        shutil.copytree(self.folder / f"base-{number}", home)
        try:
            faults = 1 + (dice.random() < 0.3) + (dice.random() < 0.1)
            for turn in range(1, min(faults, MOST_FAULTS) + 1):
                home = self._fault(path, home, self.folder / f"{seed}-{turn}", dice)
                path.check(home)
            path.act(home)
            path.finish(home)
        finally:
            for left in self.folder.glob(f"{seed}-*"):
                shutil.rmtree(left)

    def _fault(self, path: Path_, home: Path, image: Path, dice: random.Random) -> Path:
        """Do the work with a fault and return the folder that is left."""
        # The step after the last one: the power goes when all was acknowledged.
        step = dice.randint(1, self.found.steps[path.name] + 1)
        kind = dice.choices(KINDS, WEIGHTS)[0]
        if step > self.found.steps[path.name]:
            kind = CRASH
        disk = Disk(home, Fault(kind, step, dice.random() < 0.7), dice, image)
        told: PinciteError | None = None
        with disk.attached():
            try:
                path.act(home)
            except Crash:
                self.found.faults[path.name, kind] += 1
                return image
            except PinciteError as error:
                told = error
        if disk.steps >= step:
            self.found.faults[path.name, kind] += 1
        if kind in ERRORS and told is not None:
            require(bool(told.hint), f"no hint: {told}")
        elif kind not in ERRORS:
            require(told is None, f"{kind}: {told}")
        if told is None:
            path.finish(home, tidy=False)  # acknowledged
            if dice.random() < 0.5 or kind == CRASH:
                disk.leave()
                path.finish(image, tidy=False)  # and still there when the power goes now
                return image
        return home


def run(seeds: Iterable[int]) -> Found:
    """Play seeds and return what came of them."""
    with scratch() as folder, small_segments():
        simulation = Simulation(folder)
        for seed in seeds:
            try:
                simulation.play(seed)
            except Exception as error:
                where = traceback.format_exc() if not isinstance(error, Broken) else str(error)
                name = simulation.paths[seed % len(simulation.paths)].name
                simulation.found.failures.append((seed, name, where))
        return simulation.found


def table(found: Found) -> str:
    """Return the counts as a table: a row for each write path."""
    head = ["write path", "steps", *KINDS, "failed"]
    failed = Counter(name for _, name, _ in found.failures)
    rows = [
        [name, steps, *(found.faults[name, kind] for kind in KINDS), failed[name]]
        for name, steps in found.steps.items()
    ]
    sums = [sum(int(row[at]) for row in rows) for at in range(1, len(head))]
    lines = [head, ["---"] * len(head), *rows, ["all", *sums]]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, help="play this seed alone")
    parser.add_argument("--shown", type=int, default=10, help="failures to print")
    chosen = parser.parse_args()
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    start = time.process_time()
    found = run(seeds if chosen.only is None else [chosen.only])
    print(table(found))
    by_reason: dict[str, list[int]] = defaultdict(list)
    for seed, name, reason in found.failures:
        by_reason[f"{name}: {reason.strip().splitlines()[-1]}"].append(seed)
    for reason, own in list(by_reason.items())[: chosen.shown]:
        print(f"FAILED {len(own)} times, seeds {own[:8]}: {reason}")
    if chosen.only is not None and found.failures:
        print(found.failures[0][2])
    seconds = time.process_time() - start
    print(f"{found.seeds} seeds, {len(found.failures)} failed, {seconds:.0f} s of processor time")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
