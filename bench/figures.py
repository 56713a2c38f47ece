"""Named means with their intervals, for tables of experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pincite.measure.statistics import Array, bootstrap_interval


@dataclass(slots=True)
class Figures:
    """Named means of per-question values, each with a 95 % interval."""

    values: dict[str, float] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    # What the means are of: the values and the group of each, in the order of the questions.
    samples: dict[str, tuple[Array, tuple[str, ...]]] = field(default_factory=dict)

    def add(
        self, name: str, values: Sequence[float], groups: Sequence[str], *, scale: float = 1.0
    ) -> None:
        """Add the mean of the values; groups (documents, say) are resampled as wholes."""
        if not len(values):
            return
        scaled = np.asarray(values, dtype=float) * scale
        self.values[name] = float(scaled.mean())
        self.intervals[name] = bootstrap_interval(scaled, groups)
        self.counts[name] = len(values)
        self.samples[name] = scaled, tuple(groups)

    def minus(self, other: Figures) -> Figures:
        """Return the mean differences, question by question, with their own intervals.

        Two intervals that overlap say little: what is hard for one pipeline is hard for the other.
        A figure that was not taken of the same questions on both sides is left out.
        """
        differences = Figures()
        for name, (values, groups) in self.samples.items():
            others, same_groups = other.samples.get(name, (values, ()))
            if groups == same_groups:
                differences.add(name, (values - others).tolist(), groups)
        return differences
