"""The front door for writing: bring an index up to date with files, take documents out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, overload

from pincite.core.errors import ClusterError, SourceError
from pincite.core.settings import Settings, StoreSettings
from pincite.core.types import Loaded
from pincite.index.builder import IndexBuilder
from pincite.ingest.enrichment.profile_choice import profile_fingerprint
from pincite.ingest.load import find_files, parse, read_bytes
from pincite.ingest.pool import Task
from pincite.ingest.readers import open_readers
from pincite.store.location import open_snapshot, shape_of

File = str | Path | tuple[Path, str]  # alone, or with the id of its document
Status = Literal["added", "changed", "unchanged", "rejected", "removed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file. Every file gets exactly one."""

    document: str
    status: Status
    chunks: int = 0
    bytes: int = 0
    reason: str = ""
    hint: str = ""
    node: str = field(default="", compare=False)  # that read it, if it was one of a cluster


@dataclass(frozen=True, slots=True)
class IngestReport(Sequence[Outcome]):
    """What became of every file, in their order."""

    outcomes: tuple[Outcome, ...]
    vectors: int = 0  # chunks that got one

    @overload
    def __getitem__(self, at: int) -> Outcome: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Outcome, ...]: ...
    def __getitem__(self, at: int | slice) -> Outcome | tuple[Outcome, ...]:
        return self.outcomes[at]

    def __len__(self) -> int:
        return len(self.outcomes)

    @property
    def counts(self) -> Counter[str]:
        """How many files were added, changed, unchanged, rejected, removed."""
        return Counter(outcome.status for outcome in self.outcomes)

    @property
    def rejected(self) -> tuple[Outcome, ...]:
        """The files that could not be read, each with reason and hint."""
        return tuple(outcome for outcome in self.outcomes if outcome.status == "rejected")

    def raise_for_rejected(self) -> None:
        """Raise SourceError if a file could not be read; the others are in the index."""
        if first := next(iter(self.rejected), None):
            others = f" (and {len(self.rejected) - 1} more)" if len(self.rejected) > 1 else ""
            raise SourceError(f"{first.reason}{others}", hint=first.hint)


def ingest_files(
    files: str | Path | Iterable[File],
    location: str | Path,
    settings: Settings | None = None,
    *,
    rebuild: bool = False,
    prune: bool = False,
) -> IngestReport:
    """Bring an index up to date with files and return what became of each; see iter_ingest."""
    done = iter_ingest(files, location, settings, rebuild=rebuild, prune=prune)
    return IngestReport(tuple(done))


def iter_ingest(
    files: str | Path | Iterable[File],
    location: str | Path,
    settings: Settings | None = None,
    *,
    rebuild: bool = False,
    prune: bool = False,
) -> Iterator[Outcome]:
    """Bring an index up to date with files and yield what became of each of them.

    It works while it is iterated. Whatever was yielded when a crash comes is lost only back to the
    last finished segment; asking again for the same files does only what is left.

    Args:
        files: files and folders, or paths with their document ids as :func:`find_files`
            returns them.
        location: the folder where the index is or will be, or the URL of its server.
        rebuild: start from nothing; the old index serves until the new one is complete.
        prune: remove documents of the index that are not among the files.
    """
    settings = settings or Settings()
    profile = profile_fingerprint(settings.ingest.profile)
    writer = IndexBuilder(location, settings, rebuild=rebuild, profile=profile)
    with writer as builder, open_readers(settings) as readers:
        seen: set[str] = set()
        plan = (_plan(builder, file, doc_id, seen, settings) for file, doc_id in _named(files))
        try:
            for planned, loaded in readers.parse(plan):
                if isinstance(planned, Outcome):
                    yield planned
                elif isinstance(loaded, Loaded):
                    yield _put(builder, planned, loaded)
                elif loaded is not None:
                    yield replace(_rejected(planned.doc_id, loaded), node=planned.node)
        except (KeyboardInterrupt, GeneratorExit, ClusterError):
            if not rebuild:
                builder.flush()  # what was finished is kept
            raise
        if prune:
            for doc_id in builder.documents():
                if doc_id not in seen and builder.drop(doc_id):
                    yield Outcome(doc_id, "removed")
        builder.flush()


def _named(files: str | Path | Iterable[File]) -> Iterator[tuple[Path, str]]:
    """Yield files with their document ids; folders as the files in them."""
    for each in [files] if isinstance(files, str | Path) else files:
        if isinstance(each, str | Path):
            yield from find_files(each)
        else:
            yield each


