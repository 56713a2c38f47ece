"""Who reads the files: child processes of this machine, or of the nodes of a cluster.

Nodes get the bytes of files and no paths, so that they need no common disk. The child with limits
is there too, inside the task: a file can no more harm a node than this machine.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any, Protocol

from pincite.cluster import LOST, Cluster, Piece, connected, node_name
from pincite.core.errors import SourceError
from pincite.core.profiles import profile_text
from pincite.core.settings import Settings, merged
from pincite.ingest.pool import Pool, Result, T, Task
from pincite.ingest.transfer import from_json

# Files of one task: many small ones, for a task costs a millisecond, or one large one.
FILES_AT_ONCE = 16
BYTES_AT_ONCE = 1_000_000
# What passes through is not held back for long.
ITEMS_AT_ONCE = 64

Batch = list[Any]  # tasks, and what passes through between them


class Readers(Protocol):
    """Reads files, and passes through whatever is no file."""

    def parse(self, items: Iterable[Task | T]) -> Iterator[tuple[Task | T, Result | None]]:
        """Yield each task with what came of it, in order; what is no task passes through."""
        ...


@contextmanager
def open_readers(settings: Settings) -> Iterator[Readers]:
    """Give the readers that the settings ask for."""
    with connected(settings.cluster) as cluster:
        if cluster is not None:
            yield ClusterReaders(cluster, settings)
            return
        with Pool(settings) as pool:
            yield pool


class ClusterReaders:
    """Reads files on the nodes of a cluster."""

    def __init__(self, cluster: Cluster, settings: Settings) -> None:
        self._cluster = cluster
        profile = settings.ingest.profile
        # A profile of one's own is a file, which nodes do not have.
        self._own_profile = profile_text(profile) if profile.endswith(".toml") else ""
        self._settings = json.dumps(
            {"ingest": asdict(settings.ingest), "limits": asdict(settings.limits)}
        )

    def parse(self, items: Iterable[Task | T]) -> Iterator[tuple[Task | T, Result | None]]:
        yield from self._read(_batches(items))

    def _read(self, batches: Iterable[Batch]) -> Iterator[tuple[Any, Result | None]]:
        for batch, result in self._cluster.attempt(read_files, map(self._piece, batches)):
            if result is not LOST:
                node, answers = result or ("", [])
                told = iter(answers)
                for item in batch:
                    if isinstance(item, Task):
                        yield _bare(item, node), from_json(next(told), item.doc_id)
                    else:
                        yield item, None
            elif len(batch) > 1:  # one of them may be what its nodes died of
                yield from self._read([item] for item in batch)
            else:
                (task,) = batch
                reason = f"{task.doc_id}: every node that tried to read it was lost"
                hint = "look at the nodes' memory, or leave the file out"
                yield _bare(task), SourceError(reason, hint=hint)

    def _piece(self, batch: Batch) -> Piece[Batch]:
        files = [(i.doc_id, i.source, i.data) for i in batch if isinstance(i, Task)]
        size = sum(len(data) for _, _, data in files)
        arguments = (self._settings, self._own_profile, files) if files else None
        return Piece(batch, arguments, size)


def _batches(items: Iterable[Any]) -> Iterator[Batch]:
    """Yield the items in groups that are worth a task."""
    batch: Batch = []
    files = size = 0
    for item in items:
        batch.append(item)
        if isinstance(item, Task):
            files += 1
            size += item.size
        if files >= FILES_AT_ONCE or size >= BYTES_AT_ONCE or len(batch) >= ITEMS_AT_ONCE:
            yield batch
            batch, files, size = [], 0, 0
    if batch:
        yield batch


def _bare(task: Task, node: str = "") -> Task:
    """Return a task without its bytes, which are of no more use."""
    return replace(task, data=b"", node=node)


def read_files(
    settings_text: str, own_profile: str, files: list[tuple[str, str, bytes]]
) -> tuple[str, list[bytes]]:
    """On a node: read files in a child with limits; return its name, and what the child says."""
    pool = _pool(settings_text, own_profile)
    tasks = (Task(doc_id, data, source, len(data)) for doc_id, source, data in files)
    return node_name(), [answer for _, answer in pool.answers(tasks) if answer is not None]


@lru_cache(maxsize=1)
def _pool(settings_text: str, own_profile: str) -> Pool:
    """Return the one child of this process, which lives as long as the process does."""
    settings = merged(Settings(), json.loads(settings_text), origin="parent")
    if own_profile:
        with tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False) as file:
            file.write(own_profile)
        settings = replace(settings, ingest=replace(settings.ingest, profile=file.name))
    # A child would load its parent's main program again: Ray's, of a second and 100 MB.
    vars(sys.modules["__main__"]).pop("__file__", None)
    return Pool(settings, workers=1)
