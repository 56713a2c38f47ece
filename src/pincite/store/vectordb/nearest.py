"""The nearest vectors of some homes, where a server's index knows nothing of our filters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from pincite.store.array_files import Array
from pincite.store.vectordb.driver import Driver, Near
from pincite.store.vectordb.records import Home

# A filter that leaves no more vectors than this has them named to the server.
NAMED = 4_000
# More than this no server gives at a time.
MOST_NEAR = 16_000


def nearest(
    driver: Driver,
    homes: Sequence[Home],
    vector: Array,
    wanted: int,
    allowed: Mapping[int, Array],
    after: int,
) -> list[Near]:
    """Return the nearest vectors of some homes of one model, nearest first."""
    asking = _Asking(driver, vector, wanted, after)
    near = asking.ask([home for home in homes if home.number not in allowed])
    filtered = [home for home in homes if len(allowed.get(home.number, ()))]
    if filtered:
        near += asking.filtered(filtered, allowed)
    return sorted(near, key=lambda each: (-each.score, each.home, each.number))[:wanted]


class _Asking:
    """One question, asked in one piece or in several."""

    def __init__(self, driver: Driver, vector: Array, wanted: int, after: int) -> None:
        self._driver = driver
        self._vector = vector
        self._wanted = wanted
        self._after = after

    def ask(
        self, homes: Sequence[Home], among: Mapping[int, Array] | None = None, more: int = 0
    ) -> list[Near]:
        if not homes:
            return []
        numbers = [home.number for home in homes]
        wanted = more or self._wanted
        dimension = homes[0].dimension
        return self._driver.near(numbers, dimension, self._vector, wanted, self._after, among)

    def filtered(self, homes: Sequence[Home], among: Mapping[int, Array]) -> list[Near]:
        """Return the nearest of those that a filter leaves.

        Few are named to the server. Of many so many more are asked for that enough should be left;
        if they are not, all are named, some at a time.
        """
        left = sum(len(among[home.number]) for home in homes)
        if left <= NAMED:
            return self.ask(homes, among)
        size = sum(home.vectors for home in homes)
        more = min(size, math.ceil(1.5 * self._wanted * size / left) + 10)
        if more <= MOST_NEAR:
            near = _kept(self.ask(homes, more=more), homes, among)
            if len(near) >= min(self._wanted, left):
                return near
        return [
            each
            for home in homes
            for at in range(0, len(among[home.number]), NAMED)
            for each in self.ask([home], {home.number: among[home.number][at : at + NAMED]})
        ]


def _kept(near: Sequence[Near], homes: Sequence[Home], among: Mapping[int, Array]) -> list[Near]:
    """Return those that are allowed."""
    masks = {home.number: np.zeros(home.vectors, dtype=bool) for home in homes}
    for number, mask in masks.items():
        mask[among[number]] = True
    return [each for each in near if masks[each.home][each.number]]
