"""Learning a ranker from examples: LambdaMART, the published forest, or a simple linear one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pincite.core.errors import SourceError
from pincite.core.extras import require
from pincite.index.postings import Array
from pincite.learn.examples import SEED, Examples, calibration, folds_by_group, out_of_fold
from pincite.learn.model import PLAIN, Linear, Model, prepared
from pincite.learn.trees import Trees, joined, trees_from

FOLDS = 5
# Few leaves, many lines in each: questions of one document are alike, and documents are few.
LAMBDAMART = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": 5,
    "learning_rate": 0.03,
    "num_leaves": 7,
    "min_data_in_leaf": 100,
    "feature_fraction": 0.3,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 10.0,
    "use_missing": False,  # features are never missing: each has a value of nothing
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}
ROUNDS = 200
# As published.
FOREST = {
    "n_estimators": 150,
    "max_depth": 15,
    "min_samples_leaf": 5,
    "class_weight": "balanced",
    "random_state": 42,
}
RIDGE = 0.01
NEWTON_STEPS = 25


def fit(kind: str, examples: Examples, names: Sequence[str]) -> Model:
    """Return a model of a kind, not calibrated."""
    if not (examples.grades > 0).any():
        raise SourceError(
            "no candidate answers any question: there is nothing to learn",
            hint="check that the questions belong to this index",
        )
    make, inputs = _FITS[kind]
    return Model(kind, tuple(names), examples.k, make(with_inputs(examples, inputs)), inputs)


def with_inputs(examples: Examples, inputs: Sequence[str]) -> Examples:
    """Return the examples with what a scorer reads of them."""
    if tuple(inputs) == PLAIN:
        return examples
    lines = zip(examples.starts.tolist(), examples.sizes.tolist(), strict=True)
    parts = [prepared(examples.table[start : start + size], inputs) for start, size in lines]
    return replace(examples, table=np.concatenate(parts))


def fit_calibrated(
    kind: str, examples: Examples, names: Sequence[str], about: Mapping[str, Any]
) -> tuple[Model, Array]:
    """Return a model of all examples with a calibration, and the out-of-fold scores behind it."""
    count = min(FOLDS, len(set(examples.groups)))
    if count < 2:
        raise SourceError(
            "all questions are about one document: nothing can be held out",
            hint="give questions about two documents at least",
        )
    folds = folds_by_group(examples.groups, count)
    scores = out_of_fold(examples, partial(scorer_of, kind, names), folds)
    slope, offset = calibration(scores, examples.grades > 0)
    model = fit(kind, examples, names)
    # What was 0 in all examples was not there to learn from, and need not be there to search.
    used = np.any(examples.table, axis=0).tolist()
    reads = [name for name, is_used in zip(names, used, strict=True) if is_used]
    whole = {**about, "reads": reads}
    return replace(model, slope=slope, offset=offset, about=whole), scores


def scorer_of(kind: str, names: Sequence[str], examples: Examples) -> Callable[[Array], Array]:
    """Learn from examples and return what scores the lines of one question."""
    return fit(kind, examples, names).scores_of


def _fit_lambdamart(examples: Examples) -> Trees:
    booster = train_booster(examples)
    trees = [_from_lightgbm(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]]
    return trees_from(joined(trees), features=examples.table.shape[1], single=False)


def train_booster(examples: Examples) -> Any:
    """Return LightGBM's own model of the examples."""
    lightgbm = require("lightgbm", extra="learn")
    data = lightgbm.Dataset(examples.table, label=examples.grades, group=examples.sizes)
    return lightgbm.train({**LAMBDAMART, "seed": SEED}, data, ROUNDS)


