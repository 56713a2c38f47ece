"""The settings: one frozen tree, read once at the edge and passed down as values."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pincite.model.errors import MALFORMED, ConfigError, reason_of


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """From hits to an answer with citations. Free to change at any time."""

    # How many hits are read for an answer.
    k: int = 8
    # Tokens of text that an answer may be taken from, estimated from above.
    context_tokens: int = 3000
    # At most so many places that the hits do not stand without: tables, exceptions, definitions.
    companions: int = 4
    # A JSON file with summaries of pages for the prompt, {"document id": {"12": "…"}}; of other
    # pages the sentence that says most is taken.
    page_summaries: str = ""
    # At most so many quotations.
    quotes: int = 3
    # Below this probability that what would be quoted answers, the documents are said not to; 0
    # always answers, but for places that are named and not there. At this value hardly a question
    # is left out that has an answer, and nearly all that are about something else (decision 14).
    least_confidence: float = 0.12
    # A language model that writes the answer: any service that answers POST /chat/completions as
    # OpenAI does, as "http://localhost:11434/v1". Empty: the answer is quoted, without a model.
    url: str = ""
    # What the service calls the model.
    model: str = ""
    # The environment variable that holds the service's key; never the key itself.
    api_key_env: str = ""
    # To connect and get the first token may take this long; each next token this long.
    timeout_seconds: float = 60.0
    idle_seconds: float = 20.0
    # Attempts beyond the first; after its first token an answer is never begun again.
    retries: int = 2
    # Tokens that the model may write, and its temperature: 0 makes it as repeatable as it can be.
    max_tokens: int = 500
    temperature: float = 0.0
    # What a million tokens cost to read and to write, in any currency; 0: nobody counts.
    price_in: float = 0.0
    price_out: float = 0.0
    # A sentence that its sources do not support: "mark" shows words as they come and says so
    # behind them; "drop" shows each sentence only once it is checked, and leaves such ones out.
    unsupported: Literal["mark", "drop"] = "mark"
    # If the model fails before its first word: "fallback" quotes instead; "raise" tells the error.
    on_error: Literal["fallback", "raise"] = "fallback"


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Where documents are read and encoded (docs/cluster.md, extra ``ray``). Changes no result."""

    # "": processes of this machine; "auto": the Ray cluster that this machine belongs to;
    # "host:6379": the one with this head; "ray://host:10001": one that this machine is no part of;
    # "local": a Ray of its own on this machine, to try it out.
    address: str = ""
    # How often a task is given to another node after its own was lost.
    retries: int = 3
    # Shared memory of a "local" Ray, in megabytes; what does not fit is kept on disk.
    object_store_mb: int = 200


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


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """What neighbours in the graph of the documents add to a score. Free to change at any time."""

    # "bfs": the best candidates lift what is a few steps away; "ppr": personalised PageRank from
    # them. Off: what it gains is within chance on one document and nothing on others (decision 8).
    mode: Literal["off", "bfs", "ppr"] = "off"
    # How many of the best candidates lift their neighbours, and how many steps away.
    seed_k: int = 3
    depth: int = 2
    # How many candidates may be lifted. Fixed, so that top 10 is a prefix of top 100.
    pool: int = 100
    # Bring in chunks that the first stage did not find, if it can score them.
    adds: bool = True
    # What a neighbour gets of the best score; "absolute" takes the number as it is.
    boost: float = 0.05
    scale: Literal["best", "absolute"] = "best"
    # Each further step gives this share of the one before.
    decay: float = 0.5
    # No chunk gets more than this, however many seeds lead to it.
    cap: float = 0.1
    # 0: all seeds lift alike; 1: in proportion to their scores.
    seed_power: float = 1.0
    # An edge is divided by its degree to this power: 0 lets hubs count fully.
    damping: float = 0.5
    # Share of a PageRank walk that goes on instead of starting anew.
    walk: float = 0.85
    # Weights of the relations; "term" leads to where a term is defined, "part" between a clause's
    # introduction and its items, "other" are a profile's own.
    reference: float = 1.0
    exception: float = 1.0
    term: float = 0.5
    part: float = 0.5
    next: float = 0.25
    other: float = 0.5
    # Factor of an edge that is walked against its direction.
    backward: float = 1.0


