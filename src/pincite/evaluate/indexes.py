"""The indexes that an experiment asks: made of its files, gone when it is over.

With :func:`asked_in` they are copied to a server and asked there, where the copies stay.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path

from pincite.api import Index
from pincite.copying import copy_index
from pincite.core.errors import ConfigError, SourceError
from pincite.core.settings import Settings
from pincite.index.opened import OpenIndex
from pincite.pipeline import PRESETS
from pincite.update import ingest_files
from pincite.vectorise import embed_index

Files = Sequence[tuple[Path, str]]  # paths with their document ids
# The URL of the server that the experiments of this context ask.
_SERVER: ContextVar[str] = ContextVar("server", default="")
WORDS_ALONE = "lexical"  # the pipeline that needs no vectors


@contextmanager
def asked_in(url: str) -> Iterator[None]:
    """Let the experiments inside ask copies of their indexes in a server; nothing without a URL.

    A server can hold many indexes, each behind ``#`` and a name.
    """
    if "#" in url:
        raise ConfigError(
            "an experiment names its indexes itself", hint="leave out what is behind #"
        )
    token = _SERVER.set(url)
    try:
        yield
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
        if settings.search.pipeline != WORDS_ALONE or settings.learn.tokens:
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
            shared[shape] = _opened(folder, pipelines[0], files)
            stack.callback(shared[shape].snapshot.close)
        chosen = [_strict(settings) for settings in pipelines]
        yield [Index(shared[its], each) for each, its in zip(chosen, shapes, strict=True)]


def _opened(folder: Path, settings: Settings, files: Files) -> OpenIndex:
    """Return the index of a folder, or its copy in the server of this context."""
    url = _SERVER.get()
    if not url:
        return OpenIndex.open(folder)
    made = OpenIndex.open(folder)
    with made.snapshot as snapshot:
        models = sorted(each.entry.model for each in snapshot.vectors)
        told = [snapshot.manifest.shape, models, [doc_id for _, doc_id in files]]
    # The same experiment finds its copy again.
    digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]
    place = f"{url}#experiment_{digest}"
    deque(copy_index(folder, place, settings.store), maxlen=0)
    return OpenIndex.open(place, settings.store)


def _strict(settings: Settings) -> Settings:
    """Return the settings with no way around a model that fails: it is what is measured."""
    return replace(settings, rerank=replace(settings.rerank, on_error="raise"))


def check_pipelines(pipelines: Sequence[Settings]) -> None:
    """Raise ConfigError for a pipeline that does not exist, before any work is done."""
    for settings in pipelines:
        if settings.search.pipeline not in PRESETS:
            raise ConfigError(
                f"no pipeline {settings.search.pipeline!r}",
                hint=f"known: {', '.join(PRESETS)}; or name a settings file that ends in .toml",
            )
