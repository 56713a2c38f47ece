"""The words of an index as they are written, to find the ones that a mistyped word may mean.

Postings know terms by their keys alone, so each segment keeps its words beside them: those of
letters only, sorted and packed, about two bytes each.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from pincite.core.errors import StoreError
from pincite.index.postings import Array
from pincite.store.segment import Segment

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
