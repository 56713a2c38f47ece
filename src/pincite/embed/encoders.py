"""From a model's name to an encoder that is ready to use."""

from __future__ import annotations

from pincite.core.errors import ConfigError
from pincite.core.settings import EmbeddingSettings
from pincite.embed.models import Encoder, spec_of
from pincite.embed.onnx_encoder import OnnxEncoder


def open_encoder(settings: EmbeddingSettings) -> Encoder | None:
    """Return the encoder that the settings name; None if they want no vectors."""
    spec = spec_of(settings)
    if spec is None:
        return None
    if spec.source == "shipped":
        return OnnxEncoder(spec, threads=settings.threads)
    raise ConfigError(f"{spec.name} cannot be opened yet")
