"""What an index folder contains, and the atomic switch from one generation to the next.

    CURRENT                      "000007 <sha256 of the manifest>"
    generations/000007.json      the manifest: segments with their checksums, dropped documents
    segments/000007-0/           immutable: chunks.sqlite, arrays.bin, segment.json
    vectors/000008-0/            immutable: one model's vectors of one segment
    write.lock                   held by the one writer

A generation is complete before CURRENT names it, so a reader sees the old one or the new one.

An index may come from a stranger, with checksums that fit. Whatever it names lies inside its own
folder, and what is not of the right kind is damage like any other.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pincite.model.errors import MALFORMED, StaleIndex, StoreError
from pincite.store.files import LISTING, delete, sha256_of, sync, write_durably
from pincite.store.format import FORMAT, READABLE

POINTER = "CURRENT"
# Readers that opened an older generation keep their files open; this is for those about to open.
KEPT_GENERATIONS = 2
SEGMENTS, VECTORS = "segments/", "vectors/"
DIGEST_SIZE = 64  # of a SHA-256 in hex


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

    @property
    def entries(self) -> tuple[SegmentEntry | VectorEntry, ...]:
        """All that has files of its own."""
        return (*self.segments, *self.vectors)

    def to_bytes(self) -> bytes:
        values = {"format": FORMAT, **asdict(self)}
        return _as_bytes({"checksum": _checksum(values), **values})


def _as_bytes(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, indent=1, sort_keys=True).encode()


def _checksum(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(_as_bytes(values)).hexdigest()


def current(folder: Path) -> Manifest:
    """Return the manifest that CURRENT names; StoreError if there is none or it is damaged."""
    generation, sha256 = pointer(folder)
    file = manifest_file(folder, generation)
    try:
        data = file.read_bytes()
    except OSError as error:
        message = f"{file}, which {folder}/CURRENT names, cannot be read: {error.strerror}"
        raise StoreError(message, hint=_DOCTOR) from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise StoreError(f"{folder}/CURRENT and {file} do not match", hint=_DOCTOR)
    return manifest_of(data, origin=str(file))


def pointer(folder: Path) -> tuple[int, str]:
    """Return the generation that CURRENT names and the checksum of its manifest."""
    try:
        words = (folder / POINTER).read_text(encoding="ascii").split()
    except FileNotFoundError as error:
        if generations(folder):
            message = f"no index in {folder}: CURRENT is missing, though generations are there"
            raise StoreError(message, hint=_REPAIR) from error
        raise StoreError(
            f"no index in {folder}", hint=f"make one: pincite ingest FILES --index {folder}"
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{folder}/CURRENT cannot be read: {error}", hint=_DOCTOR) from error
    if len(words) != 2 or not words[0].isdecimal() or len(words[1]) != DIGEST_SIZE:
        raise StoreError(f"{folder}/CURRENT is damaged", hint=_DOCTOR)
    return int(words[0]), words[1]


def pointer_text(folder: Path) -> str:
    """Return what only the current generation of a folder has."""
    generation, sha256 = pointer(folder)
    return f"{generation:06d} {sha256}"


def has_pointer(folder: Path) -> bool:
    """Tell whether a folder has an index."""
    return (folder / POINTER).exists()


def read_manifest(file: Path) -> Manifest:
    """Return the manifest in a file; StoreError if it is missing or damaged."""
    try:
        data = file.read_bytes()
    except OSError as error:
        raise StoreError(f"{file} is missing: the index is damaged", hint=_DOCTOR) from error
    return manifest_of(data, origin=str(file))


def manifest_of(data: bytes, *, origin: str) -> Manifest:
    """Return the manifest that was written as these bytes."""
    try:
        values = json.loads(data)
        version = values["format"]
        if version == FORMAT and values.pop("checksum") != _checksum(values):
            raise ValueError("its contents and its checksum differ")
        if version in READABLE:
            del values["format"]
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
    write_durably(manifest_file(folder, manifest.generation), manifest.to_bytes())
    point_to(folder, manifest.generation)
    with suppress(OSError):  # it is done: what cannot be deleted now is deleted by the next writer
        sweep(folder)


def point_to(folder: Path, generation: int) -> None:
    """Make a generation whose manifest is there the current one, durably."""
    sha256 = sha256_of(manifest_file(folder, generation))
    write_durably(folder / POINTER, f"{generation:06d} {sha256}\n".encode())


def generations(folder: Path) -> list[int]:
    """Return the numbers of all manifests that lie in a folder, the newest first."""
    stems = [file.stem for file in (folder / "generations").glob("*.json")]
    return sorted((int(stem) for stem in stems if stem.isdecimal()), reverse=True)


def last_number(folder: Path, *, forget: bool) -> int:
    """Return the number to go on from; ``forget``: so that no older generation will be kept."""
    newest = max(generations(folder), default=0)
    return newest + KEPT_GENERATIONS - 1 if forget else newest


def unnamed(folder: Path) -> Manifest | None:
    """Return the newest generation that is whole, for a folder whose CURRENT is missing.

    A manifest is written when all that it names is, so this is what CURRENT named, or what a
    writer that was killed was about to acknowledge. None if there never was one.
    """
    for number in (known := generations(folder)):
        with suppress(StoreError):
            manifest = read_manifest(manifest_file(folder, number))
            if not any(check_files(folder, each, full=False) for each in manifest.entries):
                return manifest
    if known:
        message = f"CURRENT is missing in {folder}, and no generation there is whole"
        raise StoreError(message, hint=_REPAIR)
    return None


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
                entries = read_manifest(file).entries
                kept.update(str(home_of(folder, entry)) for entry in entries)
        except StoreError:
            recent = False  # an older generation that is damaged serves nobody
        if not recent:
            delete(file)
    for part in (SEGMENTS, VECTORS):
        for path in (folder / part).glob("*"):
            if str(path) not in kept:
                delete(path)
    for leftover in folder.glob(f"{POINTER}.tmp-*"):
        delete(leftover)


def create_folders(folder: Path) -> None:
    """Make the folders of an index, durably: also the names of those above it that are new."""
    is_new = not has_pointer(folder)
    for part in (folder, folder / "generations", folder / SEGMENTS, folder / VECTORS):
        part.mkdir(parents=True, exist_ok=True)
    sync(folder)
    # Who made them may have been killed before it synced them, so all are, until there is an index.
    for above in folder.absolute().parents if is_new else ():
        with suppress(OSError):  # not everyone may open every folder
            sync(above)


def home_of(folder: Path, entry: SegmentEntry | VectorEntry) -> Path:
    """Return the folder of a segment, or of its vectors."""
    return folder / (SEGMENTS if isinstance(entry, SegmentEntry) else VECTORS) / entry.name


def check_files(folder: Path, entry: SegmentEntry | VectorEntry, *, full: bool) -> list[str]:
    """Return what is wrong with an entry's files: sizes always, checksums if full."""
    home = home_of(folder, entry)
    listing = home / LISTING
    problem = _problem(listing, entry.sha256, size=None, full=True)
    if problem:
        return [problem]
    found = (
        _problem(home / name, sha256, size=size, full=full)
        for name, (size, sha256) in listed_files(listing).items()
    )
    return [problem for problem in found if problem]


