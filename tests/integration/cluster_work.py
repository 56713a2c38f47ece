"""A small cluster for tests, and functions that its nodes run: they import them from here."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from pincite.model.errors import SourceError
from pincite.model.settings import ClusterSettings
from pincite.read.workers import read_file

LOCAL = ClusterSettings(address="local")


def noted(folder: str, number: int) -> int:
    """Note that it ran, and return the number."""
    with (Path(folder) / str(number)).open("a") as file:
        file.write("x")
    return number


def noted_slowly(folder: str, number: int) -> int:
    """The first pieces take longest, so that later ones are done before them."""
    time.sleep(0.2 if number < 3 else 0.0)
    return noted(folder, number)


def dies_once(folder: str, number: int) -> int:
    """Take the node's process down the first time that it runs."""
    if len(runs(folder, number)) == 0:
        noted(folder, number)
        os.kill(os.getpid(), signal.SIGKILL)
    return noted(folder, number)


def dies_always(folder: str, number: int) -> int:
    noted(folder, number)
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def refuses(folder: str, number: int) -> int:
    noted(folder, number)
    raise SourceError(f"number {number} is no good", hint="take another")


def breaks(folder: str, number: int) -> int:
    noted(folder, number)
    raise ZeroDivisionError("a bug")


def runs(folder: str, number: int) -> str:
    """Return one letter for each time that a piece ran."""
    file = Path(folder) / str(number)
    return file.read_text() if file.exists() else ""


def dies_of_bad_files(
    settings_text: str, own_profile: str, doc_id: str, source: str, data: bytes
) -> tuple[str, bytes]:
    """Read a file as a node does, unless it is called bad: it takes the node down."""
    if doc_id.startswith("bad"):
        os.kill(os.getpid(), signal.SIGKILL)
    return read_file(settings_text, own_profile, doc_id, source, data)
