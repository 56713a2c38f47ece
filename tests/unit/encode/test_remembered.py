"""Vectors that are remembered are those that were encoded, and no more are kept than allowed."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from pincite.encode.cache import RememberedVectors


class Encoder:
    """A vector says how long a text is and how it ends; remembers what it was asked."""

    def __init__(self) -> None:
        self.spec = SimpleNamespace(text_prefix=": ")
        self.asked: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> Any:
        self.asked.append(list(texts))
        return np.array([[len(text) - 2, ord(text[-1])] for text in texts], dtype=np.float64)


def test_a_text_is_encoded_once() -> None:
    encoder: Any = Encoder()
    vectors = RememberedVectors(encoder)
    first = vectors.of(["aa", "b", "aa"])
    assert first.dtype == np.float32
    assert first.tolist() == [[2, 97], [1, 98], [2, 97]]
    assert vectors.of(["b", "ccc"]).tolist() == [[1, 98], [3, 99]]
    assert vectors.of(["aa", "b", "ccc"]).shape == (3, 2)
    assert encoder.asked == [[": aa", ": b"], [": ccc"]]


def test_what_was_not_asked_for_longest_is_forgotten() -> None:
    encoder: Any = Encoder()
    vectors = RememberedVectors(encoder, size=2)
    vectors.of(["a", "b"])
    vectors.of(["a", "c"])  # b goes
    vectors.of(["a", "c"])
    assert encoder.asked == [[": a", ": b"], [": c"]]
    assert vectors.of(["b", "c", "a"]).tolist() == [[1, 98], [1, 99], [1, 97]]
    assert encoder.asked[-1] == [": b"]
