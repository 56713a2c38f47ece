"""The encoder that ships with Pincite, run by onnxruntime."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.resources import files
from typing import Any

import numpy as np

from pincite.core.errors import ModelError
from pincite.embed.models import Array, ModelSpec

# No token is longer on average: what is beyond this many characters a token is beyond the limit.
MOST_CHARS = 16


class OnnxEncoder:
    """Encodes one text a call: its vector never depends on what else is being encoded.

    Texts are spread over threads instead of batches: as fast on a CPU, and without padding. Any
    number of threads may share one encoder; nothing is loaded before the first text.
    """

    def __init__(self, spec: ModelSpec, *, threads: int = 0) -> None:
        self.spec = spec
        self.threads = threads or os.cpu_count() or 1
        self._home = files("pincite.embed").joinpath(spec.name)

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        text = self._home.joinpath("tokenizer.json").read_text(encoding="utf-8")
        return Tokenizer.from_str(text)

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        try:
            return onnxruntime.InferenceSession(
                self._home.joinpath("model.onnx").read_bytes(),
                options,
                providers=["CPUExecutionProvider"],
            )
        except Exception as error:  # onnxruntime's own errors have no common base
            raise ModelError(
                f"the encoder {self.spec.name} cannot be loaded: {error}",
                hint="install Pincite again",
            ) from error

    def token_starts(self, text: str) -> Sequence[int]:
        encoded = self._tokenizer.encode(_whole(text), add_special_tokens=False)
        return [start for start, _ in encoded.offsets]

    def encode(self, texts: Sequence[str]) -> Array:
        vectors = np.zeros((len(texts), self.spec.dimension), dtype=np.float32)
        if len(texts) < 2:
            found = [self._sentence(text) for text in texts]
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                found = list(pool.map(self._sentence, texts))
        for row, vector in enumerate(found):
            vectors[row] = vector
        return vectors

    def encode_query(self, text: str) -> Array:
        return self._sentence(text)

    def _sentence(self, text: str) -> Array:
        # Compatible forms of a letter are one letter, as they are to the lexical side.
        text = unicodedata.normalize("NFKC", _whole(text[: MOST_CHARS * self.spec.max_tokens]))
        ids = self._tokenizer.encode(text).ids
        if len(ids) > self.spec.max_tokens:  # windows are shorter; this is a long question
            ids = [*ids[: self.spec.max_tokens - 1], ids[-1]]
        vector: Array = self._session.run(["sentence"], {"input_ids": np.array([ids])})[0][0]
        return vector


def _whole(text: str) -> str:
    """Return the text with half characters replaced, which no tokeniser takes."""
    return text.encode("utf-8", "replace").decode("utf-8")
