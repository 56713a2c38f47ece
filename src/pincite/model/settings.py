"""The settings: one frozen tree, read once at the edge and passed down as values.

What is public has a promise. What is under ``tuning`` is listed and may be set, but `pincite tune`
chooses it, and it may change with any version. All else is a constant where it is used.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from pincite.model.errors import MALFORMED, ConfigError, reason_of
from pincite.model.old_settings import OLD_KEYS, renamed
from pincite.model.tuning import AnswerTuning, RerankTuning, ServeTuning, Tuning


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
    # What kinds of content, traits and terms to look for: "auto" chooses a profile for each
    # document (docs/profiles.md); or the name or path of one; "none" looks for nothing, and for no
    # references.
    profile: str = "auto"
    # Limit of a "fixed" chunk in tokens of a GPT-style tokeniser, estimated from above.
    max_tokens: int = 1024
    # "auto": each document's own language; or one Snowball stemmer for all; "none": words as is.
    language: str = "auto"


@dataclass(frozen=True)
class EmbeddingSettings:
    """Vectors for search by meaning. An index may hold those of several models."""

    # "minilm" ships with Pincite, and so does "static", which is hundreds of times faster and finds
    # less (docs/scale.md); "none" searches by words alone; others that are known: "bge-m3",
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
    # Who would wait longer than that for "minilm" gets the vectors of "static" instead, which stand
    # in for missing ones anyhow; 0: it takes as long as it takes.
    max_minutes: float = 30.0


# What `search.without` may name: a search leaves it out.
PARTS = (
    *("places", "names", "documents", "aliases", "vocabulary", "typos"),
    *("spread", "graph", "routing", "dense", "pairs", "windows"),
)


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What a search returns."""

    # Named pipeline; see pincite.search.build.PRESETS.
    preset: str = "default"
    # How many hits come out.
    k: int = 10
    # Share of meaning, 0 to 1; words have the rest. 0 leaves vectors out. Cosines differ less than
    # scores of words do, so that 0.8 is not as much as it seems (decision 7).
    meaning_weight: float = 0.8
    # What comparing the question word by word with the candidates counts beside the first stage's
    # score, 0 to 1; 0 leaves it out (docs/rerank.md). With it, ingesting keeps vectors of tokens
    # too: about four times the size of the text. Only the shipped encoder has them.
    late_weight: float = 0.0
    # File of a learned model that reorders the best candidates (docs/learned.md); empty: none.
    ranker: str = ""
    # File of an adapter for the questions of this corpus (docs/learned.md); empty: none.
    adapter: str = ""
    # Search only the likeliest parts of a collection (docs/search.md has what it buys): "folder"
    # (the first part of a document's id), "document", or "chapter" (its top headings).
    route_by: Literal["off", "folder", "document", "chapter"] = "off"
    # "auto": a question that names its readers ("as a game master, ...") leaves out what is
    # written for others only; the words are those of the profiles.
    audience: Literal["off", "auto"] = "off"
    # Profile, by name or path, that the preset "traversal" follows; "auto": code and rulebook.
    traversal: str = "auto"
    # Parts to leave out, with commas: "places" (a place that is named comes first), "names" (what
    # describes a thing that is named comes first), "documents" (what the question says of a
    # document weighs all), "aliases" ("AC" for "Armor Class"), "vocabulary" (what a field calls it:
    # "capex"), "typos" (correcting them), "spread", "graph", "routing", "dense" (meaning), "pairs",
    # "windows".
    without: str = ""


@dataclass(frozen=True)
class RerankSettings:
    """Reading the best candidates together with the question. Free to change at any time."""

    # The switch: without it nothing of this section has any effect.
    enabled: bool = False
    # Share of questions that are re-ranked, chosen by their words: for a change in small steps.
    rollout: float = 1.0
    # "shipped", or a folder with a cross-encoder; with a url, what the service there calls it.
    model: str = "shipped"
    # A service that answers POST /rerank as Cohere, Jina, vLLM and others do, as
    # "http://localhost:8080/v1". Empty: the model runs here.
    url: str = ""
    # The environment variable that holds the service's key; never the key itself.
    api_key_env: str = ""
    # Share of the probability in the score; 0 leaves the order, 1 replaces it.
    weight: float = 0.4
    # How many candidates are read. Fixed, so that top 10 is a prefix of top 100.
    pool: int = 10
    # Hits less probable than this are left out; 0 leaves out none.
    threshold: float = 0.0
    # At most max_per_group hits of one document or section, then the others.
    diversify: Literal["off", "document", "section"] = "off"
    max_per_group: int = 2
    # A search is done within this time of its start: what is not read by then keeps its earlier
    # order. 0: no limit. `pincite search --budget-ms` says it for one search.
    budget_ms: int = 1000


