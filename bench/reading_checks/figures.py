"""A figure that a check of reading prints, and where its data are."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value beside what is asked of it and what a peer reaches in the same run."""

    name: str  # "cells right, documents not looked at"
    value: float
    asked: str = ""  # ">= .93"; empty where nothing is asked
    count: int = 0  # of how many
    note: str = ""  # what the value is of, or what was left out

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values."""
        return asdict(self)


def data_folder(named: str = "") -> Path:
    """Return the folder with the open data: the one named, `PINCITE_DATA`, or the one beside us."""
    beside = Path(__file__).parents[3] / "shared" / "data"
    return Path(named or os.environ.get("PINCITE_DATA") or beside)