def _problem(file: Path, sha256: str, *, size: int | None, full: bool) -> str:
    """Return what is wrong with a file, nothing if all is well."""
    try:
        if not file.is_file():
            return f"{file} is missing"
        if size is not None and file.stat().st_size != size:
            return f"{file} has {file.stat().st_size} bytes, not {size}"
        if full and sha256_of(file) != sha256:
            return f"{file} does not match its checksum"
    except OSError as error:  # a sector that cannot be read
        return f"{file} cannot be read: {error.strerror}"
    return ""


def damage(folder: Path) -> list[str]:
    """Return all that is wrong with the kept generations, every checksum looked at.

    The one before the current one is looked at too: it is what a repair falls back on.
    """
    try:
        manifest = current(folder)
    except StoreError as error:
        return [error.message]
    entries, problems = dict.fromkeys(manifest.entries), []
    for number in generations(folder):
        if manifest.generation - KEPT_GENERATIONS < number < manifest.generation:
            try:
                entries |= dict.fromkeys(read_manifest(manifest_file(folder, number)).entries)
            except StoreError as error:
                problems.append(f"{error.message} (an older generation)")
    # Generations name the same files with other lists of dropped documents.
    homes = {home_of(folder, entry): entry for entry in entries}
    found = [each for entry in homes.values() for each in check_files(folder, entry, full=True)]
    return found + problems


def manifest_file(folder: Path, generation: int) -> Path:
    """Return where the manifest of a generation is."""
    return folder / "generations" / f"{generation:06d}.json"


_DOCTOR = "run: pincite doctor"
_REPAIR = "run: pincite doctor --repair"


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")


def is_name(value: Any) -> bool:
    """Tell whether this names a file or folder right here.

    >>> is_name("000007-0"), is_name("../secret"), is_name("/etc"), is_name(".hidden"), is_name(5)
    (True, False, False, False, False)
    """
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def checked_entry(values: Any) -> dict[str, Any]:
    """Return what a manifest says of a segment or its vectors; ValueError if it cannot be so."""
    kinds = {"documents": int, "chunks": int, "windows": int, "dropped": list}
    for key, value in values.items():
        if type(value) is not kinds.get(key, str):
            raise ValueError(f"{key} is {value!r:.40}")
    if not is_name(values["name"]) or not is_name(values.get("segment", "x")):
        raise ValueError(f"{values['name']!r:.40} is no name")
    if not all(isinstance(each, str) for each in values.get("dropped", ())):
        raise ValueError("dropped are no names")
    return dict(values)


def listed_files(listing: Path) -> dict[str, tuple[int, str]]:
    """Return the files that a listing names, each with its size and its checksum."""
    try:
        files = json.loads(listing.read_bytes())["files"]
        if not all(is_name(name) for name in files):
            raise ValueError("names")
        return {name: (int(f["bytes"]), str(f["sha256"])) for name, f in files.items()}
    except MALFORMED as error:
        raise StoreError(
            f"{listing} is no listing of files: {error!r:.80}", hint="run: pincite doctor"
        ) from error