@dataclass(frozen=True)
class AnswerSettings:
    """From hits to an answer with citations. Free to change at any time."""

    # A language model that writes the answer: any service that answers POST /chat/completions as
    # OpenAI does, as "http://localhost:11434/v1". Empty: the answer is quoted, without a model.
    url: str = ""
    # What the service calls the model.
    model: str = ""
    # The environment variable that holds the service's key; never the key itself.
    api_key_env: str = ""
    # What reads the sources and marks the short answer: "shipped", or the folder of such a model
    # (models/export_reader.py). "none" picks sentences by their words and vectors instead.
    reader: str = "shipped"
    # How many hits are read for an answer.
    k: int = 8
    # Tokens of text that an answer may be taken from, estimated from above.
    context_tokens: int = 3000
    # Tokens of these that a language model gets: what was read and answers best, no more. A small
    # model on two cores reads some hundred tokens a second.
    prompt_tokens: int = 900
    # A JSON file with summaries of pages for the prompt, {"document id": {"12": "…"}}; of other
    # pages the sentence that says most is taken.
    page_summaries: str = ""
    # Below this probability that the documents answer, they are said not to; 0 always answers, but
    # for places that are named and not there. At this value one answerable question in twelve is
    # left out, and most of those whose document is not there (decision 38).
    min_confidence: float = 0.35
    # A sentence that its sources do not support: "mark" shows words as they come and says so
    # behind them; "drop" shows each sentence only once it is checked, and leaves such ones out.
    unsupported: Literal["mark", "drop"] = "mark"


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """What is refused. Documents are untrusted: nothing grows without a bound."""

    # Larger files are hardly ever text, and memory use grows with the file.
    file_mb: float = 64.0
    # Reading one file may take this long; a reader that hangs is stopped.
    seconds: float = 120.0
    # A reader that wants more memory than this is stopped.
    memory_mb: float = 2000.0


@dataclass(frozen=True)
class HttpSettings:
    """Requests to services for vectors, re-ranking and answers."""

    # A request is given up after this time; of an answer, the first token has to come in it.
    timeout_seconds: float = 30.0
    # Attempts beyond the first; after its first token an answer is never begun again.
    retries: int = 3


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where the index is, and how to talk to a server. A folder needs none of the others."""

    # The index that commands use without --index and PINCITE_INDEX: the URL of a server, or a
    # folder. Empty: the folder pincite-index. It is never shown with its password.
    url: str = field(default="", repr=False)
    # Where files are kept that belong to an index in a server and do not come from documents: runs
    # of `eval`, uploads, judgements. Replicas that share uploads share it. Empty: pincite-files.
    folder: str = ""
    # Compare all vectors instead of asking the server's own approximate index.
    exact: bool = False
    # An answer that takes longer is an error, not a hang.
    timeout_seconds: float = 10.0


@dataclass(frozen=True)
class ServeSettings:
    """What `pincite serve` allows; limits are those of one worker process."""

    # Threads that search, show and read at the same time; 0: one for each processor, two where an
    # index is in a server.
    threads: int = 0
    # Requests a minute of one key that does not say otherwise; 0: no limit.
    rate_per_minute: int = 1200
    # Largest document that may be uploaded.
    upload_mb: float = 64.0
    # Names by which browsers may call the service, with commas: "docs.example.org". Empty: the
    # names of this machine where no keys are configured, any name where they are.
    hosts: str = ""
    # Pages of other origins that may call it from a browser, with commas; empty: none.
    cors_origins: str = ""
    # File of judgements that feedback is added to, beside each index; empty: no feedback.
    feedback: str = "feedback.jsonl"
    # Write the words of questions into the log and the audit log. They may be private.
    log_queries: bool = False


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Where long work is done (docs/cluster.md, extra ``ray``). Changes no result."""

    # "": processes of this machine; "auto": the Ray cluster that this machine belongs to;
    # "host:6379": the one with this head; "ray://host:10001": one that this machine is no part of;
    # "local": a Ray of its own on this machine, to try it out.
    address: str = ""


