"""From hits to passages: the exact place and the words that matter there."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pincite.api import Index
from pincite.search.passages import SNIPPET_CHARS, Passage

RULES = """# Station rules

## § 1.1 Transmissions

No station may transmit:

(a) Communications for a fee;

(b) Music, except as stated elsewhere;

(c) False signals, or:

    (1) messages in codes,

    (2) obscene words.

## § 1.2 Power

The power is at most 1500 watts.
"""


@pytest.fixture
def index(make_index: Callable[..., Index]) -> Index:
    filler = "\n\n".join(f"Sentence {i} about nothing at all." for i in range(80))
    long = f"# Long\n\n## 2.1 Filler\n\n{filler} The needle stands here, sharp. {filler}\n"
    return make_index({"rules.md": RULES, "long.md": long})


def first(index: Index, query: str) -> Passage:
    return index.search(query).passages[0]


def marked(passage: Passage) -> list[str]:
    return [passage.snippet[start:end] for start, end in passage.marks]


@pytest.mark.parametrize(
    ("query", "locator"),
    [
        ("music", "1.1(b)"),
        ("fee for communications", "1.1(a)"),
        ("obscene words", "1.1(c)(2)"),
        ("which station may transmit", "1.1"),
        ("1500 watts", "1.2"),
    ],
)
def test_the_deepest_place_with_the_words_is_cited(index: Index, query: str, locator: str) -> None:
    passage = first(index, query)
    assert passage.place.locator == locator
    assert passage.citation == f"Station rules, {locator}"


def test_a_named_place_is_cited_as_named(index: Index) -> None:
    assert first(index, "1.1(c)").place.locator == "1.1(c)"
    assert first(index, "music in 1.1?").place.locator == "1.1"


def test_the_place_lies_inside_the_chunk_and_the_snippet_inside_the_place(index: Index) -> None:
    for query in ("music words", "power", "needle", "nothing at all", "station"):
        for passage in index.search(query).passages:
            chunk, place = passage.chunk, passage.place
            assert chunk.span.start <= place.span.start <= place.span.end <= chunk.span.end
            text = index.snapshot.document(chunk.span.doc_id).text
            assert text[place.span.start : place.span.end] == place.text
            assert passage.snippet in place.text


def test_marks_are_the_words_of_the_query(index: Index) -> None:
    assert marked(first(index, "musical fees, communications")) == ["Communications", "fee;"]
    assert marked(first(index, "1500 watts")) == ["1500", "watts."]


def test_marks_are_in_order_and_do_not_overlap(index: Index) -> None:
    for passage in index.search("station power 1.1(c)(2) words transmit 1500").passages:
        ends = [0, *(end for _, end in passage.marks)]
        assert all(end <= start < stop for end, (start, stop) in zip(ends, passage.marks))  # noqa: B905
        assert ends[-1] <= len(passage.snippet)


def test_a_long_place_is_shown_where_the_words_are(index: Index) -> None:
    passage = first(index, "needle")
    assert marked(passage) == ["needle"]
    assert len(passage.snippet) < SNIPPET_CHARS + 40
    assert passage.snippet[0] != " " and not passage.snippet.endswith(" ")


def test_the_title_stands_for_the_document(index: Index) -> None:
    assert first(index, "power").document == "Station rules"
