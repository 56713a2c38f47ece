"""Files as the program reads them: in a child with limits, which may die of them."""

from __future__ import annotations

import atexit
from functools import cache
from pathlib import Path

from fuzz.targets.documents import lawful
from pincite.model.errors import SourceError
from pincite.model.settings import LimitSettings, Settings
from pincite.read.workers import ParseTask, WorkerPool

SECONDS = 30.0
LIMITS = LimitSettings(seconds=SECONDS, memory_mb=1500.0)


@cache
def _pool() -> WorkerPool:
    pool = WorkerPool(Settings(limits=LIMITS), workers=1)
    atexit.register(pool.__exit__)
    return pool


def read(data: bytes, name: str) -> str:
    """Return the text of a file; SourceError if it is refused. Laws of documents are checked."""
    (_, result), *rest = _pool().parse([ParseTask(name, data, "", len(data))])
    assert not rest and result is not None
    if isinstance(result, SourceError):
        assert "could not be read: " not in result.message, result.message  # a bug of the reader
        raise result
    lawful(result)
    return result.document.text


class File:
    """A case's attempt: a file of a name with bytes that are made when they are needed."""

    def __init__(self, name: str, make: object, *, never: str = "") -> None:
        self.name = name
        self.make = make
        self.never = never  # words that must not come out

    def __call__(self, folder: Path) -> None:
        data = self.make() if callable(self.make) else self.make
        text = read(data.encode() if isinstance(data, str) else data, self.name)
        assert not self.never or self.never not in text, f"{self.never!r} came out"
