"""Statistics of an index over segments with dropped documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from pincite.api import Index
from pincite.index.builder import IndexBuilder
from pincite.model.settings import Settings
from pincite.read.load import parse
from pincite.update import remove

TEXTS = {"a.md": "# A\n\nbox fuse box\n", "b.md": "# B\n\nbox wire\n", "c.md": "# C\n\nlamp fuse\n"}


@pytest.fixture
def thinned(make_index: Callable[..., Index]) -> Iterator[Index]:
    """An index with a dropped document in its one segment."""
    folder = make_index(TEXTS).snapshot.folder
    remove(folder, ["b.md"])
    with Index.open(folder) as index:
        yield index


def test_dropped_rows_do_not_count(thinned: Index) -> None:
    lexical = thinned.opened.lexical
    assert lexical.size == 2
    resolved = lexical.resolve(["box", "fuse", "wire", "box"], pairs=True)
    assert resolved.words == ("box", "fuse", "wire")
    assert [term.df for term in resolved.terms] == [1, 2, 0]
    assert [pair.df for pair in resolved.pairs] == [1, 0, 0]


@pytest.mark.parametrize("query", ["", "   ", "nothing", "?!"])
def test_a_query_without_known_terms_finds_nothing(thinned: Index, query: str) -> None:
    assert thinned.search(query).passages == []


def test_a_dropped_document_is_not_found(thinned: Index) -> None:
    assert [each.chunk.span.doc_id for each in thinned.search("wire box").passages] == ["a.md"]


def test_a_rare_word_that_one_segment_lacks(make_index: Callable[..., Index]) -> None:
    texts = {f"{number}.md": f"# {number}\n\nbox wire number{number}\n" for number in range(20)}
    folder = make_index(texts).snapshot.folder
    with IndexBuilder(folder, Settings()) as builder:
        builder.put(parse(b"# Late\n\nbox\n", "late.md", Settings().ingest))
        builder.flush()
    with Index.open(folder) as index:
        assert len(index.snapshot.segments) == 2
        found = index.search("number7 box", k=100).passages
        assert found[0].chunk.span.doc_id == "7.md"
        assert len(found) == 21
