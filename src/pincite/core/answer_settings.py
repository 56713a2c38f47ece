"""The settings of answering; part of the one tree in ``core/settings.py``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """From hits to an answer with citations. Free to change at any time."""

    # How many hits are read for an answer.
    k: int = 8
    # Tokens of text that an answer may be taken from, estimated from above.
    context_tokens: int = 3000
