"""Patterns that are compiled at their first use."""

from __future__ import annotations

import re

import pytest

from pincite.model.patterns import LazyPattern, lazy_pattern


def test_it_is_what_a_compiled_pattern_is() -> None:
    lazy, compiled = lazy_pattern(r"(?P<n>\d+)", re.IGNORECASE), re.compile(r"(?P<n>\d+)", re.I)
    text = "10 to 20"
    for _ in range(2):  # compiled by the first round, used by the second
        assert [m["n"] for m in lazy.finditer(text)] == ["10", "20"]
        assert lazy.sub("x", text) == compiled.sub("x", text)
        assert (lazy.pattern, lazy.flags) == (compiled.pattern, compiled.flags)


def test_nothing_is_compiled_before_its_first_use() -> None:
    wrong = lazy_pattern("(")
    assert isinstance(wrong, LazyPattern)
    with pytest.raises(re.error):
        wrong.search("text")
