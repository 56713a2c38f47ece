"""Parsing in child processes: whatever a file does to its reader, the program goes on.

Documents are untrusted. A reader may hang, eat all memory or crash the interpreter; it does so in
a child with limits, the file is rejected with the reason, and a new child takes the next file.
Children answer in JSON, so even a child that a file took over cannot make the parent run code.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from pincite.core.errors import SourceError
from pincite.core.settings import IngestSettings, Settings, merged
from pincite.core.types import Loaded
from pincite.ingest.load import parse
from pincite.ingest.transfer import from_json, to_json

# Finished files wait for a slow one before them, so that results come in the order of the files.
AHEAD = 64
# How often an idle child looks whether its parent is still there.
ORPHAN_SECONDS = 2.0
AHEAD_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class Task:
    """One file to parse."""

    doc_id: str
    data: bytes
    source: str
    size: int
    node: str = ""  # that parsed it, if it was one of a cluster


Result = Loaded | SourceError
T = TypeVar("T")


class Pool:
    """A few children that parse files; use it in a ``with`` statement."""

    def __init__(self, settings: Settings, *, workers: int | None = None) -> None:
        self._settings = settings
        self._count = workers or max(1, os.cpu_count() or 1)
        self._idle: list[_Child] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._idle:
            child.stop()
        self._idle.clear()

    def parse(self, items: Iterable[Task | T]) -> Iterator[tuple[Task | T, Result | None]]:
        """Yield each task with what came of it, in order; what is no task passes through."""
        for item, answer in self.answers(items):
            if isinstance(item, Task) and answer is not None:
                yield item, from_json(answer, item.doc_id)
            else:
                yield item, None

    def answers(self, items: Iterable[Task | T]) -> Iterator[tuple[Task | T, bytes | None]]:
        """Yield the same as ``parse`` with each result as it came from the child, in JSON."""
        waiting: deque[_Waiting] = deque()
        try:
            for item in items:
                waiting.append(self._start(item, waiting))
                while waiting and (waiting[0].is_done or _is_full(waiting)):
                    yield self._first(waiting)
            while waiting:
                yield self._first(waiting)
        finally:
            for each in waiting:
                if each.child is not None:
                    each.child.stop()

    def _start(self, item: Any, waiting: deque[_Waiting]) -> _Waiting:
        """Give a task to an idle child, waiting for one if all are busy."""
        if not isinstance(item, Task):
            return _Waiting(item, None)
        while sum(not each.is_done for each in waiting) >= self._count:
            self._collect(waiting)
        while self._idle:
            child = self._idle.pop()
            try:
                child.send(item)
                break
            except OSError:  # somebody killed it while it had nothing to do
                child.stop()
        else:
            child = _Child(self._settings)
            child.send(item)
        return _Waiting(replace(item, data=b""), child)

    def _first(self, waiting: deque[_Waiting]) -> tuple[Any, bytes | None]:
        while not waiting[0].is_done:
            self._collect(waiting)
        done = waiting.popleft()
        return done.item, done.answer

    def _collect(self, waiting: deque[_Waiting]) -> None:
        """Wait until a child answers, dies or runs out of time, and keep what it said."""
        busy = [(each, each.child) for each in waiting if each.child is not None]
        limit = self._settings.limits.max_seconds
        left = min(each.started + limit - time.monotonic() for each, _ in busy)
        ready = wait([child.pipe for _, child in busy], timeout=max(0.0, left))
        for each, child in busy:
            assert isinstance(each.item, Task)
            if child.pipe in ready:
                each.finish(child.receive(each.item))
            elif time.monotonic() >= each.started + limit:
                child.stop()
                reason = f"{each.item.doc_id} took longer than {limit:g} s to read"
                hint = "split it, or raise limits.max_seconds"
                each.finish(to_json(SourceError(reason, hint=hint)))
            if each.is_done and child.is_alive:
                self._idle.append(child)


class _Waiting:
    """An item whose turn has not come: being parsed by a child, or done."""

    def __init__(self, item: Any, child: _Child | None) -> None:
        self.item = item
        self.child = child
        self.started = time.monotonic()
        self.answer: bytes | None = None

    @property
    def is_done(self) -> bool:
        return self.child is None

    def finish(self, answer: bytes) -> None:
        self.answer = answer
        self.child = None


def _is_full(waiting: deque[_Waiting]) -> bool:
    size = sum(each.item.size for each in waiting if isinstance(each.item, Task))
    return len(waiting) >= AHEAD or size >= AHEAD_BYTES


class _Child:
    """One child process and the pipe to it."""

    def __init__(self, settings: Settings) -> None:
        # Forking is fast and safe while there is one thread; otherwise start from nothing.
        method = "fork" if threading.active_count() == 1 else "spawn"
        context: Any = multiprocessing.get_context(method)
        self._limits = settings.limits
        self.pipe, theirs = context.Pipe()
        text = json.dumps({"ingest": asdict(settings.ingest), "limits": asdict(settings.limits)})
        arguments = (theirs, text, os.getpid())
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        self.is_alive = True

    def send(self, task: Task) -> None:
        self.pipe.send_bytes(json.dumps([task.doc_id, task.source]).encode())
        self.pipe.send_bytes(task.data)

    def receive(self, task: Task) -> bytes:
        """Return the child's answer; a child that died gives the reason."""
        try:
            # Nobody can say more than there was memory for.
            answer: bytes = self.pipe.recv_bytes(int(self._limits.max_memory_mb * 1e6))
            return answer
        except (EOFError, OSError):
            self.stop()
            code = self._process.exitcode or 0
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            hint = "the file may be damaged or hostile; leave it out or convert it"
            return to_json(SourceError(f"{task.doc_id} made its reader fail ({name})", hint=hint))

    def stop(self) -> None:
        self.is_alive = False
        self.pipe.close()
        if self._process.is_alive():
            self._process.kill()
        self._process.join()


def _serve(pipe: Connection, settings_text: str, parent: int) -> None:
    """Parse what comes through the pipe until it closes, or the parent is gone.

    The parent says its number itself: it may be dead by the time that a child could ask for it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    settings = merged(Settings(), json.loads(settings_text), origin="parent")
    # Time is the parent's to watch; memory is bounded for good: it cannot be raised again.
    size = int(settings.limits.max_memory_mb * 1e6)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Values of a document are freed one by one: looking for cycles among them is mostly in vain.
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    while True:
        # Later children inherit this pipe's other end, so a killed parent does not close it.
        while not pipe.poll(ORPHAN_SECONDS):
            if os.getppid() != parent:
                return
        try:
            doc_id, source = json.loads(pipe.recv_bytes())
            data = pipe.recv_bytes()
        except EOFError:
            return
        pipe.send_bytes(_answer(parse, data, doc_id, settings.ingest, source))


def _answer(
    parser: Callable[..., Loaded], data: bytes, doc_id: str, settings: IngestSettings, source: str
) -> bytes:
    try:
        return to_json(parser(data, doc_id, settings, source=source))
    except SourceError as error:
        return to_json(error)
    except MemoryError:
        reason, hint = (
            "needs more memory than limits.max_memory_mb allows",
            "split it, or raise the limit",
        )
    except Exception as error:  # the border of the sandbox: a reader's bug must not stop a batch
        reason = f"could not be read: {type(error).__name__}: {error}"
        hint = "the file may be damaged; please report it if it is not"
    return to_json(SourceError(f"{doc_id} {reason}", hint=hint))
