"""Learned rankers: trees and linear models, their files, and the stage that orders by one."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pincite.model.errors import MALFORMED, ModelError
from pincite.search.candidates import Candidates, Tier
from pincite.search.feature_table import NAMES, Columns, Features
from pincite.search.query import ParsedQuery
from pincite.search.row_scorers import WordScorer
from pincite.store.files import Array, write_durably

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


FORMAT = "pincite learned ranker"
VERSION = 1
MAX_BYTES = 256_000_000
MAX_FEATURES = 10_000
MAX_K = 10_000
PLAIN = ("plain",)


@dataclass(frozen=True)
class Linear:
    """A weighted sum."""

    weights: Array

    def scores(self, table: Array) -> Array:
        return np.asarray(table @ self.weights)


@dataclass(frozen=True)
class RankerModel:
    """What was learned. ``k`` is how many candidates it was trained on, and is to be used on."""

    kind: str  # "lambdamart", "forest" or "logistic"
    features: tuple[str, ...]
    k: int
    scorer: Trees | Linear
    # What the scorer reads: the features, how far each is below the best candidate's, or both.
    inputs: tuple[str, ...] = PLAIN
    # Probability = 1 / (1 + exp(-(slope * score + offset))), from out-of-fold scores.
    slope: float = 1.0
    offset: float = 0.0
    about: Mapping[str, Any] = field(default_factory=dict)  # settings, data, figures

    def scores(self, table: Array, names: Sequence[str]) -> Array:
        """Return a score for each candidate of one question; the columns are named."""
        missing = [name for name in self.features if name not in names]
        if missing:
            raise ModelError(
                f"the model needs the feature {missing[0]!r}, which this version does not have",
                hint="train the model again with this version",
            )
        columns = [list(names).index(name) for name in self.features]
        return self.scores_of(table[:, columns])

    def scores_of(self, table: Array) -> Array:
        """Return a score for each candidate of one question; the columns are the features."""
        return self.scorer.scores(prepared(table, self.inputs))

    def probabilities(self, scores: Array) -> Array:
        """Return how probable it is that each candidate answers; rises with the score."""
        return np.asarray(1 / (1 + np.exp(-np.clip(self.slope * scores + self.offset, -35, 35))))


def prepared(table: Array, inputs: Sequence[str]) -> Array:
    """Return what a scorer reads of the candidates of one question."""
    return np.hstack([table if name == "plain" else relative(table) for name in inputs])


def relative(table: Array) -> Array:
    """Return how far each value is below the best of its column, in units of the column's range."""
    if not len(table):
        return table
    best, worst = table.max(axis=0), table.min(axis=0)
    return np.asarray((table - best) / np.where(best > worst, best - worst, 1.0))


def save_model(model: RankerModel, file: Path) -> None:
    """Write a model to a file; one that is there is replaced at once or not at all."""
    if isinstance(model.scorer, Trees):
        arrays, single = model.scorer.arrays(), model.scorer.single
    else:
        arrays, single = {"weights": model.scorer.weights.astype("<f8")}, False
    body = {
        "format": FORMAT,
        "version": VERSION,
        "kind": model.kind,
        "features": list(model.features),
        "k": model.k,
        "slope": model.slope,
        "offset": model.offset,
        "single": single,
        "inputs": list(model.inputs),
        "about": dict(model.about),
        "arrays": {
            name: base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
            for name, array in arrays.items()
        },
    }
    whole = {"sha256": _digest(body), **body}
    try:
        write_durably(file, json.dumps(whole, indent=1).encode())
    except OSError as error:
        raise ModelError(
            f"{file} cannot be written: {error.strerror}", hint="name another file with --out"
        ) from error


