"""An index on its way to the nodes of a cluster, which need no common disk.

The files of one generation are put into Ray's object store once. A node that sees the very same
generation at the parent's path (the same machine, a common disk) takes it from there; any other
writes a copy of its own, once for all its processes.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pincite.cluster import Cluster, WorkPiece, fetched
from pincite.encode.cache import cache_folder
from pincite.index.opened import OpenIndex
from pincite.measure.harness import EvalOptions, Harness, without
from pincite.measure.questions import Question
from pincite.measure.runs import QuestionRecord, RunAnswer
from pincite.model.errors import ClusterError, ConfigError, StoreError
from pincite.model.settings import Settings
from pincite.search.reader import IndexReader
from pincite.store.manifest import pointer_text
from pincite.store.snapshot import Snapshot

# A copy that nobody opened for so long is in nobody's way any more.
KEPT_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class SentIndex:
    """One generation of an index: where the parent has it, and its files for the others."""

    path: str
    pointer: str
    files: Mapping[str, Any]  # by name, what stands for the bytes

    @property
    def name(self) -> str:
        """The same for the same generation, wherever it is."""
        return sha256(self.pointer.encode()).hexdigest()[:16]


def sent(cluster: Cluster, snapshot: Snapshot) -> SentIndex:
    """Put the files of a generation where nodes can fetch them."""
    names = snapshot.files()
    if not names:
        raise ConfigError(
            "questions are spread over a cluster from an index in a folder only",
            hint="make a copy of it (pincite copy URL FOLDER), or leave cluster.address empty",
        )
    folder, manifest = snapshot.folder, snapshot.manifest
    pointer = pointer_text(folder)
    if int(pointer.split()[0]) != manifest.generation:
        raise ClusterError(
            f"{folder} was written to meanwhile", hint="ask again when nobody writes to it"
        )
    files = {name: cluster.put((folder / name).read_bytes()) for name in names}
    return SentIndex(str(folder.resolve()), pointer, files)


def received(index: SentIndex) -> Path:
    """On a node: return a folder with that generation."""
    with suppress(StoreError):
        if pointer_text(Path(index.path)) == index.pointer:
            return Path(index.path)
    home = cache_folder() / "node-indexes"
    folder = home / index.name
    if not folder.exists():
        _forget_old(home)
        _write(index, folder)
    os.utime(folder)
    return folder


def _write(index: SentIndex, folder: Path) -> None:
    """Write a copy aside and rename it: of two processes that do so at once, one is first."""
    aside = folder.with_name(f"{folder.name}.tmp-{os.getpid()}")
    for name, reference in index.files.items():
        file = aside / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(fetched(reference))
    try:
        aside.rename(folder)
    except OSError:
        shutil.rmtree(aside)
        if not folder.exists():
            raise


def _forget_old(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    for old in home.iterdir():
        with suppress(OSError):
            if time.time() - old.stat().st_mtime > KEPT_SECONDS:
                shutil.rmtree(old)


# Some seconds of work for one processor.
QUESTIONS_AT_ONCE = 8

Row = tuple[QuestionRecord, list[RunAnswer]]
_KNOWN: dict[str, Harness] = {}  # on a node: the one that was asked last


@dataclass(frozen=True, slots=True)
class Recipe:
    """A pipeline: its settings, and the stage that it lacks."""

    settings: Settings
    without: str = ""

    def made(self, opened: OpenIndex) -> IndexReader:
        if self.without:
            return without(opened, self.settings, self.without)
        return IndexReader(opened, self.settings)


def ask_on(
    cluster: Cluster,
    snapshot: Snapshot,
    recipes: Sequence[Recipe],
    questions: Sequence[Question],
    how: EvalOptions,
) -> Iterator[Row]:
    """Yield every question with the answer of each pipeline, in order."""
    index = sent(cluster, snapshot)
    whole = cluster.put((index, list(recipes), list(questions), how))
    name = sha256(repr((index.name, recipes, questions, how)).encode()).hexdigest()[:16]
    numbers = range(len(questions))
    pieces = (
        WorkPiece(None, (name, whole, numbers[at : at + QUESTIONS_AT_ONCE]))
        for at in numbers[::QUESTIONS_AT_ONCE]
    )
    for _, rows in cluster.distribute(ask_some, pieces):
        yield from rows


def ask_some(
    name: str,
    whole: tuple[SentIndex, Sequence[Recipe], Sequence[Question], EvalOptions],
    rows: Sequence[int],
) -> list[Row]:
    """On a node: ask some of the questions."""
    if name not in _KNOWN:
        index, recipes, questions, how = whole
        opened = OpenIndex.open(received(index))
        _KNOWN.clear()
        _KNOWN[name] = Harness([each.made(opened) for each in recipes], questions, how)
    return [_KNOWN[name].row(at) for at in rows]
