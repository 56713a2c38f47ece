"""Vectors that are computed once: on disk, and of a process."""

from __future__ import annotations

import os
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import cast

import numpy as np

from pincite.encode.models import Array, Encoder, TokenEncoder

# One statement; SQLite takes a bounded number of values.
AT_ONCE = 500
# Checksums have a table of their own: versions that know none of them share the file.
_SCHEMA = """PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;
CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sums (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""
_SELECT = "SELECT vectors.key, vectors.value, sums.value FROM vectors LEFT JOIN sums USING (key)"


def cache_folder() -> Path:
    """Return where a user's caches are: PINCITE_CACHE, or the system's usual place."""
    named = os.environ.get("PINCITE_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "pincite"


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is kept of one text."""

    vector: Array
    codes: Array | None  # of its tokens

    def to_bytes(self) -> bytes:
        return self.vector.tobytes() + (b"" if self.codes is None else self.codes.tobytes())


@dataclass(frozen=True, slots=True)
class CacheLookup:
    """Texts by their keys: what is known of them, and those that are to be computed."""

    keys: list[bytes]
    known: dict[bytes, _Entry]
    new: list[bytes]  # keys
    texts: list[str]  # of the new ones


@dataclass(frozen=True, slots=True)
class Computed:
    """What an encoder made of texts, ready to be kept: plain arrays, row by row."""

    vectors: Array
    codes: list[Array] | None

    @classmethod
    def nothing(cls) -> Computed:
        return cls(np.zeros((0, 0), np.float16), None)

    def entries(self) -> list[_Entry]:
        codes = self.codes
        return [
            _Entry(vector, codes[row] if codes else None) for row, vector in enumerate(self.vectors)
        ]


class VectorCache:
    """An encoder's vectors in one SQLite file; without a folder, or a usable file, it forgets."""

    def __init__(self, encoder: Encoder, home: Path | None) -> None:
        self.encoder = encoder
        self._database: sqlite3.Connection | None = None
        self._file = None if home is None else home / f"vectors-{encoder.spec.id}.sqlite"
        self._open()

    def _open(self) -> None:
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self._file, timeout=5, isolation_level=None)
            self._database.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        """Do without the file; if its bytes are damaged, it is deleted, and a new one begun later.

        SQLite tells damage as a plain DatabaseError; a full or busy disk is a kind of it.
        """
        self.close()
        if type(error) is sqlite3.DatabaseError and self._file is not None:
            for ending in ("", "-wal", "-shm"):
                with suppress(OSError):
                    Path(f"{self._file}{ending}").unlink(missing_ok=True)

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def encode(self, texts: Sequence[str]) -> Array:
        """Return the vectors of texts, as float16; only those not known are computed."""
        return self._encoded(texts, with_tokens=False)[0]

    def encode_with_tokens(self, texts: Sequence[str]) -> tuple[Array, list[Array]]:
        """Return the vectors of texts, and the codes of each one's tokens."""
        return self._encoded(texts, with_tokens=True)

    def _encoded(self, texts: Sequence[str], *, with_tokens: bool) -> tuple[Array, list[Array]]:
        asked = self.asked(texts, with_tokens=with_tokens)
        fresh = computed(self.encoder, asked.texts, with_tokens=with_tokens)
        return self.answered(asked, fresh)

    def asked(self, texts: Sequence[str], *, with_tokens: bool) -> CacheLookup:
        """Return what is known of texts, and which of them are to be computed."""
        keys = [_key(text) for text in texts]
        known = {
            k: v for k, v in self._read(keys).items() if v.codes is not None or not with_tokens
        }
        new = dict.fromkeys(k for k in keys if k not in known)
        text_of = dict(zip(keys, texts, strict=True))
        return CacheLookup(keys, known, list(new), [text_of[key] for key in new])

    def answered(self, asked: CacheLookup, fresh: Computed) -> tuple[Array, list[Array]]:
        """Keep what was computed and return the vectors and codes of all texts asked for."""
        entries = dict(zip(asked.new, fresh.entries(), strict=True))
        self._write((key, each.to_bytes()) for key, each in entries.items() if each.vector.any())
        known = asked.known | entries
        shape = (len(asked.keys), self.encoder.spec.dimension)
        found = [known[key] for key in asked.keys]
        vectors = np.stack([e.vector for e in found]) if found else np.zeros(shape, np.float16)
        return vectors, [each.codes for each in found if each.codes is not None]

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, _Entry]:
        found: dict[bytes, _Entry] = {}
        try:
            for at in range(0, len(keys) if self._database else 0, AT_ONCE):
                some = keys[at : at + AT_ONCE]
                marks = ", ".join("?" * len(some))
                sql = f"{_SELECT} WHERE vectors.key IN ({marks})"
                assert self._database is not None
                for key, value, known in self._database.execute(sql, some):
                    # What an older version wrote has no checksum.
                    is_whole = known is None or known == _sum(value)
                    if is_whole and (entry := self._entry(value)):
                        found[key] = entry
        except sqlite3.Error as error:
            self._failed(error)
        return found

    def _entry(self, value: bytes) -> _Entry | None:
        """Return what stored bytes hold: a vector, and the codes of tokens if any; None if bad."""
        size, spec = 2 * self.encoder.spec.dimension, self.encoder.spec
        vector = np.frombuffer(value[:size], dtype=np.float16)
        if len(value) == size:
            return _Entry(vector, None)
        width = cast(TokenEncoder, self.encoder).codec.bytes_per_token if spec.has_tokens else 0
        if len(value) < size or not width or (len(value) - size) % width:
            return None
        return _Entry(vector, np.frombuffer(value[size:], dtype=np.uint8).reshape(-1, width))

    def _write(self, new: Iterable[tuple[bytes, bytes]]) -> None:
        rows = list(new)
        if self._database is None or not rows:
            return
        try:
            self._database.execute("BEGIN")
            self._database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
            sums = [(key, _sum(value)) for key, value in rows]
            self._database.executemany("INSERT OR REPLACE INTO sums VALUES (?, ?)", sums)
            self._database.execute("COMMIT")
        except sqlite3.Error as error:  # a full disk, or another process for too long
            self._failed(error)


