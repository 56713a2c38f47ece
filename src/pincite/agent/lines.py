"""What a planned answer is made of: lines, each with the place that it is from."""

from __future__ import annotations

from dataclasses import dataclass

from pincite.agent.tools import Toolbox
from pincite.agent.trace import Found
from pincite.core.types import Chunk


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence of an answer with the place it is from; of a calculation, of its numbers."""

    text: str
    place: Chunk | None = None
    quote: str = ""  # words of the place that the line repeats
    amount: str = ""  # the number that it gives, as it is calculated with
    unit: str = ""  # of the number, if nobody calculates with it: "€"
    is_multiple: bool = False  # that the question asks for


def calculated(expression: str, place: Chunk | None, tools: Toolbox) -> list[Line]:
    """Return the result of the calculator as a line; none if it gives none."""
    if not tools.left:
        return []
    found: Found = tools.call("calculate", {"expression": expression})
    return [] if found.error else [Line(found.text, place, amount=expression)]
