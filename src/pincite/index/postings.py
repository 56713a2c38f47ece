"""Postings and the vocabulary of an index."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from pincite.model.errors import StoreError
from pincite.store.segment import Segment

Array = np.ndarray[Any, np.dtype[Any]]
MAX_COUNT = np.iinfo(np.uint16).max


def term_key(term: str) -> int:
    """Return the 64-bit key of a term, the same in every process and version."""
    return int.from_bytes(blake2b(term.encode(), digest_size=8).digest(), "little")


def pair_key(left: int, right: int, keys: Array) -> int:
    """Return the key of two neighbouring terms as a field's keys write it.

    Positions of terms take half of the bits each.
    """
    return left << (4 * keys.dtype.itemsize) | right


def build_postings(
    keys: Array, stream: Array, offsets: Array, *, pairs: bool, skipped: Array
) -> dict[str, Array]:
    """Return the arrays of a segment.

    Args:
        keys: the key of each term, in any order; every term occurs in the stream.
        stream: the terms of all rows one after the other, as positions in ``keys``.
        offsets: where each row starts in the stream, and its end.
        pairs: whether to index neighbouring terms too.
        skipped: which places of the stream pairs are formed across.
    """
    order = np.argsort(keys)
    rank = np.empty(len(keys), dtype=np.uint32)
    rank[order] = np.arange(len(keys), dtype=np.uint32)
    stream, keys = rank[stream], keys[order]
    size = len(offsets) - 1
    rows = np.repeat(np.arange(size, dtype=np.uint64), np.diff(offsets))
    arrays = {"stream": narrow(stream), "stream_offsets": narrow_signed(offsets)}
    arrays |= _field("term", stream.astype(np.uint64), rows)
    arrays["term_keys"] = keys
    if pairs:
        kept = ~skipped
        arrays |= _pairs(stream[kept].astype(np.uint64), rows[kept], len(keys), size)
    return arrays


def _pairs(stream: Array, rows: Array, vocabulary: int, size: int) -> dict[str, Array]:
    """Return the field of neighbouring terms and each row's number of pairs."""
    bits = np.uint64(max(1, vocabulary).bit_length())
    inside = rows[1:] == rows[:-1]
    rows = rows[1:][inside]
    arrays = _field("pair", (stream[:-1][inside] << bits) | stream[1:][inside], rows)
    packed = arrays["pair_keys"]
    low = (np.uint64(1) << bits) - np.uint64(1)
    kind: type[np.unsignedinteger[Any]] = np.uint32 if vocabulary <= 1 << 16 else np.uint64
    half = np.uint64(4 * np.dtype(kind).itemsize)
    arrays["pair_keys"] = (((packed >> bits) << half) | (packed & low)).astype(kind)
    arrays["pair_lengths"] = narrow_signed(np.bincount(rows.astype(np.int64), minlength=size))
    return arrays


def _field(name: str, keys: Array, rows: Array) -> dict[str, Array]:
    """Return the postings of a field from its (key, row) occurrences."""
    width = np.uint64((int(rows.max()) + 1 if len(rows) else 1).bit_length())
    if len(keys) and int(keys.max()).bit_length() + int(width) > 64:
        order = np.lexsort((rows, keys))  # too large to pack into one number: slower, same result
        keys, rows = keys[order], rows[order]
    else:
        packed = np.sort((keys << width) | rows)
        keys, rows = packed >> width, packed & ((np.uint64(1) << width) - np.uint64(1))
    is_posting = _changes(keys) | _changes(rows)
    at = np.flatnonzero(is_posting)
    counts = np.diff(at, append=len(keys))
    keys = keys[at]
    first = np.flatnonzero(_changes(keys))
    return {
        f"{name}_keys": keys[first],
        f"{name}_offsets": narrow_signed(np.append(first, len(keys))),
        f"{name}_rows": narrow(rows[at]),
        f"{name}_counts": narrow(np.minimum(counts, MAX_COUNT)),
    }


def narrow(values: Array) -> Array:
    """Return the numbers, none below 0, in the narrowest unsigned type that holds them all."""
    return values.astype(np.min_scalar_type(int(values.max(initial=0))))


def narrow_signed(values: Array) -> Array:
    """Return the numbers in 32 bits if they fit; signed, so that differences stay true."""
    fits = int(values.max(initial=0)) <= np.iinfo(np.int32).max
    return values.astype(np.int32 if fits else np.int64)


