"""Every setting in one frozen tree, and the strict loader that fills it.

Later sources win: defaults < pincite.toml < environment (``PINCITE_SEARCH__K=5``) < ``--set
search.k=5``. Unknown keys and wrong types are errors that name the key and suggest the nearest.
Settings are data: nothing here opens an index or loads a model.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pincite.core.answer_settings import AnswerSettings as AnswerSettings
from pincite.core.cluster_settings import ClusterSettings as ClusterSettings
from pincite.core.embedding_settings import EmbeddingSettings as EmbeddingSettings
from pincite.core.errors import MALFORMED, ConfigError, reason_of
from pincite.core.graph_settings import GraphSettings as GraphSettings
from pincite.core.late_settings import LATE, USUAL_WEIGHT
from pincite.core.late_settings import LateSettings as LateSettings
from pincite.core.learn_settings import LearnSettings as LearnSettings
from pincite.core.rerank_settings import RerankSettings as RerankSettings
from pincite.core.search_settings import RoutingSettings as RoutingSettings
from pincite.core.search_settings import SearchSettings as SearchSettings
from pincite.core.serve_settings import ServeSettings as ServeSettings
from pincite.core.store_settings import StoreSettings as StoreSettings


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """How files are read and cut. Shapes the index: a change asks for ``--rebuild``."""

    # "clause": cut at the document's own numbering; "fixed": pieces of max_tokens, never across
    # pages (for documents without structure, and for comparisons).
    chunking: Literal["clause", "fixed"] = "clause"
    # A section up to this many characters stays one chunk; longer ones are cut at their lettered
    # items, then numbered ones, then paragraphs. 3,000 keeps most rules whole.
    max_chars: int = 3000
    # How many levels of items are always cut, however short: 1 makes every lettered item a chunk.
    split_depth: int = 0
    # What kinds of content, traits and terms to look for: "auto" chooses among "code", "rulebook",
    # "report" and "manual" for each document; or the path of a profile of your own; "none" looks
    # for nothing, and for no references.
    profile: str = "auto"
    # Limit of a "fixed" chunk in tokens of a GPT-style tokeniser, estimated from above.
    max_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class TokenSettings:
    """How text becomes terms. Shapes the index."""

    # "auto": each document's own language; or one Snowball stemmer for all; "none": words as is.
    language: str = "auto"
    # Index pairs of neighbouring terms too: about doubles the index, buys phrase evidence.
    bigrams: bool = True


@dataclass(frozen=True, slots=True)
class LexicalSettings:
    """BM25 and what is added to it. Free to change at any time."""

    # lucene: idf never negative; robertson, atire, plus: the published variants.
    variant: Literal["lucene", "robertson", "atire", "plus"] = "lucene"
    # Term-frequency saturation. Reference text repeats its terms; low values win (decision 6).
    k1: float = 0.4
    # Length normalisation, 0 (none) to 1 (full).
    b: float = 0.6
    # Leave question words, articles and the like out of the query, if it has other words.
    content_words: bool = True
    # Weight of BM25 over neighbouring term pairs; 0 leaves it out.
    bigram_weight: float = 0.5
    # Weight of the best window of window_tokens terms; 0 leaves it out.
    window_weight: float = 0.5
    window_tokens: int = 100
    # How many candidates get a window score. Fixed, so that top 10 is a prefix of top 100.
    window_depth: int = 20


@dataclass(frozen=True, slots=True)
class HybridSettings:
    """How words and meaning become one score. Free to change at any time."""

    # "minmax", "theoretical" (min-max from the smallest possible score), "zscore", "rrf".
    method: Literal["minmax", "theoretical", "zscore", "rrf"] = "theoretical"
    # Share of meaning, 0 to 1; words have the rest. 0 leaves vectors out. Cosines differ less than
    # scores of words do, so that 0.8 is not as much as it seems (decision 7).
    dense_weight: float = 0.8


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """What is refused. Documents are untrusted: nothing grows without a bound."""

    # Larger files are hardly ever text, and memory use grows with the file.
    max_file_mb: float = 64.0
    # Reading one file may take this long; a reader that hangs is stopped.
    max_seconds: float = 120.0
    # A reader that wants more memory than this is stopped.
    max_memory_mb: float = 2000.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole tree."""

    ingest: IngestSettings = field(default_factory=IngestSettings)
    tokens: TokenSettings = field(default_factory=TokenSettings)
    lexical: LexicalSettings = field(default_factory=LexicalSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    hybrid: HybridSettings = field(default_factory=HybridSettings)
    graph: GraphSettings = field(default_factory=GraphSettings)
    late: LateSettings = field(default_factory=LateSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    routing: RoutingSettings = field(default_factory=RoutingSettings)
    learn: LearnSettings = field(default_factory=LearnSettings)
    answer: AnswerSettings = field(default_factory=AnswerSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    serve: ServeSettings = field(default_factory=ServeSettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    store: StoreSettings = field(default_factory=StoreSettings)

    @property
    def late_weight(self) -> float:
        """What late interaction weighs in the chosen pipeline."""
        is_chosen = self.search.pipeline == LATE
        return self.late.weight or (USUAL_WEIGHT if is_chosen else 0.0)

    @property
    def keeps_tokens(self) -> bool:
        """Whether ingesting keeps the vectors of tokens."""
        return self.late_weight > 0 or self.learn.tokens

    def shape(self) -> dict[str, Any]:
        """Return the part that shapes an index, as plain values."""
        return {"ingest": asdict(self.ingest), "tokens": asdict(self.tokens)}

    @classmethod
    def from_shape(cls, shape: Mapping[str, Any], *, origin: str) -> Settings:
        """Return the settings of an index's shape, which may hold more than settings."""
        known = {name: shape[name] for name in ("ingest", "tokens") if name in shape}
        return merged(cls(), known, origin=origin)

    def portable(self) -> Settings:
        """Return the settings that may leave this machine: they name no store, nor its password."""
        return replace(self, store=replace(self.store, url="", folder=""))

    def fingerprint(self) -> str:
        """Return a short hash of all settings that can change a result, for reports and models."""
        values = asdict(self)
        del values["cluster"]  # the same comes out wherever it is worked out
        del values["store"]["url"], values["store"]["folder"]  # and wherever the index is
        text = json.dumps(values, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


_HUGE = 10**300  # whole numbers beyond this are no floats
# Above this the formulas break; what is not here may be as large as anybody could mean.
_MOST = {
    "lexical.b": 1.0,
    "routing.min_confidence": 1.0,
    "hybrid.dense_weight": 1.0,
    "late.weight": 1.0,
    "graph.seed_k": 100,
    "graph.depth": 4,
    "graph.pool": 10_000,
    "graph.decay": 1.0,
    "graph.walk": 0.95,
    "rerank.rollout": 1.0,
    "rerank.weight": 1.0,
    "rerank.threshold": 1.0,
    "rerank.certain_margin": 1.0,
    "rerank.pool": 10_000,
    "rerank.workers": 256,
    "rerank.retries": 20,
    "cluster.retries": 100,
}


def load_settings(
    file: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    overrides: Iterable[str] = (),
) -> Settings:
    """Return the settings from file, environment and ``key=value`` overrides, in that order."""
    settings = Settings()
    if file is not None:
        settings = merged(settings, _read_toml(Path(file)), origin=str(file))
    for name, value in sorted((environment or {}).items()):
        # A single word after PINCITE_ (PINCITE_DATA, PINCITE_INDEX) is not a setting's name.
        if name.startswith("PINCITE_") and "__" in name:
            key = name.removeprefix("PINCITE_").lower().replace("__", ".")
            settings = _with_text(settings, key, value, origin=f"environment {name}")
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals:
            raise ConfigError(f"--set {override}: no value", hint="write --set section.key=value")
        settings = _with_text(settings, key.strip(), value.strip(), origin="--set")
    return settings


def merged(settings: Settings, values: Mapping[str, Any], *, origin: str) -> Settings:
    """Return the settings with the nested values put in; every key and type is checked.

    >>> merged(Settings(), {"search": {"k": 3}}, origin="example").search.k
    3
    """
    whole: Settings = _merge(settings, values, prefix="", origin=origin)
    return whole


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read: {reason_of(error)}", hint="check the path and its permissions"
        ) from error
    except MALFORMED as error:
        raise ConfigError(
            f"{file} cannot be read as TOML: {error}", hint="see docs/settings.md for an example"
        ) from error


def _merge(node: Any, values: Mapping[str, Any], *, prefix: str, origin: str) -> Any:
    hints = get_type_hints(type(node))
    changes: dict[str, Any] = {}
    for key, value in values.items():
        full = f"{prefix}{key}"
        if key not in hints:
            raise _unknown(full, [f"{prefix}{name}" for name in hints], origin)
        current = getattr(node, key)
        if is_dataclass(current):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{origin}: {full} is a section, got {value!r}")
            changes[key] = _merge(current, value, prefix=f"{full}.", origin=origin)
        else:
            changes[key] = _checked(full, value, hints[key], origin)
    return replace(node, **changes)


def _checked(key: str, value: Any, hint: Any, origin: str) -> Any:
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            choices = ", ".join(map(str, get_args(hint)))
            raise ConfigError(f"{origin}: {key} must be one of {choices}, got {value!r}")
        return value
    if hint is float and type(value) is int and abs(value) < _HUGE:
        value = float(value)
    # bool is an int to Python, but "k = true" is a mistake.
    if type(value) is not hint:
        raise ConfigError(f"{origin}: {key} must be {hint.__name__}, got {value!r}")
    most = _MOST.get(key, 1e9)
    if hint in (int, float) and not 0 <= value <= most:
        raise ConfigError(f"{origin}: {key} must be from 0 to {most:g}, got {value!r}")
    return value


def _unknown(key: str, known: list[str], origin: str) -> ConfigError:
    from difflib import get_close_matches

    near = get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
    return ConfigError(f"{origin}: unknown setting {key}", hint=hint)


def _with_text(settings: Settings, key: str, text: str, *, origin: str) -> Settings:
    """Put one ``section.key`` in, its value written as text."""
    section, _, name = key.partition(".")
    nested: dict[str, Any] = {section: {name: _parsed(text)}} if name else {section: _parsed(text)}
    try:
        return merged(settings, nested, origin=origin)
    except ConfigError as error:
        try:
            # "english" and "5" are both valid texts for a string setting.
            return merged(settings, {section: {name: text}}, origin=origin)
        except ConfigError:
            raise error from None


def _parsed(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except MALFORMED:
        return text


def setting_names() -> list[str]:
    """Return every setting as ``section.key``."""
    tree = Settings()
    return [
        f"{section.name}.{setting.name}"
        for section in fields(tree)
        for setting in fields(getattr(tree, section.name))
    ]
