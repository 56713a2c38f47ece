"""Reading in child processes with limits; what they answer is checked."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pincite.cluster import LOST, Cluster, WorkPiece, connected, node_name
from pincite.model.errors import MALFORMED, SourceError
from pincite.model.profiles import profile_text
from pincite.model.settings import IngestSettings, Settings, merged
from pincite.model.types import (
    Box,
    Chunk,
    Document,
    Enrichment,
    Link,
    ParsedDocument,
    ReaderWarning,
    Span,
)
from pincite.read.load import parse

_FACT_FIELDS = [each.name for each in fields(Enrichment)]
_CHUNK_FIELDS = [each.name for each in fields(Chunk) if each.name not in ("text", "span", "path")]


def to_json(result: ParsedDocument | SourceError) -> bytes:
    """Return the result as bytes; texts of chunks are left out, for they are in the document."""
    if isinstance(result, SourceError):
        return json.dumps({"error": [result.message, result.hint]}).encode()
    document = result.document
    value = {
        "document": [document.id, document.text, document.title, dict(document.meta)],
        "chunks": [
            [c.span.start, c.span.end, list(c.path), *(getattr(c, name) for name in _CHUNK_FIELDS)]
            for c in result.chunks
        ],
        "links": [
            [link.source, link.relation, link.target, link.span.start, link.span.end]
            for link in result.links
        ],
        # By name, without the copy of each value that ``asdict`` makes.
        "facts": {
            chunk_id: {name: getattr(facts, name) for name in _FACT_FIELDS}
            for chunk_id, facts in result.facts.items()
        },
        "findings": [asdict(finding) for finding in result.findings],
        "boxes": [[getattr(box, each.name) for each in fields(Box)] for box in result.boxes],
    }
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def from_json(data: bytes, doc_id: str | None = None) -> ParsedDocument | SourceError:
    """Return what :func:`to_json` wrote of the document that was asked for.

    It may come from a child that a hostile file took over: whatever is not a document is an error
    of that file, and nothing else suffers.
    """
    try:
        value = json.loads(data.decode("utf-8", "surrogatepass"))
        if "error" in value:
            message, hint = map(str, value["error"])
            return SourceError(message, hint=hint)
        document = Document(*value["document"])
        loaded = ParsedDocument(
            document=document,
            chunks=tuple(_chunk(row, document) for row in value["chunks"]),
            links=tuple(
                Link(source, relation, target, Span(document.id, start, end))
                for source, relation, target, start, end in value["links"]
            ),
            facts={name: Enrichment.from_plain(facts) for name, facts in value["facts"].items()},
            findings=tuple(ReaderWarning(**finding) for finding in value["findings"]),
            boxes=tuple(Box(*row) for row in value["boxes"]),
        )
        _check(loaded, doc_id)
        return loaded
    except MALFORMED as error:
        return SourceError(
            f"{doc_id or 'a file'} made its reader talk nonsense: {error!r:.200}",
            hint="the file may be hostile; leave it out or convert it",
        )


def _check(loaded: ParsedDocument, doc_id: str | None) -> None:
    """Raise ValueError if this is no document, another one, or has places outside itself."""
    document = loaded.document
    named = (document.id, document.text, document.title, *document.meta, *document.meta.values())
    if doc_id not in (None, document.id) or not _are(str, *named):
        raise ValueError("another document")
    ids = {chunk.id for chunk in loaded.chunks}
    end = len(document.text)
    if len(ids) != len(loaded.chunks) or not all(_is_sound(c, ids, end) for c in loaded.chunks):
        raise ValueError("chunks")
    if not all(_is_within(link.span, end) and link.source in ids for link in loaded.links):
        raise ValueError("links")
    if not all(_are(str, link.relation, link.target) for link in loaded.links):
        raise ValueError("links")
    if not ids.issuperset(loaded.facts) or not all(map(_are_facts, loaded.facts.values())):
        raise ValueError("facts")
    numbers = (number for box in loaded.boxes for number in (box.x0, box.y0, box.x1, box.y1))
    if not all(type(number) in (int, float) for number in numbers):
        raise ValueError("boxes")
    if not all(_are(int, b.start, b.end, b.page) and 0 <= b.start <= b.end for b in loaded.boxes):
        raise ValueError("boxes")
    if not all(_are(str, finding.kind, finding.message) for finding in loaded.findings):
        raise ValueError("findings")


def _are(kind: type, *values: Any) -> bool:
    return all(type(value) is kind for value in values)


def _is_within(span: Span, end: int) -> bool:
    return _are(int, span.start, span.end) and 0 <= span.start <= span.end <= end


def _is_sound(chunk: Chunk, ids: set[str], end: int) -> bool:
    words = (chunk.id, chunk.kind, chunk.locator, chunk.title, chunk.context, *chunk.path)
    own_end, span = chunk.own_end, chunk.span
    return (
        _is_within(span, end)
        and type(own_end) is int
        and span.start <= own_end <= span.end
        and _are(str, *words)
        and (chunk.parent is None or chunk.parent in ids)
        and (chunk.page is None or type(chunk.page) is int)
        and type(chunk.searched) is bool
    )


def _are_facts(facts: Enrichment) -> bool:
    lists = (facts.tags, facts.traits, facts.terms, facts.aliases, facts.identifiers)
    return (
        _are(str, facts.content_kind)
        and _are(bool, facts.is_rule_bearing)
        and _are(tuple, *lists)
        and all(_are(str, *each) for each in lists)
    )


def _chunk(row: Sequence[Any], document: Document) -> Chunk:
    start, end, path, *rest = row
    return Chunk(
        span=Span(document.id, start, end),
        text=document.text[start:end],
        path=tuple(path),
        **dict(zip(_CHUNK_FIELDS, rest, strict=True)),
    )


# Finished files wait for a slow one before them, so that results come in the order of the files.
AHEAD = 64
# How often an idle child looks whether its parent is still there.
ORPHAN_SECONDS = 2.0
AHEAD_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class ParseTask:
    """One file to parse."""

    doc_id: str
    data: bytes
    source: str
    size: int
    node: str = ""  # that parsed it, if it was one of a cluster


Result = ParsedDocument | SourceError
T = TypeVar("T")


class WorkerPool:
    """A few children that parse files; use it in a ``with`` statement."""

    def __init__(self, settings: Settings, *, workers: int | None = None) -> None:
        self._settings = settings
        self._count = workers or max(1, os.cpu_count() or 1)
        self._idle: list[_ReaderChild] = []

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self._idle:
            child.stop()
        self._idle.clear()

    def parse(
        self, items: Iterable[ParseTask | T]
    ) -> Iterator[tuple[ParseTask | T, Result | None]]:
        """Yield each task with what came of it, in order; what is no task passes through."""
        for item, answer in self.answers(items):
            if isinstance(item, ParseTask) and answer is not None:
                yield item, from_json(answer, item.doc_id)
            else:
                yield item, None

    def answers(
        self, items: Iterable[ParseTask | T]
    ) -> Iterator[tuple[ParseTask | T, bytes | None]]:
        """Yield the same as ``parse`` with each result as it came from the child, in JSON."""
        waiting: deque[_WaitingItem] = deque()
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

    def _start(self, item: Any, waiting: deque[_WaitingItem]) -> _WaitingItem:
        """Give a task to an idle child, waiting for one if all are busy."""
        if not isinstance(item, ParseTask):
            return _WaitingItem(item, None)
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
            child = _ReaderChild(self._settings)
            with suppress(OSError):  # whoever waits for its answer is told
                child.send(item)
        return _WaitingItem(replace(item, data=b""), child)

    def _first(self, waiting: deque[_WaitingItem]) -> tuple[Any, bytes | None]:
        while not waiting[0].is_done:
            self._collect(waiting)
        done = waiting.popleft()
        return done.item, done.answer

    def _collect(self, waiting: deque[_WaitingItem]) -> None:
        """Wait until a child answers, dies or runs out of time, and keep what it said."""
        busy = [(each, each.child) for each in waiting if each.child is not None]
        limit = self._settings.limits.seconds
        left = min(each.started + limit - time.monotonic() for each, _ in busy)
        ready = wait([child.pipe for _, child in busy], timeout=max(0.0, left))
        for each, child in busy:
            assert isinstance(each.item, ParseTask)
            if child.pipe in ready:
                each.finish(child.receive(each.item, each.started + limit))
            elif time.monotonic() >= each.started + limit:
                each.finish(child.too_late(each.item))
            if each.is_done and child.is_alive:
                self._idle.append(child)


class _WaitingItem:
    """An item whose turn has not come: being parsed by a child, or done."""

    def __init__(self, item: Any, child: _ReaderChild | None) -> None:
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


def _is_full(waiting: deque[_WaitingItem]) -> bool:
    size = sum(each.item.size for each in waiting if isinstance(each.item, ParseTask))
    return len(waiting) >= AHEAD or size >= AHEAD_BYTES


START_SECONDS = 5.0


@contextmanager
def ended_after(seconds: float, end: Callable[[], None]) -> Iterator[None]:
    """End a child that lets its parent wait in the middle of a word: a pipe has no deadline.

    A child that was stopped while it sends, or reads, is neither dead nor silent.
    """
    timer = threading.Timer(max(0.0, seconds), end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()  # where there is one thread, children are forked


class _ReaderChild:
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
        self._is_late = False

    def send(self, task: ParseTask) -> None:
        # A child that has just been started takes a moment before it reads.
        with ended_after(self._limits.seconds + START_SECONDS, self._end):
            self.pipe.send_bytes(json.dumps([task.doc_id, task.source]).encode())
            self.pipe.send_bytes(task.data)

    def receive(self, task: ParseTask, due: float) -> bytes:
        """Return the child's answer; a child that died gives the reason."""
        try:
            with ended_after(due - time.monotonic(), self._end):
                # Nobody can say more than there was memory for.
                answer: bytes = self.pipe.recv_bytes(int(self._limits.memory_mb * 1e6))
            return answer
        except (EOFError, OSError):
            if self._is_late or time.monotonic() >= due:
                return self.too_late(task)
            self.stop()
            code = self._process.exitcode or 0
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            hint = "the file may be damaged or hostile; leave it out or convert it"
            return to_json(SourceError(f"{task.doc_id} made its reader fail ({name})", hint=hint))

    def _end(self) -> None:
        self._is_late = True
        self._process.kill()

    def too_late(self, task: ParseTask) -> bytes:
        """End the child, and return what is told of its file."""
        self.stop()
        reason = f"{task.doc_id} took longer than {self._limits.seconds:g} s to read"
        return to_json(SourceError(reason, hint="split it, or raise limits.seconds"))

    def stop(self) -> None:
        self.is_alive = False
        self.pipe.close()
        if self._process.is_alive():
            self._process.kill()
        self._process.join()


