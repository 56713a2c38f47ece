"""What an encoder is; models that ship, models in a folder."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import blake2b, file_digest
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from pincite.model.errors import MALFORMED, ConfigError, ModelError
from pincite.model.settings import EmbeddingSettings

FACTS = "model.json"


def listed_hashes(home: Path, broken: Broken) -> Mapping[str, str]:
    """Return the hashes by file that a model's folder lists; a stranger's folder lists none."""
    file = home.joinpath(FACTS)
    if not file.is_file():
        return {}
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        return {str(name): str(value) for name, value in dict(values.get("sha256", {})).items()}
    except (OSError, *MALFORMED) as error:
        raise broken(f"{FACTS} cannot be read: {error}") from error


def write_hashes(home: Path) -> None:
    """List a model's files with their hashes; what is changed afterwards is not loaded."""
    files = [file for file in sorted(home.iterdir()) if file.suffix in (".onnx", ".npz", ".json")]
    hashes = {f.name: file_hash(f) for f in files if f.name != FACTS}
    text = json.dumps({"sha256": hashes}, indent=1, sort_keys=True)
    (home / FACTS).write_text(text + "\n", encoding="utf-8")


def file_hash(file: Path) -> str:
    """Return a file's hash, without having all of it in memory."""
    with file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def check_hash(file: Path, hashes: Mapping[str, str], broken: Broken) -> Path:
    """Return a file that is the one that was listed, if any was; else raise the model's error."""
    if file.name in hashes and file_hash(file) != hashes[file.name]:
        raise broken(f"{file.name} is not the file that {FACTS} lists: it was damaged or changed")
    return file


Broken = Callable[[object], ModelError]
INPUTS = {"input_ids", "attention_mask", "token_type_ids"}


def open_tokenizer(text: str, broken: Broken) -> Any:
    """Return a tokeniser that cuts and pads nothing."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # a plain Exception is what the library raises
        raise broken(error) from error
    # Exporters leave these switched on; texts would be cut before windows are made of them.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def open_session(graph: Path, broken: Broken) -> Any:
    """Return a session of one thread: callers spread texts over threads themselves.

    It reads the file by itself: sooner than copying it, and weights may stand in files beside it.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # its warnings repeat names that the model chose
    try:
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own errors have no common base
        raise broken(error) from error


def inputs_of(session: Any, broken: Broken) -> list[str]:
    """Return which inputs the graph wants; an error if they are not those of a text model."""
    names = [each.name for each in session.get_inputs()]
    if unknown := set(names) - INPUTS:
        raise broken(f"it wants {', '.join(sorted(unknown))}")
    return names


# So much of a large file is read to tell it from another: even pieces of it, from start to end.
PIECES, PIECE_BYTES = 64, 65_536
# More than any encoder reads; "unlimited" is written as a number of thirty digits.
MAX_TOKENS = 32_768
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
    return int(min(limit, MAX_TOKENS)) if is_limit else 0


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


FILE = "token_codes.npz"


@dataclass(frozen=True, slots=True)
class TokenCodec:
    """From token vectors to codes and back, nearly."""

    projection: Array  # width of the encoder × dimensions kept
    books: Array  # parts × 256 entries × dimensions of a part
    token_weights: Array  # by token id: what a question's token counts
    is_kept: Array  # by token id: False for punctuation that tells nothing

    @property
    def bytes_per_token(self) -> int:
        return len(self.books)

    def projected(self, tokens: Array) -> Array:
        """Return the vectors in fewer dimensions, of length one."""
        short = tokens.astype(np.float32) @ self.projection
        length = np.linalg.norm(short, axis=1, keepdims=True)
        scaled: Array = short / np.maximum(length, 1e-9)
        return scaled

    def codes(self, tokens: Array) -> Array:
        """Return the nearest entry of each code book for each token."""
        parts, _, width = self.books.shape
        short = self.projected(tokens).reshape(len(tokens), parts, width)
        found = np.empty((len(tokens), parts), dtype=np.uint8)
        for part, book in enumerate(self.books):
            # |x - b|² without what does not depend on the entry
            away = (book * book).sum(axis=1) - 2 * short[:, part] @ book.T
            found[:, part] = away.argmin(axis=1)
        return found

    def vectors(self, codes: Array) -> Array:
        """Return the vectors that codes stand for."""
        parts, entries, width = self.books.shape
        # All books behind each other, an entry as one element: one look-up for all parts.
        table = np.ascontiguousarray(self.books).reshape(parts * entries, width)
        element = np.dtype((np.void, table.itemsize * width))
        places = codes + np.arange(0, parts * entries, entries, dtype=np.int32)
        found = table.view(element)[:, 0].take(places)
        return found.view(np.float32).reshape(len(codes), parts * width)


@dataclass(frozen=True, slots=True)
class QueryTokens:
    """The tokens of a question, as they are compared with those of texts."""

    vectors: Array  # projected, of length one
    weights: Array  # what each one counts; they add up to one
    places: Array  # where each one begins and ends in the question

    @classmethod
    def none(cls) -> QueryTokens:
        """Return the tokens of a question that has none."""
        return cls(np.zeros((0, 0)), np.zeros(0), np.zeros((0, 2), dtype=np.int64))


@cache
def load_codec(model: str) -> TokenCodec:
    """Return the codec that ships beside an encoder."""
    home = Path(__file__).parent / model
    file = check_hash(home / FILE, listed_hashes(home, _broken), _broken)
    arrays = np.load(BytesIO(file.read_bytes()), allow_pickle=False)
    return TokenCodec(
        np.asarray(arrays["projection"], dtype=np.float32),
        np.asarray(arrays["books"], dtype=np.float32),
        np.asarray(arrays["weights"], dtype=np.float32),
        np.asarray(arrays["is_kept"], dtype=bool),
    )


def _broken(reason: object) -> ModelError:
    return ModelError(f"the token codes cannot be loaded: {reason}", hint="install Pincite again")


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
    # The usual cosine of two texts that have nothing to do with each other; None: not known.
    unrelated: float | None = None
    # What its cosines are worth beside those of an encoder that reads whole sentences.
    worth: float = 1.0
    # The id of a faster model in the same space: its vectors serve where its own are missing.
    stand_in: str = ""

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


# Taught by SHIPPED (models/distill_static.py); it reads texts of any length.
STATIC = ModelSpec(
    *("static", "1", 384, MAX_TOKENS, "Apache-2.0", "shipped", "sum"), unrelated=0.0, worth=0.25
)
SHIPPED = ModelSpec(
    *("minilm", "2", 384, 256, "Apache-2.0", "shipped"),
    has_tokens=True,
    unrelated=0.0,
    stand_in=STATIC.id,
)

MODELS = {
    spec.name: spec
    for spec in (
        SHIPPED,
        STATIC,
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
