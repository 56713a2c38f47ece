"""The static model: one vector a word piece, and a text's vector is their sum. No network runs.

Its vectors live in the space of the shipped encoder, which taught it: a question that the encoder
read may be compared with passages of either (decision 36).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from pincite.encode.models import (
    SHIPPED,
    TOKENIZER,
    Array,
    ModelSpec,
    check_hash,
    listed_hashes,
    open_tokenizer,
)
from pincite.model.errors import ModelError

HERE = Path(__file__).parent
WEIGHTS = "vectors.npz"
WORD = re.compile(r"\w+")
# Longer words are no words; a tokeniser would take time for them and find nothing.
MAX_WORD = 64
# Words whose pieces are remembered, 100 bytes each; beyond, it starts anew.
MAX_REMEMBERED = 200_000


class StaticEncoder:
    """Adds up the vectors of word pieces; those of rare words are longer, as they were fitted.

    A question is short, and read as well as can be: by the encoder that taught it, if it is given.
    Any number of threads may share it; nothing is loaded before the first text.
    """

    def __init__(self, spec: ModelSpec, read: Callable[[str], Array] | None = None) -> None:
        self._spec = spec
        self._read = read
        self._home = HERE / spec.name

    @property
    def spec(self) -> ModelSpec:
        return self._spec

    @cached_property
    def _known(self) -> _WordPieces:
        home = HERE / SHIPPED.name
        file = check_hash(home / TOKENIZER, listed_hashes(home, _broken), _broken)
        return _WordPieces(open_tokenizer(file.read_text("utf-8"), _broken))

    @cached_property
    def _vectors(self) -> Array:
        """The vectors of word pieces by their numbers."""
        hashes = listed_hashes(self._home, _broken)
        file = check_hash(self._home / WEIGHTS, hashes, _broken)
        arrays = np.load(BytesIO(file.read_bytes()), allow_pickle=False)
        vectors = np.zeros((self.vocabulary, self._spec.dimension), np.float32)
        vectors[arrays["pieces"]] = arrays["codes"] * arrays["scales"][:, None].astype(np.float32)
        return vectors

    @property
    def vocabulary(self) -> int:
        """How many word pieces there are."""
        return self._known.size

    def pieces(self, text: str) -> list[int]:
        """Return the numbers of a text's word pieces; signs are left out."""
        words = self._known
        return [each for word in WORD.findall(_plain(text)) for each in words[word]]

    def token_starts(self, text: str) -> Sequence[int]:
        return [match.start() for match in WORD.finditer(text)]

    def encode(self, texts: Sequence[str]) -> Array:
        table = self._vectors
        found = np.zeros((len(texts), self._spec.dimension), np.float32)
        for row, text in enumerate(texts):
            ids = self.pieces(text)
            # One text at a time: its rows stay in the processor's cache.
            found[row] = table[ids].sum(axis=0) if ids else 0
        lengths = np.sqrt(np.vecdot(found, found))[:, None]
        np.divide(found, lengths, out=found, where=lengths > 0)
        return found

    def encode_query(self, text: str) -> Array:
        if self._read is not None:
            return self._read(text)
        vector: Array = self.encode([text])[0]
        return vector


class _WordPieces(dict[str, tuple[int, ...]]):
    """The pieces of words; each word is cut once."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.size: int = tokenizer.get_vocab_size()

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(word) > MAX_WORD:
            return ()
        if len(self) >= MAX_REMEMBERED:
            self.clear()
        whole = word.encode("utf-8", "replace").decode("utf-8")
        self[word] = found = tuple(self._tokenizer.encode(whole, add_special_tokens=False).ids)
        return found


def _plain(text: str) -> str:
    """Return the text as the tokeniser sees it: compatible forms are one letter, all are small."""
    return (text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()


def _broken(reason: object) -> ModelError:
    return ModelError(f"the static model cannot be loaded: {reason}", hint="install Pincite again")
