"""Encoders that run elsewhere: behind a service, or by torch with a model of the hub."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from pincite.encode.cache import checked
from pincite.encode.http import HttpService, TextsRefused
from pincite.encode.models import Array, ModelSpec
from pincite.model.errors import MALFORMED, ConfigError, ModelError, require

PROBE = "text"
# An estimate from above: services do not tell their tokens. English has about four characters a
# token, numbers two; of other scripts and of signs each character counts.
_TOKEN = re.compile(r"[A-Za-z]{1,4}|[0-9]{1,2}|[^\sA-Za-z0-9]")


class HttpEncoder:
    """Texts go out in batches, several at a time; vectors come back checked and of length one."""

    def __init__(
        self,
        spec: ModelSpec,
        service: HttpService,
        *,
        batch: int = 64,
        dimensions: int = 0,
        threads: int = 0,
    ) -> None:
        self._spec = spec
        self.service = service
        self.batch = max(1, batch)
        self.threads = threads or 4
        self._more = {"dimensions": dimensions} if dimensions else {}
        self._works = False

    @property
    def spec(self) -> ModelSpec:
        """The model; an unknown one is asked for a vector, to see how long it is."""
        if not self._spec.dimension:
            self._probe()
        return self._spec

    def token_starts(self, text: str) -> Sequence[int]:
        return [found.start() for found in _TOKEN.finditer(text)]

    def encode(self, texts: Sequence[str]) -> Array:
        found = [np.zeros((0, self.spec.dimension), np.float32)]
        batches = [texts[at : at + self.batch] for at in range(0, len(texts), self.batch)]
        if len(batches) < 2:
            found += [self._batch(some) for some in batches]
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                found += pool.map(self._batch, batches)
        return np.concatenate(found)

    def encode_query(self, text: str) -> Array:
        starts = self.token_starts(text)
        if len(starts) > self._spec.max_tokens:
            text = text[: starts[self._spec.max_tokens]]
        vector: Array = self._ask([text])[0]
        return vector

    def _batch(self, texts: Sequence[str]) -> Array:
        """Return the vectors of a batch; a text that the service never takes gets zeros."""
        try:
            return self._ask(texts)
        except TextsRefused:
            if not self._works:
                self._probe()  # raises if it is not the texts that are refused
            if len(texts) == 1:
                return np.zeros((1, self.spec.dimension), np.float32)
        # By halves until the one is found: a few requests, not one for each text.
        half = len(texts) // 2
        return np.concatenate([self._batch(texts[:half]), self._batch(texts[half:])])

    def _probe(self) -> None:
        try:
            self._ask([PROBE])
        except TextsRefused as error:
            raise ConfigError(error.message, hint=error.hint) from None

    def _ask(self, texts: Sequence[str]) -> Array:

        answer = self.service.ask({"input": list(texts), **self._more})
        vectors = self._vectors(answer, len(texts))
        if not self._spec.dimension:
            self._spec = replace(self._spec, dimension=vectors.shape[1])
        if vectors.shape[1] != self._spec.dimension:
            raise self._strange(
                f"vectors of {vectors.shape[1]} numbers, not {self._spec.dimension}",
                hint="set embedding.dimension to what the model gives, or name another model",
            )
        self._works = True
        return checked(vectors)

    def _vectors(self, answer: Any, count: int) -> Array:
        """Return the vectors of an answer in the order of the texts."""
        try:
            rows = answer["data"]
            places = [row.get("index", at) for at, row in enumerate(rows)]
            if sorted(places) != list(range(count)):
                raise self._strange(f"{len(rows)} vectors for {count} texts, or misnumbered ones")
            placed = sorted(zip(places, rows, strict=True), key=lambda pair: pair[0])
            vectors = np.stack([_numbers(row["embedding"]) for _, row in placed])
        except MALFORMED as error:
            raise self._strange("an answer that holds no vectors") from error
        if vectors.ndim != 2 or not vectors.shape[1]:
            raise self._strange("an answer that holds no vectors")
        return vectors

    def _strange(self, what: str, hint: str = "is it an embedding model?") -> ModelError:
        return ModelError(f"{self.service.name} gave {what}", hint=hint)


def _numbers(embedding: Any) -> Array:
    """Return one vector, written as numbers or as base64 of little-endian floats."""
    if not isinstance(embedding, str):
        return np.asarray(embedding, dtype=np.float32)
    try:
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    except binascii.Error as error:
        raise ValueError("not base64") from error


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
            _whole_from_hub(text),
            add_special_tokens=False,
            return_offsets_mapping=True,
            verbose=False,
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
            [_whole_from_hub(text) for text in texts],
            prompt="",
            batch_size=BATCH,
            show_progress_bar=False,
            convert_to_numpy=True,
        )
        return checked(np.asarray(found, dtype=np.float32))


def _whole_from_hub(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
