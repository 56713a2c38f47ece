"""Files into an index, and the vectors that it lacks."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, overload

import numpy as np

from pincite.cluster import Cluster, connected
from pincite.encode.batches import encode_batches
from pincite.encode.cache import VectorCache, cache_folder
from pincite.encode.encoders import open_encoder
from pincite.encode.models import STATIC, Array, Encoder, ModelSpec, spec_of
from pincite.encode.windows import windows_of
from pincite.index.builder import IndexBuilder
from pincite.index.vectors import Tokens, check_dimension, following, joined, packed
from pincite.model.errors import ClusterError, ConfigError, SourceError, StoreError, is_server
from pincite.model.settings import Settings, StoreSettings
from pincite.model.types import CARD_KEYS, CORRECTED, ParsedDocument
from pincite.read.access import GIVEN, given_access
from pincite.read.card import corrected
from pincite.read.enrich.profile import profile_fingerprint
from pincite.read.load import find_files, parse, read_bytes
from pincite.read.workers import ParseTask, open_readers
from pincite.store.location import open_snapshot, open_writer, shape_of
from pincite.store.segment import Segment, Vectors
from pincite.store.snapshot import FROM_INDEX, Snapshot, source_file

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
    access: str | None = None,
) -> IngestReport:
    """Bring an index up to date with files and return what became of each; see iter_ingest."""
    done = iter_ingest(files, location, settings, rebuild=rebuild, prune=prune, access=access)
    return IngestReport(tuple(done))


def iter_ingest(
    files: str | Path | Iterable[File],
    location: str | Path,
    settings: Settings | None = None,
    *,
    rebuild: bool = False,
    prune: bool = False,
    access: str | None = None,
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
        access: tags of documents that name none; "" takes them away, None leaves them as given.
    """
    settings = settings or Settings()
    profile = profile_fingerprint(settings.ingest.profile)
    writer = IndexBuilder(location, settings, rebuild=rebuild, profile=profile)
    with writer as builder, open_readers(settings) as readers:
        names = _DocumentNames(builder, location, access)
        kept = _said_before(location, settings.store) if rebuild else {}
        plan = (_plan(builder, file, doc_id, names, settings) for file, doc_id in _named(files))
        try:
            for planned, loaded in readers.parse(plan):
                if isinstance(planned, Outcome):
                    yield planned
                elif isinstance(loaded, ParsedDocument):
                    given = given_access(Path(planned.source), access)
                    yield _put(builder, planned, _beside(loaded, location), kept, given)
                elif loaded is not None:
                    yield replace(_rejected(planned.doc_id, loaded), node=planned.node)
        except (KeyboardInterrupt, GeneratorExit, ClusterError):
            if not rebuild:
                builder.flush()  # what was finished is kept
            raise
        if prune:
            for doc_id in builder.documents():
                if doc_id not in names.seen and builder.drop(doc_id):
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
        done = _put(builder, ParseTask(doc_id, data, "", len(data)), loaded, {})
        builder.flush()
    return done


class _DocumentNames:
    """Gives each file the id of its document: the one that it has, else one that no other has."""

    def __init__(self, builder: IndexBuilder, location: str | Path, access: str | None) -> None:
        self._builder = builder
        self.access = access  # tags that are given to all of them
        self._location = location
        self.seen: set[str] = set()  # documents whose files were named in this run
        self._read: dict[str, str] = {}  # the same by file

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[str, dict[str, str]]]]:
        """The documents of the index by the names of their files; a copy elsewhere counts, too."""
        found: defaultdict[str, list[tuple[str, dict[str, str]]]] = defaultdict(list)
        for doc_id, meta in self._builder.headers():
            found[doc_id.rpartition("/")[2]].append((doc_id, meta))
        return dict(found)

    def source_of(self, meta: Mapping[str, str]) -> Path:
        return source_file(meta, self._location)

    def id_of(self, file: Path, doc_id: str, sha256: str) -> str:
        """Return the document of a file; an id that another file has grows by a folder's name."""
        if known := self._read.get(os.path.abspath(file)):
            return known
        found = self._found(file, doc_id, sha256)
        self._read[os.path.abspath(file)] = found
        return found

    def _found(self, file: Path, doc_id: str, sha256: str) -> str:
        meta = None if doc_id in self.seen else self._builder.meta(doc_id)
        if meta is not None and _is_at(self.source_of(meta), file):
            return doc_id
        whole = Path(os.path.abspath(file))
        free = [each for each in self._by_name.get(whole.name, ()) if each[0] not in self.seen]
        at_home = [each for each, meta in free if _is_at(self.source_of(meta), file)]
        moved = [each for each, meta in free if meta["sha256"] == sha256 and self._is_gone(each)]
        if known := at_home or moved:
            return doc_id if doc_id in known else min(known)
        count = len(Path(doc_id).parts)
        longer = ("/".join(whole.parts[-n:]) for n in range(count + 1, len(whole.parts)))
        for each in (doc_id, *longer):
            if each not in self.seen and self._is_gone(each):
                return each
        raise SourceError(f"{file}: another file is called {doc_id} too", hint="rename one of them")

    def _is_gone(self, doc_id: str) -> bool:
        """Return whether an id is free: no document has it, or one whose file is gone."""
        meta = self._builder.meta(doc_id)
        return meta is None or not self.source_of(meta).exists()


