"""Laws of cutting text: nothing is lost, nothing is too long, cuts are where a reader cuts."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.read.chunks import estimated_tokens, split_spans

texts = st.lists(
    st.sampled_from(
        ["a", "word", "longerword", " ", "  ", "\n", "\n\n", ". ", "\n \n", "x" * 30, "ü"]
    ),
    max_size=60,
).map("".join)
law = settings(max_examples=200, derandomize=True, deadline=None, database=None)


def words(text: str) -> int:
    return len(text.split())


@law
@given(texts, st.integers(1, 40), st.data())
def test_spans_are_contiguous_and_cover_all(text: str, limit: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    spans = split_spans(text, start, end, limit=limit, size=len)
    assert spans[0][0] == start and spans[-1][1] == end
    assert all(left[1] == right[0] for left, right in pairwise(spans))
    assert start == end or all(a < b for a, b in spans)


@law
@given(texts, st.integers(1, 40))
def test_no_span_is_longer_than_the_limit(text: str, limit: int) -> None:
    spans = split_spans(text, 0, len(text), limit=limit, size=len)
    assert all(b - a <= limit for a, b in spans)


@law
@given(texts, st.integers(1, 12))
def test_no_span_has_more_tokens_than_the_limit(text: str, limit: int) -> None:
    spans = split_spans(text, 0, len(text), limit=limit, size=estimated_tokens)
    assert all(estimated_tokens(text[a:b]) <= limit or b - a == 1 for a, b in spans)


@law
@given(texts, st.integers(1, 6))
def test_words_stay_whole_where_they_are_counted(text: str, limit: int) -> None:
    spans = split_spans(text, 0, len(text), limit=limit, size=words)
    pieces = [text[a:b] for a, b in spans]
    assert all(words(piece) <= limit for piece in pieces)
    assert [word for piece in pieces for word in piece.split()] == text.split()


def test_paragraphs_before_lines_before_sentences_before_words() -> None:
    def pieces(text: str, limit: int) -> list[str]:
        return [text[a:b] for a, b in split_spans(text, 0, len(text), limit=limit, size=len)]

    assert pieces("One two.\n\nThree\nfour.", 14) == ["One two.\n\n", "Three\nfour."]
    assert pieces("One. Two\nthree", 10) == ["One. Two\n", "three"]
    assert pieces("One two. Three", 11) == ["One two. ", "Three"]
    assert pieces("one two three", 9) == ["one two ", "three"]
    assert pieces("abcdefgh", 4) == ["abcd", "efgh"]
    assert pieces("short", 100) == ["short"]
    assert pieces("", 5) == [""]
