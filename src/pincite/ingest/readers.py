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
        values = {"ingest": asdict(settings.ingest), "limits": asdict(settings.limits)}
        # A profile of one's own is a file, which nodes do not have.
        own_profile = profile_text(profile) if profile.endswith(".toml") else ""
        self._shared = (json.dumps(values), own_profile)

    def parse(self, items: Iterable[Task | T]) -> Iterator[tuple[Task | T, Result | None]]:
        for item, answer in self._cluster.attempt(read_file, map(self._piece, items)):
            if not isinstance(item, Task):
                yield item, None
            elif answer is LOST:
                reason = f"{item.doc_id}: every node that tried to read it was lost"
                hint = "look at the nodes' memory, or leave the file out"
                yield replace(item, data=b""), SourceError(reason, hint=hint)
            else:
                node, told = answer
                yield replace(item, data=b"", node=node), from_json(told, item.doc_id)

    def _piece(self, item: Any) -> Piece[Any]:
        if not isinstance(item, Task):
            return Piece(item, None)
        return Piece(item, (*self._shared, item.doc_id, item.source, item.data), item.size)


def read_file(
    settings_text: str, own_profile: str, doc_id: str, source: str, data: bytes
) -> tuple[str, bytes]:
    """On a node: read a file in a child with limits; return the node, and what the child says."""
    task = Task(doc_id, data, source, len(data))
    ((_, answer),) = _pool(settings_text, own_profile).answers([task])
    assert answer is not None
    return node_name(), answer


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
