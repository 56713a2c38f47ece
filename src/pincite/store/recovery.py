"""What of a damaged index can still be trusted, and how its small files are written again.

Nothing is taken for good that no checksum vouches for: damage must never get a valid one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from pincite.model.errors import StaleIndex, StoreError
from pincite.model.types import ParsedDocument
from pincite.store.files import (
    ARRAYS,
    LISTING,
    Array,
    listing_of,
    read_arrays,
    write_durably,
    written_layout,
)
from pincite.store.manifest import (
    Manifest,
    SegmentEntry,
    VectorEntry,
    check_files,
    current,
    generations,
    home_of,
    manifest_file,
    read_manifest,
)
from pincite.store.segment import DATABASE, DIGESTS, Segment, digest_of

Owner = SegmentEntry | VectorEntry


def newest(folder: Path) -> Manifest:
    """Return the current generation, or if it cannot be read the newest one that can.

    Raises:
        StaleIndex: the index has a format of another version.
        StoreError: there is none that can be read.
    """
    try:
        return current(folder)
    except StaleIndex:
        raise
    except StoreError:
        for _, manifest in readable(folder):
            return manifest
        raise


def readable(folder: Path) -> Iterator[tuple[int, Manifest]]:
    """Yield the generations whose manifests can be read, the newest first."""
    for number in generations(folder):
        with suppress(StoreError):
            yield number, read_manifest(manifest_file(folder, number))


def rewrite_listing(folder: Path, entry: Owner) -> bool:
    """Write a damaged listing again from the files that it lists; True if that is the same one.

    The manifest has its checksum, so there is no doubt.
    """
    home = home_of(folder, entry)
    with suppress(OSError, ValueError):
        names = [file.name for file in home.iterdir() if file.name in (ARRAYS, DATABASE)]
        data = listing_of(home, names, written_layout(home / ARRAYS))
        if sha256(data).hexdigest() == entry.sha256:
            write_durably(home / LISTING, data)
            return True
    return False


def documents_of(folder: Path, entry: SegmentEntry) -> Iterator[ParsedDocument]:
    """Yield the live documents of a damaged segment that a checksum vouches for.

    If the database is whole, that is all of them. If it is not, each document has a checksum of
    its own among the arrays, if those are whole.
    """
    broken = check_files(folder, entry, full=True)
    is_broken = {
        name: any(str(home_of(folder, entry) / name) in problem for problem in broken)
        for name in (LISTING, DATABASE, ARRAYS)
    }
    if is_broken[LISTING] or (is_broken[DATABASE] and is_broken[ARRAYS]):
        return
    known: Array | None = None
    if is_broken[DATABASE]:
        known = read_arrays(home_of(folder, entry)).get(DIGESTS)
        if known is None:
            return  # of a format before there were such checksums
    with suppress(StoreError), closing(Segment(folder, entry, arrays={})) as segment:
        for number in range(entry.documents):
            loaded = _numbered(segment, number)
            if loaded is None:
                continue
            if known is None or digest_of(loaded) == known[number].tobytes():
                yield loaded


def _numbered(segment: Segment, number: int) -> ParsedDocument | None:
    """Return a document by its number; None if it is dropped or cannot be read."""
    try:
        sql = "SELECT id, first, last FROM documents WHERE number = ?"
        for doc_id, first, last in segment.select(sql, (number,)):
            return segment.loaded(doc_id, first, last)
    except (StoreError, ValueError, TypeError, KeyError, IndexError, AttributeError):
        pass  # what damage makes of rows is of any type
    return None


def names_in(folder: Path, entry: SegmentEntry) -> list[str] | None:
    """Return the ids of a segment's live documents from whatever knows them; None if nothing does.

    They are for people, and for looking elsewhere: a wrong one does no harm.
    """
    home, found = home_of(folder, entry), None
    with suppress(OSError, ValueError, KeyError, TypeError):
        raw = read_arrays(home)["place_document_values"].tobytes()
        found = json.loads(raw.decode("utf-8", "surrogatepass"))
    if found is None:
        with suppress(sqlite3.Error, OSError):
            uri = f"{(home.absolute() / DATABASE).as_uri()}?mode=ro&immutable=1"
            with closing(sqlite3.connect(uri, uri=True)) as database:
                found = [row[0] for row in database.execute("SELECT id FROM documents")]
    if found is None:
        return None
    return sorted({str(name) for name in found} - set(entry.dropped))


def whole(folder: Path, manifest: Manifest) -> Manifest:
    """Return a generation without what is damaged, and without vectors of what is."""
    segments = [each for each in manifest.segments if not check_files(folder, each, full=True)]
    names = {each.name for each in segments}
    vectors = [
        each
        for each in manifest.vectors
        if each.segment in names and not check_files(folder, each, full=True)
    ]
    return replace(manifest, segments=tuple(segments), vectors=tuple(vectors))
