"""One generation of an index in a server."""

from __future__ import annotations

import json
import time
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from pincite.core.errors import StoreError
from pincite.core.types import Box, Chunk, Document, Facts, Finding, Link
from pincite.store.manifest import Manifest, manifest_of
from pincite.store.segment import to_chunk
from pincite.store.server.contract import Engine
from pincite.store.server.keeping import Kept
from pincite.store.server.segment import (
    CHUNK,
    LINK,
    TEXT,
    Header,
    ServerSegment,
    ServerVectors,
    boxes_of,
    findings_of,
    header_of,
    link_of,
)
from pincite.store.snapshot import Snapshot
from pincite.store.texts import TextCache

# Values in one question to a server.
MAX_VALUES = 5_000
REMEMBERED_DOCUMENTS = 20_000
REMEMBERED_PARENTS = 20_000


class ServerSnapshot(Snapshot):
    """A generation in a server, for any number of reading threads.

    Each method asks all segments at once, and remembers what is asked for again and again.
    """

    def __init__(self, engine: Engine, manifest: Manifest, kept: Kept | None = None) -> None:
        self.engine = engine
        self._kept = kept  # None for the writer, who alone sweeps
        self.folder = Path(engine.shown)
        self.manifest = manifest
        self.segments = [ServerSegment(engine, entry, kept) for entry in manifest.segments]
        self.vectors = [ServerVectors(engine, entry) for entry in manifest.vectors]
        self._is_view = False
        self._texts = TextCache()
        self._headers: OrderedDict[str, Header] = OrderedDict()
        self._children: OrderedDict[str, list[tuple[Any, ...]]] = OrderedDict()
        self._lock = Lock()
        self._hidden: frozenset[str] = frozenset()  # a view shares what is remembered

    def hiding(self, doc_ids: frozenset[str]) -> ServerSnapshot:
        view = super().hiding(doc_ids)
        assert isinstance(view, ServerSnapshot)
        view._hidden = self._hidden | doc_ids
        return view

    @classmethod
    def of(cls, engine: Engine) -> ServerSnapshot:
        """Return the current generation; StoreError if there is none."""
        looked = time.monotonic()
        head = engine.head()
        if head is None:
            raise StoreError(
                f"no index in {engine.shown}",
                hint=f"make one: pincite ingest FILES --index {engine.shown}",
            )
        manifest = manifest_of(head, origin=engine.shown)
        return cls(engine, manifest, Kept(engine, manifest.generation, head, looked))

    def close(self) -> None:
        if not self._is_view:
            self.engine.close()

    def select(
        self, table: str, columns: Sequence[str], by: str, values: Iterable[Any], limit: int = 0
    ) -> list[tuple[Any, ...]]:
        """Return rows of live documents; the first column names the document and is left in."""
        if self._kept is not None:
            self._kept.check()
        dropped = {part.entry.name: part.dropped for part in self.segments}
        wanted, found = [each for each in dict.fromkeys(values) if _is_whole(each)], []
        limit = 0 if any(dropped.values()) else limit  # dead rows must not take others' places
        for at in range(0, len(wanted), MAX_VALUES):
            some = wanted[at : at + MAX_VALUES]
            found += self.engine.select(table, columns, list(dropped), by, some, limit)
        return [row[1:] for row in found if row[1] not in dropped[row[0]]]

    def documents(self) -> list[str]:
        return sorted(doc_id for doc_id, _, _ in self.headers())

    def _about(self, doc_ids: Iterable[str]) -> dict[str, Header]:
        """Return documents without their texts; those that are not there are left out."""
        wanted = list(dict.fromkeys(doc_ids))
        with self._lock:
            known = {name: self._headers[name] for name in wanted if name in self._headers}
        missing = [name for name in wanted if name not in known]
        if missing:
            rows = self.select("documents", ("id", "number", "title", "meta"), "id", missing)
            found = {row[0]: header_of((row[1], row[0], *row[2:])) for row in rows}
            known |= found
            with self._lock:
                self._headers.update(found)
                while len(self._headers) > REMEMBERED_DOCUMENTS:
                    self._headers.popitem(last=False)
        return {name: header for name, header in known.items() if name not in self._hidden}

    def meta(self, doc_id: str) -> dict[str, str] | None:
        found = self._about([doc_id]).get(doc_id)
        return None if found is None else found.meta

    def title(self, doc_id: str) -> str:
        found = self._about([doc_id]).get(doc_id)
        return "" if found is None else found.title

    def document(self, doc_id: str) -> Document:
        header = self._about([doc_id]).get(doc_id)
        if header is None:
            raise StoreError(f"no document {doc_id!r} in the index", hint="see: pincite list")
        return Document(doc_id, self.text(doc_id), header.title, header.meta)

    def text(self, doc_id: str) -> str:
        return self._texts_of([doc_id])[doc_id]

    def _texts_of(self, doc_ids: Iterable[str]) -> dict[str, str]:
        """Return the texts of documents, the recently used ones from memory."""
        about = self._about(doc_ids)
        found = {name: text for name in about if (text := self._texts.get(name)) is not None}
        missing = [name for name in about if name not in found]
        for name, text in self.select("texts", ("document", "text"), "document", missing):
            found[name] = text
            self._texts.put(name, text)
        for doc_id in doc_ids:
            if doc_id not in found:
                raise StoreError(f"no document {doc_id!r} in the index", hint="see: pincite list")
        return found

    def chunks(self, doc_id: str) -> list[Chunk]:
        return self._chunks("document", [doc_id])

    def chunks_within(self, doc_id: str, start: int, end: int) -> list[Chunk]:
        return [c for c in self.chunks(doc_id) if c.span.start < end and c.span.end > start]

    def get(self, ids: Sequence[str]) -> list[Chunk]:
        found = {chunk.id: chunk for chunk in self._chunks("id", ids)}
        missing = [chunk_id for chunk_id in ids if chunk_id not in found]
        if missing:
            raise StoreError(f"no chunk {missing[0]!r} in the index", hint="open the index again")
        return [found[chunk_id] for chunk_id in ids]

    def places(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        rows = self.select("chunks", ("document", "id", "locator"), "id", ids)
        found = {chunk_id: (doc_id, locator) for doc_id, chunk_id, locator in rows}
        return [found[chunk_id] for chunk_id in ids]

    def children(self, chunk_id: str) -> list[Chunk]:
        return self._as_chunks(self._below([chunk_id])[chunk_id])

    def expect_below(self, ids: Sequence[str]) -> None:
        level = list(ids)
        while level:
            level = [row[2] for rows in self._below(level).values() for row in rows]

    def _below(self, ids: Sequence[str]) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of the chunks directly below each one; those read last are kept."""
        with self._lock:
            known = {i: self._children[i] for i in ids if i in self._children}
        missing = [i for i in ids if i not in known]
        if missing:
            known |= {i: [] for i in missing}
            for row in self._rows("parent", missing):
                known[row[2 + CHUNK.index("parent")]].append(row)
            with self._lock:
                self._children.update((i, known[i]) for i in missing)
                while len(self._children) > REMEMBERED_PARENTS:
                    self._children.popitem(last=False)
        return known

    def _chunks(self, by: str, values: Iterable[str]) -> list[Chunk]:
        return self._as_chunks(self._rows(by, values))

    def _rows(self, by: str, values: Iterable[str]) -> list[tuple[Any, ...]]:
        """Return the rows of chunks in document order."""
        rows = self.select("chunks", ("document", "ordinal", *CHUNK), by, values)
        return sorted(rows, key=lambda row: row[:2])

    def _as_chunks(self, rows: Sequence[tuple[Any, ...]]) -> list[Chunk]:
        texts = self._texts_of({row[0] for row in rows})
        return [to_chunk(row[2:], texts[row[0]]) for row in rows]

    def found_by(self, keys: Iterable[str]) -> list[Chunk]:
        rows = self.select("keys", ("document", "key", "chunk"), "key", keys)
        return self._chunks("id", [row[2] for row in rows])

    def documents_with(self, keys: Iterable[str]) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for doc_id, key in self.select("keys", ("document", "key"), "key", keys):
            found[key].add(doc_id)
        return dict(found)

    def links(self, doc_id: str) -> list[Link]:
        rows = self.select("links", ("document", "ordinal", *LINK), "document", [doc_id])
        return [link_of(row[2:]) for row in sorted(rows)]

    def findings(self, doc_id: str) -> list[Finding]:
        rows = self.select("texts", ("document", TEXT[2]), "document", [doc_id])
        return [each for _, value in rows for each in findings_of(value)]

    def boxes(self, doc_id: str, within: tuple[int, int] | None = None) -> list[Box]:
        rows = self.select("texts", ("document", TEXT[3]), "document", [doc_id])
        found = [box for _, data in rows for box in boxes_of(data)]
        if within is None:
            return found
        return [box for box in found if box.start < within[1] and box.end > within[0]]

    def facts(self, ids: Sequence[str]) -> dict[str, Facts]:
        rows = self.select("chunks", ("document", "id", "facts"), "id", ids)
        return {row[1]: Facts.from_plain(json.loads(row[2])) for row in rows if row[2] is not None}


def _is_whole(value: Any) -> bool:
    """Tell whether a value has no half character, which nothing in an index has."""
    return not isinstance(value, str) or not any(0xD800 <= ord(sign) < 0xE000 for sign in value)