# The pipeline that compares word by word whatever the settings say, and the weight it takes.
LATE = "hybrid+late"
USUAL_WEIGHT = 0.3


@dataclass(frozen=True, slots=True)
class LateSettings:
    """Comparing the question word by word with the candidates (docs/rerank.md)."""

    # What the match of words counts beside the first stage's score, 0 to 1; 0 leaves it out. With
    # it, ingesting keeps vectors of tokens too: about four times the size of the text. Only the
    # shipped encoder has them.
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """A ranker that was learned from judged questions (docs/learned.md)."""

    # File of the model that reorders the best candidates; empty leaves the order as it is.
    model: str = ""
    # Whether ingesting keeps vectors of tokens for it, so that it can compare word by word: about
    # four times the size of the text, and its best evidence. Only the shipped encoder has them.
    tokens: bool = False


@dataclass(frozen=True, slots=True)
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
    # A request to a service is given up after this time, and tried again so many times.
    timeout_seconds: float = 10.0
    retries: int = 1
    # How the earlier score s and the probability p become one: "weighted": (1 - weight) s + weight
    # times p's log odds in the range of s; "rrf": by both ranks; "union": the best of p, then the
    # best of s; "replace": p.
    mode: Literal["weighted", "rrf", "union", "replace"] = "weighted"
    # Share of the probability in "weighted" and "rrf"; 0 leaves the order, 1 replaces it.
    weight: float = 0.4
    # How many candidates are read. Fixed, so that top 10 is a prefix of top 100.
    pool: int = 10
    # Long chunks are read in windows of about so many tokens; the best window counts.
    window_tokens: int = 144
    # Of a long chunk so many windows are read, those that hold most of the question; 0: all.
    windows: int = 1
    # Pairs scored at once; 0: 8, or 64 with a service.
    batch: int = 0
    # Processor threads of a model that runs here; 0 takes all.
    threads: int = 0
    # A search is done within this time of its start: what is not read by then keeps its earlier
    # order. 0: no limit. `pincite search --budget-ms` says it for one search.
    budget_ms: int = 1000
    # Hits less probable than this are left out; 0 leaves out none.
    threshold: float = 0.0
    # Hits that nobody judged: "auto" leaves those behind a pool that was read as a whole out, and
    # keeps them otherwise; "keep" and "drop" always do.
    unjudged: Literal["auto", "keep", "drop"] = "auto"
    # At most most_per_group hits of one document or section, then the others.
    diversify: Literal["off", "document", "section"] = "off"
    most_per_group: int = 2
    # Do not read when the first hit leads the second by this share of its score; 0: always read.
    certain_margin: float = 0.0
    # Sizes of mode "union": ask for as many hits as both together to see it whole.
    union_reranked: int = 10
    union_first: int = 5
    # Scores of so many pairs are remembered; a question has about 20 to 100 of them.
    cache_pairs: int = 10_000
    # Searches that are read for at a time, and that may wait for it; the others are not re-ranked.
    workers: int = 4
    waiting: int = 16
    # After so many failures in a row nothing is read for so many seconds; then one search tries.
    breaker_failures: int = 5
    breaker_seconds: float = 30.0
    # "fallback": a search never fails because of re-ranking; "raise": it does, for measurements.
    on_error: Literal["fallback", "raise"] = "fallback"
    # Put the words of questions into the log. They may be private.
    log_queries: bool = False


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What a search returns."""

    # Named pipeline; see pincite.search.pipeline.PRESETS.
    pipeline: str = "default"
    # How many hits come out.
    k: int = 10
    # How many candidates the first stage considers.
    depth: int = 100
    # A query that names a place gets that place first.
    locators: bool = True
    # "auto": a question that names its readers ("as a game master, ...") leaves out what is
    # written for others only; the words are those of the profiles.
    audience: Literal["off", "auto"] = "off"
    # A query that names a thing which a chunk describes (a spell, an item) gets that first.
    names: bool = True
    # What a hit loses for every better one of its section: 0 leaves the order as it is.
    spread: float = 0.08
    # Search also for other names that documents give: "AC" for "Armor Class", and the reverse.
    aliases: bool = True
    # What another name is worth beside the query's own words.
    alias_weight: float = 0.2
    # A word that the index does not have is searched for as the nearest one that it has.
    typos: bool = True
    # Profile, by name or path, that the pipeline "traversal" follows; "auto": code and rulebook.
    traversal: str = "auto"


@dataclass(frozen=True, slots=True)
class RoutingSettings:
    """Searching only the likeliest parts of a collection (docs/search.md has what it buys)."""

    # What is chosen among: "folder" (the first part of a document's id), "document", or "chapter"
    # (the top headings of each document).
    by: Literal["off", "folder", "document", "chapter"] = "off"
    # How many of them are searched.
    top_n: int = 3
    # A route below this confidence (0 to 1) is not taken: everything is searched.
    min_confidence: float = 0.3


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What `pincite serve` allows; limits are those of one worker process."""

    # Threads that search, show and read at the same time; 0: two for each processor.
    threads: int = 0
    # Threads that answers are made in; one is needed only while the next event of a stream is made.
    ask_threads: int = 8
    # Requests that may wait for a thread; the next one gets 503 and is asked to come back.
    queue: int = 256
    # A search is given up after this time, an answer after that; 504 says so.
    search_seconds: float = 30.0
    ask_seconds: float = 120.0
    # Answers that may be streamed at the same time.
    streams: int = 128
    # Largest body of a request; of an uploaded document.
    body_mb: float = 2.0
    upload_mb: float = 64.0
    # A body has to arrive in this time.
    body_seconds: float = 30.0
    # Uploads that may wait to be ingested, for each collection.
    jobs: int = 16
    # Requests a minute of one key that does not say otherwise, and how many at once; 0: no limit.
    rate_per_minute: int = 1200
    burst: int = 200
    # Texts of one request for scores or vectors.
    texts: int = 1000
    # How often to look for a new generation of an index, and for changed keys.
    reload_seconds: float = 1.0
    # Shutting down waits this long for requests that were begun.
    drain_seconds: float = 10.0
    # Names by which browsers may call the service, with commas: "docs.example.org". Empty: the
    # names of this machine where no keys are configured, any name where they are.
    hosts: str = ""
    # Pages of other origins that may call it from a browser, with commas; empty: none.
    cors_origins: str = ""
    # Write the words of questions into the audit log. They may be private.
    log_queries: bool = False
    # File of judgements that feedback is added to, beside each index; empty: no feedback.
    feedback: str = "feedback.jsonl"
    # Chat sessions kept in memory, and messages of each.
    sessions: int = 1000
    session_messages: int = 40


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Where the index is, and how to talk to a server. A folder needs none of the others."""

    # The index that commands use without --index and PINCITE_INDEX: the URL of a server, or a
    # folder. Empty: the folder pincite-index. It is never shown with its password.
    url: str = field(default="", repr=False)
    # Where files are kept that belong to an index in a server and do not come from documents: runs
    # of `eval`, uploads, judgements. Replicas that share uploads share it. Empty: pincite-files.
    folder: str = ""
    # An answer that takes longer is an error, not a hang.
    timeout_seconds: float = 10.0
    # Compare all vectors instead of asking the server's own approximate index.
    exact: bool = False
    # So many questions are asked at a time; more wait.
    connections: int = 8


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
_MAX_BY_KEY = {
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
    most = _MAX_BY_KEY.get(key, 1e9)
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
