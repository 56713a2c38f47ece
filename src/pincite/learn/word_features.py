"""The 26 features of the published re-ranker, by their published names.

Every function takes the matches of one question in some texts and returns one number a text. The
first line of its docstring is the formula; then its range, and its value where nothing matches or
the text is empty. ``rank`` counts from 0, best first. Where a name says another thing than the
formula, the docstring says so.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pincite.index.postings import Array
from pincite.learn.matches import COMPLETE, EARLY_WORDS, Matches, share

LENGTH_UNIT = 500
IDEAL_WORDS = 100
MANY_WINDOWS = 5


def query_coverage(m: Matches) -> Array:
    """Distinct question words in the text / distinct question words. 0 to 1; 0."""
    return m.coverage


def word_overlap(m: Matches) -> Array:
    """Shared distinct words / distinct words of both (Jaccard). 0 to 1; 0."""
    shared = m.present.sum(axis=1)
    return share(shared, m.size + m.distinct - shared)


def bigram_overlap(m: Matches) -> Array:
    """Distinct word pairs of the question in the text / all of them. 0 to 1; 0."""
    return _phrase_share(m, 2)


def trigram_overlap(m: Matches) -> Array:
    """Distinct word triples of the question in the text / all of them. 0 to 1; 0."""
    return _phrase_share(m, 3)


def _phrase_share(m: Matches, words: int) -> Array:
    text, number = m.phrases(words)
    count = m.phrase_count(words)
    seen = np.unique(text * max(1, count) + number) // max(1, count)
    return share(np.bincount(seen, minlength=m.texts), count)


def exact_match(m: Matches) -> Array:
    """1 if all words of the question stand in the text one after the other, else 0; 0."""
    words = len(m.question)
    text, first = m.runs(words) if words else (m.text[:0], m.text[:0])
    same = np.ones(len(first), dtype=bool)
    for step in range(words):
        same &= m.word[first + step] == m.question[step]
    return np.minimum(1.0, np.bincount(text[same], minlength=m.texts))


def term_freq(m: Matches) -> Array:
    """Mean count of a distinct question word / words of the text. 0 to 1; 0."""
    return share(m.counts.sum(axis=1), m.lengths * m.size)


def early_match(m: Matches) -> Array:
    """Distinct question words among the first 50 of the text / all of them. 0 to 1; 0."""
    early = m.place < EARLY_WORDS
    cells = np.unique(m.text[early] * m.size + m.word[early])
    return share(np.bincount(cells // max(1, m.size), minlength=m.texts), m.size)


def doc_len_norm(m: Matches) -> Array:
    """Words of the text / 500, at most 1. 0 to 1; 0. (Published without the limit.)"""
    return np.minimum(1.0, m.lengths / LENGTH_UNIT)


def query_doc_ratio(m: Matches) -> Array:
    """Words of the question / words of the text, at most 1. 0 to 1; 0."""
    return np.minimum(1.0, share(np.full(m.texts, len(m.question)), m.lengths))


def min_query_coverage_window(m: Matches) -> Array:
    """Best coverage of a window of 3 x the question's words. 0 to 1; 0. (A maximum, in fact.)"""
    return m.best(m.text, m.windows[0])


def query_compactness_gain(m: Matches) -> Array:
    """1 - mean gap of matches / gap of as many spread evenly, at least 0. 0 to 1; 0."""
    even = share(m.lengths, m.per_text() + 1)
    return np.where(_mean_gap(m) > 0, np.maximum(0, 1 - share(_mean_gap(m), even)), 0.0)


def best_window_match_density(m: Matches) -> Array:
    """Most matches in a window of 3 x the question's words / words in it. 0 to 1; 0."""
    return share(m.best(m.text, m.windows[1]), np.minimum(m.window_words, m.lengths))


def avg_query_term_distance(m: Matches) -> Array:
    """1 / (1 + mean gap of neighbouring matches). 0 to 0.5; 0 with fewer than two matches."""
    gap = _mean_gap(m)
    return np.where(gap > 0, 1 / (1 + gap), 0.0)


def query_term_distance_variance(m: Matches) -> Array:
    """1 / (1 + variance of the gaps): more is more even. 0 to 1; 0 with fewer than two matches."""
    text, gaps = m.gaps
    count = np.bincount(text, minlength=m.texts)
    mean = _mean_gap(m)
    variance = share(np.bincount(text, (gaps - mean[text]) ** 2, minlength=m.texts), count)
    return np.where(count > 0, 1 / (1 + variance), 0.0)


def _mean_gap(m: Matches) -> Array:
    text, gaps = m.gaps
    total = np.bincount(text, gaps, minlength=m.texts).astype(float)
    return share(total, np.bincount(text, minlength=m.texts))


def first_complete_match_position(m: Matches) -> Array:
    """1 - start of the first window with 90 % coverage / words of the text. 0 to 1; 0 if none."""
    complete = m.windows[0] >= COMPLETE
    text = m.text[complete]
    return m.best(text, 1 - share(m.place[complete], m.lengths[text]))


def match_span_compression_ratio(m: Matches) -> Array:
    """1 - words from first to last match / words of the text. 0 to 1; 0."""
    first = m.lengths.astype(float)
    np.minimum.at(first, m.text, m.place)
    last = m.best(m.text, m.place)
    spread = share(last - first + 1, m.lengths)
    return np.where(m.per_text() > 0, 1 - spread, 0.0)


def avg_idf_matched_terms(m: Matches) -> Array:
    """Mean idf of the distinct question words in the text. 0 and up; 0."""
    return share(m.present @ m.weights, m.present.sum(axis=1))


def max_idf_term_presence(m: Matches) -> Array:
    """Largest idf of a question word in the text. 0 and up; 0."""
    return np.asarray((m.present * m.weights).max(axis=1, initial=0.0))


def idf_weighted_window_density(m: Matches) -> Array:
    """Idf of the question words in the text / idf of all of them. 0 to 1; 0. (No window in it.)"""
    return share(m.present @ m.weights, float(m.weights.sum()))


def length_normalized_match_strength(m: Matches) -> Array:
    """Coverage / (1 + words of the text / 500). 0 to 1; 0."""
    return np.asarray(m.coverage / (1 + m.lengths / LENGTH_UNIT))


def answer_likeness_score(m: Matches) -> Array:
    """Coverage / (1 + |words of the text - 100| / 100). 0 to 1; 0."""
    return np.asarray(m.coverage / (1 + np.abs(m.lengths - IDEAL_WORDS) / IDEAL_WORDS))


def multi_window_coverage_count(m: Matches) -> Array:
    """Windows with 90 % coverage that begin at a match / 5, at most 1. 0 to 1; 0."""
    return np.minimum(1.0, m.per_text(m.windows[0] >= COMPLETE) / MANY_WINDOWS)


def near_exact_phrase_density(m: Matches) -> Array:
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
OF_WORDS: dict[str, Callable[[Matches], Array]] = {
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
