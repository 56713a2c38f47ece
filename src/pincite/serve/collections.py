"""Collections, their generations and leases, and the jobs that change them."""

from __future__ import annotations

import errno
import gc
import json
import logging
import os
import platform
import re
import secrets
import shutil
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, TypeVar
from urllib.parse import urlsplit

from pincite.client.values import ClientJob
from pincite.index.opened import OpenIndex
from pincite.model.errors import (
    MALFORMED,
    IndexBusy,
    PinciteError,
    SourceError,
    StoreError,
    StoreFull,
    StoreUnavailable,
    beside,
    redact_url,
)
from pincite.model.settings import ClusterSettings, Settings
from pincite.search.metrics import Metrics
from pincite.search.reader import IndexReader
from pincite.serve.access import locked
from pincite.serve.reading import seen_generation
from pincite.store.files import delete, explained, is_running, sha256_of, write_durably
from pincite.store.location import GenerationPoller, Location, exists, open_snapshot, shape_of
from pincite.update import correct_card, embed_index, ingest_files, remove

# So many kinds of readers are kept ready, with a threshold as many again: anybody may name one.
VIEWS = 16
logger = logging.getLogger("pincite.serve")


class OpenGeneration:
    """One open generation, its views, and who is using it."""

    def __init__(
        self,
        location: Location,
        settings: Settings,
        metrics: Metrics,
        known: frozenset[str] = frozenset(),
    ) -> None:
        self._settings = settings
        self._metrics = metrics
        snapshot = open_snapshot(location, settings.store)
        try:
            self.verified = snapshot.verify(known)  # before anything is made of it
            self.index = IndexReader(OpenIndex(snapshot), settings, metrics=metrics)
        except BaseException:
            snapshot.close()
            raise
        self.number = self.index.snapshot.manifest.generation
        self._views: _Views = OrderedDict()
        self._with_threshold: _Views = OrderedDict()
        self._lock = Lock()
        self._users = 0
        self._is_retired = False

    def seen_by(self, access: tuple[str, ...] | None, threshold: float = 0.0) -> IndexReader:
        """Return the index as one with these tags sees it; None is one who sees all.

        With a threshold, hits are read together with the question, and those left out that answer
        it with a smaller probability.
        """
        tags = None if access is None else tuple(sorted({tag.casefold() for tag in access}))
        name, views = (tags, threshold), self._with_threshold if threshold else self._views
        if name == (None, 0.0):
            return self.index
        with self._lock:
            if name in views:
                views.move_to_end(name)
                return views[name]
        view = self._made(tags, threshold)
        with self._lock:
            # Two threads may have made it at the same time: one is kept.
            view = views.setdefault(name, view)
            while len(views) > VIEWS:
                views.popitem(last=False)
        return view

    def _made(self, tags: tuple[str, ...] | None, threshold: float) -> IndexReader:
        opened, number = self.index.opened, None
        if tags is not None:
            opened = self.seen_by(tags).opened if threshold else opened.seen_by(tags)
        if tags is not None:
            number = seen_generation(opened.snapshot)
        if opened is self.index.opened and not threshold:
            view = copy(self.index)  # nothing is hidden, so far
            view.shown_generation = number
            return view
        settings = self._settings
        if threshold:
            # Who names a threshold waits for it: hits that nobody read would pass it unseen.
            rerank = replace(settings.rerank, enabled=True, threshold=threshold, budget_ms=0)
            settings = replace(settings, rerank=rerank)
        view = IndexReader(opened, settings, metrics=self._metrics)
        view.shown_generation = number
        return view

    def count(self, users: int = 0, *, retires: bool = False) -> bool:
        """Note who comes and goes; True if it is closed: it has retired, and nobody uses it."""
        with self._lock:
            self._users += users
            self._is_retired |= retires
            is_over = self._is_retired and not self._users
        if is_over:
            self._views.clear()
            self._with_threshold.clear()
            self.index.close()
        return is_over


_Views = OrderedDict[tuple[tuple[str, ...] | None, float], IndexReader]


