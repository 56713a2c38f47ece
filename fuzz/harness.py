"""What a target is, and how one input is tried: its law, its time, its memory."""

from __future__ import annotations

import atexit
import hashlib
import json
import resource
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pincite.model.errors import PinciteError

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "samples"
KEPT_INPUTS = 3  # of one finding
MOST_MB = 400  # that one input may add to the process


@dataclass(frozen=True, slots=True)
class Target:
    """One way in. ``check`` raises PinciteError to refuse; whatever else comes out is a finding."""

    name: str
    law: str
    check: Callable[[bytes], object]
    seeds: Callable[[], Sequence[bytes]]
    words: Sequence[str] = ()
    most_bytes: int = 1000
    seconds: float = 3.0  # of processor time for one input, instrumented
    smoke: int = 200  # executions in the quick run
    refusals: tuple[type[BaseException], ...] = (PinciteError,)


@dataclass
class Watch:
    """Tries inputs and keeps count; what breaks a law is kept with its input."""

    target: Target
    folder: Path | None = None  # for findings
    executions: int = 0
    refused: int = 0
    slowest: float = 0.0
    findings: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __call__(self, data: bytes) -> None:
        data = data[: self.target.most_bytes]
        self.executions += 1
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        started = time.thread_time()
        try:
            self.target.check(data)
        except self.target.refusals:
            self.refused += 1
        except Exception as error:
            self._found(_place(error), traceback.format_exc(limit=-12), data)
        took = time.thread_time() - started
        self.slowest = max(self.slowest, took)
        if took > self.target.seconds:
            self._found("slow", f"{took:.1f} s of processor time", data)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
        if grown > MOST_MB:
            self._found("memory", f"{grown:.0f} MB more", data)

    def _found(self, key: str, told: str, data: bytes) -> None:
        known = self.findings.setdefault(key, {"times": 0, "told": told, "bytes": len(data)})
        known["times"] += 1
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        mark = hashlib.sha256(key.encode()).hexdigest()[:8]
        stem = f"{self.target.name}-{mark}"
        listed = sorted(self.folder.glob(f"{stem}-*.bin"), key=lambda file: file.stat().st_size)
        if len(listed) < KEPT_INPUTS or len(data) < listed[-1].stat().st_size:
            if len(listed) >= KEPT_INPUTS:
                listed[-1].unlink()
            name = hashlib.sha256(data).hexdigest()[:8]
            (self.folder / f"{stem}-{name}.bin").write_bytes(data)
            (self.folder / f"{stem}.txt").write_text(f"{key}\n\n{told}\n", encoding="utf-8")

    def figures(self) -> dict[str, Any]:
        return {
            "target": self.target.name,
            "executions": self.executions,
            "refused": self.refused,
            "slowest": round(self.slowest, 3),
            "findings": {key: each["times"] for key, each in self.findings.items()},
        }

    def write(self, file: Path, **more: Any) -> None:
        aside = file.with_suffix(".tmp")
        aside.write_text(json.dumps({**self.figures(), **more}), encoding="utf-8")
        aside.replace(file)


def _place(error: BaseException) -> str:
    """Return what went wrong and where in our code: two inputs with the same one are one bug."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [each for each in frames if "/pincite/" in each.filename] or list(frames)
    if isinstance(error, AssertionError):
        ours = list(frames)  # a law: it stands in the target
    last = ours[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"


def text_of(data: bytes) -> str:
    """Return any bytes as text; every text can come of some bytes."""
    return data.decode("utf-8", "replace")


@cache
def work_folder() -> Path:
    """Return a folder for the files of this process, removed at its end."""
    folder = tempfile.mkdtemp(prefix="pincite-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def filed(data: bytes, name: str) -> Path:
    """Return a file with these bytes that only its owner may read."""
    file = work_folder() / name
    if not file.exists():
        file.touch(0o600)
    file.write_bytes(data)
    return file


def halves(data: bytes) -> tuple[bytes, bytes]:
    """Return two inputs out of one: they are parted by the first zero byte."""
    before, _, after = data.partition(b"\0")
    return before, after


def sample(name: str, most: int = 4000) -> bytes:
    """Return the start of a sample document."""
    return (SAMPLES / name).read_bytes()[:most]
