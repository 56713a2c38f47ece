"""Telling somebody how far a tuning is."""

from __future__ import annotations

from typing import Protocol


class Watcher(Protocol):
    """Is told how far the work is."""

    def begin(self, trials: int, questions: int) -> None:
        """A batch of so many trials is asked so many questions."""

    def asked(self, trials: int) -> None:
        """A question was asked under so many trials."""
