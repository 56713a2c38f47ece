"""Cutting a model's words into sentences with their citations, however they arrive."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pincite.answer.sentences import NOBODY, Ended, SentenceReader, cited_numbers


def read(*pieces: str) -> tuple[str, list[Ended]]:
    reader = SentenceReader()
    found = [each for piece in pieces for each in reader.feed(piece)]
    found += reader.close()
    words = "".join(each for each in found if isinstance(each, str))
    return words, [each for each in found if isinstance(each, Ended)]


@pytest.mark.parametrize(
    ("text", "words", "sentences"),
    [
        ("It is 2 m [1].", "It is 2 m.", [("It is 2 m.", (1,))]),
        (
            "It is 2 m. [1] Or 3 m. [2, 3]",
            "It is 2 m. Or 3 m.",
            [("It is 2 m.", (1,)), ("Or 3 m.", (2, 3))],
        ),
        (
            "See e.g. Table 3 [1]. Done.",
            "See e.g. Table 3. Done.",
            [("See e.g. Table 3.", (1,)), ("Done.", ())],
        ),
        ("- one [1]\n- two [2]", "- one\n- two", [("- one", (1,)), ("- two", (2,))]),
        ("[1] It is so.", " It is so.", [("It is so.", (1,))]),
        ("It is [sic] so [Source 2].", "It is [sic] so.", [("It is [sic] so.", (2,))]),
        ("So [97.113(a)] it is.", "So it is.", [("So it is.", (NOBODY,))]),
        (
            "Look ![x](http://a.example/?q=1) at [this](https://b.example).",
            "Look x at this.",
            [("Look x at this.", ())],
        ),
        ("Go to https://evil.example/steal?d=1 now.", "Go to now.", [("Go to now.", ())]),
    ],
)
def test_sentences_and_markers(
    text: str, words: str, sentences: list[tuple[str, tuple[int, ...]]]
) -> None:
    expected = [Ended(*each) for each in sentences]
    for pieces in ([text], list(text), [text[:7], text[7:]]):
        shown, found = read(*pieces)
        assert " ".join(shown.split(" ")).replace("  ", " ") == words
        assert found == expected


@given(st.lists(st.text(alphabet="ab. [1]2,-()!\nhtp:/", max_size=12), max_size=12))
@example(["[", "[](", ") 1", "] "])  # a link inside a marker
@settings(max_examples=300, deadline=None)
def test_how_it_arrives_changes_no_citation(pieces: list[str]) -> None:
    """No word with an address or a marker gets through, and citations are the same in one piece."""
    shown, found = read(*pieces)
    whole, expected = read("".join(pieces))
    assert [each.cited for each in found] == [each.cited for each in expected]
    assert shown.split() == whole.split()
    assert "http://" not in shown


def test_reading_is_linear() -> None:
    for text in ("[" * 20_000, "[1" * 10_000, "[1, " * 5_000, "a" * 40_000, "![" * 10_000):
        reader = SentenceReader()
        start = time.process_time()
        for at in range(0, len(text), 10):
            list(reader.feed(text[at : at + 10]))
        list(reader.close())
        assert time.process_time() - start < 10


def test_numbers_of_markers() -> None:
    assert cited_numbers("1-9999")[:3] == [1, 2, 3]
    assert len(cited_numbers("1-9999")) < 30
    assert cited_numbers("^2") == [2]
    assert cited_numbers("1 and 2") == [1, 2]
    assert cited_numbers("9" * 50) == [NOBODY]
