"""The cache of vectors: nothing is computed twice, and nothing depends on it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from pincite.encode.cache import VectorCache, cache_folder, checked
from pincite.encode.models import Array, ModelSpec


class Counting:
    """An encoder of lengths that counts its texts."""

    spec = ModelSpec("counting", "1", 4, 100, "none", "shipped")

    def __init__(self) -> None:
        self.texts: list[str] = []

    def token_starts(self, text: str) -> Sequence[int]:
        return range(len(text))

    def encode(self, texts: Sequence[str]) -> Array:
        self.texts += texts
        rows = [[len(t), 1, 2, 3] if t != "bad" else [np.nan] * 4 for t in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, 4)

    def encode_query(self, text: str) -> Array:
        return self.encode([text])[0]


def test_a_text_is_encoded_once(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    cache = VectorCache(first, tmp_path)
    before = cache.encode(["a", "bb", "a"])
    cache.close()
    again = VectorCache(second, tmp_path)
    assert (again.encode(["bb", "a"]) == before[[1, 0]]).all()
    assert first.texts == ["a", "bb"]
    assert second.texts == []
    assert again.encode(["ccc"]).shape == (1, 4)
    assert again.encode([]).shape == (0, 4)


def test_what_could_not_be_encoded_is_tried_again(tmp_path: Path) -> None:
    encoder = Counting()
    cache = VectorCache(encoder, tmp_path)
    assert not cache.encode(["bad"]).any()
    cache.encode(["bad"])
    assert encoder.texts == ["bad", "bad"]


def test_a_broken_or_missing_file_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "vectors-counting@1.sqlite").write_bytes(b"not a database" * 100)
    for home in (tmp_path, tmp_path / "vectors-counting@1.sqlite", None):
        assert VectorCache(Counting(), home).encode(["a"]).shape == (1, 4)


def test_a_vector_that_was_damaged_is_computed_again(tmp_path: Path) -> None:
    first = Counting()
    cache = VectorCache(first, tmp_path)
    before = cache.encode(["a", "bb"])
    cache.close()
    with closing(sqlite3.connect(tmp_path / "vectors-counting@1.sqlite")) as database:
        rows = database.execute("SELECT key, value FROM vectors").fetchall()
        for key, value in rows:
            flipped = bytes([value[0] ^ 1, *value[1:]])
            database.execute("UPDATE vectors SET value = ? WHERE key = ?", (flipped, key))
        database.commit()
    second = Counting()
    with closing(VectorCache(second, tmp_path)) as again:
        assert (again.encode(["a", "bb"]) == before).all()
        assert second.texts == ["a", "bb"]
        again.encode(["a", "bb"])
        assert second.texts == ["a", "bb"]


def test_a_damaged_file_is_begun_anew(tmp_path: Path) -> None:
    """Or a file that cannot be read would keep every run from using the cache."""
    (tmp_path / "vectors-counting@1.sqlite").write_bytes(b"not a database" * 100)
    VectorCache(Counting(), tmp_path).encode(["a"])
    encoder = Counting()
    for _ in range(2):
        with closing(VectorCache(encoder, tmp_path)) as cache:
            cache.encode(["a"])
    assert encoder.texts == ["a"]


def test_vectors_have_length_one_or_none() -> None:
    vectors = checked(np.array([[3.0, 4.0], [0.0, 0.0], [np.inf, 1.0]], dtype=np.float32))
    assert vectors.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0, 0], [0, 0]]


def test_the_folder_can_be_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("PINCITE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/pincite")
