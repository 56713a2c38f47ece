"""Decision trees as plain arrays: what serves a learned ranker without the library it came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pincite.core.errors import ModelError
from pincite.index.postings import Array

MAX_NODES = 5_000_000
# Deeper than any tree that anybody grows; a chain of nodes must not hold a search up.
MAX_DEPTH = 64
COLUMNS: dict[str, np.dtype[Any]] = {
    "feature": np.dtype("<i4"),
    "threshold": np.dtype("<f8"),
    "left": np.dtype("<i4"),
    "right": np.dtype("<i4"),
    "value": np.dtype("<f8"),
    "roots": np.dtype("<i4"),
}


@dataclass(frozen=True)
class Trees:
    """Trees that add up. At a node a line goes left if its feature is at most the threshold.

    A leaf is its own child, so that all lines take as many steps as the deepest needs.
    """

    feature: Array
    threshold: Array
    left: Array
    right: Array
    value: Array  # of leaves
    roots: Array
    depth: int
    single: bool = False  # numbers are compared as float32, as scikit-learn does

    def scores(self, table: Array) -> Array:
        """Return the sum over all trees for each line of features."""
        if self.single:
            table = table.astype(np.float32)
        lines = np.arange(len(table))[:, None]
        node = np.broadcast_to(self.roots, (len(table), len(self.roots)))
        for _ in range(self.depth):
            goes_left = table[lines, self.feature[node]] <= self.threshold[node]
            node = np.where(goes_left, self.left[node], self.right[node])
        return np.asarray(self.value[node].sum(axis=1))

    def arrays(self) -> dict[str, Array]:
        return {name: getattr(self, name).astype(kind) for name, kind in COLUMNS.items()}


def trees_from(arrays: Mapping[str, Array], *, features: int, single: bool) -> Trees:
    """Return trees from their arrays; ModelError for any that could not have been grown.

    Children stand behind their parents, so there is no way round in circles.
    """
    nodes = len(arrays["feature"])
    inner = ("feature", "threshold", "left", "right", "value")
    own = np.arange(nodes)
    left, right, roots = arrays["left"], arrays["right"], arrays["roots"]
    is_leaf = (left == own) & (right == own)
    sound = (
        0 < nodes <= MAX_NODES
        and all(arrays[name].shape == (nodes,) for name in inner)
        and ((arrays["feature"] >= 0) & (arrays["feature"] < max(1, features))).all()
        and bool((is_leaf | ((left > own) & (right > own))).all())
        and bool(((left < nodes) & (right < nodes)).all())
        and len(roots) > 0
        and bool(((roots >= 0) & (roots < nodes)).all())
        and bool(np.isfinite(arrays["value"]).all())
        and not np.isnan(arrays["threshold"]).any()
    )
    depth = _depth(left, right, is_leaf, roots) if sound else MAX_DEPTH + 1
    if depth > MAX_DEPTH:
        raise ModelError("the trees of the model are damaged", hint="train the model again")
    return Trees(**{name: arrays[name] for name in COLUMNS}, depth=depth, single=single)


def _depth(left: Array, right: Array, is_leaf: Array, roots: Array) -> int:
    """Return the steps to the deepest leaf; no more than one beyond the limit."""
    level = np.unique(roots)
    for depth in range(MAX_DEPTH + 1):
        level = level[~is_leaf[level]]
        if not len(level):
            return depth
        level = np.unique(np.concatenate([left[level], right[level]]))
    return MAX_DEPTH + 1


def joined(trees: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """Return the arrays of several trees as one; each has its root first."""
    sizes = [len(tree["feature"]) for tree in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    whole = {
        name: np.concatenate([tree[name] for tree in trees]) for name in COLUMNS if name != "roots"
    }
    shift = np.repeat(roots, sizes)
    whole["left"], whole["right"] = whole["left"] + shift, whole["right"] + shift
    whole["roots"] = roots
    return {name: array.astype(COLUMNS[name]) for name, array in whole.items()}