def _mapped_bytes() -> int:
    """Return the size of this process's address space; 0 where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text().split()[0]
    except OSError:
        return 0
    return int(pages) * resource.getpagesize()


def _serve(pipe: Connection, settings_text: str, parent: int) -> None:
    """Parse what comes through the pipe until it closes, or the parent is gone.

    The parent says its number itself: it may be dead by the time that a child could ask for it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    settings = merged(Settings(), json.loads(settings_text), origin="parent")
    # Time is the parent's to watch; memory is bounded for good: it cannot be raised again.
    # A child begins with all that its parent has mapped: a large index, models, servers' libraries.
    size = _mapped_bytes() + int(settings.limits.memory_mb * 1e6)
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
    parser: Callable[..., ParsedDocument],
    data: bytes,
    doc_id: str,
    settings: IngestSettings,
    source: str,
) -> bytes:
    try:
        return to_json(parser(data, doc_id, settings, source=source))
    except SourceError as error:
        return to_json(error)
    except MemoryError:
        reason, hint = (
            "needs more memory than limits.memory_mb allows",
            "split it, or raise the limit",
        )
    except Exception as error:  # the border of the sandbox: a reader's bug must not stop a batch
        reason = f"could not be read: {type(error).__name__}: {error}"
        hint = "Pincite failed here: please report it"
    return to_json(SourceError(f"{doc_id} {reason}", hint=hint))


