"""Where the words of a question stand in some texts: what all features of words are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pincite.index.postings import Array

# A window is as many times longer than the question.
WINDOW_FACTOR = 3
# What a window has to hold of the question's words to be called complete.
COMPLETE = 0.9
EARLY_WORDS = 50


@dataclass(frozen=True)
class Matches:
    """The places of a question's words in texts, as flat arrays in the order of the texts.

    Everything is worked out for all texts at once, from the matches alone: texts may be long.
    """

    question: Array  # its words in order, as numbers of the distinct ones
    weights: Array  # idf of each distinct word
    text: Array  # of each match: the number of its text, rising
    place: Array  # of each match: its position among the words of the text, rising
    word: Array  # of each match: the number of the word
    lengths: Array  # of each text: how many words it has
    distinct: Array  # of each text: how many different words it has

    @property
    def size(self) -> int:
        """How many distinct words the question has."""
        return len(self.weights)

    @property
    def texts(self) -> int:
        return len(self.lengths)

    @cached_property
    def counts(self) -> Array:
        """How often each text (row) has each distinct word (column)."""
        cells = self.text * self.size + self.word
        flat = np.bincount(cells, minlength=self.texts * self.size)
        return flat.reshape(self.texts, self.size)

    @cached_property
    def present(self) -> Array:
        return np.asarray(self.counts > 0)

    @cached_property
    def coverage(self) -> Array:
        """The share of the question's distinct words that each text has."""
        return share(self.present.sum(axis=1), self.size)

    def per_text(self, values: Array | None = None) -> Array:
        """Return the sum of a value of each match, or the number of matches, by text."""
        return np.bincount(self.text, values, minlength=self.texts).astype(float)

    def best(self, text: Array, values: Array) -> Array:
        """Return the largest of values by text; 0 where a text has none."""
        found = np.zeros(self.texts)
        np.maximum.at(found, text, values)
        return found

    @cached_property
    def gaps(self) -> tuple[Array, Array]:
        """Return texts and distances of neighbouring matches."""
        inside = self.text[1:] == self.text[:-1]
        return self.text[1:][inside], np.diff(self.place)[inside].astype(float)

    @cached_property
    def window_words(self) -> int:
        return WINDOW_FACTOR * max(1, len(self.question))

    @cached_property
    def windows(self) -> tuple[Array, Array]:
        """Coverage of the window that begins at each match, and how many matches it holds.

        Moving a window's start to its first match loses no match, so the best window is among
        these.
        """
        span = np.int64(self.lengths.max(initial=0) + self.window_words + 1)
        at = self.text * span + self.place
        last = np.searchsorted(at, at + self.window_words)
        one = np.zeros((len(at) + 1, self.size), dtype=np.int32)
        one[np.arange(1, len(at) + 1), self.word] = 1
        before = np.cumsum(one, axis=0)
        covered = (before[last] > before[:-1]).sum(axis=1)
        return share(covered, self.size), last - np.arange(len(at))

    def runs(self, words: int) -> tuple[Array, Array]:
        """Return text and first match of every run of so many neighbouring words of a text."""
        first = np.arange(max(0, len(self.place) - words + 1))
        last = first + words - 1
        together = (self.text[first] == self.text[last]) & (
            self.place[last] - self.place[first] == words - 1
        )
        return self.text[first[together]], first[together]

    def phrases(self, words: int) -> tuple[Array, Array]:
        """Return text and number of each place where a text has a phrase of the question.

        A phrase is so many neighbouring words of the question; distinct ones are numbered.
        """
        wanted = _packed(self.question, words, self.size)
        text, first = self.runs(words)
        found = np.zeros(len(first), dtype=np.int64)
        for step in range(words):
            found = found * self.size + self.word[first + step]
        number = np.searchsorted(wanted, found)
        number[number == len(wanted)] = 0
        hit = wanted[number] == found if len(wanted) else np.zeros(len(found), dtype=bool)
        return text[hit], number[hit]

    def phrase_count(self, words: int) -> int:
        """Return how many distinct phrases of so many words the question has."""
        return len(_packed(self.question, words, self.size))


def _packed(question: Array, words: int, size: int) -> Array:
    """Return the distinct runs of a question's words as numbers, sorted."""
    count = max(0, len(question) - words + 1)
    packed = np.zeros(count, dtype=np.int64)
    for step in range(words):
        packed = packed * size + question[step : step + count]
    return np.unique(packed)


def share(part: Array, whole: float | Array) -> Array:
    """Return a share; 0 of nothing."""
    part = np.asarray(part, dtype=float)
    return np.asarray(
        np.divide(part, whole, out=np.zeros(part.shape), where=np.asarray(whole) != 0)
    )


def match_words(
    question: Sequence[str], weights: Sequence[float], texts: Sequence[Sequence[str]]
) -> Matches:
    """Return the matches of plain words, compared as they are.

    Args:
        weights: of each distinct word of the question, in the order of first use.
    """
    numbers = {word: number for number, word in enumerate(dict.fromkeys(question))}
    streams = [np.array([numbers.get(word, -1) for word in text], dtype=np.int64) for text in texts]
    asked = np.array([numbers[word] for word in question], dtype=np.int64)
    return match_streams(
        asked, np.asarray(weights, dtype=float), streams, [len(set(text)) for text in texts]
    )


def match_streams(
    question: Array, weights: Array, streams: Sequence[Array], distinct: Sequence[int]
) -> Matches:
    """Return the matches of texts whose words are numbers of the question's, or -1."""
    lengths = np.array([len(stream) for stream in streams], dtype=np.int64)
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *streams])
    at = np.flatnonzero(flat >= 0)
    begins = np.cumsum(lengths) - lengths
    text = np.repeat(np.arange(len(streams)), lengths)[at]
    return Matches(
        question=question,
        weights=weights,
        text=text,
        place=at - begins[text] if len(at) else at,
        word=flat[at].astype(np.int64),
        lengths=lengths,
        distinct=np.asarray(distinct, dtype=np.int64),
    )
