"""Token vectors made small: what they mean survives, and each text has its own."""

from __future__ import annotations

import numpy as np
import pytest

from pincite.encode.cache import VectorCache
from pincite.encode.encoders import OnnxEncoder
from pincite.encode.models import ModelSpec, TokenEncoder, spec_of
from pincite.model.errors import ModelError
from pincite.model.settings import EmbeddingSettings

TEXTS = ["Each vessel shall carry a fire extinguisher.", "Fees are due on 1 March, in advance."]


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    spec = spec_of(EmbeddingSettings())
    assert spec is not None
    return OnnxEncoder(spec)


def test_codes_stand_for_nearly_the_same_vectors(encoder: OnnxEncoder) -> None:
    for text in TEXTS:
        _, tokens, ids, _ = encoder._with_tokens(text)
        kept = encoder.codec.is_kept[ids]
        short = encoder.codec.projected(tokens[kept])
        again = encoder.codec.vectors(encoder.codec.codes(tokens[kept]))
        assert again.shape == short.shape
        likeness = (again * short).sum(axis=1) / np.linalg.norm(again, axis=1)
        assert likeness.mean() > 0.85
        # and the projection keeps which tokens are near each other
        full = tokens[kept] @ tokens[kept].T
        assert np.corrcoef(full.ravel(), (short @ short.T).ravel())[0, 1] > 0.95


def test_a_token_costs_fourteen_bytes_and_inner_punctuation_nothing(encoder: OnnxEncoder) -> None:
    vectors, codes = encoder.encode_with_tokens(TEXTS)
    assert vectors == pytest.approx(encoder.encode(TEXTS), abs=1e-5)
    assert codes[0].dtype == np.uint8 and codes[0].shape[1] == encoder.codec.bytes_per_token == 14
    offsets = encoder.token_offsets(TEXTS[1])
    assert len(offsets) == len(codes[1])
    words = [TEXTS[1][a:b] for a, b in offsets.tolist()]
    assert "," not in words and words[-1] == "." and "March" in words


def test_a_question_s_tokens_have_weights_that_add_up(encoder: OnnxEncoder) -> None:
    asked = encoder.query_tokens("what is the ampacity?")
    assert asked.weights.sum() == pytest.approx(1.0, abs=1e-5)
    words = ["what is the ampacity?"[a:b] for a, b in asked.places.tolist()]
    weight = dict(zip(words, asked.weights.tolist(), strict=True))
    assert weight["amp"] > weight["the"] and np.allclose(np.linalg.norm(asked.vectors, axis=1), 1)
    assert not len(encoder.query_tokens("").vectors)


def test_the_cache_keeps_codes_beside_vectors(encoder: OnnxEncoder, tmp_path: object) -> None:
    class Once:
        spec, codec, calls = encoder.spec, encoder.codec, 0

        def encode(self, texts: list[str]) -> np.ndarray:
            return encoder.encode(texts)

        def encode_with_tokens(self, texts: list[str]) -> tuple[np.ndarray, list[np.ndarray]]:
            self.calls += 1
            return encoder.encode_with_tokens(texts)

    once = Once()
    cache = VectorCache(once, tmp_path)  # type: ignore[arg-type]
    plain = cache.encode(TEXTS[:1])
    first = cache.encode_with_tokens(TEXTS)
    again = cache.encode_with_tokens(TEXTS)
    cache.close()
    assert once.calls == 1 and (first[0] == again[0]).all() and (first[0][0] == plain[0]).all()
    assert [each.tolist() for each in first[1]] == [each.tolist() for each in again[1]]


def test_a_model_without_tokens_says_so() -> None:
    spec = ModelSpec("other", "1", 8, 64, "MIT", "onnx", hub_name="nowhere")
    with pytest.raises(ModelError, match="no token vectors"):
        encoder: TokenEncoder = OnnxEncoder(spec)
        _ = encoder.codec
