"""Pages of PDFs drawn in child processes: whatever a file does, the service goes on.

A child keeps the file it drew last open. It has a limit on memory; one that takes too long is
ended and replaced. It answers with a line of JSON and a picture, so that nothing it says is run.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
from collections import OrderedDict
from multiprocessing import Pipe
from pathlib import Path
from threading import Lock
from typing import Any

from pincite.model.errors import SourceError
from pincite.read.pdf.picture import PageFacts
from pincite.read.workers import ended_after
from pincite.serve.work import Work

CHILDREN = 2
QUEUE = 64
SECONDS = 15.0
START_SECONDS = 15.0  # until a new child has loaded what it needs
PROGRAM = "pincite.serve.page.drawing_child"
KEPT_PICTURES = 64
KEPT_BYTES = 32_000_000


class Drawing:
    """A few children that draw pages, and the pages they drew last."""

    def __init__(self) -> None:
        self.work = Work("draw", CHILDREN, QUEUE)
        self._idle: list[_DrawingChild] = []
        self._lock = Lock()
        self._is_closed = False
        self._pictures: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()
        self._facts: OrderedDict[tuple[str, int], PageFacts] = OrderedDict()
        self._checked: dict[tuple[str, int, int], str] = {}

    def facts(self, file: Path, sha256: str, page: int) -> PageFacts:
        """Return size and number of pages; SourceError if the file is another one by now."""
        known = self._facts.get((sha256, page))
        if known is None:
            self.check(file, sha256)
            told, _ = self._ask(file, page, 0)
            known = PageFacts(**told)
            with self._lock:
                self._facts[sha256, page] = known
                while len(self._facts) > 1000:
                    self._facts.popitem(last=False)
        return known

    def picture(self, file: Path, sha256: str, page: int, width: int) -> bytes:
        """Return a page as PNG; SourceError if the file is another one by now."""
        name = (sha256, page, width)
        with self._lock:
            if name in self._pictures:
                self._pictures.move_to_end(name)
                return self._pictures[name]
        self.check(file, sha256)
        _, drawn = self._ask(file, page, width)
        with self._lock:
            self._pictures[name] = drawn
            while (
                len(self._pictures) > KEPT_PICTURES
                or sum(map(len, self._pictures.values())) > KEPT_BYTES
            ):
                self._pictures.popitem(last=False)
        return drawn

    def check(self, file: Path, sha256: str) -> None:
        """Raise SourceError unless the file is the one that was ingested."""
        gone = SourceError(
            f"{file.name} is no longer what was ingested", hint="ingest it again to see its pages"
        )
        try:
            facts = file.stat()
            stamp = (str(file), facts.st_mtime_ns, facts.st_size)
            if stamp not in self._checked:
                with file.open("rb") as stream:
                    self._checked[stamp] = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError:
            raise SourceError(
                f"{file.name} is not where it was when it was ingested",
                hint="its text can be read; ingest the file from where it is now",
            ) from None
        if self._checked[stamp] != sha256:
            raise gone

    def _ask(self, file: Path, page: int, width: int) -> tuple[dict[str, Any], bytes]:
        with self._lock:
            child = self._idle.pop() if self._idle else None
        child = child or _DrawingChild()
        try:
            return child.ask(file, page, width)
        finally:  # also where it had to say that a page cannot be drawn
            with self._lock:
                is_kept = child.is_alive and not self._is_closed
                if is_kept:
                    self._idle.append(child)
            if not is_kept:
                child.stop()

    def close(self) -> None:
        """End the children; one that is at work ends when it is done."""
        self.work.close()
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for child in idle:
            child.stop()


class _DrawingChild:
    """One process that draws, and the pipe to it.

    It is a program of its own: one that multiprocessing starts would load the whole service first.
    """

    def __init__(self) -> None:
        self.pipe, theirs = Pipe()
        number = theirs.fileno()
        command = [sys.executable, "-m", PROGRAM, str(number)]
        self._process = subprocess.Popen(command, pass_fds=[number], stdin=subprocess.DEVNULL)
        theirs.close()
        self.is_alive = True
        self._seconds = SECONDS + START_SECONDS  # of the next answer

    def ask(self, file: Path, page: int, width: int) -> tuple[dict[str, Any], bytes]:
        broken = SourceError(
            f"page {page} of {file.name} cannot be drawn", hint="the file may be damaged"
        )
        due = time.monotonic() + self._seconds
        try:
            with ended_after(self._seconds, self._process.kill):
                self.pipe.send_bytes(json.dumps([str(file), page, width]).encode())
                head, picture = json.loads(self.pipe.recv_bytes()), self.pipe.recv_bytes()
        except (EOFError, OSError, ValueError):
            self.stop()
            if time.monotonic() < due:
                raise broken from None
            raise SourceError(
                f"drawing page {page} of {file.name} took longer than {SECONDS:g} s",
                hint="read its text instead",
            ) from None
        self._seconds = SECONDS
        if "problem" in head:
            raise SourceError(str(head["problem"]), hint=str(head["hint"]))
        return head, picture

    def stop(self) -> None:
        self.is_alive = False
        self.pipe.close()
        self._process.kill()
        self._process.wait()