@dataclass(frozen=True)
class Encoding(EmbeddingSettings, HttpSettings):
    """All that an encoder is opened with."""

    threads: int = 0


@dataclass(frozen=True)
class Reranking(RerankSettings, RerankTuning, HttpSettings):
    """All that re-ranking goes by."""

    threads: int = 0


@dataclass(frozen=True)
class Answering(AnswerSettings, AnswerTuning, HttpSettings):
    """All that an answer is made by."""


@dataclass(frozen=True)
class Serving(ServeSettings, ServeTuning):
    """All limits of the service."""


Joined = TypeVar("Joined")


def _joined(kind: type[Joined], *parts: Any, **more: Any) -> Joined:
    """Return the values of several parts of the tree as one."""
    return kind(**{f.name: getattr(part, f.name) for part in parts for f in fields(part)}, **more)


# The preset that compares word by word whatever the settings say, and the weight it takes.
LATE = "hybrid+late"
USUAL_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class Settings:
    """The whole tree."""

    ingest: IngestSettings = field(default_factory=IngestSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    rerank: RerankSettings = field(default_factory=RerankSettings)
    answer: AnswerSettings = field(default_factory=AnswerSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    http: HttpSettings = field(default_factory=HttpSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    serve: ServeSettings = field(default_factory=ServeSettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)
    tuning: Tuning = field(default_factory=Tuning)

    @property
    def encoding(self) -> Encoding:
        """What an encoder is opened with."""
        return _joined(Encoding, self.embedding, self.http, threads=self.tuning.threads)

    @property
    def reranking(self) -> Reranking:
        """What re-ranking goes by."""
        parts = self.rerank, self.tuning.rerank, self.http
        return _joined(Reranking, *parts, threads=self.tuning.threads)

    @property
    def answering(self) -> Answering:
        """What an answer is made by."""
        return _joined(Answering, self.answer, self.tuning.answer, self.http)

    @property
    def serving(self) -> Serving:
        """The limits of the service."""
        return _joined(Serving, self.serve, self.tuning.serve)

    @property
    def left_out(self) -> frozenset[str]:
        """The parts that a search does without."""
        return frozenset(each.strip() for each in self.search.without.split(",")) - {""}

    def leaving_out(self, part: str) -> Settings:
        """Return the settings of a search without one part more."""
        names = ",".join(sorted(self.left_out | {part}))
        return replace(self, search=replace(self.search, without=names))

    def taking_in(self, part: str) -> Settings:
        """Return the settings of a search that does not leave a part out."""
        names = ",".join(sorted(self.left_out - {part}))
        return replace(self, search=replace(self.search, without=names))

    def changed(self, values: Mapping[str, Any]) -> Settings:
        """Return the settings with other values, named as ``section.key``; a part may be whole.

        >>> Settings().changed({"search.k": 3, "tuning.lexical.k1": 1.5}).tuning.lexical.k1
        1.5
        """
        return merged(self, nested(values), origin="change")

    @property
    def late_weight(self) -> float:
        """What late interaction weighs in the chosen preset."""
        is_chosen = self.search.preset == LATE
        return self.search.late_weight or (USUAL_WEIGHT if is_chosen else 0.0)

    @property
    def keeps_tokens(self) -> bool:
        """Whether ingesting keeps the vectors of tokens."""
        return self.late_weight > 0 or self.tuning.token_vectors

    def shape(self) -> dict[str, Any]:
        """Return the part that shapes an index, as plain values in the form that indexes store."""
        ingest = asdict(self.ingest)
        tokens = {"language": ingest.pop("language"), "bigrams": self.tuning.bigrams}
        return {"ingest": ingest, "tokens": tokens}

    @classmethod
    def from_shape(cls, shape: Mapping[str, Any], *, origin: str) -> Settings:
        """Return the settings of an index's shape, which may hold more than settings."""
        found: dict[str, Any] = {}
        for section in ("ingest", "tokens"):
            values = shape.get(section, {})
            if not isinstance(values, Mapping):
                raise ConfigError(f"{origin}: {section} is a section, got {values!r}")
            keys = {f"{section}.{name}": value for name, value in values.items()}
            found |= {OLD_KEYS.get(key, key): value for key, value in keys.items()}
        return merged(cls(), nested(found), origin=origin)

    def shaped_as(self, other: Settings) -> Settings:
        """Return these settings for an index of another shape."""
        tuning = replace(self.tuning, bigrams=other.tuning.bigrams)
        return replace(self, ingest=other.ingest, tuning=tuning)

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
_MAX_BY_KEY = {
    "search.meaning_weight": 1.0,
    "search.late_weight": 1.0,
    "rerank.rollout": 1.0,
    "rerank.weight": 1.0,
    "rerank.threshold": 1.0,
    "rerank.pool": 10_000,
    "http.retries": 20,
    "tuning.lexical.b": 1.0,
    "tuning.routing.min_confidence": 1.0,
    "tuning.graph.seed_k": 100,
    "tuning.graph.depth": 4,
    "tuning.graph.pool": 10_000,
    "tuning.graph.decay": 1.0,
    "tuning.graph.walk": 0.95,
    "tuning.rerank.certain_margin": 1.0,
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
        problem, hint = f": {reason_of(error)}", "check the path and its permissions"
    except MALFORMED as error:
        problem, hint = f" as TOML: {error}", "see docs/settings.md for an example"
    raise ConfigError(f"{file} cannot be read{problem}", hint=hint)


def _merge(node: Any, values: Mapping[str, Any], *, prefix: str, origin: str) -> Any:
    hints = get_type_hints(type(node))
    changes: dict[str, Any] = {}
    for key, value in values.items():
        full = f"{prefix}{key}"
        if key not in hints:
            raise _unknown(full, value, [f"{prefix}{name}" for name in hints], origin)
        current = getattr(node, key)
        if type(value) is type(current) and is_dataclass(value):
            changes[key] = value
        elif is_dataclass(current):
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
    if key == "search.without":
        _check_parts(value, origin)
    most = _MAX_BY_KEY.get(key, 1e9)
    if hint in (int, float) and not 0 <= value <= most:
        raise ConfigError(f"{origin}: {key} must be from 0 to {most:g}, got {value!r}")
    return value


def _check_parts(value: str, origin: str) -> None:
    named = {each.strip() for each in value.split(",")} - {""}
    if strange := sorted(named.difference(PARTS)):
        raise ConfigError(
            f"{origin}: search.without has no part {strange[0]!r}",
            hint=f"parts: {', '.join(PARTS)}",
        )


def _unknown(key: str, value: Any, known: list[str], origin: str) -> ConfigError:
    if isinstance(value, Mapping) and value:  # a section: what is in it may have moved
        moved = [f"{key}.{name}" for name in value if f"{key}.{name}" in OLD_KEYS]
        key = moved[0] if moved else key
    if key in OLD_KEYS:
        return renamed(key, origin)
    from difflib import get_close_matches

    near = get_close_matches(key, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
    return ConfigError(f"{origin}: unknown setting {key}", hint=hint)


def _with_text(settings: Settings, key: str, text: str, *, origin: str) -> Settings:
    """Put one ``section.key`` in, its value written as text."""
    try:
        return merged(settings, nested({key: _parsed(text)}), origin=origin)
    except ConfigError as error:
        try:
            # "english" and "5" are both valid texts for a string setting.
            return merged(settings, nested({key: text}), origin=origin)
        except ConfigError:
            raise error from None


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``section.key`` values by section, as a settings file has them.

    >>> nested({"search.k": 3, "tuning.lexical.k1": 1.5, "tuning.depth": 50})
    {'search': {'k': 3}, 'tuning': {'lexical': {'k1': 1.5}, 'depth': 50}}
    """
    found: dict[str, Any] = {}
    for key, value in values.items():
        *above, name = key.split(".")
        node = found
        for each in above:
            node = node.setdefault(each, {})
        node[name] = value
    return found


def _parsed(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except MALFORMED:
        return text


def flat(node: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting as ``section.key``, with its value."""
    for each in fields(node):
        value = getattr(node, each.name)
        if is_dataclass(value):
            yield from flat(value, f"{prefix}{each.name}.")
        else:
            yield f"{prefix}{each.name}", value


def setting_names() -> list[str]:
    """Return every setting as ``section.key``."""
    return [name for name, _ in flat(Settings())]
