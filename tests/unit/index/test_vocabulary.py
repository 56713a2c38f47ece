"""Words of an index, and which of them a mistyped word may mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.index.postings import Vocabulary, packed, plain_words, unpacked
from pincite.model.errors import StoreError

LETTERS = st.text("abcdefghijklmnopqrstuvwxyzéü", min_size=5, max_size=20)


class _Segment:
    has_hidden = False

    def __init__(self, *words: str) -> None:
        self.arrays = {"words": packed(words)}


def vocabulary(*words: str) -> Vocabulary:
    return Vocabulary([_Segment(*words[::2]), _Segment(*words[1::2])])  # type: ignore[list-item]


@given(st.sets(LETTERS))
def test_packed_words_come_back(words: set[str]) -> None:
    assert unpacked(packed(words)) == sorted(words)


@given(LETTERS, st.data())
def test_one_slip_behind_the_first_letter_is_forgiven(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(word) - 1))
    letter = data.draw(st.sampled_from("abcxyz"))
    slips = [word[:at] + letter + word[at:], word[:at] + letter + word[at + 1 :]]
    slips += [word[:at] + word[at + 1 :]] if len(word) > 5 else []
    if at + 1 < len(word):
        slips.append(word[:at] + word[at + 1] + word[at] + word[at + 2 :])
    for slip in slips:
        found = dict((near, n) for n, near in vocabulary(word, "qqqqqqq").near(slip))
        assert found[word] == (slip != word)


@pytest.mark.parametrize(
    ("slip", "word", "is_near"),
    [
        ("conducotrs", "conductors", True),
        ("condctrs", "conductors", True),  # two slips in a long word
        ("cnductor", "bonductor", False),  # two slips, and the first letter
        ("your", "hour", False),
        ("hide", "hire", False),
        ("fier", "fire", True),
        ("lugs", "lungs", False),
        ("spells", "smelts", False),  # two slips in a short word
    ],
)
def test_what_counts_as_a_slip(slip: str, word: str, is_near: bool) -> None:
    assert (word in [near for _, near in vocabulary(word).near(slip)]) == is_near


def test_identifiers_and_numbers_are_no_words() -> None:
    assert plain_words(["AC-12", "RFC2119", "314.23(F)", "12345", "ab1cdef", "x" * 40]) == set()


def test_a_damaged_list_is_told() -> None:
    with pytest.raises(StoreError):
        unpacked(np.zeros(10, dtype=np.uint8))


def test_a_list_that_would_fill_the_memory_is_cut() -> None:
    bomb = packed(["a" * 25 + str(i) for i in range(10)])
    assert len(unpacked(bomb)) == 10
