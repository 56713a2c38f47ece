"""Tables of a reproduction: our figures and the published ones in the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# A number, words, an interval, or nothing.
Cell = float | int | str | tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with the same columns, and what has to be known to read them."""

    title: str
    rows: Sequence[Mapping[str, Cell]]
    notes: Sequence[str] = ()

    @property
    def heads(self) -> list[str]:
        return list(dict.fromkeys(head for row in self.rows for head in row))

    def plain(self) -> dict[str, Any]:
        """Return the table for programs."""
        return {"title": self.title, "rows": [dict(r) for r in self.rows], "notes": [*self.notes]}


def shown(cell: Cell) -> str:
    """Return a cell as it is printed.

    >>> [shown(each) for each in (0.5, 12, "n", (-0.1, 0.25), None)]
    ['0.500', '12', 'n', '-0.100 – +0.250', '']
    """
    if cell is None:
        return ""
    if isinstance(cell, tuple):
        return f"{cell[0]:+.3f} – {cell[1]:+.3f}"
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)
