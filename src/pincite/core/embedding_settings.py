"""The settings of encoders; part of the one tree in ``core/settings.py``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """Vectors for search by meaning. An index may hold those of several models."""

    # "minilm" ships with Pincite; "none" searches by words alone; others that are known: "bge-m3",
    # "nomic-embed-text-v2", "text-embedding-3-small", "text-embedding-3-large". Or a folder with
    # model.onnx and tokenizer.json; or, with a url, whatever the service there calls its model.
    model: str = "minilm"
    # A service that speaks OpenAI's protocol, as "http://localhost:11434/v1"; Azure:
    # "https://NAME.openai.azure.com/openai/deployments/DEPLOYMENT?api-version=2024-10-21".
    url: str = ""
    # The environment variable that holds the service's key; never the key itself. Empty: no key,
    # but OPENAI_API_KEY for OpenAI's own models where no url is set.
    api_key_env: str = ""
    # How many numbers a vector has; 0: as many as the model gives. OpenAI's models can give fewer.
    dimension: int = 0
    # Texts in one request to a service.
    batch: int = 64
    # A request to a service is given up after this time, and tried again so many times.
    timeout_seconds: float = 60.0
    retries: int = 5
    # Processor threads for encoding; 0 takes all. With a service: requests at a time; 0 is 4.
    threads: int = 0
    # Keep vectors of texts in the user's cache folder, so that none is computed twice.
    cache: bool = True
