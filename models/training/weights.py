"""The weights of a cross-encoder out of its ONNX file, to go on training from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx

from pincite.model.errors import ModelError
from pincite.store.files import Array

QUANTISED = "_quantized"
NEEDED = (
    "embeddings.word_embeddings.weight",
    "encoder.layer.0.attention.self.query.weight",
    "gate.weight",
)


def weights_of(data: bytes | Path) -> dict[str, Array]:
    """Return a model's weights by name as floats; ModelError if it is not one that we wrote."""
    try:
        model = onnx.load(data) if isinstance(data, Path) else onnx.load_from_string(data)
    except Exception as error:  # of the library that reads the format
        raise ModelError(f"the model cannot be read: {error}", hint="export it again") from error
    stored = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    found: dict[str, Array] = {}
    for name, value in stored.items():
        if name.endswith(QUANTISED):
            plain = name.removesuffix(QUANTISED)
            scale, zero = stored[f"{plain}_scale"], stored[f"{plain}_zero_point"]
            found[plain] = _as_floats(value, scale, zero)
        elif value.dtype.kind == "f" and not name.endswith("_scale"):
            found[name] = value
    for name, constant in (("position", "places"), ("token_type", "kinds")):
        if constant in found:
            found[f"embeddings.{name}_embeddings.weight"] = found.pop(constant)
    # The graph multiplies from the right: matrices of layers stand turned in it.
    weights = {
        name: value.T if value.ndim == 2 and not name.startswith("embeddings") else value
        for name, value in found.items()
        if "." in name
    }
    if missing := [name for name in NEEDED if name not in weights]:
        raise ModelError(f"the model has no {missing[0]}", hint="start from the shipped one")
    return {name: np.ascontiguousarray(value, dtype=np.float32) for name, value in weights.items()}


def _as_floats(codes: Array, scales: Array, zeros: Array) -> Array:
    # Of matrices every column has a scale of its own; tables of words have one for all.
    values: Array = (codes.astype(np.float32) - zeros.astype(np.float32)) * scales
    return values