def _is_at(source: Path, file: Path) -> bool:
    """Return whether a document's file is this one."""
    return source == file.resolve() or (source.exists() and source.samefile(file))


def _plan(
    builder: IndexBuilder, file: Path, doc_id: str, names: _DocumentNames, settings: Settings
) -> ParseTask | Outcome:
    """Return the file as a task for a reader, or what became of it without one."""
    try:
        if any(0xD800 <= ord(character) < 0xE000 for character in doc_id):
            raise SourceError(f"{doc_id!r}: the file's name is not UTF-8", hint="rename it")
        data = read_bytes(file, max_mb=settings.limits.file_mb)
        sha256 = hashlib.sha256(data).hexdigest()
        doc_id = names.id_of(file, doc_id, sha256)
        is_again = doc_id in names.seen
        names.seen.add(doc_id)
        known = builder.meta(doc_id)
        is_known = known is not None and known["sha256"] == sha256
        given = given_access(file, names.access)
        is_known = is_known and given in (None, (known or {}).get(GIVEN, ""))
        if is_again or (known and is_known and _is_at(names.source_of(known), file)):
            return Outcome(doc_id, "unchanged", bytes=len(data))
        return ParseTask(doc_id, data, str(file.resolve()), len(data))
    except SourceError as error:
        names.seen.add(doc_id)
        return _rejected(doc_id, error)


def _beside(loaded: ParsedDocument, location: str | Path) -> ParsedDocument:
    """Return the document with the way to its file from the index: both may be moved together."""
    document = loaded.document
    if is_server(location):
        return loaded
    way = os.path.relpath(document.meta["source"], Path(location).resolve())
    return replace(loaded, document=replace(document, meta={**document.meta, FROM_INDEX: way}))


def _put(
    builder: IndexBuilder,
    task: ParseTask,
    loaded: ParsedDocument,
    kept: Mapping[str, Mapping[str, str]],
    given: str | None = None,
) -> Outcome:
    """Put a document in; what its user said of card and access outlives every reading."""
    known = builder.meta(task.doc_id)
    status: Status = "added" if known is None else "changed"
    before = {**kept.get(task.doc_id, {}), **(known or {})}
    if said := before.get(CORRECTED, ""):
        loaded = corrected(loaded, json.loads(said))
    if tags := before.get(GIVEN, "") if given is None else given:
        meta = {"access": tags, **loaded.document.meta, GIVEN: tags}
        loaded = replace(loaded, document=replace(loaded.document, meta=meta))
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
    there = {file.resolve() for file, _ in files}
    roots = [folder.resolve() for folder in folders]
    with open_snapshot(location, store) as snapshot:
        sources = {doc_id: source_file(meta, location) for doc_id, _, meta in snapshot.headers()}
    others = {doc_id: source for doc_id, source in sources.items() if source not in there}
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
    with _reopened(location, store) as builder:
        gone = [doc_id for doc_id in documents if builder.drop(doc_id)]
        builder.flush()
    return gone


def correct_card(
    location: str | Path,
    doc_id: str,
    changes: Mapping[str, str],
    store: StoreSettings | None = None,
) -> None:
    """Write a user's words on a document's card: "title", or any key of it.

    They count for good: the next readings of the file leave them as they are.
    """
    if unknown := changes.keys() - {"title", *CARD_KEYS}:
        raise ConfigError(f"a card has no {min(unknown)!r}", hint="see: docs/formats.md")
    with _reopened(location, store) as builder:
        whole = builder.loaded(doc_id)
        said = json.loads(whole.document.meta.get(CORRECTED, "{}"))
        builder.put(corrected(whole, {**said, **changes}))
        builder.flush()


def _reopened(location: str | Path, store: StoreSettings | None) -> IndexBuilder:
    """Return what changes an index as it is, with the settings that it was made with."""
    shape = shape_of(location, store)
    settings = Settings.from_shape(shape, origin="index")
    settings = replace(settings, store=store or settings.store)
    profile = shape.get("profile", {}).get("fingerprint", "")
    return IndexBuilder(location, settings, profile=profile)


