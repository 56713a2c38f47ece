"""Vectors of a text's tokens, small enough to keep: for comparing a question word by word.

The encoder's token vectors are turned to their main directions, and each is then kept as a few
bytes: the numbers of the nearest entries in code books (product quantisation).
``models/train_token_codes.py`` makes both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np

from pincite.core.errors import ModelError
from pincite.embed.hashes import check_hash, listed_hashes
from pincite.store.files import Array

FILE = "token_codes.npz"


@dataclass(frozen=True, slots=True)
class TokenCodec:
    """From token vectors to codes and back, nearly."""

    projection: Array  # width of the encoder × dimensions kept
    books: Array  # parts × 256 entries × dimensions of a part
    token_weights: Array  # by token id: what a question's token counts
    is_kept: Array  # by token id: False for punctuation that tells nothing

    @property
    def bytes_per_token(self) -> int:
        return len(self.books)

    def projected(self, tokens: Array) -> Array:
        """Return the vectors in fewer dimensions, of length one."""
        short = tokens.astype(np.float32) @ self.projection
        length = np.linalg.norm(short, axis=1, keepdims=True)
        scaled: Array = short / np.maximum(length, 1e-9)
        return scaled

    def codes(self, tokens: Array) -> Array:
        """Return the nearest entry of each code book for each token."""
        parts, _, width = self.books.shape
        short = self.projected(tokens).reshape(len(tokens), parts, width)
        found = np.empty((len(tokens), parts), dtype=np.uint8)
        for part, book in enumerate(self.books):
            # |x - b|² without what does not depend on the entry
            away = (book * book).sum(axis=1) - 2 * short[:, part] @ book.T
            found[:, part] = away.argmin(axis=1)
        return found

    def vectors(self, codes: Array) -> Array:
        """Return the vectors that codes stand for."""
        parts, entries, width = self.books.shape
        # All books behind each other, an entry as one element: one look-up for all parts.
        table = np.ascontiguousarray(self.books).reshape(parts * entries, width)
        element = np.dtype((np.void, table.itemsize * width))
        places = codes + np.arange(0, parts * entries, entries, dtype=np.int32)
        found = table.view(element)[:, 0].take(places)
        return found.view(np.float32).reshape(len(codes), parts * width)


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """The tokens of a question, as they are compared with those of texts."""

    vectors: Array  # projected, of length one
    weights: Array  # what each one counts; they add up to one
    places: Array  # where each one begins and ends in the question

    @classmethod
    def none(cls) -> QueryTokens:
        """Return the tokens of a question that has none."""
        return cls(np.zeros((0, 0)), np.zeros(0), np.zeros((0, 2), dtype=np.int64))


@cache
def load_codec(model: str) -> TokenCodec:
    """Return the codec that ships beside an encoder."""
    home = Path(__file__).parent / model
    data = home.joinpath(FILE).read_bytes()
    check_hash(FILE, data, listed_hashes(home, _broken), _broken)
    arrays = np.load(BytesIO(data), allow_pickle=False)
    return TokenCodec(
        np.asarray(arrays["projection"], dtype=np.float32),
        np.asarray(arrays["books"], dtype=np.float32),
        np.asarray(arrays["weights"], dtype=np.float32),
        np.asarray(arrays["is_kept"], dtype=bool),
    )


def _broken(reason: object) -> ModelError:
    return ModelError(f"the token codes cannot be loaded: {reason}", hint="install Pincite again")
