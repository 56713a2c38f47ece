"""Search by meaning reads a question as it was meant to be written."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pincite.api import Index
from pincite.index.vectors import VectorIndex
from pincite.search.meaning import Dense
from pincite.index.rows import Rows

TEXT = (
    "# Rules\n\n## 1 Permits\n\nA permit has a duration.\n\n## 2 Hot work\n\nIt needs a permit.\n"
)


class Encoder:
    """Remembers what it was given to read."""

    spec = SimpleNamespace(id="made", query_prefix="")

    def __init__(self) -> None:
        self.read: list[str] = []

    def encode_query(self, text: str) -> Any:
        self.read.append(text)
        return np.ones(4)


@pytest.mark.parametrize(
    ("typos", "read"), [(True, "a permit of what duration"), (False, "a permmit of what duraton")]
)
def test_words_that_are_not_there_are_corrected(
    make_index: Callable[..., Index], typos: bool, read: str
) -> None:
    index, encoder = make_index({"rules.md": TEXT}), Encoder()
    given: Any = encoder
    dense = Dense(VectorIndex(index.snapshot, "made"), given, Rows(index.opened), typos=typos)
    dense.encode("a permmit of what duraton")
    assert encoder.read == [read]


def test_a_term_is_searched_for_by_meaning_too_and_a_number_is_not(
    make_index: Callable[..., Index],
) -> None:
    index = make_index({"rules.md": TEXT})
    first: Any = index.pipeline.retriever
    asked: list[str] = []
    whole, quick = first.inner, first.quick

    class Spy:
        name = "spy"

        def __init__(self, said: str, inner: Any) -> None:
            self.said, self.inner = said, inner

        def retrieve(self, query: Any, k: int) -> Any:
            asked.append(self.said)
            return self.inner.retrieve(query, k)

    first.inner, first.quick = Spy("all", whole), Spy("words", quick)
    index.search("hot work")
    index.search("section 2")
    assert asked == ["all", "words"]
