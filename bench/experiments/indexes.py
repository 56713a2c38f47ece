"""The indexes that an experiment asks: made of its files, gone when it is over.

With :func:`asked_in` they are copied to a server and asked there, and what was copied goes as well.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path

from pincite.api import Index
from pincite.index.opened import OpenIndex
from pincite.maintain.copy import copy_index
from pincite.measure.harness import WORDS_ALONE, check_pipelines
from pincite.model.errors import SourceError, StoreError
from pincite.model.settings import Settings
from pincite.store.location import (
    Location,
    exists,
    open_engine,
    open_snapshot,
    place_in,
    remove_index,
)
from pincite.update import embed_index, ingest_files

Files = Sequence[tuple[Path, str]]  # paths with their document ids
_NAME = "experiment"


@dataclass(frozen=True, slots=True)
class Server:
    """The server that experiments ask, and what they leave there."""

    url: str
    keep: bool
    stays: list[str] = field(default_factory=list)


# Of this context; None for indexes in folders.
_SERVER: ContextVar[Server | None] = ContextVar("server", default=None)


@contextmanager
def asked_in(url: str, *, keep: bool = False) -> Iterator[list[str]]:
    """Let the experiments inside ask copies of their indexes in a server; nothing without a URL.

    Gives a list of the copies that stay: those that were there before, and all with ``keep``.
    """
    if url:
        open_engine(place_in(url, _NAME)).close()  # a bad URL is told before any work is done
    server = Server(url, keep)
    token = _SERVER.set(server if url else None)
    try:
        yield server.stays
    finally:
        _SERVER.reset(token)


def make_index(
    files: Files, folder: Path, pipelines: Sequence[Settings], *, lenient: bool = False
) -> None:
    """Make an index of files with all that the pipelines need; their settings shape it alike.

    A file that is refused is a SourceError, unless lenient.
    """
    for outcome in ingest_files(files, folder, pipelines[0]):
        if outcome.status == "rejected" and not lenient:
            raise SourceError(outcome.reason, hint=outcome.hint or "give the folder with --data")
    for settings in pipelines:
        # Vectors take far longer than the rest.
        if settings.search.preset != WORDS_ALONE or settings.tuning.token_vectors:
            deque(embed_index(folder, settings), maxlen=0)


@contextmanager
def opened(
    files: Files, pipelines: Sequence[Settings], *, lenient: bool = False
) -> Iterator[list[Index]]:
    """Give each pipeline an index of the files; those whose settings shape it alike share one."""
    check_pipelines(pipelines)
    shapes = [json.dumps(settings.shape(), sort_keys=True) for settings in pipelines]
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pincite-")))
        shared: dict[str, OpenIndex] = {}
        for number, shape in enumerate(dict.fromkeys(shapes)):
            folder = scratch / str(number)
            alike = [each for each, its in zip(pipelines, shapes, strict=True) if its == shape]
            make_index(files, folder, alike, lenient=lenient)
            place = stack.enter_context(asked_place(folder, pipelines[0], files))
            shared[shape] = OpenIndex.open(place, pipelines[0].store)
            stack.callback(shared[shape].snapshot.close)
        chosen = [_strict(settings) for settings in pipelines]
        yield [Index(shared[its], each) for each, its in zip(chosen, shapes, strict=True)]


@contextmanager
def asked_place(folder: Path, settings: Settings, files: Files) -> Iterator[Location]:
    """Lend the place where an index is asked: its folder, or a copy in the server of this context.

    A copy that was there before stays: somebody may be asking it.
    """
    server = _SERVER.get()
    if server is None:
        yield folder
        return
    place = place_in(server.url, f"{_NAME}_{_digest(folder, files)}")
    stays = server.keep or exists(place, settings.store)
    if stays:
        server.stays.append(place)
    try:
        deque(copy_index(folder, place, settings.store), maxlen=0)
        yield place
    finally:
        if not stays and not _is_removed(place, settings):
            server.stays.append(place)


def _is_removed(place: str, settings: Settings) -> bool:
    """Remove a copy; False if its server cannot, or is gone."""
    try:
        return remove_index(place, settings.store)
    except StoreError:
        return False


def _digest(folder: Path, files: Files) -> str:
    """Return what names the copy of an index: the same experiment finds its copy again."""
    with open_snapshot(folder) as snapshot:
        models = sorted(each.entry.model for each in snapshot.vectors)
        told = [snapshot.manifest.shape, models, [doc_id for _, doc_id in files]]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]


def _strict(settings: Settings) -> Settings:
    """Return the settings with no way around a model that fails: it is what is measured."""
    return settings.changed({"tuning.rerank.on_error": "raise"})


@contextmanager
def opened_at(folder: Path, settings: Settings) -> Iterator[Index]:
    """Lend one index of a folder."""
    index = OpenIndex.open(folder, settings.store)
    try:
        yield Index(index, _strict(settings))
    finally:
        index.snapshot.close()
