"""Codes of windows: taken, reordered and joined, none lost and none mixed up."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pincite.index.vectors import following, joined, merged, packed, regrouped

WINDOWS = st.lists(st.lists(st.integers(0, 255), max_size=5), min_size=1, max_size=8)


def apart(codes: np.ndarray, starts: np.ndarray) -> list[list[int]]:
    return [codes[a:b].tolist() for a, b in itertools.pairwise(starts)]


def arrays_of(windows: list[list[int]]) -> list[np.ndarray]:
    return [np.array(each, dtype=np.uint8) for each in windows]


@given(WINDOWS, st.data())
def test_any_choice_of_windows_in_any_order(windows: list[list[int]], data: st.DataObject) -> None:
    order = data.draw(st.lists(st.integers(0, len(windows) - 1)))
    found = regrouped(*joined(arrays_of(windows)), np.array(order, dtype=np.int64))
    assert apart(*found) == [windows[number] for number in order]


@given(st.lists(WINDOWS, min_size=1, max_size=4))
def test_parts_follow_each_other(parts: list[list[list[int]]]) -> None:
    found = following([joined(arrays_of(windows)) for windows in parts])
    assert apart(*found) == [window for windows in parts for window in windows]


@given(WINDOWS, st.integers(0, 1000))
def test_tokens_stay_with_their_window_when_packed_and_merged(
    windows: list[list[int]], seed: int
) -> None:
    random = np.random.default_rng(seed)
    rows = random.integers(0, len(windows), len(windows))
    exact = np.eye(len(windows) + 1)[: len(windows)]  # each window's vector tells which it is
    exact[random.random(len(windows)) < 0.3] = 0  # no vector: left out with its tokens
    arrays = packed(rows, exact, joined(arrays_of(windows)))
    expected = [windows[number] for number in arrays["exact"].argmax(axis=1).tolist()]
    assert apart(arrays["token_codes"], arrays["token_starts"]) == expected

    class Part:
        tokens = (arrays["token_codes"], arrays["token_starts"])

    part = Part()
    part.rows, part.exact = arrays["rows"], arrays["exact"]  # type: ignore[attr-defined]
    live = random.random(len(windows)) < 0.7
    again = merged([(part, live), (part, live)])  # type: ignore[list-item]
    expected = [windows[number] for number in again["exact"].argmax(axis=1).tolist()]
    assert apart(again["token_codes"], again["token_starts"]) == expected