def computed(encoder: Encoder, texts: Sequence[str], *, with_tokens: bool) -> Computed:
    """Return the vectors of texts, and if asked for the codes of their tokens."""
    if not texts:
        return Computed.nothing()
    if with_tokens:
        vectors, codes = cast(TokenEncoder, encoder).encode_with_tokens(texts)
    else:
        vectors, codes = encoder.encode(texts), None
    return Computed(checked(vectors).astype(np.float16), codes)


def checked(vectors: Array) -> Array:
    """Return the vectors with length one; what is no number becomes zeros: no vector at all."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    usable = np.isfinite(lengths) & (lengths > 1e-6)
    scaled = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=usable)
    exact: Array = scaled.astype(np.float32)
    return exact


def _sum(value: bytes) -> bytes:
    return blake2b(value, digest_size=8).digest()


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


# Vectors of 384 numbers take 6 MB.
REMEMBERED_TEXTS = 4096


class RememberedVectors:
    """Encodes texts, each once while it is among the last ones that were asked for.

    Any number of threads may share it; two that ask at once may both encode a text.
    """

    def __init__(self, encoder: Encoder, size: int = REMEMBERED_TEXTS) -> None:
        self.encoder = encoder
        self.size = size
        self._vectors: OrderedDict[str, Array] = OrderedDict()
        self._lock = Lock()

    def of(self, texts: Sequence[str]) -> Array:
        """Return the vectors of texts as documents have them, one a row."""
        with self._lock:
            known = {text: self._vectors[text] for text in texts if text in self._vectors}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            # Copies: a row of the whole would keep all of it in memory.
            prefix = self.encoder.spec.text_prefix
            new = self.encoder.encode([prefix + text for text in missing]).astype(np.float32)
            known |= {text: row.copy() for text, row in zip(missing, new, strict=True)}
        with self._lock:
            for text in texts:
                self._vectors[text] = known[text]
                self._vectors.move_to_end(text)
            while len(self._vectors) > self.size:
                self._vectors.popitem(last=False)
        return np.stack([known[text] for text in texts])