class Readers(Protocol):
    """Reads files, and passes through whatever is no file."""

    def parse(
        self, items: Iterable[ParseTask | T]
    ) -> Iterator[tuple[ParseTask | T, Result | None]]:
        """Yield each task with what came of it, in order; what is no task passes through."""
        ...


@contextmanager
def open_readers(settings: Settings) -> Iterator[Readers]:
    """Give the readers that the settings ask for."""
    with connected(settings.cluster) as cluster:
        if cluster is not None:
            yield ClusterReaders(cluster, settings)
            return
        with WorkerPool(settings) as pool:
            yield pool


class ClusterReaders:
    """Reads files on the nodes of a cluster."""

    def __init__(self, cluster: Cluster, settings: Settings) -> None:
        self._cluster = cluster
        profile = settings.ingest.profile
        values = {"ingest": asdict(settings.ingest), "limits": asdict(settings.limits)}
        # A profile of one's own is a file, which nodes do not have.
        own_profile = profile_text(profile) if profile.endswith(".toml") else ""
        self._shared = (json.dumps(values), own_profile)

    def parse(
        self, items: Iterable[ParseTask | T]
    ) -> Iterator[tuple[ParseTask | T, Result | None]]:
        for item, answer in self._cluster.attempt(read_file, map(self._piece, items)):
            if not isinstance(item, ParseTask):
                yield item, None
            elif answer is LOST:
                reason = f"{item.doc_id}: every node that tried to read it was lost"
                hint = "look at the nodes' memory, or leave the file out"
                yield replace(item, data=b""), SourceError(reason, hint=hint)
            else:
                node, told = answer
                yield replace(item, data=b"", node=node), from_json(told, item.doc_id)

    def _piece(self, item: Any) -> WorkPiece[Any]:
        if not isinstance(item, ParseTask):
            return WorkPiece(item, None)
        return WorkPiece(item, (*self._shared, item.doc_id, item.source, item.data), item.size)


def read_file(
    settings_text: str, own_profile: str, doc_id: str, source: str, data: bytes
) -> tuple[str, bytes]:
    """On a node: read a file in a child with limits; return the node, and what the child says."""
    task = ParseTask(doc_id, data, source, len(data))
    ((_, answer),) = _pool(settings_text, own_profile).answers([task])
    assert answer is not None
    return node_name(), answer


@lru_cache(maxsize=1)
def _pool(settings_text: str, own_profile: str) -> WorkerPool:
    """Return the one child of this process, which lives as long as the process does."""
    settings = merged(Settings(), json.loads(settings_text), origin="parent")
    if own_profile:
        with tempfile.NamedTemporaryFile("w", suffix=".toml", delete=False) as file:
            file.write(own_profile)
        settings = replace(settings, ingest=replace(settings.ingest, profile=file.name))
    # A child would load its parent's main program again: Ray's, of a second and 100 MB.
    vars(sys.modules["__main__"]).pop("__file__", None)
    return WorkerPool(settings, workers=1)
