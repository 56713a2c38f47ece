"""Encoders of the sentence-transformers library, from its hub or from a folder (extra ``hub``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from pincite.core.errors import ModelError
from pincite.core.extras import require
from pincite.embed.cache import checked
from pincite.embed.models import Array, ModelSpec

BATCH = 32


class HubEncoder:
    """Runs a model by torch; nothing is loaded before the first text."""

    def __init__(self, spec: ModelSpec) -> None:
        self._spec = spec

    @property
    def spec(self) -> ModelSpec:
        """The model; how long a vector is may be known only when it is loaded."""
        if not self._spec.dimension:
            self._spec = replace(self._spec, dimension=len(self._encoded(["text"])[0]))
        return self._spec

    @cached_property
    def _model(self) -> Any:
        library = require("sentence_transformers", extra="hub")
        try:
            model = library.SentenceTransformer(self._spec.hub_name)
        except Exception as error:  # of the hub, of torch, of a model that wants code of its own
            raise ModelError(
                f"the encoder {self._spec.name} cannot be loaded: {error}",
                hint="a model that needs code of its own, or a larger machine, can be served by "
                "Ollama or text-embeddings-inference: set embedding.url",
            ) from error
        model.max_seq_length = min(model.max_seq_length or 512, self._spec.max_tokens)
        return model

    def token_starts(self, text: str) -> Sequence[int]:
        encoded = self._model.tokenizer(
            _whole(text), add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        return [start for start, _ in encoded["offset_mapping"]]

    def encode(self, texts: Sequence[str]) -> Array:
        if not texts:
            return np.zeros((0, self.spec.dimension), np.float32)
        return self._encoded(texts)

    def encode_query(self, text: str) -> Array:
        vector: Array = self._encoded([text])[0]
        return vector

    def _encoded(self, texts: Sequence[str]) -> Array:
        # Without a prompt: prefixes are put before texts by those who know which kind they are.
        found = self._model.encode(
            [_whole(text) for text in texts],
            prompt="",
            batch_size=BATCH,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return checked(np.asarray(found, dtype=np.float32))


def _whole(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
