"""Ingesting many small documents: throughput, memory, and the cost of changing one in a hundred.

    python bench/ingest.py [--documents 10000] [--json FILE]

Documents are made here, from numbered sentences: a heading, two sections, some items, a table.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path

from pincite import find_files, ingest_files, iter_ingest

# fmt: off
WORDS = [
    "conductor", "enclosure", "permit", "inspector", "feeder", "vessel", "licence", "station",
    "operator", "frequency", "band", "exception", "table", "section", "limit", "load",
    "circuit", "device", "earth", "rod", "cable", "switch", "panel", "notice", "period",
]
# fmt: on


def document(number: int, source: random.Random) -> str:
    """Return a small regulation of its own."""

    def sentence() -> str:
        return " ".join(source.choices(WORDS, k=14)).capitalize() + f" {source.randrange(10_000)}."

    items = "\n".join(f"({letter}) {sentence()}" for letter in "abcdef")
    rows = "\n".join(f"| {row} | {source.randrange(500)} |" for row in range(1, 6))
    return (
        f"# Rule {number}\n\n## {number}.1 Scope\n\n{sentence()} {sentence()}\n\n"
        f"## {number}.2 Requirements\n\n{sentence()}\n{items}\n\n"
        f"**Table {number}.2 Limits**\n\n| Load (A) | Size (mm) |\n|---|---|\n{rows}\n"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--documents", type=int, default=10_000)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    source = random.Random(7)
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder, index = Path(name) / "docs", Path(name) / "index"
        size = 0
        for number in range(given.documents):
            file = folder / str(number % 100) / f"{number}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            size += file.write_text(document(number, source))
        report = {"documents": given.documents, "megabytes": size / 1e6}
        report |= first(folder, index, given.documents)
        for number in range(0, given.documents, 100):
            file = folder / str(number % 100) / f"{number}.md"
            file.write_text(document(number, source))
        start = time.perf_counter()
        statuses = [outcome.status for outcome in ingest_files(find_files([folder]), index)]
        report["again_seconds"] = time.perf_counter() - start
        report["again_changed"] = statuses.count("changed")
        start = time.perf_counter()
        list(ingest_files(find_files([folder]), index))
        report["unchanged_seconds"] = time.perf_counter() - start
        bytes_on_disk = sum(f.stat().st_size for f in index.rglob("*") if f.is_file())
        report["index_megabytes"] = bytes_on_disk / 1e6
    for key, value in report.items():
        print(f"{key:<24}{value:>12,.2f}" if isinstance(value, float) else f"{key:<24}{value:>12,}")
    if given.json is not None:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(report) + "\n", encoding="utf-8")


def first(folder: Path, index: Path, documents: int) -> dict[str, float]:
    """Ingest everything and return times, and the parent's memory at half time and at the end."""
    start = time.perf_counter()
    cpu = _cpu()
    half = 0.0
    for count, _ in enumerate(iter_ingest(find_files([folder]), index), 1):
        if count == documents // 2:
            half = _peak()
    seconds, used = time.perf_counter() - start, _cpu() - cpu
    return {
        "first_seconds": seconds,
        "documents_per_cpu_second": documents / used,
        "peak_mb_at_half": half,
        "peak_mb_at_end": _peak(),
    }


def _cpu() -> float:
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    main()
