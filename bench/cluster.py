"""Two nodes read documents, one is killed meanwhile: is the index the same, and how fast is it?

    python bench/cluster.py [--documents 2000] [--encode 300] [--json FILE]

Both nodes are on this machine, with one processor each, and listen to this machine only. Every way
reads the same documents into an index of its own, and all files of the indexes are compared byte by
byte; some documents also get their vectors. "stopped" is given up in the middle and asked for
again. Both nodes share this machine with the parent, and times of a machine with other work are
what they are: the processor seconds of the parent say what no number of nodes makes faster.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from ingest import document
from pincite import embed_index, find_files, ingest_files, iter_ingest
from pincite.index import builder
from pincite.model.settings import ClusterSettings, Settings
from pincite.model.tuning import Tuning

OBJECT_STORE = 120_000_000
KILLED = "two nodes, one killed"
# Read when Ray is imported: this machine only, no statistics for its makers, a token of our own.
os.environ |= {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
os.environ.setdefault("RAY_AUTH_TOKEN", os.urandom(32).hex())


@contextmanager
def nodes(count: int) -> Iterator[tuple[Settings, list[Any], Any]]:
    """Start a cluster of nodes with one processor each and stop them in the end."""
    from ray.cluster_utils import Cluster

    # Names of sockets are short, so that this is not below a long folder.
    home = tempfile.mkdtemp(prefix="ray-")
    cluster = Cluster(initialize_head=True, head_node_args=_node(home))
    try:
        others = [cluster.add_node(**_node(home)) for _ in range(count - 1)]
        where = ClusterSettings(address=cluster.address)
        settings = Settings(cluster=where, tuning=Tuning(cache=False))
        yield settings, others, cluster
    finally:
        cluster.shutdown()
        shutil.rmtree(home, ignore_errors=True)


def _node(home: str) -> dict[str, Any]:
    return {
        "num_cpus": 1,
        "object_store_memory": OBJECT_STORE,
        "include_dashboard": False,
        "temp_dir": home,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--documents", type=int, default=2000)
    arguments.add_argument(
        "--encode",
        type=int,
        default=300,
        help="documents that get vectors; 0 leaves all ways out in which nothing dies",
    )
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    # Segments end by what is in them alone: a slow machine must not make another index.
    builder.SEGMENT_SECONDS = float("inf")
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        home = Path(name)
        files = _write(home / "docs", given.documents)
        report = _measure(files, home, given.encode)
    for way, values in report.items():
        print(f"{way:<28}{json.dumps(values)}")
    if given.json is not None:
        given.json.write_text(json.dumps(report) + "\n", encoding="utf-8")


def _measure(files: list[tuple[Path, str]], home: Path, encoded: int) -> dict[str, dict[str, Any]]:
    half = len(files) // 2
    plain = Settings(tuning=Tuning(cache=False))
    before = _children()
    report = {"processes": _ingest(files, home / "processes", plain)}
    report["processes"]["readers_cpu_seconds"] = round(_children() - before, 2)
    vectors = {}
    if encoded:
        list(ingest_files(files[:encoded], home / "few", plain))
        vectors["vectors, here"] = _embed(home, "here", plain)
        with nodes(1) as (settings, _, _):
            report["one node"] = _ingest(files, home / "one", settings)
            vectors["vectors, one node"] = _embed(home, "vectors-one", settings)
    with nodes(2) as (settings, others, cluster):
        if encoded:
            report["two nodes"] = _ingest(files, home / "two", settings)
            vectors["vectors, two nodes"] = _embed(home, "vectors-two", settings)

        def kill(done: int) -> None:
            if done == half // 2:
                cluster.remove_node(others[0], allow_graceful=False)

        report[KILLED] = _ingest(files, home / "killed", settings, kill)
        stream = iter_ingest(files, home / "stopped", settings)
        first = [next(stream).status for _ in range(half)]
        stream.close()
        again = _ingest(files, home / "stopped", settings)
        report["stopped and asked again"] = again | {"before": dict(Counter(first))}
    wanted = _files(home / "processes")
    for way, folder in (("one node", "one"), ("two nodes", "two"), (KILLED, "killed")):
        if way in report:
            report[way]["is_the_same"] = _files(home / folder) == wanted
    wanted = _files(home / "here")
    for way, folder in (("one node", "vectors-one"), ("two nodes", "vectors-two")):
        if encoded:
            vectors[f"vectors, {way}"]["is_the_same"] = _files(home / folder) == wanted
    return report | vectors


def _ingest(
    files: list[tuple[Path, str]], index: Path, settings: Settings, watch: Any = None
) -> dict[str, Any]:
    """Ingest and return times and what became of the files."""
    start = cpu = 0.0
    outcomes = []
    for outcome in iter_ingest(files, index, settings):
        if not outcomes:  # a cluster is connected to once, whatever the number of files
            start, cpu = time.perf_counter(), time.process_time()
        outcomes.append(outcome)
        if watch is not None:
            watch(len(outcomes))
    print(f"{index.name}: {len(outcomes)} files", file=sys.stderr, flush=True)
    return {
        "seconds_after_first": round(time.perf_counter() - start, 2),
        "parent_cpu_seconds": round(time.process_time() - cpu, 2),
        "files": dict(Counter(outcome.status for outcome in outcomes)),
        "by_node": dict(Counter(each.node for each in outcomes if each.node)),
    }


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _embed(home: Path, name: str, settings: Settings) -> dict[str, Any]:
    """Give a copy of the small index its vectors and return the time, without the first batch's."""
    shutil.copytree(home / "few", home / name)
    start, cpu, first, last = 0.0, 0.0, 0, 0
    for step in embed_index(home / name, settings):
        if not start:
            start, cpu, first = time.perf_counter(), time.process_time(), step.done
        last = step.done
    return {
        "seconds_after_first": round(time.perf_counter() - start, 2),
        "parent_cpu_seconds": round(time.process_time() - cpu, 2),
        "chunks_after_first": last - first,
    }


def _write(folder: Path, count: int) -> list[tuple[Path, str]]:
    source = random.Random(7)
    for number in range(count):
        file = folder / str(number % 100) / f"{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(document(number, source))
    return find_files([folder])


def _files(folder: Path) -> dict[str, str]:
    """Return a hash of every file below a folder."""
    return {
        file.relative_to(folder).as_posix(): sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


if __name__ == "__main__":
    main()
