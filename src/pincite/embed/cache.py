"""Vectors by what they are of, kept between runs and shared by all indexes of a user.

Encoding is by far the slowest part of building an index. A text that was encoded once, by the same
revision of the same model, is never encoded again; a run that was interrupted goes on where it was.
The file is only a convenience: it may be deleted at any time, and if it cannot be used, all works.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from pincite.embed.models import Array, Encoder

# One statement; SQLite takes a bounded number of values.
AT_ONCE = 500


def cache_folder() -> Path:
    """Return where a user's caches are: PINCITE_CACHE, or the system's usual place."""
    named = os.environ.get("PINCITE_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "pincite"


class VectorCache:
    """An encoder's vectors in one SQLite file; without a folder, or a usable file, it forgets."""

    def __init__(self, encoder: Encoder, home: Path | None) -> None:
        self.encoder = encoder
        self._database: sqlite3.Connection | None = None
        if home is None:
            return
        try:
            home.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(
                home / f"vectors-{encoder.spec.id}.sqlite", timeout=5, isolation_level=None
            )
            self._database.executescript(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
                " WITHOUT ROWID;"
            )
        except (OSError, sqlite3.Error):
            self.close()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def encode(self, texts: Sequence[str]) -> Array:
        """Return the vectors of texts, as float16; only those not known are computed."""
        keys = [_key(text) for text in texts]
        known = self._read(keys)
        new = list(dict.fromkeys(k for k in keys if k not in known))
        if new:
            text_of = dict(zip(keys, texts, strict=True))
            vectors = checked(self.encoder.encode([text_of[key] for key in new]))
            fresh = dict(zip(new, vectors.astype(np.float16), strict=True))
            self._write((key, v.tobytes()) for key, v in fresh.items() if v.any())
            known |= fresh
        shape = (len(texts), self.encoder.spec.dimension)
        return np.stack([known[key] for key in keys]) if keys else np.zeros(shape, np.float16)

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Array]:
        found: dict[bytes, Array] = {}
        size = 2 * self.encoder.spec.dimension
        try:
            for at in range(0, len(keys) if self._database else 0, AT_ONCE):
                some = keys[at : at + AT_ONCE]
                marks = ", ".join("?" * len(some))
                sql = f"SELECT key, value FROM vectors WHERE key IN ({marks})"
                assert self._database is not None
                for key, value in self._database.execute(sql, some):
                    if len(value) == size:
                        found[key] = np.frombuffer(value, dtype=np.float16)
        except sqlite3.Error:
            self.close()
        return found

    def _write(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        if self._database is None:
            return
        try:
            self._database.execute("BEGIN")
            self._database.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
            self._database.execute("COMMIT")
        except sqlite3.Error:  # a full disk, or another process for too long
            self.close()


def checked(vectors: Array) -> Array:
    """Return the vectors with length one; what is no number becomes zeros: no vector at all."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    usable = np.isfinite(lengths) & (lengths > 1e-6)
    scaled = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=usable)
    exact: Array = scaled.astype(np.float32)
    return exact


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