def _said_before(location: str | Path, store: StoreSettings) -> dict[str, dict[str, str]]:
    """Return what users said of card and access, by document; nothing if there is no index."""
    with suppress(StoreError), open_snapshot(location, store) as snapshot:
        return {
            doc_id: {name: meta[name] for name in (CORRECTED, GIVEN) if name in meta}
            for doc_id, _, meta in snapshot.headers()
        }
    return {}


# Encoded between two reports of progress: a second or two.
BATCH = 128
# With fewer chunks to encode nobody waits long enough to need a stand-in.
STAND_IN_FROM = 500
# So many batches tell how long all of them will take.
TIMED_BATCHES = 4


@dataclass(frozen=True, slots=True)
class EncodingProgress:
    """How far the work is, in chunks."""

    done: int
    total: int
    without: int = 0  # chunks that have no vector after all: no words, or the encoder failed
    model: str = ""  # by its name
    # Not 0: the model was given up, for so long it would have taken; its stand-in serves.
    seconds_left: float = 0.0


def embed_index(
    location: str | Path, settings: Settings | None = None
) -> Iterator[EncodingProgress]:
    """Compute missing vectors, segment by segment, and yield the progress.

    Where many are missing, a faster model's stand in for them first: a search uses whatever is
    there. The write lock is held only while a segment's vectors are put in place. What was computed
    when a crash comes is in the cache.
    """
    settings = settings or Settings()
    spec = spec_of(settings.embedding)
    if spec is None:
        return
    if spec.stand_in and without_vectors(location, settings)[0] > STAND_IN_FROM:
        yield from _embed(location, settings.changed({"embedding.model": STATIC.name}), spec)
    yield from _embed(location, settings, spec)


def _embed(
    location: str | Path, settings: Settings, wanted: ModelSpec
) -> Iterator[EncodingProgress]:
    """Give chunks the vectors of the settings' model; a stand-in's if they lack the wanted ones."""
    spec = spec_of(settings.embedding)
    assert spec is not None
    with open_snapshot(location, settings.store) as snapshot:
        work = _segments_to_do(snapshot, settings, spec, wanted)
        if not work:
            return
        for each in work:
            each.part.check(full=True)  # a vector of what was never written would outlive it
        encoder = open_encoder(settings.encoding)
        assert encoder is not None
        for each in work:
            if each.vectors is not None:
                check_dimension(each.vectors, encoder.spec.dimension, spec.id)
        # To look a vector up, or to ask a node for it, takes longer than to add up those of words.
        is_quick = spec.id == STATIC.id
        home = cache_folder() if settings.tuning.cache and not is_quick else None
        with (
            closing(VectorCache(encoder, home)) as cache,
            nullcontext() if is_quick else connected(settings.cluster) as cluster,
        ):
            encoding = _Encoding(settings, cache, cluster, sum(len(e.rows) for e in work))
            for each in work:
                yield from encoding.of(each, location)
                if encoding.is_too_slow:
                    return
                if arrays := encoding.arrays(each):
                    gone = spec.stand_in if len(np.unique(arrays["rows"])) >= each.stood_in else ""
                    name = each.part.entry.name
                    _put_vectors(location, settings.store, name, spec.id, arrays, gone)


@dataclass(frozen=True, slots=True)
class _SegmentToDo:
    """A segment and its rows that lack a vector."""

    part: Segment
    vectors: Vectors | None  # that it has
    rows: Array
    stood_in: int  # chunks that have a stand-in's vector


def _segments_to_do(
    snapshot: Snapshot, settings: Settings, spec: ModelSpec, wanted: ModelSpec
) -> list[_SegmentToDo]:
    """Return the segments that lack vectors of a model; of a stand-in only if it is needed."""
    with_tokens = spec.has_tokens and settings.keeps_tokens
    found = []
    for part, known, better, other in zip(
        snapshot.segments,
        *map(snapshot.vectors_of, (spec.id, wanted.id, wanted.stand_in)),
        strict=True,
    ):
        if spec.id != wanted.id and not len(_missing_rows(part, better)):
            continue
        if known is not None and known.tokens is None and with_tokens:
            known = None
        rows = _missing_rows(part, known)
        if len(rows):
            stood_in = other.entry.chunks if other else 0
            found.append(_SegmentToDo(part, known, rows, stood_in))
    return found


