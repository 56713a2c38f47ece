"""Which encoders there are, and what each one needs to be used right."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from pincite.core.errors import ConfigError
from pincite.core.settings import EmbeddingSettings
from pincite.embed.folder import folder_facts
from pincite.embed.token_codes import QueryTokens, TokenCodec

Array = np.ndarray[Any, np.dtype[Any]]


_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)
# What an unknown model is taken to read; most read more.
USUAL_TOKENS = 512


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One encoder: what it is, and how its authors mean it to be fed."""

    name: str
    revision: str  # vectors of two revisions never meet
    dimension: int  # 0: known after the first text
    max_tokens: int
    licence: str
    source: Literal["shipped", "onnx", "sentence-transformers", "service"]
    pooling: str = "mean"
    query_prefix: str = ""
    text_prefix: str = ""
    hub_name: str = ""  # what the hub or the service calls it, or its folder
    has_tokens: bool = False  # gives vectors of tokens too, with a codec that makes them small

    @property
    def id(self) -> str:
        """The name under which vectors of this model are kept; it may be part of a file's name."""
        return f"{_UNSAFE.sub('-', self.name)[-60:]}@{self.revision}"


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


class TokenEncoder(Encoder, Protocol):
    """An encoder that also gives vectors of tokens, for late interaction."""

    @property
    def codec(self) -> TokenCodec: ...

    def encode_with_tokens(self, texts: Sequence[str]) -> tuple[Array, list[Array]]:
        """Return one vector a text, and the codes of its tokens."""
        ...

    def query_tokens(self, text: str) -> QueryTokens:
        """Return what late interaction wants to know of a question's tokens."""
        ...

    def token_offsets(self, text: str) -> Array:
        """Return where the tokens that have codes begin and end in a text."""
        ...


SHIPPED = ModelSpec("minilm", "2", 384, 256, "Apache-2.0", "shipped", has_tokens=True)

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
            "service",
            hub_name="text-embedding-3-small",
        ),
        ModelSpec(
            "text-embedding-3-large",
            "1",
            3072,
            8191,
            "service",
            "service",
            hub_name="text-embedding-3-large",
        ),
    )
}


def spec_of(settings: EmbeddingSettings) -> ModelSpec | None:
    """Return the model that the settings name; None if they want no vectors."""
    name = settings.model
    if name == "none":
        return None
    if settings.url:
        spec = _of_service(name, settings.url)
    elif name in MODELS:
        spec = MODELS[name]
    elif Path(name).expanduser().is_dir():
        spec = _of_folder(Path(name).expanduser())
    else:
        known = ", ".join(["none", *MODELS])
        raise ConfigError(
            f"no embedding model {name!r}",
            hint=f"known: {known}; or a model's folder; or set embedding.url to a service",
        )
    if settings.dimension and settings.dimension != spec.dimension:
        revision = f"{spec.revision}-{settings.dimension}"  # other vectors than the whole ones
        spec = replace(spec, dimension=settings.dimension, revision=revision)
    return spec


def _of_service(name: str, url: str) -> ModelSpec:
    if name == SHIPPED.name:
        raise ConfigError(
            "embedding.url is set, but no model of the service",
            hint="set embedding.model to the name that the service has for its model",
        )
    if name in MODELS:  # the same vectors, wherever they are computed
        return replace(MODELS[name], source="service")
    # Two services may mean two things by one name, and some ignore the name altogether.
    revision = _hash(f"{name} {url.partition('?')[0].rstrip('/')}")
    return ModelSpec(name, revision, 0, USUAL_TOKENS, "unknown", "service", hub_name=name)


def _of_folder(folder: Path) -> ModelSpec:
    facts = folder_facts(folder)
    return ModelSpec(
        folder.resolve().name,
        facts.revision,
        0,
        facts.max_tokens or USUAL_TOKENS,
        "unknown",
        "onnx" if facts.is_onnx else "sentence-transformers",
        pooling=facts.pooling,
        query_prefix=facts.query_prefix,
        text_prefix=facts.text_prefix,
        hub_name=str(folder),
    )


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