def _changes(values: Array) -> Array:
    """Return where a value differs from the one before it; the first always does."""
    changes = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=changes[1:])
    return changes


def live_terms(parts: Iterable[tuple[Mapping[str, Array], Array]]) -> tuple[Array, Array, Array]:
    """Return keys, stream and offsets of the live rows of several segments, one after the other.

    Args:
        parts: for each segment its arrays and which of its rows are live.
    """
    pieces, lengths = [], []
    for arrays, live in parts:
        sizes = np.diff(arrays["stream_offsets"])
        stream = arrays["stream"][np.repeat(live, sizes)]
        pieces.append(arrays["term_keys"][stream])
        lengths.append(sizes[live])
    hashes = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.uint64)
    keys, stream = np.unique(hashes, return_inverse=True)
    offsets = np.concatenate(([0], *lengths)).cumsum()
    return keys, stream.astype(np.uint32), offsets


WORDS = "words"
SHORTEST, LONGEST = 4, 25
# From this length on, two slips are forgiven.
LONG = 8
# Below this length only letters that changed places count: anything else makes another word.
SURE = 5
# More words than any language has; documents of random letters must not fill the memory.
MAX_WORDS = 1_000_000
MAX_BYTES = 2 * LONGEST * MAX_WORDS
_WORD = re.compile(rf"(?<![^\W_])[^\W\d_]{{{SHORTEST},{LONGEST}}}(?![^\W_])")


def plain_words(words: Iterable[str]) -> set[str]:
    """Return the words of letters only that stand in some pieces of text, in lower case.

    >>> sorted(plain_words(["Fire-ball,", "AC-1234", "l'Acqua"]))
    ['acqua', 'ball', 'fire']
    """
    found: set[str] = set()
    for word in words:
        plain = word if word.isascii() else unicodedata.normalize("NFKC", word)
        found.update(_WORD.findall(plain.lower()))
        if len(found) >= MAX_WORDS:
            break
    return found


def packed(words: Iterable[str]) -> Array:
    """Return words as a segment keeps them."""
    text = "\n".join(sorted(words)[:MAX_WORDS])
    return np.frombuffer(zlib.compress(text.encode(), 9), dtype=np.uint8)


def unpacked(array: Array) -> list[str]:
    """Return the words that :func:`packed` wrote."""
    try:
        text = zlib.decompressobj().decompress(array.tobytes(), MAX_BYTES).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise StoreError(
            "the words of a segment are damaged", hint="run: pincite doctor"
        ) from error
    return text.split("\n") if text else []


class Vocabulary:
    """All words of an index, read when the first unknown one comes."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self._segments = segments

    @cached_property
    def _by_length(self) -> dict[int, list[str]]:
        words: set[str] = set()
        for segment in self._segments:
            if segment.has_hidden:
                words |= _visible_words(segment)
            elif WORDS in segment.arrays:
                words.update(unpacked(segment.arrays[WORDS]))
        groups: dict[int, list[str]] = defaultdict(list)
        for word in sorted(words):
            groups[len(word)].append(word)
        return dict(groups)

    def near(self, word: str) -> list[tuple[int, str]]:
        """Return the words that differ from this one by a slip or two, with how many.

        A slip is a letter too many, too few, another one, or two that changed places.
        """
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        most = 2 if len(word) >= LONG else 1
        found = []
        for length in range(len(word) - most, len(word) + most + 1):
            candidates = self._by_length.get(length, [])
            matches = process.extract(
                word, candidates, scorer=OSA.distance, score_cutoff=most, limit=None
            )
            found += [(int(slips), near) for near, slips, _ in matches if _is_likely(word, near)]
        return sorted(found)


def _is_likely(word: str, near: str) -> bool:
    """Return whether a word may be a slip for another: most neighbours of short ones are words.

    People seldom miss the first letter, and "hide" for "hire" is no likelier than "hide" itself.
    """
    if word[0] != near[0]:
        from rapidfuzz.distance import OSA

        return len(word) >= LONG and int(OSA.distance(word, near)) == 1
    return len(word) >= SURE or sorted(word) == sorted(near)


def _visible_words(segment: Segment) -> set[str]:
    """Return the words of the documents that a reader may see, from their texts.

    A form of a word that only a hidden document has must not be suggested, also where another form
    of it is known: the packed words do not say whose they are.
    """
    written: set[str] = set()
    for entry in segment.entries():
        for chunk in entry.loaded.chunks:
            if chunk.searched:
                written.update(chunk.context.split(), chunk.text.split())
    return plain_words(written)
