"""A query that names a place gets that place first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pincite.api import Index
from pincite.model.types import Query
from pincite.search.candidates import Tier
from pincite.update import remove

CODE = "# Code {year}\n\n" + "\n\n".join(
    f"## 1.{i} Part {word}\n\nThe {word} is rule number {i}."
    for i, word in enumerate(("box", "wire", "fuse", "lamp"), 1)
)
TEXTS = {"old.md": CODE.format(year=2020), "new.md": CODE.format(year=2023)}


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    return make_index(TEXTS)


def found(index: Index, query: str, k: int = 10) -> list[str]:
    table = index.searcher.find(Query(query), k)
    named = table.take(np.flatnonzero(table.tier & Tier.PLACE))
    chunks = index.snapshot.get(named.names())
    return [f"{chunk.span.doc_id} {chunk.locator}" for chunk in chunks]


@pytest.mark.parametrize(
    "query", ["1.2", "§ 1.2", "What says section 1.2 of the lamp?", "Part wire"]
)
def test_named_places_come_first_the_newest_edition_before(index: Index, query: str) -> None:
    assert found(index, query) == ["new.md 1.2", "old.md 1.2"]
    assert index.searcher.find(Query(query), 10).is_named[:3].tolist()[:2] == [True, True]


def test_the_edition_that_is_asked_for_comes_first(index: Index) -> None:
    assert found(index, "section 1.2 of the 2020 code") == ["old.md 1.2", "new.md 1.2"]


def test_a_range_is_all_of_its_places(index: Index) -> None:
    assert found(index, "sections 1.1 to 1.3") == [
        *(f"new.md 1.{i}" for i in (1, 2, 3)),
        *(f"old.md 1.{i}" for i in (1, 2, 3)),
    ]


def test_the_inner_of_two_places_comes_first(make_index: Callable[..., Index]) -> None:
    text = "# Part 7 Boats\n\n## § 7.1 Oars\n\nTwo oars.\n\n## § 7.2 Sails\n\nRed sails.\n"
    index = make_index({"part7.md": text})
    assert found(index, "Part 7 section 7.2") == ["part7.md 7.2", "part7.md Part 7"]
    # A question that goes on is not answered by a whole document.
    assert found(index, "Which colour are the sails of Part 7 boats?") == []
    assert found(index, "What is Part 7?") == ["part7.md Part 7"]


@pytest.mark.parametrize(
    "query", ["the 1.2 release", "what changed in OpenSSL 1.2?", "TLS 1.2 and the lamp"]
)
def test_a_version_is_no_place(index: Index, query: str) -> None:
    assert found(index, query) == []
    assert found(index, "the lamp of section 1.2") == ["new.md 1.2", "old.md 1.2"]


def test_unknown_places_change_nothing(index: Index) -> None:
    assert found(index, "section 9.9 of the lamp") == []


def test_what_is_left_of_a_removed_document_names_nothing(make_index: Callable[..., Index]) -> None:
    """Its keys are still in the segment; they must not hide what the query names elsewhere."""
    gone = "# Gone\n\n## Wire 1.2\n\ntext\n"
    folder = make_index({**TEXTS, "gone.md": gone}).snapshot.folder
    remove(folder, ["gone.md"])
    with Index.open(folder) as index:
        assert found(index, "Wire 1.2") == ["new.md 1.2", "old.md 1.2"]
