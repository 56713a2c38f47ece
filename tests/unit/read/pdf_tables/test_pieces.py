"""Pieces of paths become rulings."""

from __future__ import annotations

from pincite.read.pdf.tables.geometry import Rule
from pincite.read.pdf.tables.rulings import PathPiece, join_pieces

PAGE = (600.0, 800.0)
GREY, BLUE = 0xCCCCCC, 0x0000FF


def test_collinear_pieces_are_one_line() -> None:
    found = join_pieces([PathPiece(10, 50, 60, 50), PathPiece(61, 50.4, 120, 50.4)], PAGE)
    assert [(rule.start, rule.end) for rule in found.horizontal] == [(10, 120)]


def test_a_wide_gap_parts_a_line() -> None:
    found = join_pieces([PathPiece(10, 50, 60, 50), PathPiece(80, 50, 120, 50)], PAGE)
    assert len(found.horizontal) == 2


def test_a_thin_bar_is_a_line_and_a_dot_is_nothing() -> None:
    found = join_pieces([PathPiece(10, 50, 200, 51, BLUE), PathPiece(10, 90, 11, 91, BLUE)], PAGE)
    assert found.horizontal == [Rule(50.5, 10, 200)]
    assert not found.vertical


def test_shading_has_edges_only_where_its_colour_ends() -> None:
    upper, lower = PathPiece(10, 50, 200, 70, GREY), PathPiece(10, 70, 200, 90, GREY)
    assert [rule.at for rule in join_pieces([upper, lower], PAGE).horizontal] == [50, 90]
    other = PathPiece(10, 70, 200, 90, BLUE)
    assert [rule.at for rule in join_pieces([upper, other], PAGE).horizontal] == [50, 70, 90]


def test_the_background_has_no_edges() -> None:
    found = join_pieces([PathPiece(0, 0, 600, 800, GREY)], PAGE)
    assert not found.horizontal and not found.vertical


def test_slanted_lines_are_kept_apart() -> None:
    found = join_pieces([PathPiece(10, 10, 60, 40)], PAGE)
    assert found.slanted == [(35, 25)]
    assert not found.horizontal and not found.vertical
