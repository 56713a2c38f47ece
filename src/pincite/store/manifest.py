"""What an index folder contains, and the atomic switch from one generation to the next.

    CURRENT                      "000007 <sha256 of the manifest>"
    generations/000007.json      the manifest: segments with their checksums, dropped documents
    segments/000007-0/           immutable: chunks.sqlite, arrays.bin, segment.json
    vectors/000008-0/            immutable: one model's vectors of one segment
    write.lock                   held by the one writer

A generation is complete before CURRENT names it, so a reader sees the old one or the new one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pincite.core.errors import MALFORMED, StaleIndex, StoreError
from pincite.store.files import delete, sha256_of, sync, write_durably
from pincite.store.listing import checked_entry, listed_files

FORMAT = 2
# Readers that opened an older generation keep their files open; this is for those about to open.
KEPT_GENERATIONS = 2
SEGMENTS, VECTORS = "segments/", "vectors/"


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """One immutable segment as a generation sees it."""

    name: str
    sha256: str  # of its segment.json, which holds the checksums of its files
    documents: int
    chunks: int  # those that are searched
    dropped: tuple[str, ...] = ()  # documents that are in the files and no longer in the index

    def without(self, doc_id: str) -> SegmentEntry:
        return replace(self, dropped=tuple(sorted({*self.dropped, doc_id})))


@dataclass(frozen=True, slots=True)
class VectorEntry:
    """One model's vectors of one segment."""

    name: str
    sha256: str  # of its segment.json
    segment: str
    model: str
    windows: int  # how many vectors; a long chunk has several
    chunks: int  # how many chunks have at least one


@dataclass(frozen=True, slots=True)
class Manifest:
    """One generation of an index."""

    generation: int
    shape: Mapping[str, Any]  # the settings and the profile that every segment was built with
    segments: tuple[SegmentEntry, ...] = ()
    vectors: tuple[VectorEntry, ...] = ()

    def to_bytes(self) -> bytes:
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=1, sort_keys=True).encode()


def current(folder: Path) -> Manifest:
    """Return the manifest that CURRENT names; StoreError if there is none or it is damaged."""
    generation, sha256 = pointer(folder)
    return read_manifest(_manifest_file(folder, generation), sha256=sha256)


def pointer(folder: Path) -> tuple[int, str]:
    """Return the generation that CURRENT names and the checksum of its manifest."""
    try:
        words = (folder / "CURRENT").read_text(encoding="ascii").split()
    except FileNotFoundError as error:
        raise StoreError(
            f"no index in {folder}", hint=f"make one: pincite ingest FILES --index {folder}"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{folder}/CURRENT cannot be read: {error}", hint=_DOCTOR) from error
    if len(words) != 2 or not words[0].isdecimal():
        raise StoreError(f"{folder}/CURRENT is damaged", hint=_DOCTOR)
    return int(words[0]), words[1]


def read_manifest(file: Path, *, sha256: str | None = None) -> Manifest:
    """Return the manifest in the file, checked against the hash where one is given."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise StoreError(f"{file} is missing: the index is damaged", hint=_DOCTOR) from error
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise StoreError(f"{file} does not match its checksum", hint=_DOCTOR)
    return manifest_of(data, origin=str(file))


def manifest_of(data: bytes, *, origin: str) -> Manifest:
    """Return the manifest that was written as these bytes."""
    try:
        values = json.loads(data)
        version = values.pop("format")
        if version == FORMAT:
            segments = [
                SegmentEntry(**{**checked_entry(entry), "dropped": tuple(entry["dropped"])})
                for entry in values.pop("segments")
            ]
            listed = values.pop("vectors", [])
            vectors = tuple(VectorEntry(**checked_entry(entry)) for entry in listed)
            return Manifest(segments=tuple(segments), vectors=vectors, **values)
    except MALFORMED as error:
        raise StoreError(f"{origin} is damaged: {error}", hint=_DOCTOR) from error
    raise StaleIndex(
        f"the index has format {version}, this version of Pincite writes {FORMAT}",
        hint="build it again: pincite ingest FILES --rebuild",
    )


def switch(folder: Path, manifest: Manifest) -> None:
    """Make the manifest the current generation, durably, and sweep what nobody needs."""
    file = _manifest_file(folder, manifest.generation)
    data = manifest.to_bytes()
    write_durably(file, data)
    words = f"{manifest.generation:06d} {hashlib.sha256(data).hexdigest()}\n"
    write_durably(folder / "CURRENT", words.encode())
    sweep(folder)


def sweep(folder: Path) -> None:
    """Delete old generations, segments that no kept one names, and what a crash left behind.

    Only the holder of the write lock may call it.
    """
    newest = current(folder).generation
    kept: set[str] = set()
    for file in sorted((folder / "generations").iterdir()):
        is_manifest = file.suffix == ".json" and file.stem.isdecimal()
        recent = is_manifest and newest - KEPT_GENERATIONS < int(file.stem) <= newest
        try:
            if recent:
                manifest = read_manifest(file)
                kept.update(SEGMENTS + entry.name for entry in manifest.segments)
                kept.update(VECTORS + entry.name for entry in manifest.vectors)
        except StoreError:
            recent = False  # an older generation that is damaged serves nobody
        if not recent:
            delete(file)
    for part in (SEGMENTS, VECTORS):
        for path in (folder / part).glob("*"):
            if part + path.name not in kept:
                delete(path)
    for leftover in folder.glob("CURRENT.tmp-*"):
        delete(leftover)


def create_folders(folder: Path) -> None:
    """Make the folders of an index."""
    for part in (folder, folder / "generations", folder / SEGMENTS, folder / VECTORS):
        part.mkdir(parents=True, exist_ok=True)
    sync(folder)


def home_of(folder: Path, entry: SegmentEntry | VectorEntry) -> Path:
    """Return the folder of a segment, or of its vectors."""
    return folder / (SEGMENTS if isinstance(entry, SegmentEntry) else VECTORS) / entry.name


def check_files(folder: Path, entry: SegmentEntry | VectorEntry, *, full: bool) -> list[str]:
    """Return what is wrong with an entry's files: sizes always, checksums if full."""
    home = home_of(folder, entry)
    listing = home / "segment.json"
    if not listing.is_file():
        return [f"{listing} is missing"]
    if sha256_of(listing) != entry.sha256:
        return [f"{listing} does not match its checksum"]
    problems = []
    for name, (size, sha256) in listed_files(listing).items():
        file = home / name
        if not file.is_file():
            problems.append(f"{file} is missing")
        elif file.stat().st_size != size:
            problems.append(f"{file} has {file.stat().st_size} bytes, not {size}")
        elif full and sha256_of(file) != sha256:
            problems.append(f"{file} does not match its checksum")
    return problems


def damage(folder: Path) -> list[str]:
    """Return all that is wrong with the current generation, every checksum looked at."""
    try:
        manifest = current(folder)
    except StoreError as error:
        return [error.message]
    entries: list[SegmentEntry | VectorEntry] = [*manifest.segments, *manifest.vectors]
    return [each for entry in entries for each in check_files(folder, entry, full=True)]


def _manifest_file(folder: Path, generation: int) -> Path:
    return folder / "generations" / f"{generation:06d}.json"


_DOCTOR = "run: pincite doctor"
