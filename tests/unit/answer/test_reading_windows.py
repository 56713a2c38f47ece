"""Sources cut into what the reader reads: every word that it may mark stands in the document."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pincite.answer.values import Source
from pincite.answer.windows import TABLE_CHARS, TEXT_CHARS, ReadingWindow, windows_of
from pincite.model.types import Span

TABLE = """\
Sales by region (in millions)

| | 2021 | 2020 |
|---|---|---|
| Europe: | | |
| Goods | $ 9 | 8 |
| Services | 5 | 4 |

Notes follow. They are short.
"""
WORDS = st.sampled_from(
    [
        "Rods shall be 2.4 m apart.",
        "(a) a horn;",
        "| a | 1 |",
        "|---|---|",
        "## Noise",
        "",
        "No.",
        "é𝄞",
    ]
)


def source(text: str, *, start: int = 0) -> Source:
    span = Span("a.md", start, start + len(text))
    return Source(1, "c", "A", "1", ("A", "One"), None, span, text)


def read(text: str, start: int = 0) -> list[ReadingWindow]:
    return list(windows_of(source(text, start=start), "A › One"))


def test_a_row_is_read_with_its_group_its_label_and_the_heads() -> None:
    table, rest = read(TABLE)[1:]
    assert (
        table.text == "Europe > Goods | 2021: $ 9 | 2020: 8\nEurope > Services | 2021: 5 | 2020: 4"
    )
    assert table.heading == "A › One › Sales by region (in millions)"
    assert [table.text[p.start : p.end] for p in table.pieces[:3]] == ["Goods", "$ 9", "8"]
    assert rest.text == "Notes follow.\nThey are short."


def test_items_in_a_later_window_stand_under_the_words_that_lead_into_them() -> None:
    long = "which is said at length, " * 12
    rules = f"""\
No station shall transmit:
(1) Messages for hire, {long}with the following exceptions:
(i) A teacher may, {long}and so on. This goes on.
(ii) A club may, {long}and so on.
(2) Music, {long}or noise.

It ends here, {long}at last.
"""
    found = {each.text[:4].strip(): each.heading for each in read(rules)}
    assert found["(2)"] == "A › One › No station shall transmit:"
    assert found["It e"] == "A › One"


def test_a_heading_inside_a_source_is_above_what_follows_it() -> None:
    (before, after) = read("First.\n\n## Noise\n\nNo boat shall sound.\n")
    assert (before.heading, after.heading) == ("A › One", "A › One › Noise")


@given(st.lists(WORDS, max_size=30), st.integers(0, 50))
def test_what_may_be_marked_stands_in_the_document(lines: list[str], start: int) -> None:
    text = "\n\n".join(lines)
    document = " " * start + text
    for window in read(text, start):
        assert len(window.text) <= max(TEXT_CHARS, TABLE_CHARS) + 2
        for piece in window.pieces:
            said = document[piece.span.start : piece.span.end]
            assert window.text[piece.start : piece.end] == said != ""


def test_parts_of_a_long_table_know_where_they_stand() -> None:
    document = "| a | b |\n|---|---|\n| x | 1 |\n| y | 2 |\n"
    parts = (Span("a.md", 0, 19), Span("a.md", 30, 39))
    text = "\n".join(document[part.start : part.end] for part in parts)
    whole = Span("a.md", 0, len(document))
    cut = Source(1, "c", "A", "1", ("A",), None, whole, text, parts=parts)
    (window,) = windows_of(cut, "")
    assert [document[p.span.start : p.span.end] for p in window.pieces] == ["y", "2"]
