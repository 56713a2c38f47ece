"""Which encoders there are, and what each one needs to be used right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from pincite.core.errors import ConfigError
from pincite.core.settings import EmbeddingSettings

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One encoder: what it is, and how its authors mean it to be fed."""

    name: str
    revision: str  # vectors of two revisions never meet
    dimension: int
    max_tokens: int
    licence: str
    source: Literal["shipped", "sentence-transformers", "openai", "azure"]
    pooling: str = "mean"
    query_prefix: str = ""
    text_prefix: str = ""
    hub_name: str = ""  # what the hub or the service calls it

    @property
    def id(self) -> str:
        """The name under which vectors of this model are kept."""
        return f"{self.name}@{self.revision}"


class Encoder(Protocol):
    """Turns texts into vectors of length one."""

    @property
    def spec(self) -> ModelSpec: ...

    def token_starts(self, text: str) -> Sequence[int]:
        """Return where each token begins in the text: what the model's limit counts."""
        ...

    def encode(self, texts: Sequence[str]) -> Array:
        """Return one vector a text. A row of zeros: this text could not be encoded."""
        ...

    def encode_query(self, text: str) -> Array:
        """Return the vector of a question."""
        ...


SHIPPED = ModelSpec("minilm", "1", 384, 256, "Apache-2.0", "shipped")

MODELS = {
    spec.name: spec
    for spec in (
        SHIPPED,
        ModelSpec(
            "bge-m3",
            "5617a9f",
            1024,
            8192,
            "MIT",
            "sentence-transformers",
            pooling="cls",
            hub_name="BAAI/bge-m3",
        ),
        ModelSpec(
            "nomic-embed-text-v2",
            "main",
            768,
            512,
            "Apache-2.0",
            "sentence-transformers",
            query_prefix="search_query: ",
            text_prefix="search_document: ",
            hub_name="nomic-ai/nomic-embed-text-v2-moe",
        ),
        ModelSpec(
            "text-embedding-3-small",
            "1",
            1536,
            8191,
            "service",
            "openai",
            hub_name="text-embedding-3-small",
        ),
        ModelSpec(
            "text-embedding-3-large",
            "1",
            3072,
            8191,
            "service",
            "openai",
            hub_name="text-embedding-3-large",
        ),
    )
}


def spec_of(settings: EmbeddingSettings) -> ModelSpec | None:
    """Return the model that the settings name; None if they want no vectors."""
    if settings.model == "none":
        return None
    if settings.model not in MODELS:
        known = ", ".join(["none", *MODELS])
        raise ConfigError(f"no embedding model {settings.model!r}", hint=f"known: {known}")
    return MODELS[settings.model]
