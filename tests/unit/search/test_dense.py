"""Search by meaning reads a question as it was meant to be written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pincite.api import Index
from pincite.index.opened import Rows
from pincite.index.vectors import VectorIndex
from pincite.model.types import Query
from pincite.search.candidates import Candidates, fused
from pincite.search.pipeline import Gather
from pincite.search.query import ParsedQuery
from pincite.search.row_scorers import Meaning

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
    meaning = Meaning(VectorIndex(index.snapshot, "made"), given, Rows(index.opened))
    reader = replace(index.searcher.reader, has_typos=typos)
    meaning.score(ParsedQuery(Query("a permmit of what duraton"), reader), [None])
    assert encoder.read == [read]


def test_a_term_is_searched_for_by_meaning_too_and_a_number_is_not(
    make_index: Callable[..., Index],
) -> None:
    index = make_index({"rules.md": TEXT})
    asked: list[str] = []

    class Spy:
        key = floor = ""

        def __init__(self, name: str) -> None:
            self.name = name

        def score(self, query: Any, masks: Any) -> Any:
            asked.append(self.name)
            assert index.searcher.words is not None
            return index.searcher.words.score(query, masks)

    spies: Any = [Spy("words"), Spy("meaning")]
    gather = Gather(Rows(index.opened), spies, [0.5, 0.5], "rrf")
    for text in ("hot work", "section 2"):
        gather(index.parse(text), Candidates.empty(10))
    assert asked == ["words", "meaning", "words"]


@pytest.mark.parametrize(("unrelated", "shares"), [(0.0, [1.0, 0.9]), (0.8, [1.0, 0.5])])
def test_a_narrow_cone_is_spread(
    make_index: Callable[..., Index], unrelated: float, shares: list[float]
) -> None:
    """Two cosines 0.2 apart are far apart for an encoder whose texts all lie within 0.2."""
    encoder: Any = SimpleNamespace(spec=SimpleNamespace(unrelated=unrelated, source="onnx"))
    index = make_index({"rules.md": TEXT})
    meaning = Meaning(VectorIndex(index.snapshot, "made"), encoder, Rows(index.opened))
    scores = np.array([[1.0], [0.8]])
    assert fused("theoretical", scores, [1.0], [meaning.floor])[:, 0] == pytest.approx(shares)
