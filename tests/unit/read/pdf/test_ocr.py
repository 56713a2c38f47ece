"""Scanned pages, read by OCR where the extra is installed."""

from __future__ import annotations

import io

import pypdfium2 as pdfium
import pytest
from pdf_writer import Pdf

from pincite.read.pdf.reader import read

WORDS = ["Boats shall carry two anchors.", "Each anchor has a chain of ten metres."]


@pytest.mark.slow
def test_a_scanned_page_is_read_and_reported() -> None:
    pytest.importorskip("rapidocr", reason="the ocr extra is not installed")
    printed = Pdf().page().lines(72, 100, WORDS, step=30)
    page = pdfium.PdfDocument(printed.bytes())[0]
    scan = io.BytesIO()
    page.render(scale=2).to_pil().convert("RGB").save(scan, "PDF", resolution=144)
    parsed = read(scan.getvalue(), "scan.pdf")
    text = " ".join(parsed.text.split())
    assert "two anchors" in text and "ten metres" in text
    assert [(finding.kind, finding.page) for finding in parsed.findings] == [("scanned_page", 1)]
    assert "by OCR" in parsed.findings[0].message
    assert parsed.boxes and all(0 <= box.x0 < box.x1 <= 1 for box in parsed.boxes)
