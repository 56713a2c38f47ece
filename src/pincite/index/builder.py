"""Adding documents to an index, in proportion to the documents, not to the index.

Documents wait in memory until a segment's worth is there, then become an immutable segment and a
new generation. Segments of similar size are merged when there are many, so that their number grows
with the logarithm of the index and each document is rewritten only a few times in its life.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from operator import attrgetter

import numpy as np

from pincite.index.filters import PlaceColumns, SegmentPlaces, merged_places
from pincite.index.postings import (
    WORDS,
    Array,
    build_postings,
    live_terms,
    packed,
    plain_words,
    unpacked,
)
from pincite.index.tokens import (
    AUTO,
    ROW_LANGUAGES,
    Analyzers,
    StreamBuilder,
    function_places,
    language_codes,
    language_of,
)
from pincite.index.vectors import merged as merged_vectors
from pincite.model.errors import StoreError
from pincite.model.languages import LANGUAGES
from pincite.model.locators import keys_of
from pincite.model.settings import Settings
from pincite.model.types import ParsedDocument
from pincite.store.location import Location, open_writer
from pincite.store.manifest import Manifest, SegmentEntry
from pincite.store.segment import Entry, Segment, Vectors

# A segment's worth: bounds memory while building (terms take about 30 bytes each meanwhile).
SEGMENT_TERMS = 4_000_000
SEGMENT_CHARS = 32_000_000
SEGMENT_PLACES = 50_000
# However slowly documents come, so much work at most is lost to a kill.
SEGMENT_SECONDS = 60.0
# This many segments of one size class are merged into one of the next.
MERGE_FACTOR = 8
# Merging holds the terms of all its rows in memory, so it stops at this many.
MERGED_CHUNKS = 250_000


class IndexBuilder:
    """The one writer of an index; use it in a ``with`` statement."""

    def __init__(
        self,
        location: Location,
        settings: Settings,
        *,
        rebuild: bool = False,
        profile: str = "",
        begin: Callable[[], Manifest] | None = None,
    ) -> None:
        shape = settings.shape()
        if profile:  # a fingerprint: a profile that was edited reads documents in another way
            shape["profile"] = {"fingerprint": profile}
        self._writer = open_writer(
            location, shape, rebuild=rebuild, settings=settings.store, begin=begin
        )
        self._language = settings.ingest.language
        self._analyzers = Analyzers()
        if self._language != AUTO:
            self._analyzers[self._language]  # an unknown one is refused before any work
        self._pairs = settings.tuning.bigrams
        self._rebuild = rebuild
        # A rebuild shows the old index until the new one is complete, and so does a repair.
        self._at_once = rebuild or begin is not None
        self._reset()

    def __enter__(self) -> IndexBuilder:
        self._writer.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.__exit__()

    def _reset(self) -> None:
        self._waiting: dict[str, Entry] = {}
        self._rows: list[str] = []
        self._languages: list[str] = []  # of each row
        self._terms = StreamBuilder(self._analyzers)
        self._columns = PlaceColumns()
        self._chars = 0
        self._places = 0
        self._started = time.monotonic()

    def meta(self, doc_id: str) -> dict[str, str] | None:
        """Return what the index knows of a document; None if it is not there."""
        if doc_id in self._waiting:
            return dict(self._waiting[doc_id].loaded.document.meta)
        return None if self._rebuild else self._writer.base.meta(doc_id)

    def headers(self) -> list[tuple[str, dict[str, str]]]:
        """Return id and facts of the documents that this builds on."""
        return [(doc_id, meta) for doc_id, _, meta in self._writer.base.headers()]

    def loaded(self, doc_id: str) -> ParsedDocument:
        """Return a document with all that was read from it; StoreError if it is not there."""
        for part in self._writer.base.segments:
            if part.title(doc_id) is not None:
                return next(e.loaded for e in part.entries() if e.loaded.document.id == doc_id)
        raise StoreError(f"no document {doc_id!r} in the index", hint="see: pincite list")

    def documents(self) -> list[str]:
        """Return the documents of the last committed generation."""
        return self._writer.base.documents()

    def put(self, loaded: ParsedDocument) -> None:
        """Add or replace a document; it becomes visible with the next flush."""
        document = loaded.document
        if document.id in self._waiting:
            raise ValueError(f"{document.id} was put twice")
        language = self._language
        if language == AUTO:
            language = language_of(document)
            meta = {**document.meta, "language": language}
            loaded = replace(loaded, document=replace(document, meta=meta))
        self._waiting[document.id] = Entry(loaded, keys_of(loaded))
        for chunk in loaded.chunks:
            if chunk.searched:
                text = f"{chunk.context} {chunk.text}" if chunk.context else chunk.text
                self._terms.add(text, language)
                self._rows.append(chunk.id)
                self._languages.append(language)
        self._columns.add(loaded)
        self._chars += len(document.text)
        self._places += len(loaded.chunks)
        full = (
            len(self._terms) >= SEGMENT_TERMS
            or self._chars >= SEGMENT_CHARS
            or self._places >= SEGMENT_PLACES
            or time.monotonic() - self._started >= SEGMENT_SECONDS
        )
        if full and self._at_once:
            self._write()
        elif full:
            self.flush()

    def drop(self, doc_id: str) -> bool:
        """Remove a document; False if the index does not have it."""
        return self._writer.drop(doc_id)

    def flush(self) -> None:
        """Write what is waiting and make it visible; nothing changed, nothing written."""
        self._write()
        if self._writer.is_changed:
            self._writer.commit()
            self._merge()

    def copy(self, part: Segment, vectors: Sequence[Vectors]) -> tuple[Segment, list[Vectors]]:
        """Add a segment of another index as it is, visible at once, and return what is here now."""
        added = self._writer.add(part.entries(), self._merged_arrays([part]))
        live = part.live_rows()
        for each in vectors:
            self._writer.add_vectors(added.name, each.entry.model, merged_vectors([(each, live)]))
        self._writer.commit()
        base = self._writer.base
        mine = next(each for each in base.segments if each.entry.name == added.name)
        return mine, [each for each in base.vectors if each.entry.segment == added.name]

    def _write(self) -> None:
        if not self._waiting:
            return
        keys, stream, offsets = self._terms.finish()
        codes = language_codes(self._languages) if self._language == AUTO else None
        arrays = self._postings(keys, stream, offsets, codes)
        arrays |= self._columns.arrays()
        arrays["ids"] = np.array(self._rows, dtype="S16")
        arrays[WORDS] = packed(plain_words(self._terms.words()))
        if not self._rebuild:
            for doc_id in self._waiting:
                self._writer.drop(doc_id)
        self._writer.add(self._waiting.values(), arrays)
        self._reset()

    def _merge(self) -> None:
        """Merge segments while it pays, and forget those without a live document."""
        while group := _to_merge(self._writer.segments):
            open_now = {part.entry.name: part for part in self._writer.base.segments}
            parts = [open_now[entry.name] for entry in group]
            for part in parts:
                part.check(full=True)  # or damage would get a valid checksum
            merged: SegmentEntry | None = None
            if any(entry.documents > len(entry.dropped) for entry in group):
                merged = self._writer.add(
                    chain.from_iterable(part.entries() for part in parts),
                    self._merged_arrays(parts),
                )
                self._merge_vectors(merged.name, parts)
            self._writer.replace([entry.name for entry in group], merged)
            self._writer.commit()

    def _merged_arrays(self, parts: Sequence[Segment]) -> dict[str, Array]:
        live = [part.live_rows() for part in parts]
        keys, stream, offsets = live_terms(
            (part.arrays, rows) for part, rows in zip(parts, live, strict=True)
        )

        def joined(name: str) -> Array:
            kept = [part.arrays[name][rows] for part, rows in zip(parts, live, strict=True)]
            return np.concatenate(kept)

        codes = joined(ROW_LANGUAGES) if self._language == AUTO else None
        arrays = self._postings(keys, stream, offsets, codes)
        arrays["ids"] = joined("ids")
        # Words of dropped documents stay until none of their neighbours is left: they are
        # harmless, for nobody is sent to a word without a live chunk.
        arrays[WORDS] = packed({word for part in parts for word in unpacked(part.arrays[WORDS])})
        arrays |= merged_places(SegmentPlaces(part) for part in parts)
        return arrays

    def _merge_vectors(self, name: str, parts: Sequence[Segment]) -> None:
        """Carry the vectors of segments over to the one they became."""
        of = {(each.entry.segment, each.entry.model): each for each in self._writer.base.vectors}
        for model in sorted({model for _, model in of}):
            found = [of.get((part.entry.name, model)) for part in parts]
            for vectors in filter(None, found):
                vectors.check(full=True)
            if any(found):
                live = [part.live_rows() for part in parts]
                arrays = merged_vectors(list(zip(found, live, strict=True)))
                self._writer.add_vectors(name, model, arrays)

    def _postings(
        self, keys: Array, stream: Array, offsets: Array, codes: Array | None
    ) -> dict[str, Array]:
        """Return the postings; ``codes`` are the rows' languages where documents have their own."""
        if codes is None:
            rows = {self._language: np.ones(len(offsets) - 1, dtype=bool)}
        else:
            rows = {LANGUAGES[code]: codes == code for code in np.unique(codes).tolist()}
        skipped = function_places(keys, stream, offsets, rows, self._analyzers)
        arrays = build_postings(keys, stream, offsets, pairs=self._pairs, skipped=skipped)
        return arrays if codes is None else {**arrays, ROW_LANGUAGES: codes}


def _to_merge(segments: Iterable[SegmentEntry]) -> list[SegmentEntry]:
    """Return the segments that should become one, none if all is well."""
    classes: dict[int, list[SegmentEntry]] = defaultdict(list)
    for entry in segments:
        if entry.dropped and 2 * len(entry.dropped) >= entry.documents:
            return [entry]
        classes[_size_class(entry)].append(entry)
    for group in classes.values():
        if len(group) < MERGE_FACTOR:
            continue
        if sum(entry.chunks for entry in group[:MERGE_FACTOR]) <= MERGED_CHUNKS:
            return group[:MERGE_FACTOR]
        # Large ones: as many of the smallest as memory allows.
        smallest = sorted(group, key=attrgetter("chunks"))[:MERGE_FACTOR]
        sizes = accumulate(entry.chunks for entry in smallest)
        some = smallest[: sum(size <= MERGED_CHUNKS for size in sizes)]
        if len(some) > 1:
            return [entry for entry in group if entry in some]
    return []


def _size_class(entry: SegmentEntry) -> int:
    size, level = max(1, entry.chunks // 32), 0
    while size >= MERGE_FACTOR:
        size //= MERGE_FACTOR
        level += 1
    return level
