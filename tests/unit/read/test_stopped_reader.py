"""A reader that is stopped in the middle of its answer, by a real signal."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from pincite.model.errors import SourceError
from pincite.model.settings import Settings
from pincite.model.types import ParsedDocument
from pincite.read.workers import ParseTask, WorkerPool

LIMIT = 12.0
LONG = "# Rules\n\n" + "Two rods are 2 m apart. " * 60_000  # more than a pipe takes at once
WRITE = ("1", "64")  # the number of the call on x86-64 and on arm64


def _stop_while_it_sends() -> None:
    """Stop the one child as soon as it waits for somebody to take what it writes."""
    (child,) = multiprocessing.active_children()
    assert child.pid is not None
    until = time.monotonic() + LIMIT - 2
    while time.monotonic() < until:
        if Path(f"/proc/{child.pid}/syscall").read_text().split()[0] in WRITE:
            break
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGSTOP)


def test_the_next_file_is_read_though_a_reader_stands_still() -> None:
    def files() -> Iterator[ParseTask]:
        data = LONG.encode()
        yield ParseTask("long.md", data, "long.md", len(data))
        _stop_while_it_sends()
        yield ParseTask("short.md", b"# Short\n\nOne rod.\n", "short.md", 18)

    settings = Settings().changed({"limits.seconds": LIMIT})
    with WorkerPool(settings, workers=1) as pool:
        (_, first), (_, second) = pool.parse(files())
    assert isinstance(first, SourceError) and "took longer than 12 s" in first.message
    assert isinstance(second, ParsedDocument) and second.document.id == "short.md"
    assert multiprocessing.active_children() == []
