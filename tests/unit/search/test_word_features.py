"""Each published feature on a text where its value can be worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pincite.search.features import (
    OF_WORDS,
    PUBLISHED,
    TermPlaces,
    bm25_rank,
    match_words,
    rank_confidence_ratio,
)

QUESTION = ["net", "income", "of", "amazon"]
IDF = [1.0, 2.0, 0.5, 4.0]


def matches(*texts: str) -> TermPlaces:
    return match_words(QUESTION, IDF, [text.split() for text in texts])


def value(name: str, text: str) -> float:
    # With other texts around it: none may change the value.
    found = OF_WORDS[name](matches("of of income", text, "", "amazon"))
    assert found.shape == (4,)
    return float(found[1])


# The words of the question at 0, 1 and 4 of ten words.
TEXT = "net income was the income x x x x x"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("query_coverage", 2 / 4),
        ("word_overlap", 2 / (4 + 5 - 2)),
        ("bigram_overlap", 1 / 3),
        ("trigram_overlap", 0.0),
        ("exact_match", 0.0),
        ("term_freq", 3 / 4 / 10),
        ("early_match", 2 / 4),
        ("doc_len_norm", 10 / 500),
        ("query_doc_ratio", 4 / 10),
        ("min_query_coverage_window", 2 / 4),
        ("query_compactness_gain", 1 - 2 / (10 / 4)),
        ("best_window_match_density", 3 / 10),
        ("avg_query_term_distance", 1 / (1 + 2)),
        ("query_term_distance_variance", 1 / (1 + 1)),
        ("first_complete_match_position", 0.0),
        ("match_span_compression_ratio", 1 - 5 / 10),
        ("avg_idf_matched_terms", 1.5),
        ("max_idf_term_presence", 2.0),
        ("idf_weighted_window_density", 3 / 7.5),
        ("length_normalized_match_strength", 0.5 / (1 + 10 / 500)),
        ("answer_likeness_score", 0.5 / (1 + 90 / 100)),
        ("multi_window_coverage_count", 0.0),
        ("near_exact_phrase_density", 1 / 3),
    ],
)
def test_features_by_hand(name: str, expected: float) -> None:
    assert value(name, TEXT) == pytest.approx(expected)


def test_a_text_with_the_whole_question() -> None:
    text = "x x net income of amazon x " + "y " * 13
    assert value("exact_match", text) == 1.0
    assert value("bigram_overlap", text) == value("trigram_overlap", text) == 1.0
    assert value("first_complete_match_position", text) == pytest.approx(1 - 2 / 20)
    assert value("multi_window_coverage_count", text) == pytest.approx(1 / 5)
    assert value("exact_match", "net income of the amazon") == 0.0
    # The question's first words at the end of one text and its last ones in the next.
    split = matches("x net income", "of amazon x")
    assert OF_WORDS["exact_match"](split).tolist() == [0.0, 0.0]
    assert OF_WORDS["trigram_overlap"](split).tolist() == [0.0, 0.0]


def test_a_window_does_not_reach_into_the_next_text() -> None:
    both = matches("x net income", "of amazon x")
    assert OF_WORDS["min_query_coverage_window"](both).tolist() == [0.5, 0.5]


def test_a_window_is_three_questions_long() -> None:
    inside = "net income " + "x " * 8 + "of amazon"
    outside = "net income " + "x " * 9 + "of amazon"
    assert value("min_query_coverage_window", inside) == 1.0
    assert value("min_query_coverage_window", outside) == 0.75


def test_first_fifty_words_are_early() -> None:
    assert value("early_match", "x " * 49 + "amazon") == 0.25
    assert value("early_match", "x " * 50 + "amazon") == 0.0


def test_long_texts_are_not_longer_than_long() -> None:
    assert value("doc_len_norm", "x " * 900) == 1.0


@pytest.mark.parametrize("name", OF_WORDS)
def test_nothing_gives_zero(name: str) -> None:
    for text in ("", "x"):
        expected = {"doc_len_norm": len(text) / 500, "query_doc_ratio": 4 / 4 * len(text)}
        got = OF_WORDS[name](matches(text))[0]
        assert got == pytest.approx(min(1.0, expected.get(name, 0.0)))
    empty = match_words([], [], [["x"], []])
    assert np.isfinite(OF_WORDS[name](empty)).all()
    assert OF_WORDS[name](match_words(QUESTION, IDF, [])).shape == (0,)


def test_ranks_count_from_zero() -> None:
    rank = np.arange(3)
    assert bm25_rank(rank).tolist() == [1, 1 / 2, 1 / 3]
    assert rank_confidence_ratio(rank).tolist() == pytest.approx([1, 1 / 1.5, 1 / 2])


def test_there_are_26_with_their_published_names() -> None:
    assert len(PUBLISHED) == len(set(PUBLISHED)) == 26
    assert math.isclose(sum(name.endswith("_overlap") for name in PUBLISHED), 3)
    assert all(feature.__doc__ for feature in OF_WORDS.values())
