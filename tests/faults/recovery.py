"""How long it takes until an index of some size is back: python bench/faults.py recover

A writer was killed and left half of a segment behind. Timed are the next reader, the next writer
(which sweeps), every checksum, and a repair after the arrays of the largest segment were spoiled.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from fault_workload import SETTINGS, WORDS, scratch

from pincite.api import Index
from pincite.index.builder import IndexBuilder
from pincite.maintain.repair import repair_index
from pincite.read.enrich.profile import profile_fingerprint
from pincite.read.load import parse
from pincite.store.manifest import current, damage

CLAUSES = 500  # of a document


def text(number: int) -> str:
    """Return a document with many clauses."""
    parts = (
        f"## {number}.{i} Clause {i}\n\nThe box {i} of part {number} shall hold {i} lamps.\n"
        for i in range(1, CLAUSES + 1)
    )
    return f"# Part {number}\n\n" + "\n".join(parts)


def build(folder: Path, chunks: int) -> None:
    profile = profile_fingerprint(SETTINGS.ingest.profile)
    with IndexBuilder(folder, SETTINGS, profile=profile) as builder:
        for number in range(1, chunks // CLAUSES + 1):
            name = f"{number}.md"
            builder.put(parse(text(number).encode(), name, SETTINGS.ingest, source=name))
        builder.flush()


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return seconds of the clock and of the processor."""
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - processor


def run(chunks: int) -> tuple[str, list[str]]:
    """Return a table, and what was not right."""
    with scratch() as home:
        folder = home / "index"
        build(folder, chunks)
        largest = max(current(folder).segments, key=lambda entry: entry.chunks).name
        left = folder / "segments" / "999999-0.tmp-1"
        shutil.copytree(folder / "segments" / largest, left)
        found: list[str] = []

        def search() -> None:
            with Index.open(folder, WORDS) as index:
                found.append(str(len(index.snapshot)))
                assert index.search("box 77 of part 3").passages

        def write() -> None:
            profile = profile_fingerprint(SETTINGS.ingest.profile)
            with IndexBuilder(folder, SETTINGS, profile=profile) as builder:
                builder.flush()

        rows = {"open and search": timed(search), "next writer begins": timed(write)}
        problems = [] if not left.exists() else ["what the killed writer left is still there"]
        rows["every checksum (doctor)"] = timed(lambda: problems.extend(damage(folder)))
        (folder / "segments" / largest / "arrays.bin").write_bytes(b"rot")
        rows["repair of the largest segment"] = timed(lambda: repair_index(folder))
        search()
        problems += damage(folder)
        if found[0] != found[-1]:
            problems.append(f"{found[0]} chunks before, {found[-1]} after")
        lines = [f"| {chunks:,} chunks | seconds | processor seconds |", "| --- | --- | --- |"]
        lines += [f"| {name} | {wall:.2f} | {cpu:.2f} |" for name, (wall, cpu) in rows.items()]
        return "\n".join(lines), problems
