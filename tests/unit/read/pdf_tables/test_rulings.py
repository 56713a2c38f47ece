"""Drawn lines are read from pages, also turned ones and inside forms."""

from __future__ import annotations

import pypdfium2
import pytest

from pincite.read.pdf.tables.rulings import read_rulings

PAGE = b"""%%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 200 100]/Rotate %d/Contents 4 0 R
 /Resources<</XObject<</F 5 0 R>>>>>> endobj
4 0 obj <</Length %d>> stream
%s
endstream endobj
5 0 obj <</Type/XObject/Subtype/Form/BBox[0 0 200 100]/Matrix[1 0 0 1 0 10]/Length 20>> stream
10 20 m 150 20 l S
endstream endobj
trailer <</Root 1 0 R>>
"""


def page_with(content: bytes, rotation: int = 0) -> pypdfium2.PdfPage:
    return pypdfium2.PdfDocument(PAGE % (rotation, len(content), content))[0]


def test_a_stroked_box_has_four_sides() -> None:
    found = read_rulings(page_with(b"20 30 100 40 re S"))
    assert [(r.at, r.start, r.end) for r in found.horizontal] == [(30, 20, 120), (70, 20, 120)]
    assert [(r.at, r.start, r.end) for r in found.vertical] == [(20, 30, 70), (120, 30, 70)]


def test_lines_in_forms_are_placed_by_their_matrices() -> None:
    found = read_rulings(page_with(b"q 1 0 0 1 5 0 cm /F Do Q"))
    assert [(r.at, r.start, r.end) for r in found.horizontal] == [(70, 15, 155)]


def test_white_and_unpainted_paths_do_not_show() -> None:
    found = read_rulings(page_with(b"1 1 1 RG 20 30 100 40 re S 20 30 m 90 30 l n"))
    assert not found.horizontal and not found.vertical


@pytest.mark.parametrize(("rotation", "at"), [(90, 30), (270, 70)])
def test_a_turned_page_turns_its_lines(rotation: int, at: float) -> None:
    found = read_rulings(page_with(b"20 30 m 120 30 l S", rotation))
    assert [rule.at for rule in found.vertical] == [at]
    assert not found.horizontal
