"""The settings of late interaction; part of the one tree in ``core/settings.py``."""

from __future__ import annotations

from dataclasses import dataclass

# The pipeline that compares word by word whatever the settings say, and the weight it takes.
LATE = "hybrid+late"
USUAL_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class LateSettings:
    """Comparing the question word by word with the candidates (docs/rerank.md)."""

    # What the match of words counts beside the first stage's score, 0 to 1; 0 leaves it out. With
    # it, ingesting keeps vectors of tokens too: about four times the size of the text. Only the
    # shipped encoder has them.
    weight: float = 0.0
