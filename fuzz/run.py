"""Run fuzz targets: ``python fuzz/run.py --seconds 3600``, ``--target read-md``, ``--quick``.

With atheris installed, inputs are guided by coverage: each target gets slices of time in a process
of its own, the one with the least time so far first, so that none goes short. Without it, or with
``--quick``, our own mutator makes the inputs, the same ones every time.

Seconds are of processor time, so that a busy machine does not make a run look longer than it was.
Every slice is a line of ``slices.jsonl`` in the work folder; ``--table`` adds them up. Findings are
in ``findings/``: the input, and what it broke.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from fuzz.harness import Target, Watch  # noqa: E402
from fuzz.mutate import mutations  # noqa: E402
from fuzz.targets.all import PARTS, TARGETS  # noqa: E402

SLICE_SECONDS = 60.0  # of processor time
HANG_SECONDS = 1800.0  # a slice that is not done by then hangs


def quick(target: Target, executions: int | None = None, folder: Path | None = None) -> Watch:
    """Try the seeds of a target and damaged ones; the same inputs every time."""
    watch = Watch(target, folder)
    inputs = mutations(list(target.seeds()), target.words, seed=1)
    for data in islice(inputs, executions or target.smoke):
        watch(data)
    return watch


class Slices:
    """Slices of guided fuzzing: a few processes at a time, in a work folder."""

    def __init__(self, work: Path, names: Iterable[str], jobs: int, seconds: float) -> None:
        self.work = work
        self.names = list(names)
        self.jobs = jobs
        self.until = time.monotonic() + seconds
        self.lines = work / "slices.jsonl"
        self.running: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
        (work / "logs").mkdir(parents=True, exist_ok=True)

    def run(self) -> None:
        """Give every target its slices until the time is up."""
        while time.monotonic() < self.until or self.running:
            for name in list(self.running):
                self._collect(name)
            while len(self.running) < self.jobs and time.monotonic() < self.until:
                free = [name for name in self.names if name not in self.running]
                if not free:
                    break
                spent = totals(read_lines(self.lines))
                self._start(min(free, key=lambda each: spent.get(each, {}).get("seconds", 0.0)))
            time.sleep(0.5)

    def _start(self, name: str) -> None:
        (self.work / "now" / f"{name}.json").unlink(missing_ok=True)
        seconds = min(SLICE_SECONDS, max(5.0, self.until - time.monotonic()))
        command = [sys.executable, str(HERE / "guided.py"), name, PARTS[name], str(self.work)]
        log = (self.work / "logs" / f"{name}.log").open("wb")
        command.append(str(seconds))
        child = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        self.running[name] = child, time.monotonic()

    def _collect(self, name: str) -> None:
        child, started = self.running[name]
        late = time.monotonic() - started > HANG_SECONDS
        if child.poll() is None and not late:
            return
        if late:
            child.kill()
        code = child.wait()
        del self.running[name]
        file = self.work / "now" / f"{name}.json"
        line: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"target": name}
        line["ended"] = "hang" if late else "time" if code == 0 else f"exit {code}"
        if code != 0 or not file.exists():
            line.setdefault("seconds", round(time.monotonic() - started, 1))
            log = self.work / "logs" / f"{name}.log"
            kept = self.work / "findings" / f"{name}-ended-{int(time.time())}.log"
            kept.parent.mkdir(exist_ok=True)
            kept.write_bytes(log.read_bytes()[-20_000:])
        line["at"] = time.strftime("%Y-%m-%dT%H:%M:%S")
        line["version"] = version()
        with self.lines.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")


def version() -> str:
    """Return a hash of the code that is being tried."""
    total = hashlib.sha256()
    for file in sorted((HERE.parent / "src").rglob("*.py")):
        total.update(file.read_bytes())
    return total.hexdigest()[:8]


def read_lines(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def totals(lines: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what was done for each target, over all slices.

    Inputs of the corpus that a slice begins with are tried again and are not counted again.
    """
    found: dict[str, dict[str, Any]] = {}
    for line in lines:
        each = found.setdefault(
            line["target"],
            {
                "executions": 0,
                "seconds": 0.0,
                "refused": 0,
                "corpus": 0,
                "slowest": 0.0,
                "findings": {},
                "ended": 0,
                "slices": 0,
            },
        )
        each["slices"] += 1
        each["executions"] += max(0, line.get("executions", 0) - line.get("replayed", 0))
        each["seconds"] += line.get("seconds", 0.0)
        each["refused"] += line.get("refused", 0)
        each["corpus"] = line.get("corpus", each["corpus"])
        each["slowest"] = max(each["slowest"], line.get("slowest", 0.0))
        each["ended"] += line.get("ended", "time") != "time"
        for key, times in line.get("findings", {}).items():
            each["findings"][key] = each["findings"].get(key, 0) + times
    return found


def table(found: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table, one a target, and the sum."""
    yield "| target | executions | CPU seconds | refused % | corpus | slowest s | findings | died |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for name, each in sorted(found.items()):
        share = min(100, 100 * each["refused"] / max(1, each["executions"]))
        figures = (
            f"{each['executions']:,}",
            f"{each['seconds']:,.0f}",
            f"{share:.0f}",
            f"{each['corpus']:,}",
            f"{each['slowest']:.2f}",
            str(len(each["findings"])),
            str(each["ended"]),
        )
        yield f"| {name} | {' | '.join(figures)} |"
    executions = sum(each["executions"] for each in found.values())
    seconds = sum(each["seconds"] for each in found.values())
    broken = sum(len(each["findings"]) for each in found.values())
    died = sum(each["ended"] for each in found.values())
    yield f"| **all {len(found)}** | {executions:,} | {seconds:,.0f} | | | | {broken} | {died} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="how long in all")
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), help="only this one")
    parser.add_argument(
        "--work", type=Path, default=Path(".fuzz"), help="corpora, findings, figures"
    )
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    parser.add_argument(
        "--quick", action="store_true", help="our own mutator, a few hundred inputs"
    )
    parser.add_argument("--table", action="store_true", help="only print what was done so far")
    parser.add_argument(
        "--version", default="", help="only count slices of this version in the table"
    )
    chosen = parser.parse_args()
    names = chosen.target or list(TARGETS)
    lines = chosen.work / "slices.jsonl"
    if chosen.table:
        told = [line for line in read_lines(lines) if chosen.version in line.get("version", "")]
        print("\n".join(table(totals(told))))
        return
    if chosen.quick or find_spec("atheris") is None:
        told = []
        for name in names:
            begun = time.monotonic()
            watch = quick(TARGETS[name], folder=chosen.work / "findings")
            told.append({**watch.figures(), "seconds": time.monotonic() - begun})
        print("\n".join(table(totals(told))))
        sys.exit(any(each["findings"] for each in told))
    Slices(chosen.work, names, chosen.jobs, chosen.seconds).run()
    print("\n".join(table(totals(read_lines(lines)))))


if __name__ == "__main__":
    main()
