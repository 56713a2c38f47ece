"""The indexes that an experiment asks: made of its files, gone when it is over."""

from __future__ import annotations

import json
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from pincite.api import Index
from pincite.core.errors import ConfigError, SourceError
from pincite.core.settings import Settings
from pincite.index.opened import OpenIndex
from pincite.pipeline import PRESETS
from pincite.update import ingest_files
from pincite.vectorise import embed_index

Files = Sequence[tuple[Path, str]]  # paths with their document ids
WORDS_ALONE = "lexical"  # the pipeline that needs no vectors


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
            shared[shape] = OpenIndex.open(folder)
            stack.callback(shared[shape].snapshot.close)
        chosen = [_strict(settings) for settings in pipelines]
        yield [Index(shared[its], each) for each, its in zip(chosen, shapes, strict=True)]


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
