"""The cross-encoder for padded batches says what the shipped one says of every pair alone."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.search.cross_encoder import open_cross_encoder

SHIPPED = Path(str(files("pincite.search").joinpath("minilm", "model.onnx")))
QUESTION = "how far apart do two earth rods have to be"
TEXTS = (
    "Where more than one rod is used, they shall be at least 2.4 m apart.",
    "A cat sat.",
    "Rods shall be driven to a depth of 2 m; the spacing of two rods is given in Table 4.",
)


@pytest.mark.slow
def test_filling_up_changes_nothing() -> None:
    pytest.importorskip("onnx", reason="needs the extra train")
    import onnxruntime

    from comparison import padded
    from training import export
    from training.weights import weights_of

    weights = weights_of(SHIPPED)
    alone, together = (
        onnxruntime.InferenceSession(made.build(weights).SerializeToString())
        for made in (export, padded)
    )
    model: Any = open_cross_encoder("shipped", threads=1)
    pairs = [model._pair(model._ids(QUESTION), text) for text in TEXTS]
    expected = [
        alone.run(None, {"input_ids": ids, "token_type_ids": types})[0][0] for ids, types in pairs
    ]
    width = max(ids.shape[1] for ids, _ in pairs)

    def filled(rows: list[Any]) -> Any:
        return np.vstack([np.pad(row, ((0, 0), (0, width - row.shape[1]))) for row in rows])

    found = together.run(
        None,
        {
            "input_ids": filled([ids for ids, _ in pairs]),
            "token_type_ids": filled([types for _, types in pairs]),
            "attention_mask": filled([np.ones_like(ids) for ids, _ in pairs]),
        },
    )[0]
    assert found.shape == (len(TEXTS), 1)
    assert found[:, 0] == pytest.approx(expected, abs=1e-4)
