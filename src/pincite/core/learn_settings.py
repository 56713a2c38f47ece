"""Settings of the learned ranker."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """A ranker that was learned from judged questions (docs/learned.md)."""

    # File of the model that reorders the best candidates; empty leaves the order as it is.
    model: str = ""
    # Whether ingesting keeps vectors of tokens for it, so that it can compare word by word: about
    # four times the size of the text, and its best evidence. Only the shipped encoder has them.
    tokens: bool = False
