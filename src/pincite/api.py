"""The front door for Python: open an index, search it, show a place, ingest files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pincite.answer.passage import Passage, passages
from pincite.core.errors import PinciteError, SourceError, StoreError
from pincite.core.locators import locator_key
from pincite.core.settings import Settings, merged
from pincite.core.tables import Cell, find_cells, parse_table
from pincite.core.types import Chunk, Loaded, Query, Ranking, Step
from pincite.index.builder import IndexBuilder
from pincite.index.opened import OpenIndex
from pincite.ingest.load import check_profile, find_files, read_bytes
from pincite.ingest.pool import Pool, Task
from pincite.pipeline import Pipeline, build
from pincite.retrieve.place import PlaceFirst
from pincite.store.manifest import current

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


@dataclass(frozen=True, slots=True)
class Result:
    """What a search found, and how."""

    query: Query
    passages: list[Passage]
    steps: list[Step]

    @property
    def ranking(self) -> Ranking:
        return self.steps[-1].ranking


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell with its table, and how to cite it."""

    table: Chunk
    cell: Cell

    @property
    def citation(self) -> str:
        return f"{self.table.locator} > {self.cell.row_name} > {self.cell.column_name}"


class Index:
    """An index opened for reading; safe to share between threads.

    A search sees the generation that was current when the index was opened.
    """

    def __init__(self, opened: OpenIndex, settings: Settings) -> None:
        self.opened = opened
        self.snapshot = opened.snapshot
        self.settings = settings
        self.pipeline: Pipeline = build(settings, opened)

    @classmethod
    def open(cls, folder: str | Path, settings: Settings | None = None) -> Index:
        """Return the current generation of the index in a folder."""
        return cls(OpenIndex.open(Path(folder)), settings or Settings())

    def search(self, text: str, k: int | None = None) -> Result:
        """Return the best passages for a question, a phrase or the name of a place."""
        query = Query(text)
        wanted = self.settings.search.k if k is None else k
        steps = list(self.pipeline.steps(query, wanted))
        return Result(query, passages(steps[-1].ranking.top(wanted), self.opened), steps)

    def missing_places(self, text: str) -> list[tuple[str, str]]:
        """Return places that a query names and the index lacks, each with the nearest above it."""
        return PlaceFirst(self.pipeline.retriever, self.snapshot).missing(text)

    def search_ranking(self, text: str, k: int) -> Ranking:
        """Return the bare ranking, for those who do not need snippets: measures and programs."""
        return self.pipeline.search(Query(text), k)

    def show(self, locator: str, document: str | None = None) -> list[Chunk]:
        """Return the places with this locator or heading; StoreError if there are none."""
        found = [
            chunk
            for chunk in self.snapshot.found_by([locator_key(locator)])
            if document is None or chunk.span.doc_id == document
        ]
        # A piece stands for a part of a place of the same name, which is here as well.
        wholes = [chunk for chunk in found if chunk.kind not in ("text", "piece")] or found
        exact = [chunk for chunk in wholes if chunk.locator == locator.strip()]
        if not wholes:
            raise self._no_place(locator, document)
        return exact or wholes

    def _no_place(self, locator: str, document: str | None) -> StoreError:
        """Return the error for a place that is not there, with where it is instead."""
        if document is None:
            return StoreError(f"no place {locator!r}", hint=f'try: pincite search "{locator}"')
        if document not in self.documents():
            return StoreError(f"no document {document!r} in the index", hint="see: pincite list")
        elsewhere = sorted({c.span.doc_id for c in self.snapshot.found_by([locator_key(locator)])})
        if not elsewhere:
            return StoreError(
                f"no place {locator!r} in {document}", hint=f'try: pincite search "{locator}"'
            )
        return StoreError(
            f"no place {locator!r} in {document}; it is in {', '.join(elsewhere)}",
            hint=f'try: pincite show "{locator}" --document {elsewhere[-1]}',
        )

    def cells(
        self, table: str, row: str, column: str = "", document: str | None = None
    ) -> list[TableCell]:
        """Return the cells that a row's name or number and a column's name mean in a table."""
        found = []
        for chunk in self.show(table, document):
            parsed = parse_table(chunk.text)
            if parsed is None:
                raise StoreError(f"{table!r} is not a table", hint=f'see: pincite show "{table}"')
            found += [TableCell(chunk, cell) for cell in find_cells(parsed, row, column)]
        return found

    def children(self, chunk: Chunk) -> list[Chunk]:
        """Return the places directly below a place."""
        return [each for each in self.snapshot.children(chunk.id) if each.kind != "piece"]

    def documents(self) -> list[str]:
        """Return the ids of all documents."""
        return self.snapshot.documents()

    def close(self) -> None:
        self.snapshot.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def ingest_files(
    files: Iterable[tuple[Path, str]],
    folder: str | Path,
    settings: Settings | None = None,
    *,
    rebuild: bool = False,
    prune: bool = False,
) -> Iterator[Outcome]:
    """Bring an index up to date with files and yield what became of each of them.

    Whatever was yielded when a crash comes is lost only back to the last finished segment; asking
    again for the same files does only what is left.

    Args:
        files: paths with their document ids, as :func:`find_files` returns them.
        folder: where the index is, or will be.
        rebuild: start from nothing; the old index serves until the new one is complete.
        prune: remove documents of the index that are not among the files.
    """
    settings = settings or Settings()
    check_profile(settings.ingest.profile)
    with IndexBuilder(Path(folder), settings, rebuild=rebuild) as builder, Pool(settings) as pool:
        seen: set[str] = set()
        plan = (_plan(builder, file, doc_id, seen, settings) for file, doc_id in files)
        try:
            for planned, loaded in pool.parse(plan):
                if isinstance(planned, Outcome):
                    yield planned
                elif isinstance(loaded, Loaded):
                    yield _put(builder, planned, loaded)
                elif loaded is not None:
                    yield _rejected(planned.doc_id, loaded)
        except (KeyboardInterrupt, GeneratorExit):
            if not rebuild:
                builder.flush()  # what was finished is kept
            raise
        if prune:
            for doc_id in builder.documents():
                if doc_id not in seen and builder.drop(doc_id):
                    yield Outcome(doc_id, "removed")
        builder.flush()


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
    return Outcome(task.doc_id, status, searched, task.size)


def _rejected(doc_id: str, error: SourceError) -> Outcome:
    return Outcome(doc_id, "rejected", reason=error.message, hint=error.hint)


def remove(folder: str | Path, documents: Iterable[str]) -> list[str]:
    """Take documents out of an index and return the ids of those that were in it."""
    shape = current(Path(folder)).shape
    with IndexBuilder(Path(folder), merged(Settings(), shape, origin="index")) as builder:
        gone = [doc_id for doc_id in documents if builder.drop(doc_id)]
        builder.flush()
    return gone


__all__ = ["Index", "Outcome", "PinciteError", "Result", "find_files", "ingest_files", "remove"]