def _from_lightgbm(root: Mapping[str, Any]) -> dict[str, Array]:
    """Return one tree as arrays, parents before children."""
    columns: dict[str, list[float]] = {
        name: [] for name in ("feature", "threshold", "left", "right", "value")
    }
    waiting: list[tuple[Mapping[str, Any], int, str]] = [(root, -1, "")]
    while waiting:
        node, parent, side = waiting.pop()
        number = len(columns["feature"])
        if parent >= 0:
            columns[side][parent] = number
        is_leaf = "leaf_value" in node
        columns["feature"].append(0 if is_leaf else node["split_feature"])
        columns["threshold"].append(0.0 if is_leaf else node["threshold"])
        columns["left"].append(number)
        columns["right"].append(number)
        columns["value"].append(node["leaf_value"] if is_leaf else 0.0)
        if not is_leaf:
            waiting += [
                (node["right_child"], number, "right"),
                (node["left_child"], number, "left"),
            ]
    return {name: np.array(values) for name, values in columns.items()}


def _fit_forest(examples: Examples) -> Trees:
    forest = train_forest(examples)
    count = len(forest.estimators_)
    trees = [_from_sklearn(each.tree_, 1 / count) for each in forest.estimators_]
    return trees_from(joined(trees), features=examples.table.shape[1], single=True)


def train_forest(examples: Examples) -> Any:
    """Return scikit-learn's own forest of the examples."""
    ensemble = require("sklearn.ensemble", extra="learn")
    return ensemble.RandomForestClassifier(**FOREST).fit(examples.table, examples.grades > 0)


def _from_sklearn(tree: Any, weight: float) -> dict[str, Array]:
    own = np.arange(tree.node_count)
    is_leaf = tree.children_left < 0
    votes = tree.value[:, 0, :]
    chance = votes[:, 1] / votes.sum(axis=1) if votes.shape[1] > 1 else np.ones(len(votes))
    return {
        "feature": np.where(is_leaf, 0, tree.feature),
        "threshold": np.where(is_leaf, 0.0, tree.threshold),
        "left": np.where(is_leaf, own, tree.children_left),
        "right": np.where(is_leaf, own, tree.children_right),
        "value": np.where(is_leaf, chance * weight, 0.0),
    }


def _fit_logistic(examples: Examples) -> Linear:
    """Return the weights under which right candidates beat the others of their question.

    A logistic model of the choice among candidates (McFadden 1974) with a ridge, by Newton's
    method: what all candidates share drops out. It needs no library.
    """
    starts, question = examples.starts, examples.question
    scale = examples.table.std(axis=0)
    scale[scale == 0] = 1.0
    lines = examples.table / scale
    right = np.bincount(question, examples.grades, minlength=len(starts))
    target = np.divide(
        examples.grades, right[question], out=np.zeros(len(lines)), where=right[question] > 0
    )
    counts = right[question] > 0
    asked = max(1, int((right > 0).sum()))

    def loss(weights: Array) -> float:
        chance = _softmax(lines @ weights, starts, question)
        missed = -(target * np.log(np.maximum(chance, 1e-300))).sum() / asked
        return float(missed + RIDGE / 2 * weights @ weights)

    weights = np.zeros(lines.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = _softmax(lines @ weights, starts, question) * counts
        slope = lines.T @ (chance - target) / asked + RIDGE * weights
        mean = np.add.reduceat(lines * chance[:, None], starts, axis=0)
        curve = (lines * chance[:, None]).T @ lines - mean.T @ mean
        step = np.linalg.solve(curve / asked + RIDGE * np.eye(len(weights)), slope)
        size, before = 1.0, loss(weights)
        while loss(weights - size * step) > before and size > 1e-6:
            size /= 2  # a whole step may lead too far
        weights = weights - size * step
        if np.abs(size * step).max() < 1e-8:
            break
    return Linear(weights / scale)


def _softmax(scores: Array, starts: Array, question: Array) -> Array:
    raised = np.exp(scores - np.maximum.reduceat(scores, starts)[question])
    return np.asarray(raised / np.add.reduceat(raised, starts)[question])


# How each kind learns, and what it reads.
_FITS: dict[str, tuple[Callable[[Examples], Trees | Linear], tuple[str, ...]]] = {
    "lambdamart": (_fit_lambdamart, ("plain", "relative")),
    "forest": (_fit_forest, PLAIN),
    "logistic": (_fit_logistic, ("relative",)),
}
KINDS = tuple(_FITS)
