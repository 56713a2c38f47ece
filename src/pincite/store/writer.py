"""Writing an index: the one writer stages segments and drops, then commits a generation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from pincite.model.errors import StaleIndex, StoreError
from pincite.store.files import Array, explained, write_folder, write_lock
from pincite.store.manifest import (
    VECTORS,
    Manifest,
    SegmentEntry,
    VectorEntry,
    create_folders,
    current,
    damage,
    generations,
    has_pointer,
    last_number,
    point_to,
    sweep,
    switch,
    unnamed,
)
from pincite.store.segment import Entry, write_segment
from pincite.store.snapshot import Snapshot


class IndexWriter:
    """Holds the write lock of an index folder from ``with`` to the end.

    Nothing is visible before :meth:`commit`; leaving without it changes nothing.
    """

    def __init__(
        self,
        folder: Path,
        shape: Mapping[str, Any],
        *,
        rebuild: bool = False,
        begin: Callable[[], Manifest] | None = None,
    ) -> None:
        """``begin`` says, when the lock is held, what to build on in place of what CURRENT names;
        the first commit is then made even if nothing else changed."""
        self.folder = folder
        self.shape = shape
        self._rebuild = rebuild
        self._begin = begin
        self._open = ExitStack()

    def __enter__(self) -> IndexWriter:
        with explained("write to", self.folder):
            create_folders(self.folder)
        self._open.enter_context(write_lock(self.folder))
        try:
            self._build_on(self._start())
        except BaseException:
            self._open.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.base.close()
        self._open.close()

    def _build_on(self, manifest: Manifest) -> None:
        self.base = self._snapshot(manifest)
        self.manifest = manifest
        self._entries = list(manifest.segments)
        self._vectors = list(manifest.vectors)
        self._written = 0

    def _snapshot(self, manifest: Manifest) -> Snapshot:
        return Snapshot(self.folder, manifest)

    def _start(self) -> Manifest:
        """Return the generation to build on: the current one, or an empty one."""
        if self._begin is not None:
            return self._begin()
        with explained("write to", self.folder):
            if self._rebuild:
                with suppress(StoreError):  # whatever is there, it is not needed
                    sweep(self.folder)
                is_damaged = bool(generations(self.folder) and damage(self.folder))
                return Manifest(last_number(self.folder, forget=is_damaged), self.shape)
            if not has_pointer(self.folder):
                found = unnamed(self.folder)
                if found is None:
                    return Manifest(0, self.shape)
                point_to(self.folder, found.generation)
            manifest = current(self.folder)
            check_shape(manifest.shape, self.shape)
            sweep(self.folder)  # what a killed writer left behind
        return manifest

    @property
    def is_changed(self) -> bool:
        """Whether a commit would show anything that the current generation does not."""
        known = (self.manifest.segments, self.manifest.vectors)
        return self._begin is not None or (self.segments, self.vectors) != known

    @property
    def segments(self) -> tuple[SegmentEntry, ...]:
        """The segments as the next commit will have them."""
        return tuple(self._entries)

    @property
    def vectors(self) -> tuple[VectorEntry, ...]:
        """The vectors as the next commit will have them: those of segments that stay."""
        names = {entry.name for entry in self._entries}
        return tuple(entry for entry in self._vectors if entry.segment in names)

    def add(self, entries: Iterable[Entry], arrays: Mapping[str, Array]) -> SegmentEntry:
        """Write a segment; it becomes visible with the next commit."""
        added = self._write_segment(self._new_name(), entries, arrays)
        self._entries.append(added)
        return added

    def _write_segment(
        self, name: str, entries: Iterable[Entry], arrays: Mapping[str, Array]
    ) -> SegmentEntry:
        with explained("write to", self.folder):
            return write_segment(self.folder, name, entries, arrays)

    def add_vectors(self, segment: str, model: str, arrays: Mapping[str, Array]) -> None:
        """Write a model's vectors of a segment, in the place of those it has."""
        name, rows = self._new_name(), arrays["rows"]
        sha256 = self._write_vectors(name, model, arrays)
        chunks = int((rows[1:] != rows[:-1]).sum()) + bool(len(rows))
        others = [e for e in self._vectors if (e.segment, e.model) != (segment, model)]
        self._vectors = [*others, VectorEntry(name, sha256, segment, model, len(rows), chunks)]

    def drop_vectors(self, segment: str, model: str) -> None:
        """Leave a model's vectors of a segment out of the next commit."""
        self._vectors = [e for e in self._vectors if (e.segment, e.model) != (segment, model)]

    def _write_vectors(self, name: str, model: str, arrays: Mapping[str, Array]) -> str:
        """Write vectors and return the checksum of their listing."""
        with explained("write to", self.folder):
            return write_folder(self.folder / VECTORS / name, arrays)

    def _new_name(self) -> str:
        self._written += 1
        return f"{self.manifest.generation + 1:06d}-{self._written - 1}"

    def drop(self, doc_id: str) -> bool:
        """Take a document of the last committed generation out; False if it was not there."""
        for segment in self.base.segments:
            if segment.meta(doc_id) is not None:
                at = next(
                    (i for i, e in enumerate(self._entries) if e.name == segment.entry.name), None
                )
                if at is None:
                    raise StoreError(f"{doc_id} is being merged; commit first")
                self._entries[at] = self._entries[at].without(doc_id)
                return True
        return False

    def replace(self, old: Iterable[str], new: SegmentEntry | None) -> None:
        """Put a merged segment (already added) in the place of the old ones."""
        gone = set(old)
        self._entries = [entry for entry in self._entries if entry.name not in gone]
        if new is not None and new not in self._entries:
            self._entries.append(new)

    def commit(self) -> Manifest:
        """Make all staged changes the current generation, durably, at once."""
        number = self.manifest.generation + 1
        manifest = Manifest(number, self.shape, self.segments, self.vectors)
        self._switch(manifest)
        self._begin = None
        self._build_on(manifest)
        return manifest

    def _switch(self, manifest: Manifest) -> None:
        with explained("write to", self.folder):
            switch(self.folder, manifest)
        self.base.close()


def check_shape(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Raise StaleIndex, naming what differs, if an index was built with other settings."""
    if known != wanted:
        changed = "; ".join(_differences(known, wanted))
        raise StaleIndex(
            f"the index was built with other settings: {changed}",
            hint="run the same command with --rebuild, or with the old settings",
        )


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return every setting that is not the same in both shapes, with its values."""
    names = {(section, key) for shape in (old, new) for section in shape for key in shape[section]}
    pairs = [
        (f"{section}.{key}", old.get(section, {}).get(key), new.get(section, {}).get(key))
        for section, key in sorted(names)
    ]
    return [f"{name} was {was!r}, now {now!r}" for name, was, now in pairs if was != now]
