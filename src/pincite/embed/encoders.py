"""From a model's name to an encoder that is ready to use."""

from __future__ import annotations

from functools import lru_cache

from pincite.core.errors import ConfigError
from pincite.core.settings import EmbeddingSettings
from pincite.embed.models import Encoder, ModelSpec, spec_of
from pincite.embed.onnx_encoder import OnnxEncoder


def open_encoder(settings: EmbeddingSettings) -> Encoder | None:
    """Return the encoder that the settings name; None if they want no vectors."""
    spec = spec_of(settings)
    if spec is None:
        return None
    if spec.source == "service":  # loaded here: a search without one needs no HTTP
        from pincite.embed.http_encoder import HttpEncoder
        from pincite.encode.http import OPENAI, OPENAI_KEY, Service

        service = Service(
            settings.url or OPENAI,
            model=spec.hub_name,
            # A key goes only where it belongs: to an address of one's own only if named.
            api_key_env=settings.api_key_env or ("" if settings.url else OPENAI_KEY),
            timeout_seconds=settings.timeout_seconds,
            retries=settings.retries,
        )
        return HttpEncoder(
            spec,
            service,
            batch=settings.batch,
            dimensions=settings.dimension,
            threads=settings.threads,
        )
    if settings.dimension:
        raise ConfigError(
            f"embedding.dimension cannot be chosen for {spec.name}", hint="leave it 0"
        )
    if spec.source == "sentence-transformers":
        from pincite.embed.hub_encoder import HubEncoder

        return HubEncoder(spec)
    return _local(spec, settings.threads)


@lru_cache(maxsize=4)
def _local(spec: ModelSpec, threads: int) -> OnnxEncoder:
    """Return one encoder for all indexes that name it: its weights are in memory once."""
    return OnnxEncoder(spec, threads=threads)