def load_model(file: Path) -> RankerModel:
    """Return the model of a file; ModelError if it is not one, or not whole."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise _damaged(file, "it is too large")
        whole = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, *MALFORMED) as error:
        raise _damaged(file, str(error)) from error
    if not isinstance(whole, dict) or whole.get("format") != FORMAT:
        raise _damaged(file, "it is another kind of file")
    if whole.get("version") != VERSION:
        raise _damaged(file, f"its version is {whole.get('version')!r}, this reads {VERSION}")
    digest = whole.pop("sha256", None)
    if digest != _digest(whole):
        raise _damaged(file, "its contents and its hash differ")
    try:
        return _model(whole)
    except ModelError as error:
        raise _damaged(file, error.message) from error
    except MALFORMED as error:
        raise _damaged(file, repr(error)) from error


def _model(whole: Mapping[str, Any]) -> RankerModel:
    features = tuple(whole["features"])
    numbers = [float(whole["slope"]), float(whole["offset"])]
    k = whole["k"]
    if not all(isinstance(name, str) for name in features) or len(features) > MAX_FEATURES:
        raise ValueError("features are not names")
    if type(k) is not int or not 0 < k <= MAX_K or not all(map(math.isfinite, numbers)):
        raise ValueError("k, slope or offset is out of range")
    if not isinstance(whole["about"], dict) or numbers[0] <= 0:
        raise ValueError("about or slope is not what it should be")
    inputs = tuple(whole["inputs"])
    if not inputs or not {"plain", "relative"}.issuperset(inputs) or len(inputs) > 2:
        raise ValueError("inputs are unknown")
    columns = len(features) * len(inputs)
    return RankerModel(
        kind=str(whole["kind"]),
        features=features,
        k=k,
        scorer=_scorer(whole["arrays"], columns, single=bool(whole["single"])),
        inputs=inputs,
        slope=numbers[0],
        offset=numbers[1],
        about=whole["about"],
    )


def _scorer(packed: Mapping[str, str], columns: int, *, single: bool) -> Trees | Linear:
    if set(packed) == set(COLUMNS):
        arrays = {name: _unpacked(packed[name], kind) for name, kind in COLUMNS.items()}
        return trees_from(arrays, features=columns, single=single)
    weights = _unpacked(packed["weights"], np.dtype("<f8"))
    if len(weights) != columns or not np.isfinite(weights).all():
        raise ValueError("there is not a weight for each input")
    return Linear(weights)


def _unpacked(text: str, kind: np.dtype[Any]) -> Array:
    try:
        return np.frombuffer(base64.b64decode(text, validate=True), dtype=kind)
    except binascii.Error as error:
        raise ValueError("an array is not base64") from error


def _digest(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _damaged(file: Path, why: str) -> ModelError:
    return ModelError(f"{file} is not a usable model: {why}", hint="train the model again")


NAME = "learned"


class Learned:
    """Reorders the best candidates by a model; the rest stays behind them in its order.

    The part ``learned`` is the probability that a candidate answers; the parts before it are in
    ``raw``, with what the model reads. Tiers stay as they are.
    """

    name = NAME

    def __init__(self, model: RankerModel, features: Features) -> None:
        self.model = model
        self.features = features

    @classmethod
    def load(cls, file: str | Path, features: Features) -> Learned:
        """Return the stage with the model of a file, if the index has what the model reads."""
        model = load_model(Path(file))
        of_vectors = {"semantic_similarity": features.meaning, "late_score": features.late}
        for name, source in of_vectors.items():
            if source is None and name in model.about.get("reads", ()):
                raise ModelError(
                    f"{file} reads {name}, for which this index has no vectors",
                    hint="ingest with --set tuning.token_vectors=true, or learn on this index",
                )
        return cls(model, features)

    def __call__(self, query: ParsedQuery, table: Candidates) -> Candidates:
        table = table.take(table.order())
        return judged(self.model, table, feature_lines(self.features, query, table, self.model.k))


def judged(model: RankerModel, table: Candidates, lines: Array) -> Candidates:
    """Return a table that is in order with the model's probabilities for its first lines."""
    if not len(lines):
        return table
    count = len(lines)
    chances = model.probabilities(model.scores(lines, NAMES))
    learned, behind = np.full(len(table), np.nan), np.full(len(table), np.nan)
    learned[:count] = chances
    behind[count:] = -1.0 - np.arange(count, len(table))
    read = {}
    for name in model.features:
        read[name] = np.full(len(table), np.nan)
        read[name][:count] = lines[:, NAMES.index(name)]
    parts = {NAME: learned} | ({"behind": behind} if count < len(table) else {})
    return replace(table, parts=parts, raw={**read, **table.parts, **table.raw})


def feature_lines(features: Features, query: ParsedQuery, table: Candidates, k: int) -> Array:
    """Return a line of features for each of the first ``k`` of a table that is in order."""
    known = {**table.parts, **table.features, **table.raw}
    zeros = np.zeros(len(table))
    words = [known[name] for name in WordScorer.part_names if name in known]
    scores = table.exported_scores()
    best = scores[0] if len(scores) else 0.0
    columns = Columns(
        ids=table.names(),
        rows=table.rows,
        words=known.get(WordScorer.name, np.sum([zeros, *map(np.nan_to_num, words)], axis=0)),
        stage=scores / best if best > 0 else zeros,
        is_place=table.is_named,
        is_entity=(table.tier & Tier.ENTITY) > 0,
        measured=known,
    )
    return features.of(query.query, columns, k)
