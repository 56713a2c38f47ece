"""A learned ranker: which features it reads, how it scores them, and its file.

The file is one JSON text: arrays as base64 of plain numbers, a hash over all of it. Nothing in it
is ever run, and a file that is damaged, or made to harm, is one ModelError.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pincite.core.errors import MALFORMED, ModelError
from pincite.index.postings import Array
from pincite.learn.trees import COLUMNS, Trees, trees_from
from pincite.store.files import write_durably

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
class Model:
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


def save_model(model: Model, file: Path) -> None:
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


def load_model(file: Path) -> Model:
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


def _model(whole: Mapping[str, Any]) -> Model:
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
    return Model(
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
