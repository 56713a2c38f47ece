"""Features of candidates, one formula a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pincite.index.postings import Array
from pincite.model.cached import cached_property
from pincite.model.types import Chunk

# A window is as many times longer than the question.
WINDOW_FACTOR = 3
# What a window has to hold of the question's words to be called complete.
COMPLETE = 0.9
EARLY_WORDS = 50


@dataclass(frozen=True)
class TermPlaces:
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
) -> TermPlaces:
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
) -> TermPlaces:
    """Return the matches of texts whose words are numbers of the question's, or -1."""
    lengths = np.array([len(stream) for stream in streams], dtype=np.int64)
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *streams])
    at = np.flatnonzero(flat >= 0)
    begins = np.cumsum(lengths) - lengths
    text = np.repeat(np.arange(len(streams)), lengths)[at]
    return TermPlaces(
        question=question,
        weights=weights,
        text=text,
        place=at - begins[text] if len(at) else at,
        word=flat[at].astype(np.int64),
        lengths=lengths,
        distinct=np.asarray(distinct, dtype=np.int64),
    )


LENGTH_UNIT = 500
IDEAL_WORDS = 100
MANY_WINDOWS = 5


def query_coverage(m: TermPlaces) -> Array:
    """Distinct question words in the text / distinct question words. 0 to 1; 0."""
    return m.coverage


def word_overlap(m: TermPlaces) -> Array:
    """Shared distinct words / distinct words of both (Jaccard). 0 to 1; 0."""
    shared = m.present.sum(axis=1)
    return share(shared, m.size + m.distinct - shared)


def bigram_overlap(m: TermPlaces) -> Array:
    """Distinct word pairs of the question in the text / all of them. 0 to 1; 0."""
    return _phrase_share(m, 2)


def trigram_overlap(m: TermPlaces) -> Array:
    """Distinct word triples of the question in the text / all of them. 0 to 1; 0."""
    return _phrase_share(m, 3)


def _phrase_share(m: TermPlaces, words: int) -> Array:
    text, number = m.phrases(words)
    count = m.phrase_count(words)
    seen = np.unique(text * max(1, count) + number) // max(1, count)
    return share(np.bincount(seen, minlength=m.texts), count)


def exact_match(m: TermPlaces) -> Array:
    """1 if all words of the question stand in the text one after the other, else 0; 0."""
    words = len(m.question)
    text, first = m.runs(words) if words else (m.text[:0], m.text[:0])
    same = np.ones(len(first), dtype=bool)
    for step in range(words):
        same &= m.word[first + step] == m.question[step]
    return np.minimum(1.0, np.bincount(text[same], minlength=m.texts))


def term_freq(m: TermPlaces) -> Array:
    """Mean count of a distinct question word / words of the text. 0 to 1; 0."""
    return share(m.counts.sum(axis=1), m.lengths * m.size)


