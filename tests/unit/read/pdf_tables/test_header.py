"""Where the head of a ruled table ends."""

from __future__ import annotations

import pytest

from pincite.read.pdf.tables.geometry import CellBox
from pincite.read.pdf.tables.ruled import count_header_rows, is_caption


def cells(*rows: tuple[str, ...]) -> list[CellBox]:
    return [CellBox(r, c, text) for r, row in enumerate(rows) for c, text in enumerate(row) if text]


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        ([("Country", "1996", "1997"), ("Austria", "1", "2")], 1),
        ([("Country", "Men", "Women"), ("", "in %", "in %"), ("Austria", "1", "2")], 2),
        ([("Austria", "1", "2"), ("France", "3", "4")], 0),
        ([("Name", "Meaning"), ("ls", "lists"), ("rm", "removes")], 1),
        ([("Country", "Men"), ("Europe", ""), ("Austria", "1")], 1),
    ],
)
def test_the_head_ends_at_the_first_row_of_the_body(
    rows: list[tuple[str, ...]], count: int
) -> None:
    assert count_header_rows(cells(*rows)) == count


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Table 3. Prices", True), ("TABLE A-1", True), ("Tables are good", False), ("Total", False)],
)
def test_captions_begin_with_a_numbered_name(text: str, expected: bool) -> None:
    assert is_caption(text) is expected
