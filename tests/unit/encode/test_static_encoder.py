"""The static model: near the encoder that taught it, laws of a sum, strange texts, size."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.encode.encoders import OnnxEncoder, open_encoder
from pincite.encode.models import SHIPPED, STATIC
from pincite.encode.static_encoder import StaticEncoder
from pincite.model.settings import Encoding

STATIC_ENCODER = StaticEncoder(STATIC)
HOME = files("pincite.encode").joinpath("static")
SENTENCES = [
    "The licensee must keep the records for seven years.",
    "A fire extinguisher shall be mounted in each engine room.",
    "Add the eggs one by one and stir until the dough is smooth.",
    "Employees get their salary on the last day of the month.",
    "Each wire of the circuit is protected by a fuse.",
    "The patient should drink water before the operation.",
]


def test_vectors_are_near_those_of_the_encoder_and_far_from_those_of_other_texts() -> None:
    static = STATIC_ENCODER.encode(SENTENCES)
    cosines = static @ OnnxEncoder(SHIPPED).encode(SENTENCES).T
    own = np.diag(cosines)
    others = cosines[~np.eye(len(own), dtype=bool)]
    assert own.min() > 0.6 and own.mean() > 0.75
    assert others.max() < own.min()


def test_a_vector_has_length_one_and_does_not_depend_on_its_neighbours() -> None:
    together = STATIC_ENCODER.encode([*SENTENCES, "word " * 500])
    assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-5)
    alone = [STATIC_ENCODER.encode_query(text) for text in SENTENCES]
    assert all((a == b).all() for a, b in zip(alone, together, strict=False))


@given(st.lists(st.sampled_from(["pay", "wire", "fuse", "water", "records"]), min_size=1))
def test_neither_order_nor_repetition_of_the_whole_matters(words: list[str]) -> None:
    text = " ".join(words)
    given = STATIC_ENCODER.encode([text, " ".join(sorted(words)), f"{text}, {text.upper()}!"])
    assert given[1] == pytest.approx(given[0], abs=1e-4)
    assert given[2] == pytest.approx(given[0], abs=1e-4)


@pytest.mark.parametrize(
    "text", ["", " ", "...", "\ud800", "x" * 100_000, "1." * 50_000, "汉字 🔌"]
)
def test_strange_texts_do_no_harm(text: str) -> None:
    assert np.isfinite(STATIC_ENCODER.encode_query(text)).all()


def test_a_text_without_words_has_no_vector() -> None:
    assert not STATIC_ENCODER.encode(["", "— … !"]).any()


def test_the_weights_are_those_of_the_card_and_small() -> None:
    data = HOME.joinpath("vectors.npz").read_bytes()
    assert len(data) <= 12_000_000
    card = HOME.joinpath("MODEL_CARD.md").read_text(encoding="utf-8")
    assert hashlib.sha256(data).hexdigest() in card


def test_it_is_opened_by_its_name() -> None:
    encoder = open_encoder(Encoding(model="static"))
    assert encoder is not None and encoder.spec.id == SHIPPED.stand_in
