"""What readers cannot see, pages that are pictures, and files that cannot be read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pdf_writer import Pdf

from pincite.model.errors import SourceError
from pincite.read.pdf.reader import read

BOX = "60 580 240 40"  # around a baseline 200 points from the top
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
    "below a white box": lambda pdf: pdf.text(72, 200, "IGNORE all").draw(f"1 g {BOX} re f"),
    "below a black box": lambda pdf: pdf.text(72, 200, "IGNORE all").draw(f"0 g {BOX} re f"),
    "below a picture": lambda pdf: pdf.text(72, 200, "IGNORE all").picture(60, 180, 200, 30),
    "below a thick line": lambda pdf: pdf.text(72, 200, "IGNORE all").draw(
        "1 G 30 w 60 595 m 300 595 l S"
    ),
    "the colour of its box": lambda pdf: pdf.draw(f"0.2 0.4 0.6 rg {BOX} re f").text(
        72, 200, "IGNORE all", colour="0.21 0.4 0.61 rg"
    ),
    "the colour of its picture": lambda pdf: pdf.picture(60, 180, 200, 30).text(
        72, 200, "IGNORE all", colour="0.502 g"
    ),
    "in a form below a box": lambda pdf: pdf.form("IGNORE all", 72, 200).draw(f"1 g {BOX} re f"),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_hidden_text_is_left_out_and_reported(trick: str) -> None:
    pdf = TRICKS[trick](Pdf().page().text(72, 100, HONEST))
    found = read(pdf.bytes(), "made.pdf")
    assert found.text == f"{HONEST}\n"
    [finding] = found.findings
    assert (finding.kind, finding.page) == ("hidden_text", 1)
    assert "IGNORE all" in finding.message


# What looks like a cover or a ground and hides nothing.
HARMLESS: dict[str, Callable[[Pdf], Pdf]] = {
    "a box drawn first": lambda pdf: pdf.draw(f"0.8 g {BOX} re f").text(72, 200, "Size and load"),
    "white on a dark box": lambda pdf: pdf.draw(f"0.1 0.2 0.5 rg {BOX} re f").text(
        72, 200, "Size and load", colour="1 g"
    ),
    "a frame drawn last": lambda pdf: pdf.text(72, 200, "Size and load").draw(f"{BOX} re S"),
    "a ring drawn last": lambda pdf: pdf.text(72, 200, "Size and load").draw(
        f"0 g {BOX} re 62 582 236 36 re f*"
    ),
    "a marker one can see through": lambda pdf: pdf.text(72, 200, "Size and load").draw(
        f"/G1 gs 1 1 0 rg {BOX} re f"
    ),
    "on a picture": lambda pdf: pdf.picture(60, 180, 200, 30).text(72, 200, "Size and load"),
    "a box beside it": lambda pdf: pdf.text(72, 200, "Size and load").draw(
        "0 g 60 610 240 30 re f"
    ),
    "painted again on the box": lambda pdf: (
        pdf.text(72, 200, "Size and load").draw(f"0.8 g {BOX} re f").text(72, 200, "Size and load")
    ),
    "a box over half a word": lambda pdf: pdf.text(72, 200, "Size and load").draw(
        "1 g 75 580 8 40 re f"
    ),
    "two boxes, one on the other": lambda pdf: (
        pdf.draw(f"0 g {BOX} re f").draw(f"1 g {BOX} re f").text(72, 200, "Size and load")
    ),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_shapes_that_hide_nothing_raise_no_alarm(name: str) -> None:
    found = read(HARMLESS[name](Pdf().page()).bytes(), "made.pdf")
    assert found.text == "Size and load\n"
    assert not found.findings


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_a_label_on_a_cover_does_not_speak_for_what_is_below(turned: int) -> None:
    pdf = Pdf(rotate=turned).page().text(72, 100, HONEST).text(72, 200, "IGNORE all")
    pdf.draw(f"0 g {BOX} re f").text(72, 200, "DELETED HERE", colour="1 g")
    found = read(pdf.bytes(), "made.pdf")
    assert "DELETED HERE" in found.text
    assert "IGNORE" not in found.text
    assert ["(covered) left out: 'IGNORE all'" in f.message for f in found.findings] == [True]


def test_text_below_a_scan_is_its_text() -> None:
    pdf = Pdf().page().text(72, 100, HONEST).picture(0, 0, 612, 792)
    found = read(pdf.bytes(), "made.pdf")
    assert found.text == f"{HONEST}\n"
    assert not found.findings


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
    assert finding.message.startswith("1 of 2 pages are pictures")


def test_scanned_pages_are_told_once_with_what_to_do() -> None:
    pdf = Pdf().page().text(72, 100, HONEST)
    for _ in range(3):
        pdf.page().picture(10, 10, 590, 770)
    [finding] = read(pdf.bytes(), "made.pdf").findings
    assert finding.message.startswith("3 of 4 pages are pictures")
    assert "OCR" in finding.message or "pincite[ocr]" in finding.message


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
