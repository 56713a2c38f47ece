"""Pages of PDFs drawn in child processes: whatever a file does, the service goes on.

A child keeps the file it drew last open. It has a limit on memory; one that takes too long is
ended and replaced. It answers with a line of JSON and a picture, so that nothing it says is run.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import resource
import signal
from collections import OrderedDict
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any

from pincite.core.errors import SourceError
from pincite.ingest.formats.pdf.picture import PageFacts, draw, facts_of, open_file
from pincite.serve.work import Work

CHILDREN = 2
QUEUE = 64
MEMORY_MB = 1500
SECONDS = 15.0
ORPHAN_SECONDS = 2.0
KEPT_PICTURES = 64
KEPT_BYTES = 32_000_000


class Drawing:
    """A few children that draw pages, and the pages they drew last."""

    def __init__(self) -> None:
        self.work = Work("draw", CHILDREN, QUEUE)
        self._idle: list[_Child] = []
        self._lock = Lock()
        self._pictures: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()
        self._facts: OrderedDict[tuple[str, int], PageFacts] = OrderedDict()
        self._checked: dict[tuple[str, int, int], str] = {}

    def facts(self, file: Path, sha256: str, page: int) -> PageFacts:
        """Return size and number of pages; SourceError if the file is another one by now."""
        known = self._facts.get((sha256, page))
        if known is None:
            self._check(file, sha256)
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
        self._check(file, sha256)
        _, drawn = self._ask(file, page, width)
        with self._lock:
            self._pictures[name] = drawn
            while (
                len(self._pictures) > KEPT_PICTURES
                or sum(map(len, self._pictures.values())) > KEPT_BYTES
            ):
                self._pictures.popitem(last=False)
        return drawn

    def _check(self, file: Path, sha256: str) -> None:
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
            raise gone from None
        if self._checked[stamp] != sha256:
            raise gone

    def _ask(self, file: Path, page: int, width: int) -> tuple[dict[str, Any], bytes]:
        with self._lock:
            child = self._idle.pop() if self._idle else None
        child = child or _Child()
        answer = child.ask(file, page, width)
        if child.is_alive:
            with self._lock:
                self._idle.append(child)
        return answer

    def close(self) -> None:
        """End the children."""
        self.work.close()
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.stop()


class _Child:
    """One process that draws, and the pipe to it."""

    def __init__(self) -> None:
        context: Any = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self.is_alive = True

    def ask(self, file: Path, page: int, width: int) -> tuple[dict[str, Any], bytes]:
        broken = SourceError(
            f"page {page} of {file.name} cannot be drawn", hint="the file may be damaged"
        )
        try:
            self.pipe.send_bytes(json.dumps([str(file), page, width]).encode())
            if not self.pipe.poll(SECONDS):
                self.stop()
                raise SourceError(
                    f"drawing page {page} of {file.name} took longer than {SECONDS:g} s",
                    hint="read its text instead",
                )
            head, picture = json.loads(self.pipe.recv_bytes()), self.pipe.recv_bytes()
        except (EOFError, OSError, ValueError):
            self.stop()
            raise broken from None
        if "problem" in head:
            raise SourceError(str(head["problem"]), hint=str(head["hint"]))
        return head, picture

    def stop(self) -> None:
        self.is_alive = False
        self.pipe.close()
        if self._process.is_alive():
            self._process.kill()
        self._process.join()


def _serve(pipe: Connection) -> None:
    """Draw what is asked for until the pipe closes or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    size = MEMORY_MB * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    parent, last = os.getppid(), ("", 0)
    document: Any = None
    while True:
        while not pipe.poll(ORPHAN_SECONDS):
            if os.getppid() != parent:
                return
        try:
            name, page, width = json.loads(pipe.recv_bytes())
        except EOFError:
            return
        try:
            file = Path(name)
            stamp = (name, file.stat().st_mtime_ns)
            if stamp != last:
                document, last = None, ("", 0)
                document, last = open_file(file), stamp
            told, drawn = asdict(facts_of(document, page)), b""
            if width:
                drawn = draw(document, page, width)
        except SourceError as error:
            told, drawn = {"problem": error.message, "hint": error.hint}, b""
        except Exception as error:  # the border of the sandbox: the file's fault, whatever it is
            reason = type(error).__name__
            told = {"problem": f"page {page} cannot be drawn: {reason}", "hint": "read its text"}
            drawn = b""
        pipe.send_bytes(json.dumps(told).encode())
        pipe.send_bytes(drawn)
