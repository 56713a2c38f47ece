"""A whole comparison: environments, vectors, every job on every corpus."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from comparison.environments import PEERS, Say, encoder_of, facts, prepare
from comparison.measure import JOBS, Line, encode, job_lines
from comparison.profile import profiles
from comparison.task import Task
from pincite.model.errors import ConfigError, PinciteError
from pincite.store.snapshot import Snapshot

MODELS = Path(__file__).parents[2] / "models"  # how weights are read and written
VECTORS_BY = "sentence-transformers"  # the peer that makes the vectors of all others


def chosen_peers(names: Sequence[str]) -> list[str]:
    """Return the peers that are meant; ConfigError for one that there is not."""
    wanted = list(PEERS) if "all" in names else list(dict.fromkeys(names))
    for name in wanted:
        if name not in PEERS:
            raise ConfigError(f"no peer {name!r}", hint=f"known: all, {', '.join(PEERS)}")
    if any(PEERS[name].with_torch for name in wanted) and VECTORS_BY not in wanted:
        wanted.append(VECTORS_BY)
    return wanted


def compare(
    tasks: Sequence[Task], peers: Sequence[str], home: Path, rounds: int, say: Say
) -> Iterator[Line]:
    """Yield a line for the machine, for each environment, and for each engine at each job."""
    yield machine()
    pythons: dict[str, Path] = {}
    for name in peers:
        try:
            pythons[name] = prepare(home, name, say)
        except PinciteError as error:
            yield {"job": "install", "engine": name, "missing": error.message}
    yield from _installs(pythons)
    for task in tasks:
        yield from _one(task, pythons, home, rounds, say)


def _installs(pythons: dict[str, Path]) -> Iterator[Line]:
    # The package itself imports nothing: this is what a search needs.
    ours = facts(sys.executable, "pincite.api", ["pincite"])
    yield {"job": "install", "engine": "pincite", **ours}
    for name, python in pythons.items():
        peer = PEERS[name]
        try:
            found = facts(str(python), peer.module, peer.packages)
        except PinciteError as error:
            yield {"job": "install", "engine": name, "missing": error.message}
            continue
        yield {"job": "install", "engine": name, **found}


def _one(task: Task, pythons: dict[str, Path], home: Path, rounds: int, say: Say) -> Iterator[Line]:
    with Snapshot.open(task.index) as snapshot:
        has_vectors = bool(snapshot.vectors)
    jobs = JOBS if has_vectors else ("words",)
    with tempfile.TemporaryDirectory(prefix="pincite-bench-") as scratch:
        folder = Path(scratch)
        if has_vectors:
            torch = pythons.get(VECTORS_BY)
            _write_weights(
                task, torch, home / "cross-encoder", with_flashrank="flashrank" in pythons
            )
            say(f"{task.name}: encoding {len(task.texts)} texts")
            yield from encode(task, torch, folder)
        for job in jobs:
            yield from job_lines(task, job, pythons, folder, rounds, say)
    yield from profiles(task, has_vectors=has_vectors)


def _write_weights(task: Task, torch: Path | None, folder: Path, *, with_flashrank: bool) -> None:
    """Put the weights that peers need where they look for them, and tell the task where."""
    task.cross_encoder = str(folder)
    sys.path.append(str(MODELS))
    if torch is not None:
        from comparison.weights import write_for_torch

        task.encoder = encoder_of(torch)
        write_for_torch(folder)
    if with_flashrank:
        from comparison.padded import write_for_flashrank

        write_for_flashrank(folder / "flashrank")


def machine() -> Line:
    """Return what the figures were measured on."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    return {
        "job": "machine",
        "date": time.strftime("%Y-%m-%d"),
        "processor": model,
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "pincite": version("pincite"),
        "load": os.getloadavg()[0],
    }
