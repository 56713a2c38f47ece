"""Footnotes end the section of their mark."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pdf_writer import Pdf

from pincite.read.pdf.lines import Line
from pincite.read.pdf.paragraphs import Paragraph, ParagraphKind, settle_footnotes
from pincite.read.pdf.reader import read


def note(pdf: Pdf, y: float, mark: str, words: str) -> None:
    pdf.text(72, y - 3, mark, size=5).text(76, y, words, size=7)


def marked(pdf: Pdf, y: float, words: str, mark: str, x: float) -> None:
    """Write words with a raised mark behind them; x is where they end."""
    pdf.text(72, y, words).text(x, y - 4, mark, size=5)


def page() -> Pdf:
    pdf = Pdf().page().text(72, 80, "1.1 Scope", size=14)
    marked(pdf, 110, "This part holds for ships.", "1", 187.9)
    pdf.text(72, 150, "1.2 Fees", size=14)
    marked(pdf, 180, "This part holds for boats.", "2", 187.9)
    pdf.text(72, 194, "The fee is five, and whoever owns a boat of any kind pays it before the")
    note(pdf, 700, "1", "Longer than ten metres.")
    note(pdf, 712, "2", "All others.")
    return pdf.page().lines(72, 80, ["end of the year.", "No fee is paid back to anybody at all."])


def test_a_footnote_stays_with_the_section_of_its_mark() -> None:
    found = read(page().bytes(), "made.pdf")
    assert found.text.split("\n\n") == [
        "# 1.1 Scope",
        "This part holds for ships.^1^",
        "^1^ Longer than ten metres.",
        "# 1.2 Fees",
        "This part holds for boats.^2^",
        "The fee is five, and whoever owns a boat of any kind pays it before the end of the year.",
        "^2^ All others.",
        "No fee is paid back to anybody at all.\n",
    ]
    boxes = [box for box in found.boxes if "Longer" in found.text[box.start : box.end]]
    assert [box.page for box in boxes] == [1]


def paragraph(kind: ParagraphKind, text: str, page: int = 1, size: float = 10.0) -> Paragraph:
    where = (0.0, 0.0, 9.0, 9.0)
    line = Line(text, page, *where, 0.0, size, False, False, False, 9.0, (0.0, 0.0, 1.0, 1.0))
    return Paragraph(kind, [line])


def words(paragraphs: list[Paragraph]) -> list[str]:
    return [paragraph.text for paragraph in paragraphs]


def test_a_mark_in_two_sections_or_behind_a_figure_moves_nothing() -> None:
    for first, second in [("a^1^", "b^1^"), ("10^1^", "b"), ("a", "b")]:
        given = [
            paragraph("text", first),
            paragraph("heading", "H"),
            paragraph("text", second),
            paragraph("heading", "I"),
            paragraph("footnote", "^1^ note", size=7.0),
        ]
        assert words(settle_footnotes(given, 9.0)) == words(given)


def test_code_in_small_type_below_a_footnote_goes_with_it() -> None:
    below = paragraph("code", "x.conf", size=7.0)
    below.lines[0].base = 20.0
    given = [
        paragraph("text", "a^1^"),
        paragraph("heading", "H"),
        paragraph("footnote", "^1^ see", size=7.0),
        below,
        paragraph("text", "b"),
    ]
    assert words(settle_footnotes(given, 9.0)) == ["a^1^", "^1^ see", "x.conf", "H", "b"]


kinds = st.sampled_from(["text", "heading", "footnote", "code", "table"])
marks = st.sampled_from(["", "^1^ ", "^2^ ", "^3^ "])


@given(st.lists(st.tuples(kinds, marks, st.integers(1, 3), st.sampled_from([7.0, 10.0]))))
def test_nothing_is_lost_and_only_footnotes_move(
    rows: list[tuple[ParagraphKind, str, int, float]],
) -> None:
    given = [
        paragraph(kind, f"{mark}w{n} {mark}", page, size)
        for n, (kind, mark, page, size) in enumerate(sorted(rows, key=lambda row: row[2]))
    ]
    settled = settle_footnotes(given, 9.0)
    assert sorted(words(settled)) == sorted(words(given))
    large = [p for p in given if p.kind != "footnote" and p.lines[0].size > 9]
    assert [p for p in settled if p.kind != "footnote" and p.lines[0].size > 9] == large
