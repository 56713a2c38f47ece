"""Ingesting what was uploaded: one job a document, its progress in a file that all workers see."""

from __future__ import annotations

import json
import logging
import os
import platform
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from pincite.core.errors import IndexBusy, PinciteError, SourceError, StoreError
from pincite.core.settings import ClusterSettings, Settings
from pincite.serve.collections import Collection
from pincite.store.files import delete, explained, write_durably
from pincite.store.location import exists, shape_of
from pincite.update import Outcome, ingest_files, remove
from pincite.vectorise import embed_index

T = TypeVar("T")
State = Literal["queued", "reading", "embedding", "done", "rejected", "failed"]
ENDED = ("done", "rejected", "failed")
JOBS, UPLOADS = "jobs", "uploads"
KEPT_JOBS = 200
# Another process may be writing; so long a job waits for it.
BUSY_SECONDS = 60.0
# Progress is written no more often than this.
PROGRESS_SECONDS = 0.5
_OWN = ("pid", "host")  # of the process that has the job
_ID = re.compile(r"[0-9a-f]{16}")
_BAD_PART = re.compile(r"[\x00-\x1f\x7f\\:*?\"<>|]|^\.|^\s|\s$|^$")
logger = logging.getLogger("pincite.serve")


@dataclass(frozen=True, slots=True)
class Job:
    """One document on its way into an index."""

    id: str
    collection: str
    document: str
    state: State = "queued"
    status: str = ""  # what became of the document: added, changed, unchanged
    chunks: int = 0
    done: int = 0  # chunks that have vectors, of total
    total: int = 0
    reason: str = ""
    hint: str = ""
    created: str = ""
    pid: int = 0
    host: str = ""

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

    def __init__(self, collection: Collection, settings: Settings) -> None:
        self.collection = collection
        # One file is read here: asking other machines would take longer than reading it.
        self.settings = replace(settings, cluster=ClusterSettings())
        self.folder = collection.folder / JOBS
        self.uploads = collection.folder / UPLOADS

    def create(self, document: str) -> Job:
        """Return a new job that waits."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        job = Job(secrets.token_hex(8), self.collection.name, document, created=now)
        job = replace(job, pid=os.getpid(), host=platform.node())
        with self.collection.discreet(), explained("write to", self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._write(job)
        self._sweep()
        return job

    def find(self, job_id: str) -> Job:
        """Return a job; StoreError if there is none of this id."""
        missing = StoreError(f"no job {job_id!r}", hint="jobs are kept for a while only")
        if not _ID.fullmatch(job_id):
            raise missing
        try:
            job = Job(**json.loads((self.folder / f"{job_id}.json").read_bytes()))
        except FileNotFoundError:
            raise missing from None
        is_ours = job.host in ("", platform.node())  # replicas may share the folder
        if job.state not in ENDED and is_ours and not _is_running(job.pid):
            return replace(job, state="failed", reason="the server was stopped meanwhile")
        return job

    def incoming(self, job: Job) -> Path:
        """Return where to put the file of a job that waits."""
        folder = self.uploads / ".incoming"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / job.id

    def drop(self, job: Job) -> None:
        """Forget a job that was never begun."""
        delete(self.incoming(job))
        delete(self.folder / f"{job.id}.json")

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
            delete(self.incoming(job))
            self._write(job)

    def _ingest(self, job: Job) -> Job:
        self._write(job)
        with self.collection.writing:
            with self._placed(job) as (file, keep):
                outcome = self._read(file, job.document)
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
        """Give the index the vectors it lacks."""
        last = 0.0
        for progress in embed_index(self.collection.location, self.settings):
            job = replace(job, done=progress.done, total=progress.total)
            if time.monotonic() - last >= PROGRESS_SECONDS:
                last = time.monotonic()
                self._write(job)
        return job

    @contextmanager
    def _placed(self, job: Job) -> Iterator[tuple[Path, list[bool]]]:
        """Put the file in its place; unless it is kept, what was there before comes back."""
        file = self.uploads / job.document
        aside = self.uploads / ".incoming" / f"{job.id}.before"
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
        self.incoming(job).rename(file)
        keep: list[bool] = []
        try:
            yield file, keep
        finally:
            if not keep:
                delete(file)
                if aside.exists():
                    aside.rename(file)
            delete(aside)

    def _read(self, file: Path, document: str) -> Outcome:
        """Ingest one file, waiting for whoever else is writing."""
        location, settings = self.collection.location, self._shaped()
        (outcome,) = _patiently(lambda: list(ingest_files([(file, document)], location, settings)))
        return outcome

    def _shaped(self) -> Settings:
        """Return the settings with what shaped the index: an upload must not need a rebuild."""
        location, store = self.collection.location, self.settings.store
        if not exists(location, store):
            return self.settings
        shape = shape_of(location, store)
        known = Settings.from_shape(shape, origin="index")
        return replace(self.settings, ingest=known.ingest, tokens=known.tokens)

    def remove(self, document: str) -> None:
        """Take a document out of the index; StoreError if it is not there."""
        location, store = self.collection.location, self.settings.store
        with self.collection.writing, self.collection.discreet():
            if not _patiently(lambda: remove(location, [document], store)):
                raise StoreError(f"no document {document!r}", hint="see: GET /v1/documents")
            file = self.uploads / document
            if file.is_file() and self.uploads.resolve() in file.resolve().parents:
                delete(file)
            self.collection.refresh()

    def _told(self, reason: str) -> str:
        """Return a reason without the folders of this machine."""
        for folder in (self.uploads, self.uploads.resolve(), self.collection.folder):
            reason = reason.replace(f"{folder}/", "").replace(str(folder), self.collection.name)
        return reason

    def _write(self, job: Job) -> None:
        try:
            write_durably(self.folder / f"{job.id}.json", json.dumps(asdict(job)).encode())
        except OSError as error:
            logger.error("job %s cannot be written: %s", job.id, error)

    def _sweep(self) -> None:
        """Forget the oldest jobs."""
        files = sorted(self.folder.glob("*.json"), key=_age)
        for file in files[:-KEPT_JOBS]:
            delete(file)


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


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
