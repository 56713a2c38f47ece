"""The shipped encoder: reference vectors, independence, strange texts."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import numpy as np
import pytest

from pincite.encode.encoders import OnnxEncoder, open_encoder
from pincite.encode.models import MODELS, SHIPPED, spec_of
from pincite.model.errors import ConfigError
from pincite.model.settings import EmbeddingSettings, Encoding

ENCODER = OnnxEncoder(SHIPPED)
SENTENCES = [
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
]
# Cosines of the original float model (transformers, torch): between the first and the others.
ORIGINAL = {1: 0.7553, 2: -0.1050}


def test_cosines_are_near_those_of_the_original() -> None:
    vectors = ENCODER.encode(SENTENCES)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    for other, expected in ORIGINAL.items():
        assert float(vectors[0] @ vectors[other]) == pytest.approx(expected, abs=0.03)


def test_a_vector_does_not_depend_on_its_neighbours() -> None:
    alone = [ENCODER.encode([text])[0] for text in SENTENCES]
    together = ENCODER.encode([*SENTENCES, "word " * 200])
    assert all((a == b).all() for a, b in zip(alone, together[:3], strict=True))


@pytest.mark.parametrize("text", ["", " ", "\ud800", "x" * 100_000, "1." * 50_000, "汉字 🔌"])
def test_strange_texts_have_vectors(text: str) -> None:
    assert np.isfinite(ENCODER.encode_query(text)).all()


def test_the_files_are_those_of_the_model_card() -> None:
    home = files("pincite.encode").joinpath("minilm")
    card = home.joinpath("MODEL_CARD.md").read_text(encoding="utf-8")
    for name in ("model.onnx", "tokenizer.json"):
        assert hashlib.sha256(home.joinpath(name).read_bytes()).hexdigest() in card


def test_unknown_models_are_named() -> None:
    with pytest.raises(ConfigError, match="no embedding model 'mini'"):
        spec_of(EmbeddingSettings(model="mini"))
    assert open_encoder(Encoding(model="none")) is None
    assert {spec.id for spec in MODELS.values()} >= {"minilm@2"}