def early_match(m: TermPlaces) -> Array:
    """Distinct question words among the first 50 of the text / all of them. 0 to 1; 0."""
    early = m.place < EARLY_WORDS
    cells = np.unique(m.text[early] * m.size + m.word[early])
    return share(np.bincount(cells // max(1, m.size), minlength=m.texts), m.size)


def doc_len_norm(m: TermPlaces) -> Array:
    """Words of the text / 500, at most 1. 0 to 1; 0. (Published without the limit.)"""
    return np.minimum(1.0, m.lengths / LENGTH_UNIT)


def query_doc_ratio(m: TermPlaces) -> Array:
    """Words of the question / words of the text, at most 1. 0 to 1; 0."""
    return np.minimum(1.0, share(np.full(m.texts, len(m.question)), m.lengths))


def min_query_coverage_window(m: TermPlaces) -> Array:
    """Best coverage of a window of 3 x the question's words. 0 to 1; 0. (A maximum, in fact.)"""
    return m.best(m.text, m.windows[0])


def query_compactness_gain(m: TermPlaces) -> Array:
    """1 - mean gap of matches / gap of as many spread evenly, at least 0. 0 to 1; 0."""
    even = share(m.lengths, m.per_text() + 1)
    return np.where(_mean_gap(m) > 0, np.maximum(0, 1 - share(_mean_gap(m), even)), 0.0)


def best_window_match_density(m: TermPlaces) -> Array:
    """Most matches in a window of 3 x the question's words / words in it. 0 to 1; 0."""
    return share(m.best(m.text, m.windows[1]), np.minimum(m.window_words, m.lengths))


def avg_query_term_distance(m: TermPlaces) -> Array:
    """1 / (1 + mean gap of neighbouring matches). 0 to 0.5; 0 with fewer than two matches."""
    gap = _mean_gap(m)
    return np.where(gap > 0, 1 / (1 + gap), 0.0)


def query_term_distance_variance(m: TermPlaces) -> Array:
    """1 / (1 + variance of the gaps): more is more even. 0 to 1; 0 with fewer than two matches."""
    text, gaps = m.gaps
    count = np.bincount(text, minlength=m.texts)
    mean = _mean_gap(m)
    variance = share(np.bincount(text, (gaps - mean[text]) ** 2, minlength=m.texts), count)
    return np.where(count > 0, 1 / (1 + variance), 0.0)


def _mean_gap(m: TermPlaces) -> Array:
    text, gaps = m.gaps
    total = np.bincount(text, gaps, minlength=m.texts).astype(float)
    return share(total, np.bincount(text, minlength=m.texts))


def first_complete_match_position(m: TermPlaces) -> Array:
    """1 - start of the first window with 90 % coverage / words of the text. 0 to 1; 0 if none."""
    complete = m.windows[0] >= COMPLETE
    text = m.text[complete]
    return m.best(text, 1 - share(m.place[complete], m.lengths[text]))


def match_span_compression_ratio(m: TermPlaces) -> Array:
    """1 - words from first to last match / words of the text. 0 to 1; 0."""
    first = m.lengths.astype(float)
    np.minimum.at(first, m.text, m.place)
    last = m.best(m.text, m.place)
    spread = share(last - first + 1, m.lengths)
    return np.where(m.per_text() > 0, 1 - spread, 0.0)


def avg_idf_matched_terms(m: TermPlaces) -> Array:
    """Mean idf of the distinct question words in the text. 0 and up; 0."""
    return share(m.present @ m.weights, m.present.sum(axis=1))


def max_idf_term_presence(m: TermPlaces) -> Array:
    """Largest idf of a question word in the text. 0 and up; 0."""
    return np.asarray((m.present * m.weights).max(axis=1, initial=0.0))


def idf_weighted_window_density(m: TermPlaces) -> Array:
    """Idf of the question words in the text / idf of all of them. 0 to 1; 0. (No window in it.)"""
    return share(m.present @ m.weights, float(m.weights.sum()))


def length_normalized_match_strength(m: TermPlaces) -> Array:
    """Coverage / (1 + words of the text / 500). 0 to 1; 0."""
    return np.asarray(m.coverage / (1 + m.lengths / LENGTH_UNIT))


def answer_likeness_score(m: TermPlaces) -> Array:
    """Coverage / (1 + |words of the text - 100| / 100). 0 to 1; 0."""
    return np.asarray(m.coverage / (1 + np.abs(m.lengths - IDEAL_WORDS) / IDEAL_WORDS))


def multi_window_coverage_count(m: TermPlaces) -> Array:
    """Windows with 90 % coverage that begin at a match / 5, at most 1. 0 to 1; 0."""
    return np.minimum(1.0, m.per_text(m.windows[0] >= COMPLETE) / MANY_WINDOWS)


def near_exact_phrase_density(m: TermPlaces) -> Array:
    """Places with a word pair of the question / pairs of the question, at most 1. 0 to 1; 0."""
    text, _ = m.phrases(2)
    return np.minimum(1.0, share(np.bincount(text, minlength=m.texts), m.phrase_count(2)))


def bm25_rank(rank: Array) -> Array:
    """1 / (rank + 1). 0 to 1."""
    return 1 / (rank + 1)


def rank_confidence_ratio(rank: Array) -> Array:
    """1 / (1 + rank / 2). 0 to 1; for trees the same as bm25_rank."""
    return 1 / (1 + 0.5 * rank)


# The features of words, in the published order; bm25_rank, rank_confidence_ratio and
# semantic_similarity (the cosine of both vectors) come from the stages before.
OF_WORDS: dict[str, Callable[[TermPlaces], Array]] = {
    each.__name__: each
    for each in (
        query_coverage,
        word_overlap,
        bigram_overlap,
        trigram_overlap,
        exact_match,
        term_freq,
        early_match,
        doc_len_norm,
        query_doc_ratio,
        min_query_coverage_window,
        query_compactness_gain,
        best_window_match_density,
        avg_query_term_distance,
        query_term_distance_variance,
        first_complete_match_position,
        match_span_compression_ratio,
        avg_idf_matched_terms,
        max_idf_term_presence,
        idf_weighted_window_density,
        length_normalized_match_strength,
        answer_likeness_score,
        multi_window_coverage_count,
        near_exact_phrase_density,
    )
}
PUBLISHED = (*OF_WORDS, "bm25_rank", "rank_confidence_ratio", "semantic_similarity")


# Of a text this much is looked at: chunks are shorter, but nothing is promised of named places.
MAX_CHARS = 20_000
_CELLS = np.frombuffer(b"|&\t", dtype=np.uint8)
MANY_CELLS = 10


@dataclass(frozen=True)
class Texts:
    """Candidates as they are written, with what the question has of numbers."""

    chunks: Sequence[Chunk]
    matches: TermPlaces
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


NOWHERE = -1


@dataclass(frozen=True)
class FeaturePool:
    """All candidates of a question, best first; features are asked of the first ``k``."""

    k: int
    scores: Array  # by words
    rows: Array  # of the index; NOWHERE for a place that is not searched itself
    documents: Array  # numbers; NOWHERE without a row
    pages: Array
    before: Array  # the row before, if it is of the same document, else NOWHERE
    after: Array

    @cached_property
    def best(self) -> float:
        return float(self.scores.max(initial=0.0))

    @cached_property
    def same_document(self) -> Array:
        """Which candidates (columns) are of the document of each of the first k (rows)."""
        mine = self.documents[: self.k, None]
        return np.asarray((mine == self.documents[None, :]) & (mine != NOWHERE))

    def score_of(self, rows: Array) -> Array:
        """Return the scores of rows that are candidates, 0 of others."""
        found = np.zeros(len(rows))
        known = self.rows != NOWHERE
        order = np.argsort(self.rows[known])
        ordered, scores = self.rows[known][order], self.scores[known][order]
        if len(ordered):
            at = np.minimum(np.searchsorted(ordered, rows), len(ordered) - 1)
            found = np.where(ordered[at] == rows, scores[at], 0.0)
        return found


def score_share(p: FeaturePool) -> Array:
    """Score by words / the best of the pool. 0 to 1; 0."""
    return share(p.scores[: p.k], p.best)


def score_lead(p: FeaturePool) -> Array:
    """(Score by words - that of the next candidate) / the best of the pool. -1 to 1; 0."""
    after = np.append(p.scores, 0.0)[1 : len(p.scores[: p.k]) + 1]
    return share(p.scores[: p.k] - after, p.best)


def document_votes(p: FeaturePool) -> Array:
    """Candidates of the same document / all candidates. 0 to 1; 0."""
    return share(p.same_document.sum(axis=1), len(p.scores))


def document_share(p: FeaturePool) -> Array:
    """Scores of the candidates of the same document / scores of all. 0 to 1; 0."""
    return share(p.same_document @ p.scores, float(p.scores.sum()))


def document_best(p: FeaturePool) -> Array:
    """Best score of the same document / the best of the pool. 0 to 1; 0."""
    return share((p.same_document * p.scores).max(axis=1, initial=0.0), p.best)


def document_rank(p: FeaturePool) -> Array:
    """1 / (1 + candidates of the same document that stand before). 0 to 1; 1 for the first."""
    return np.asarray(1 / (1 + np.tril(p.same_document, -1).sum(axis=1)))


def document_place(p: FeaturePool) -> Array:
    """1 / (1 + documents whose best candidate stands before that of this one). 0 to 1."""
    _, first, number = np.unique(p.documents, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return 1 / (1 + order[number][: p.k])


def page_votes(p: FeaturePool) -> Array:
    """Other candidates of the same page of the document, at most 3, / 3. 0 to 1; 0."""
    same = p.same_document & (p.pages[: p.k, None] == p.pages[None, :])
    return np.asarray(np.clip(same.sum(axis=1) - 1, 0, 3) / 3)


def before_share(p: FeaturePool) -> Array:
    """Score of the place just before, if it is a candidate / the best of the pool. 0 to 1; 0."""
    return share(p.score_of(p.before[: p.k]), p.best)


def after_share(p: FeaturePool) -> Array:
    """Score of the place just after, if it is a candidate / the best of the pool. 0 to 1; 0."""
    return share(p.score_of(p.after[: p.k]), p.best)


OF_POOL: dict[str, Callable[[FeaturePool], Array]] = {
    each.__name__: each
    for each in (
        score_share,
        score_lead,
        document_votes,
        document_share,
        document_best,
        document_rank,
        document_place,
        page_votes,
        before_share,
        after_share,
    )
}
