"""Tables printed sideways: the page is turned until their text is upright."""

from __future__ import annotations

from collections.abc import Sequence

from pincite.ingest.formats.pdf.page import Word
from pincite.ingest.formats.pdf_tables.geometry import Box, Rule, Rulings

MIN_WORDS = 30
MIN_SHARE = 0.5  # of the page's words


def main_angle(words: Sequence[Word]) -> int:
    """The angle, 90 or 270, at which most words of the page run; 0 when it is read upright."""
    for angle in (90, 270):
        count = sum(word.angle == angle for word in words)
        if count >= MIN_WORDS and count > MIN_SHARE * len(words):
            return angle
    return 0


def turn_words(words: Sequence[Word], angle: int) -> list[Word]:
    """Words as seen after a turn that makes those at `angle` upright."""
    found = []
    for word in words:
        x0, y0, x1, y1 = turn_box((word.x0, word.y0, word.x1, word.y1), angle)
        turned = (word.angle - angle) % 360
        found.append(word._replace(x0=x0, y0=y0, x1=x1, y1=y1, base=y1, angle=turned))
    return found


def turn_rulings(rulings: Rulings, angle: int) -> Rulings:
    """Rulings after the same turn: horizontal ones become vertical and the other way round."""
    sign = 1.0 if angle == 90 else -1.0
    return Rulings(
        horizontal=[_turned(rule, -sign, sign) for rule in rulings.vertical],
        vertical=[_turned(rule, sign, -sign) for rule in rulings.horizontal],
        slanted=[(sign * y, -sign * x) for x, y in rulings.slanted],
    )


def _turned(rule: Rule, at: float, along: float) -> Rule:
    start, end = sorted((along * rule.start, along * rule.end))
    return Rule(at * rule.at, start, end)


def turn_box(box: Box, angle: int) -> Box:
    """A box after the turn; turning it by 360 - angle brings it back."""
    x0, y0, x1, y1 = box
    return (y0, -x1, y1, -x0) if angle == 90 else (-y1, x0, -y0, x1)