def ingest_text(
    text: str,
    doc_id: str,
    location: str | Path,
    settings: Settings | None = None,
    *,
    title: str = "",
) -> Outcome:
    """Put a text into an index as a document of its own, read as Markdown.

    A document of the same id is replaced.
    """
    settings = settings or Settings()
    data = (f"# {title}\n\n{text}" if title else text).encode()
    profile = profile_fingerprint(settings.ingest.profile)
    with IndexBuilder(location, settings, profile=profile) as builder:
        known = builder.meta(doc_id)
        if known and known["sha256"] == hashlib.sha256(data).hexdigest():
            return Outcome(doc_id, "unchanged", bytes=len(data))
        loaded = parse(data, doc_id, settings.ingest, source=f"text:{doc_id}", kind="text.md")
        done = _put(builder, Task(doc_id, data, "", len(data)), loaded)
        builder.flush()
    return done


def _plan(
    builder: IndexBuilder, file: Path, doc_id: str, seen: set[str], settings: Settings
) -> Task | Outcome:
    """Return the file as a task for a reader, or what became of it without one."""
    try:
        if doc_id in seen:
            raise SourceError(
                f"{file}: another file is called {doc_id} too",
                hint="ingest their common parent folder instead",
            )
        seen.add(doc_id)
        if any(0xD800 <= ord(character) < 0xE000 for character in doc_id):
            raise SourceError(f"{doc_id!r}: the file's name is not UTF-8", hint="rename it")
        data = read_bytes(file, max_mb=settings.limits.max_file_mb)
        if _is_known(builder, file, doc_id, data):
            return Outcome(doc_id, "unchanged", bytes=len(data))
        return Task(doc_id, data, str(file.resolve()), len(data))
    except SourceError as error:
        return _rejected(doc_id, error)


def _is_known(builder: IndexBuilder, file: Path, doc_id: str, data: bytes) -> bool:
    """Return whether the index has exactly this file; SourceError if it has another of its name."""
    known = builder.meta(doc_id)
    if known is None:
        return False
    other = Path(known["source"])
    if other != file.resolve() and other.exists() and not other.samefile(file):
        raise SourceError(
            f"{file}: the index has another file called {doc_id}: {other}",
            hint="ingest their common parent folder instead",
        )
    return known["sha256"] == hashlib.sha256(data).hexdigest()


def _put(builder: IndexBuilder, task: Task, loaded: Loaded) -> Outcome:
    status: Status = "added" if builder.meta(task.doc_id) is None else "changed"
    builder.put(loaded)
    searched = sum(chunk.searched for chunk in loaded.chunks)
    return Outcome(task.doc_id, status, searched, task.size, node=task.node)


def _rejected(doc_id: str, error: SourceError) -> Outcome:
    return Outcome(doc_id, "rejected", reason=error.message, hint=error.hint)


@dataclass(frozen=True, slots=True)
class Left:
    """Documents of an index that are not among some files."""

    gone: tuple[str, ...]  # their files were in the folders, and are there no longer
    elsewhere: int  # how many are from anywhere else


def left_over(
    location: str | Path,
    store: StoreSettings,
    files: Iterable[tuple[Path, str]],
    folders: Iterable[Path],
) -> Left:
    """Return what pruning would take out of an index."""
    named = {doc_id for _, doc_id in files}
    roots = [folder.resolve() for folder in folders]
    with open_snapshot(location, store) as snapshot:
        others = {
            doc_id: Path(meta.get("source", ""))
            for doc_id, _, meta in snapshot.headers()
            if doc_id not in named
        }
    gone = [
        doc_id
        for doc_id, source in others.items()
        if any(source.is_relative_to(root) for root in roots) and not source.exists()
    ]
    return Left(tuple(sorted(gone)), len(others) - len(gone))


def remove(
    location: str | Path, documents: Iterable[str], store: StoreSettings | None = None
) -> list[str]:
    """Take documents out of an index and return the ids of those that were in it."""
    shape = shape_of(location, store)
    settings = Settings.from_shape(shape, origin="index")
    settings = replace(settings, store=store or settings.store)
    profile = shape.get("profile", {}).get("fingerprint", "")
    with IndexBuilder(location, settings, profile=profile) as builder:
        gone = [doc_id for doc_id in documents if builder.drop(doc_id)]
        builder.flush()
    return gone


__all__ = [
    "IngestReport",
    "Outcome",
    "find_files",
    "ingest_files",
    "ingest_text",
    "iter_ingest",
    "remove",
]
