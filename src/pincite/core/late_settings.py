"""The settings of late interaction; part of the one tree in ``core/settings.py``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LateSettings:
    """Comparing the question word by word with the candidates. Free to change at any time."""

    # What the match of words counts beside the first stage's score, 0 to 1; 0 leaves it out. Needs
    # the token vectors of the shipped encoder (embedding.tokens).
    weight: float = 0.4
