"""Text of scanned pages, where the ``ocr`` extra is installed.

The recogniser's weights come with its package; nothing is downloaded. It costs seconds and some
hundred megabytes a page, in the child process that reads the file, and under its limits.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from importlib.util import find_spec
from statistics import median
from typing import Any

import pypdfium2 as pdfium

from pincite.core.extras import require
from pincite.ingest.formats.pdf.page import Word

# Dots per inch to render at: small print needs 150, and more costs time without better words.
DPI = 150
# Below this the recogniser is guessing.
LEAST_SCORE = 0.5


def is_available() -> bool:
    """Return whether the extra is installed."""
    return find_spec("rapidocr") is not None


def recognised_words(page: pdfium.PdfPage) -> list[Word]:
    """Return the words of a page's picture with their places, as sure as the recogniser is."""
    scale = DPI / 72
    picture = page.render(scale=scale).to_numpy()
    result = _engine()(picture)
    words: list[Word] = []
    if result.txts is None:
        return words
    lines = [
        (str(text), box / scale)
        for text, box, score in zip(result.txts, result.boxes, result.scores, strict=True)
        if score >= LEAST_SCORE
    ]
    usual = median(float(box[:, 1].max() - box[:, 1].min()) for _, box in lines) if lines else 0.0
    for text, box in lines:
        words += _words(text, box, usual)
    return words


def _words(text: str, box: Any, usual: float) -> list[Word]:
    """Return the words of a recognised line; each gets its share of the line's width."""
    x0, y0 = (float(value) for value in box.min(axis=0))
    x1, y1 = (float(value) for value in box.max(axis=0))
    step = (x1 - x0) / max(1, len(text))
    # The height of a line depends on its letters: only a clear difference is another size.
    height = usual if 0.7 * usual <= y1 - y0 <= 1.4 * usual else y1 - y0
    words, at = [], 0
    for part in text.split():
        at = text.index(part, at)
        left, right = x0 + at * step, x0 + (at + len(part)) * step
        words.append(Word(part, left, y0, right, y1, size=height * 0.8, base=y1))
        at += len(part)
    return words


@lru_cache(maxsize=1)
def _engine() -> Any:
    engine = require("rapidocr", extra="ocr").RapidOCR()
    logging.getLogger("RapidOCR").setLevel(logging.WARNING)
    return engine
