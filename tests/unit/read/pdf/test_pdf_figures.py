"""Figures of a PDF: their captions have the boxes of their pictures."""

from __future__ import annotations

import pytest
from pdf_writer import Pdf

from pincite.read.pdf.reader import read


def test_a_figure_of_a_pdf_has_the_box_of_its_picture() -> None:
    pdf = Pdf().page().text(72, 100, "3 Wiring of the pump in the harbour", font="Helvetica-Bold")
    pdf.text(72, 120, "The pump is wired by people who have learned how to do that safely.")
    pdf.picture(100, 200, 300, 150).text(150, 370, "Figure 3.2: Wires of the pump")
    pdf.text(72, 420, "Red is live, and everybody who has to do with pumps knows that by heart.")
    found = read(pdf.bytes(), "made.pdf")
    start = found.text.index("Figure 3.2")
    boxes = [box for box in found.boxes if box.start <= start < box.end]
    assert len(boxes) == 2
    picture = max(boxes, key=lambda box: box.y1 - box.y0)
    assert picture.page == 1
    assert picture.x0 == pytest.approx(100 / 612, abs=0.01)
    assert picture.y0 == pytest.approx(200 / 792, abs=0.01)
    assert picture.y1 == pytest.approx(350 / 792, abs=0.01)
