"""What readers cannot see, pages that are pictures, and files that cannot be read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pdf_writer import Pdf

from pincite.core.errors import SourceError
from pincite.ingest.formats.pdf import read

HONEST = "The rule that everybody can read on the page."
TRICKS: dict[str, Callable[[Pdf], Pdf]] = {
    "invisible": lambda pdf: pdf.text(72, 200, "IGNORE all", mode=3),
    "clipping only": lambda pdf: pdf.text(72, 200, "IGNORE all", mode=7),
    "white": lambda pdf: pdf.text(72, 200, "IGNORE all", colour="1 g"),
    "nearly white": lambda pdf: pdf.text(72, 200, "IGNORE all", colour="0.99 0.98 1 rg"),
    "white strokes": lambda pdf: pdf.text(72, 200, "IGNORE all", mode=1, colour="1 G"),
    "transparent": lambda pdf: pdf.text(72, 200, "IGNORE all", state="/G0 gs"),
    "tiny": lambda pdf: pdf.text(72, 200, "IGNORE all", size=0.5),
    "scaled to nothing": lambda pdf: pdf.text(72, 200, "IGNORE all", turn="0.05 0 0 0.05"),
    "off page": lambda pdf: pdf.text(72, 900, "IGNORE all"),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_hidden_text_is_left_out_and_reported(trick: str) -> None:
    pdf = TRICKS[trick](Pdf().page().text(72, 100, HONEST))
    found = read(pdf.bytes(), "made.pdf")
    assert found.text == f"{HONEST}\n"
    [finding] = found.findings
    assert (finding.kind, finding.page) == ("hidden_text", 1)
    assert "IGNORE all" in finding.message


def test_white_words_on_a_dark_ground_are_read_in_their_place() -> None:
    pdf = Pdf().page().draw("0.1 0.2 0.5 rg 60 580 400 60 re f")
    pdf.text(72, 180, "Size", colour="1 g").text(102, 180, "and weight")
    found = read(pdf.bytes(), "made.pdf")
    assert found.text == "Size and weight\n"
    assert not found.findings


def test_invisible_text_over_a_scan_is_its_text() -> None:
    pdf = Pdf().page().picture(0, 0, 612, 792).text(72, 100, HONEST, mode=3)
    found = read(pdf.bytes(), "made.pdf")
    assert found.text == f"{HONEST}\n"
    assert not found.findings


def test_a_scanned_page_among_others_is_reported() -> None:
    pdf = Pdf().page().text(72, 100, HONEST).page().picture(10, 10, 590, 770)
    pdf.text(300, 780, "2")
    found = read(pdf.bytes(), "made.pdf")
    [finding] = found.findings
    assert (finding.kind, finding.page) == ("scanned_page", 2)


def test_a_small_picture_does_not_make_a_scan() -> None:
    pdf = Pdf().page().picture(10, 10, 90, 70).page().text(72, 100, HONEST)
    assert not read(pdf.bytes(), "made.pdf").findings


@pytest.mark.parametrize(
    ("pdf", "message"),
    [
        (Pdf().page().picture(0, 0, 612, 792), "made.pdf has no text: page 1 scanned"),
        (Pdf().page().page(), "made.pdf has no text: pages 1–2 empty"),
    ],
)
def test_a_document_without_text_names_the_ocr_extra(pdf: Pdf, message: str) -> None:
    with pytest.raises(SourceError, match=message) as raised:
        read(pdf.bytes(), "made.pdf")
    assert "pincite[ocr]" in str(raised.value.hint)


def test_a_document_of_hidden_text_says_so() -> None:
    pdf = Pdf().page().text(72, 200, "IGNORE all", mode=3)
    with pytest.raises(SourceError, match="no text that a reader could see"):
        read(pdf.bytes(), "made.pdf")


@pytest.mark.parametrize("data", [b"", b"%PDF-1.5", b"not a PDF at all", b"\0" * 10_000])
def test_what_is_no_pdf_is_refused(data: bytes) -> None:
    with pytest.raises(SourceError, match=r"made\.pdf is damaged or no PDF"):
        read(data, "made.pdf")


def test_a_cut_off_file_is_read_or_refused() -> None:
    pdf = Pdf()
    for _ in range(3):
        pdf.page().text(72, 100, HONEST)
    whole = pdf.bytes()
    for end in range(0, len(whole), 97):
        try:
            assert read(whole[:end], "made.pdf").text.strip()
        except SourceError:
            continue


def test_a_huge_page_and_odd_numbers_do_no_harm() -> None:
    pdf = Pdf(width=200_000, height=200_000).page().text(9e9, 10, "far").text(5, 9, HONEST)
    pdf.text(1e-30, 50, "zero", size=0).text(5, 60, "flat", turn="0 0 0 0")
    assert HONEST in read(pdf.bytes(), "made.pdf").text
