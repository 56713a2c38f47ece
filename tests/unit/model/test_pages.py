"""Pages: where they begin, what is printed on them, and how they are written down."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pincite.model.types import PageRef, Pages, read_pages

LABELS = st.text("0123456789ivxF-=:", min_size=1, max_size=6)


@st.composite
def some_pages(draw: st.DrawFn) -> Pages:
    count = draw(st.integers(0, 12))
    starts = sorted(draw(st.lists(st.integers(0, 9_000), min_size=count, max_size=count)))
    numbers = draw(st.lists(st.integers(0, 40), min_size=count, max_size=count))
    labels = draw(st.dictionaries(st.sampled_from(numbers), LABELS)) if numbers else {}
    return Pages(tuple(starts), tuple(numbers), labels)


@given(some_pages())
def test_pages_are_read_as_they_were_written(pages: Pages) -> None:
    assert read_pages(str(pages)) == pages


@given(st.text(max_size=60))
def test_whatever_is_written_there_is_read(text: str) -> None:
    pages = read_pages(text)
    assert len(pages.starts) == len(pages.numbers)
    assert list(pages.starts) == sorted(pages.starts)


@given(some_pages(), st.integers(0, 9_500), st.integers(1, 3_000), st.integers(0, 3_000))
def test_a_stretch_knows_the_pages_of_its_characters(
    pages: Pages, start: int, size: int, step: int
) -> None:
    offset = min(start + step, start + size - 1)
    assert pages.within(start, start + size).cited(offset) == pages.cited(offset)


def test_a_page_may_come_again_behind_a_later_one() -> None:
    pages = Pages([0, 100, 150], [1, 2, 1], {2: "ii"})
    assert [pages.at(offset) for offset in (0, 99, 100, 149, 150, 999)] == [1, 1, 2, 2, 1, 1]
    assert pages.cited(120) == PageRef(2, "ii") and pages.cited(0) == PageRef(1)
    assert Pages().at(5) is None and str(Pages().cited(5)) == ""