class ServedCollection:
    """One index, served under a name; safe for any number of threads."""

    def __init__(
        self, name: str, location: Location, settings: Settings, metrics: Metrics | None = None
    ) -> None:
        self.name = name
        self.location = location
        # What does not come from documents: uploads, jobs, judgements, runs.
        self.folder = beside(location, settings.store.folder)
        self.settings = settings
        self.metrics = metrics or Metrics(log_queries=settings.serve.log_queries)
        self.reloads = 0
        self.problem = ""  # why the newest generation is not served, for the log and metrics
        self.is_reachable = True  # whether its store answered when it was last looked at
        self._watch = GenerationPoller(location, settings.store)
        self._looked = 0.0
        self._has_garbage = False
        self._verified: frozenset[str] = frozenset()  # parts of the index that are as written
        self._current: OpenGeneration | None = None
        self._stamp = ""
        self._lock = Lock()
        self._opening = Lock()
        self.writing = Lock()  # one of this process writes at a time
        self.unwritten: dict[str, Job] = {}  # how far jobs are that a full disk has no room for

    @property
    def generation(self) -> int:
        """The number of the generation that is served; 0 if there is none."""
        current = self._current
        return current.number if current else 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ingested yet, as far as its store tells."""
        return self._current is None and self.is_reachable

    @property
    def is_ready(self) -> bool:
        """Whether a search would load nothing any more; an empty collection is ready."""
        current = self._current
        return self.is_reachable and (current is None or current.index.ready)

    @contextmanager
    def lease(
        self, access: tuple[str, ...] | None, threshold: float = 0.0
    ) -> Iterator[IndexReader]:
        """Hand out the index as a reader with these tags sees it, for as long as it is used."""
        with self._lock:
            generation = self._current
            if generation is None and not self.is_reachable:
                raise _told_others(self.name, StoreUnavailable(""))
            if generation is None:
                told = f"the collection {self.name!r} has no documents yet"
                raise StoreError(told, hint="upload some first")
            generation.count(1)
        try:
            with self.discreet():
                yield generation.seen_by(access, threshold)
        finally:
            self._has_garbage |= generation.count(-1)

    @contextmanager
    def discreet(self) -> Iterator[None]:
        """Keep folders, hosts and users out of errors that are told to others."""
        try:
            yield
        except StoreUnavailable as error:
            raise _told_others(self.name, error) from error
        except PinciteError as error:
            error.message, error.hint = self.told(error.message), self.told(error.hint)
            raise

    def told(self, text: str) -> str:
        """Return a text for others: without folders, and addresses of services that are asked."""
        names = {str(self.folder), str(self.folder.absolute()), redact_url(self.location)}
        known = {name: self.name for name in names}
        settings = self.settings
        for url in (settings.answer.url, settings.rerank.url, settings.embedding.url):
            if url:
                parts = urlsplit(redact_url(url))
                known |= {parts.netloc: "its service", parts.hostname or parts.netloc: "its host"}
        for each in sorted(known, key=len, reverse=True):
            text = text.replace(each, known[each])
        return text

    def refresh(self, within: float = 0.0) -> bool:
        """Serve the newest generation; True if it is another one than before.

        One that cannot be opened is not served: the one before goes on, and the log says why. With
        ``within``, nothing is done so many seconds after the last look.
        """
        with self._opening:
            if within and time.monotonic() - self._looked < within:
                return False
            try:
                return self._refresh()
            finally:
                self._looked = time.monotonic()
                self._collect()

    def _collect(self) -> None:
        """Free a generation that is over: its parts know each other, and are large but few.

        Python looks for such among old values only when there are many new ones.
        """
        if self._has_garbage:
            self._has_garbage = False
            gc.collect()

    def _refresh(self) -> bool:
        started = time.monotonic()
        try:
            newest = self._watch.stamp()
            generation = self._opened() if newest not in ("", self._stamp) else None
        except PinciteError as error:
            if self.problem != error.message:
                logger.error("collection %s: %s", self.name, error.message)
            self.problem = error.message
            self.is_reachable = not isinstance(error, StoreUnavailable)
            if self._current is None and self.is_reachable:
                raise
            return False
        if not self.is_reachable:
            logger.info("collection %s: its store answers again", self.name)
        self.problem, self.is_reachable = "", True
        if generation is None:
            return False  # the same as before, or nothing was ingested yet
        with self._lock:
            old, self._current = self._current, generation
            self._stamp = newest
        self.reloads += old is not None
        took = time.monotonic() - started
        logger.info("collection %s: generation %d in %.2f s", self.name, generation.number, took)
        if old is not None:
            self._has_garbage |= old.count(retires=True)
        return True

    def _opened(self) -> OpenGeneration:
        """Return the newest generation, ready to be asked."""
        generation = OpenGeneration(self.location, self.settings, self.metrics, self._verified)
        self._verified = generation.verified
        try:
            generation.index.warm()
        except BaseException:
            generation.index.close()
            raise
        return generation

    def close(self) -> None:
        """Stop serving; what is in use is closed when it is no longer."""
        with self._lock:
            old, self._current = self._current, None
        if old is not None:
            old.count(retires=True)
        self._watch.close()


def _told_others(name: str, error: StoreUnavailable) -> StoreUnavailable:
    """Return an error of a server without what the server said: that is for the log."""
    if isinstance(error, StoreFull):
        is_closed = getattr(error.__cause__, "errno", 0) == errno.EROFS
        told = "is read-only" if is_closed else "has no room left"
        return StoreFull(f"the store of {name!r} {told}", hint="tell who runs the service")
    return StoreUnavailable(
        f"the store of {name!r} does not answer", hint="try again in some seconds"
    )


T = TypeVar("T")
JOBS, UPLOADS = "jobs", "uploads"
KEPT_JOBS = 200
# Another process may be writing; so long a job waits for it.
BUSY_SECONDS = 60.0
# Progress is written no more often than this.
PROGRESS_SECONDS = 0.5
_OWN = ("pid", "host", "access")  # not told: of the process that has the job, and of the document
_ID = re.compile(r"[0-9a-f]{16}")
_BAD_PART = re.compile(r"[\x00-\x1f\x7f\\:*?\"<>|]|^\.|^\s|\s$|^$")


@dataclass(frozen=True, slots=True)
class Job(ClientJob):
    """One document on its way into an index, and the process that has it."""

    created: str = ""
    pid: int = 0
    host: str = ""
    access: str | None = None  # tags of the document, if its sender gives any

    def plain(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name not in _OWN}


def document_name(written: str) -> str:
    """Return the id for an uploaded document; ConfigError-like refusal of names that are paths.

    >>> document_name("codes/act.pdf")
    'codes/act.pdf'
    """
    parts = written.split("/")
    is_bad = any(_BAD_PART.search(part) for part in parts) or not written.isprintable()
    if is_bad or len(written.encode("utf-8", "replace")) > 200 or len(parts) > 8:
        raise SourceError(
            "this is no name for a document",
            hint="letters, digits, dots and dashes; folders are separated by /",
        )
    return written


class Jobs:
    """The jobs of one collection, kept in its folder."""

    def __init__(self, collection: ServedCollection, settings: Settings) -> None:
        self.collection = collection
        # One file is read here: asking other machines would take longer than reading it.
        self.settings = replace(settings, cluster=ClusterSettings())
        self.folder = collection.folder / JOBS
        self.uploads = collection.folder / UPLOADS

    def create(self, document: str, access: str | None = None) -> Job:
        """Return a new job that waits."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        job = Job(secrets.token_hex(8), self.collection.name, document, created=now)
        job = replace(job, pid=os.getpid(), host=platform.node(), access=access)
        with self.collection.discreet(), explained("write to", self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_durably(self._file(job.id), json.dumps(asdict(job)).encode())
        for file in sorted(self.folder.glob("*.json"), key=_age)[:-KEPT_JOBS]:
            delete(file)
        return job

    def find(self, job_id: str) -> Job:
        """Return a job; StoreError if there is none of this id."""
        missing = StoreError(f"no job {job_id!r}", hint="jobs are kept for a while only")
        if not _ID.fullmatch(job_id):
            raise missing
        try:
            job = self.collection.unwritten.get(job_id) or self._read(self._file(job_id))
        except FileNotFoundError:
            raise missing from None
        is_ours = job.host in ("", platform.node())  # replicas may share the folder
        if not job.is_ended and is_ours and not is_running(job.pid):
            return replace(job, state="failed", reason="the server was stopped meanwhile")
        return job

    def recent(self, count: int) -> list[Job]:
        """Return the jobs that were begun or went on last, newest first."""
        files = sorted(self.folder.glob("*.json"), key=_age, reverse=True)
        found = []
        for file in files[:count]:
            with suppress(StoreError, *MALFORMED):  # dropped, or written by another version
                found.append(self.find(file.stem))
        return sorted(found, key=lambda job: job.created, reverse=True)

    def _file(self, job_id: str) -> Path:
        return self.folder / f"{job_id}.json"

    def _read(self, file: Path) -> Job:
        return Job(**json.loads(file.read_bytes()))

    def receive(self, document: str, stream: BinaryIO, access: str | None = None) -> Job:
        """Return a new job with its file; if there is no room for either, nothing is left."""
        job = self.create(document, access)
        try:
            with self.collection.discreet(), explained("write to", self.uploads):
                self._incoming(job).parent.mkdir(parents=True, exist_ok=True)
                with self._incoming(job).open("wb") as file:
                    shutil.copyfileobj(stream, file)
        except BaseException:
            self.drop(job)
            raise
        return job

    def _incoming(self, job: Job) -> Path:
        """Return where the file of a job waits."""
        return self.uploads / ".incoming" / job.id

    def _aside(self, job: Job) -> Path:
        """Return where the file that a job replaces waits until the new one is in the index."""
        return self.uploads / ".incoming" / f"{job.id}.before"

    def drop(self, job: Job) -> None:
        """Forget a job that was never begun."""
        delete(self._incoming(job))
        delete(self._file(job.id))

    def recover(self) -> None:
        """Undo what jobs of processes that are gone left half done; called when a process starts.

        A file that was put in its place and is not what the index has gives way to the one before.
        """
        for file in [*self.folder.glob("*.json")] if self.folder.is_dir() else []:
            try:
                job = self._read(file)
            except (*MALFORMED, OSError):
                continue
            is_ours = job.host in ("", platform.node())
            is_alive = is_running(job.pid) and job.pid != os.getpid()
            if job.is_ended or not is_ours or is_alive:
                continue
            with self._alone():
                self._undo(job)
            stopped = "the server was stopped meanwhile"
            self._write(replace(job, state="failed", reason=stopped))

    def _undo(self, job: Job) -> None:
        file, aside = self.uploads / job.document, self._aside(job)
        is_waiting = self._incoming(job).exists()
        if not is_waiting and file.is_file() and sha256_of(file) != self._indexed(job.document):
            delete(file)
        if aside.exists() and not file.exists():
            aside.rename(file)
        delete(aside)
        delete(self._incoming(job))

    def _indexed(self, document: str) -> str:
        """Return the checksum of the file that the index has under this name."""
        if self.collection.is_empty:
            return ""
        with self.collection.lease(None) as index:
            return str((index.snapshot.meta(document) or {}).get("sha256", ""))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one job at a time, of all processes, change files and index."""
        with self.collection.writing, explained("write to", self.uploads):
            self.uploads.mkdir(parents=True, exist_ok=True)
            with locked(self.uploads):
                yield

    def run(self, job: Job) -> None:
        """Bring the document into the index, and serve it; what happens is in the job."""
        try:
            with self.collection.discreet():
                job = self._ingest(replace(job, state="reading"))
        except PinciteError as error:
            job = replace(job, state="failed", reason=self._told(error.message), hint=error.hint)
        except Exception:
            logger.exception("job %s failed", job.id)
            job = replace(job, state="failed", reason="something went wrong here")
        finally:
            delete(self._incoming(job))
            self._write(job)

    def _ingest(self, job: Job) -> Job:
        self._write(job)
        with self._alone():
            with self._placed(job) as (file, keep):
                location, settings, one = self.collection.location, self._shaped(), job.document
                (outcome,) = _patiently(
                    lambda: ingest_files([(file, one)], location, settings, access=job.access)
                )
                if outcome.status == "rejected":
                    reason = self._told(outcome.reason)
                    return replace(job, state="rejected", reason=reason, hint=outcome.hint)
                keep.append(True)
            self.collection.refresh()
            job = replace(job, status=outcome.status, chunks=outcome.chunks, state="embedding")
            job = _patiently(partial(self._embed, job))
            self.collection.refresh()
        return replace(job, state="done")

    def _embed(self, job: Job) -> Job:
        """Give the index the vectors it lacks; those that stand in for them are served at once."""
        last, model = 0.0, ""
        for progress in embed_index(self.collection.location, self.settings):
            if model and model != progress.model:
                self.collection.refresh()
            model = progress.model
            job = replace(job, done=progress.done, total=progress.total)
            if time.monotonic() - last >= PROGRESS_SECONDS:
                last = time.monotonic()
                self._write(job)
        return job

    @contextmanager
    def _placed(self, job: Job) -> Iterator[tuple[Path, list[bool]]]:
        """Put the file in its place; unless it is kept, what was there before comes back."""
        file = self.uploads / job.document
        aside = self._aside(job)
        above = [each for each in file.parents if each.is_relative_to(self.uploads)]
        if file.is_dir() or any(each.is_file() for each in above):
            # One name for a document and a folder of others: neither may take the other's place.
            raise SourceError(
                f"{job.document} is also the name of a folder, or of what should be its folder",
                hint="choose another name",
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            file.rename(aside)
        self._incoming(job).rename(file)
        keep: list[bool] = []
        try:
            yield file, keep
        finally:
            if not keep:
                delete(file)
                if aside.exists():
                    aside.rename(file)
            delete(aside)

    def _shaped(self) -> Settings:
        """Return the settings with what shaped the index: an upload must not need a rebuild."""
        location, store = self.collection.location, self.settings.store
        if not exists(location, store):
            return self.settings
        shape = shape_of(location, store)
        known = Settings.from_shape(shape, origin="index")
        return self.settings.shaped_as(known)

    def remove(self, document: str) -> None:
        """Take a document out of the index; StoreError if it is not there."""
        location, store = self.collection.location, self.settings.store
        with self.collection.discreet(), self._alone():
            if not _patiently(lambda: remove(location, [document], store)):
                raise StoreError(f"no document {document!r}", hint="see: GET /v1/documents")
            file = self.uploads / document
            if file.is_file() and self.uploads.resolve() in file.resolve().parents:
                delete(file)
            self.collection.refresh()

    def rename(self, document: str, title: str) -> None:
        """Give a document another title, which stays when its file is read again."""
        location, store = self.collection.location, self.settings.store
        with self.collection.discreet(), self._alone():
            _patiently(lambda: correct_card(location, document, {"title": title}, store))
            self.collection.refresh()

    def _told(self, reason: str) -> str:
        """Return a reason without the folders of this machine."""
        for folder in (self.uploads, self.uploads.resolve(), self.collection.folder):
            reason = reason.replace(f"{folder}/", "").replace(str(folder), self.collection.name)
        return reason

    def _write(self, job: Job) -> None:
        try:
            write_durably(self._file(job.id), json.dumps(asdict(job)).encode())
            self.collection.unwritten.pop(job.id, None)
        except OSError as error:
            logger.error("job %s cannot be written: %s", job.id, error)
            self.collection.unwritten[job.id] = job
            while len(self.collection.unwritten) > KEPT_JOBS:
                self.collection.unwritten.pop(next(iter(self.collection.unwritten)))


def _patiently(work: Callable[[], T]) -> T:
    """Do some work, waiting for whoever else is writing."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return work()
        except IndexBusy:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def _age(file: Path) -> int:
    """Return when a file was written; 0 if another request has just dropped it."""
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
