"""Which features a learned ranker looks at."""

from __future__ import annotations

import numpy as np

from pincite.learn.model import Model
from pincite.learn.trees import Trees


def importances(model: Model) -> list[tuple[str, float]]:
    """Return each feature's share of what the model asks, largest first.

    Of trees, the share of their splits; of a weighted sum, that of the absolute weights. It says
    what a model looks at, not what would be lost without it.
    """
    count = len(model.features)
    if isinstance(model.scorer, Trees):
        trees = model.scorer
        is_split = trees.left != np.arange(len(trees.left))
        asked = np.bincount(trees.feature[is_split], minlength=count * len(model.inputs))
    else:
        asked = np.abs(model.scorer.weights)
    # A feature may be read several times: as it is, and beside the best candidate's.
    shares = np.asarray(asked, dtype=float).reshape(-1, count).sum(axis=0)
    total = float(shares.sum()) or 1.0
    found = zip(model.features, (shares / total).tolist(), strict=True)
    return sorted(found, key=lambda each: (-each[1], each[0]))
