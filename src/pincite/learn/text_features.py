"""Features of a text alone, of the numbers in it, and of its headings.

As in ``word_features``: the first line is the formula, then the range, and the value of nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pincite.core.types import Chunk
from pincite.index.postings import Array
from pincite.learn.matches import Matches, share

# Of a text this much is looked at: chunks are shorter, but nothing is promised of named places.
MAX_CHARS = 20_000
_CELLS = np.frombuffer(b"|&\t", dtype=np.uint8)
MANY_CELLS = 10


@dataclass(frozen=True)
class Texts:
    """Candidates as they are written, with what the question has of numbers."""

    chunks: Sequence[Chunk]
    matches: Matches
    is_number: Array  # of each distinct word of the question: has it digits
    heading: Array  # of each text and distinct word of the question: is it in the headings
    document: Array  # the same for the document's title and name

    @cached_property
    def bytes(self) -> list[Array]:
        return [
            np.frombuffer(chunk.text[:MAX_CHARS].encode("utf-8", "replace"), dtype=np.uint8)
            for chunk in self.chunks
        ]

    def byte_share(self, wanted: Callable[[Array], Array]) -> Array:
        """Return the share of bytes that are wanted."""
        counts = [np.count_nonzero(wanted(each)) for each in self.bytes]
        return share(np.array(counts), np.array([len(each) for each in self.bytes]))


def digit_share(t: Texts) -> Array:
    """Digits / characters. 0 to 1; 0."""
    return t.byte_share(lambda text: (text >= ord("0")) & (text <= ord("9")))


def table_share(t: Texts) -> Array:
    """Signs between cells (| & tab) x 10 / characters, at most 1. 0 to 1; 0."""
    cells = t.byte_share(lambda text: np.isin(text, _CELLS))
    return np.asarray(np.minimum(1.0, MANY_CELLS * cells))


def log_length(t: Texts) -> Array:
    """ln(1 + words of the text). 0 and up; 0."""
    return np.log1p(t.matches.lengths)


def number_coverage(t: Texts) -> Array:
    """Numbers of the question in the text / numbers of the question. 0 to 1; 0."""
    return share(t.matches.present @ t.is_number, float(t.is_number.sum()))


def question_numbers(t: Texts) -> Array:
    """Distinct numbers in the question, the same for all texts. 0 and up; 0."""
    return np.full(t.matches.texts, float(t.is_number.sum()))


def question_words(t: Texts) -> Array:
    """Distinct words of the question, the same for all texts. 0 and up; 0."""
    return np.full(t.matches.texts, float(t.matches.size))


def heading_coverage(t: Texts) -> Array:
    """Idf of question words in locator, title and headings / idf of all of them. 0 to 1; 0."""
    return share(t.heading @ t.matches.weights, float(t.matches.weights.sum()))


def document_name_coverage(t: Texts) -> Array:
    """Idf of question words in the document's title and name / idf of all. 0 to 1; 0."""
    return share(t.document @ t.matches.weights, float(t.matches.weights.sum()))


OF_TEXT: dict[str, Callable[[Texts], Array]] = {
    each.__name__: each
    for each in (
        digit_share,
        table_share,
        log_length,
        number_coverage,
        question_numbers,
        question_words,
        heading_coverage,
        document_name_coverage,
    )
}