class _Encoding:
    """One model's work on some segments."""

    def __init__(
        self, settings: Settings, cache: VectorCache, cluster: Cluster | None, total: int
    ) -> None:
        self.settings = settings
        self.cache, self.cluster = cache, cluster
        self.total, self.done, self.without = total, 0, 0
        spec = cache.encoder.spec
        self.name = spec.name
        self.with_tokens = spec.has_tokens and settings.keeps_tokens
        self.limit = 60 * settings.embedding.max_minutes if spec.stand_in else 0.0
        self.is_too_slow = False
        self._started = time.monotonic()
        self._rows: list[Array] = []
        self._found: list[Array] = []
        self._tokens: list[Tokens] = []

    def of(self, work: _SegmentToDo, location: str | Path) -> Iterator[EncodingProgress]:
        """Encode the rows of a segment as it is now; stops where all would take too long.

        Each segment's vectors are a generation: a server forgets that with which the work began.
        """
        self._rows, self._found, self._tokens = [], [], []
        with open_snapshot(location, self.settings.store) as snapshot:
            for part in snapshot.segments:
                if part.entry.name == work.part.entry.name:  # or it was merged meanwhile
                    rows = work.rows[part.live_rows()[work.rows]]
                    yield from self._encoded(_batches(snapshot, part, rows, self.cache.encoder))

    def _encoded(self, batches: Iterator[tuple[_Batch, list[str]]]) -> Iterator[EncodingProgress]:
        how = self.cache, self.settings.encoding, self.cluster
        for batch, encoded, codes in encode_batches(batches, *how, with_tokens=self.with_tokens):
            self._tokens += [joined(codes)] if codes else []
            self._rows.append(batch.rows)
            self._found.append(encoded)
            self.done += batch.chunks
            self.without += batch.chunks - len(np.unique(batch.rows[encoded.any(axis=1)]))
            left = (time.monotonic() - self._started) * (self.total / self.done - 1)
            self.is_too_slow = 0 < self.limit < left and self.done >= TIMED_BATCHES * BATCH
            late = left if self.is_too_slow else 0.0
            yield EncodingProgress(self.done, self.total, self.without, self.name, late)
            if self.is_too_slow:
                return

    def arrays(self, work: _SegmentToDo) -> dict[str, Array] | None:
        """Return a segment's vectors, old and new; None if there are no new ones."""
        if not any(encoded.any() for encoded in self._found):
            return None
        rows, found, tokens = self._rows, self._found, self._tokens
        if (old := work.vectors) is not None:
            rows, found = [*rows, old.rows], [*found, old.exact]
            tokens = [*tokens, old.tokens] if old.tokens is not None else tokens
        whole = following(tokens) if self.with_tokens else None
        return packed(np.concatenate(rows), np.concatenate(found), whole)


def without_vectors(location: str | Path, settings: Settings) -> tuple[int, int]:
    """Return how many chunks lack a vector of the model, and how many of them have a stand-in's."""
    spec = spec_of(settings.embedding)
    if spec is None:
        return 0, 0
    lacking = stood_in = 0
    with open_snapshot(location, settings.store) as snapshot:
        models = map(snapshot.vectors_of, (spec.id, spec.stand_in))
        for part, own, other in zip(snapshot.segments, *models, strict=True):
            rows = _missing_rows(part, own)
            lacking += len(rows)
            stood_in += int(np.isin(rows, other.rows).sum()) if other is not None else 0
    return lacking, stood_in


@dataclass(frozen=True, slots=True)
class _Batch:
    """Some chunks of a segment."""

    chunks: int
    rows: Array  # of every window


def _missing_rows(part: Segment, vectors: Vectors | None) -> Array:
    """Return the live rows of a segment that have no vector."""
    wanted = part.live_rows()
    if vectors is not None:
        wanted[vectors.rows] = False
    return np.flatnonzero(wanted)


def _batches(
    snapshot: Snapshot, part: Segment, rows: Array, encoder: Encoder
) -> Iterator[tuple[_Batch, list[str]]]:
    """Yield the windows of chunks, so many chunks at a time."""
    for at in range(0, len(rows), BATCH):
        some = rows[at : at + BATCH]
        ids = [chunk_id.decode() for chunk_id in part.arrays["ids"][some].tolist()]
        windows = [windows_of(chunk, encoder) for chunk in snapshot.get(ids)]
        own = np.repeat(some, [len(texts) for texts in windows])
        yield _Batch(len(some), own), [text for each in windows for text in each]


def _put_vectors(
    location: str | Path,
    store: StoreSettings,
    segment: str,
    model: str,
    arrays: dict[str, Array],
    instead_of: str = "",
) -> None:
    """Make the vectors visible, if the segment is still there, in the place of another model's."""
    with open_writer(location, shape_of(location, store), settings=store) as writer:
        if any(entry.name == segment for entry in writer.segments):
            writer.add_vectors(segment, model, arrays)
            writer.drop_vectors(segment, instead_of)
            writer.commit()
