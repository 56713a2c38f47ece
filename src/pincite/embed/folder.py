"""What a model's folder says of the model: as exported for onnxruntime or sentence-transformers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pincite.core.errors import MALFORMED, ConfigError

# So much of a large file is read to tell it from another: even pieces of it, from start to end.
PIECES, PIECE_BYTES = 64, 65_536
# More than any encoder reads; "unlimited" is written as a number of thirty digits.
MOST_TOKENS = 32_768
# Where exporters put the graph.
GRAPHS = ("model.onnx", "onnx/model.onnx")
TOKENIZER = "tokenizer.json"
# Weights in these are code that is run when they are read.
PICKLED = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
# The library imports whatever class a folder names.
LIBRARY = "sentence_transformers."

_FLAG = "pooling_mode_"


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """How a model in a folder wants to be fed."""

    revision: str
    is_onnx: bool
    max_tokens: int  # 0: the folder does not say
    pooling: str
    query_prefix: str
    text_prefix: str


def folder_facts(folder: Path) -> FolderFacts:
    """Return what the folder's files say; ConfigError if there is no model in it."""
    graph = graph_file(folder)
    is_onnx = graph is not None and (folder / TOKENIZER).is_file()
    if not is_onnx and not (folder / "modules.json").is_file():
        raise ConfigError(
            f"no embedding model in the folder {folder}",
            hint="it needs model.onnx and tokenizer.json, or what sentence-transformers saves",
        )
    if not is_onnx:
        _refuse_code(folder)
    prompts = _json(folder / "config_sentence_transformers.json").get("prompts")
    prompts = prompts if isinstance(prompts, dict) else {}
    limit = _json(folder / "sentence_bert_config.json").get("max_seq_length")
    limit = limit or _json(folder / "tokenizer_config.json").get("model_max_length")
    return FolderFacts(
        revision=_revision(folder),
        is_onnx=is_onnx,
        max_tokens=_tokens(limit),
        pooling=_pooling(_json(folder / "1_Pooling" / "config.json")),
        query_prefix=str(prompts.get("query", "")),
        text_prefix=str(prompts.get("document", prompts.get("passage", ""))),
    )


def _tokens(limit: Any) -> int:
    """Return a limit as a whole number within reason; 0 for what is none.

    >>> _tokens(256), _tokens(1e30), _tokens(float("nan")), _tokens(-5), _tokens("many")
    (256, 32768, 0, 0, 0)
    """
    is_limit = isinstance(limit, int | float) and limit > 0
    return int(min(limit, MOST_TOKENS)) if is_limit else 0


def _refuse_code(folder: Path) -> None:
    """Raise ConfigError for a model that would run code of its author's when it is loaded."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    pickled = [file for file in files if file.suffix in PICKLED]
    if pickled and not any(file.suffix == ".safetensors" for file in files):
        raise ConfigError(
            f"{pickled[0]} is a pickle, which can run any code",
            hint="save the model as safetensors, or export it to ONNX",
        )
    for module in _list(folder / "modules.json"):
        kind = module.get("type") if isinstance(module, dict) else module
        if not (isinstance(kind, str) and kind.startswith(LIBRARY)):
            raise ConfigError(
                f"{folder / 'modules.json'} names code of its own: {kind!r:.80}",
                hint="serve such a model by another program, and set embedding.url",
            )


def _pooling(values: dict[str, Any]) -> str:
    """Return how the vectors of tokens become one: by name, or as flags in older exports.

    >>> _pooling({}), _pooling({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    ('mean', 'cls')
    """
    if "pooling_mode" in values:
        return str(values["pooling_mode"])
    flags = [name for name, value in values.items() if name.startswith(_FLAG) and value is True]
    return flags[0].removeprefix(_FLAG).partition("_")[0] if flags else "mean"


def graph_file(folder: Path) -> Path | None:
    """Return the ONNX file of a model's folder, if there is one."""
    return next((folder / name for name in GRAPHS if (folder / name).is_file()), None)


def _json(file: Path) -> dict[str, Any]:
    """Return the values in an optional file."""
    values = _parsed(file)
    return values if isinstance(values, dict) else {}


def _list(file: Path) -> list[Any]:
    values = _parsed(file)
    return values if isinstance(values, list) else []


def _parsed(file: Path) -> Any:
    if not file.is_file():
        return None
    try:
        return json.loads(file.read_bytes())
    except (OSError, *MALFORMED) as error:
        raise ConfigError(
            f"{file} cannot be read: {error}", hint="export the model again"
        ) from error


def _revision(folder: Path) -> str:
    """Return a hash of everything that shapes the vectors; large files are looked at in pieces."""
    total = blake2b(digest_size=6)
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".json", ".safetensors", ".bin") or ".onnx" in file.name:
            total.update(str(file.relative_to(folder)).encode("utf-8", "surrogatepass"))
            for piece in _pieces(file):
                total.update(piece)
    return total.hexdigest()


def _pieces(file: Path) -> Iterator[bytes]:
    if not file.is_file():
        return
    try:
        size = file.stat().st_size
        yield size.to_bytes(8)
        with file.open("rb") as stream:
            for number in range(PIECES):
                stream.seek(number * max(size - PIECE_BYTES, 0) // (PIECES - 1))
                yield stream.read(PIECE_BYTES)
                if size <= PIECE_BYTES:
                    return
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error}", hint="check its rights") from error
