"""Statistics of an index over segments with dropped documents."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pincite.api import Index, remove
from pincite.core.settings import Settings

TEXTS = {"a.md": "# A\n\nbox fuse box\n", "b.md": "# B\n\nbox wire\n", "c.md": "# C\n\nlamp fuse\n"}


@pytest.fixture
def thinned(make_index: Callable[..., Index]) -> Index:
    """An index with a dropped document in its one segment."""
    folder = make_index(TEXTS).snapshot.folder
    remove(folder, ["b.md"])
    return Index.open(folder, Settings())


def test_dropped_rows_do_not_count(thinned: Index) -> None:
    lexical = thinned.opened.lexical
    assert lexical.size == 2
    resolved = lexical.resolve(["box", "fuse", "wire", "box"], pairs=True)
    assert resolved.terms == ("box", "fuse", "wire")
    assert resolved.df.tolist() == [1, 2, 0]
    assert resolved.pair_df.tolist() == [1, 0, 0]


@pytest.mark.parametrize("query", ["", "   ", "nothing", "?!"])
def test_a_query_without_known_terms_finds_nothing(thinned: Index, query: str) -> None:
    assert thinned.search(query).passages == []


def test_a_dropped_document_is_not_found(thinned: Index) -> None:
    assert [each.chunk.span.doc_id for each in thinned.search("wire box").passages] == ["a.md"]
