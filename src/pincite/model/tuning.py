"""The part of the settings that carries no promise: numbers that `pincite tune` chooses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class LexicalTuning:
    """BM25 and what is added to it."""

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
class GraphTuning:
    """What neighbours in the graph of the documents add to a score."""

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


@dataclass(frozen=True, slots=True)
class RoutingTuning:
    """How a search chooses among the parts that ``search.route_by`` names."""

    # How many of them are searched.
    top_n: int = 3
    # A route below this confidence (0 to 1) is not taken: everything is searched.
    min_confidence: float = 0.3


@dataclass(frozen=True)
class RerankTuning:
    """How what was read changes the order."""

    # How the earlier score s and the probability p become one: "weighted": (1 - weight) s + weight
    # times p's log odds in the range of s; "rrf": by both ranks; "union": the best of p, then the
    # best of s; "replace": p.
    mode: Literal["weighted", "rrf", "union", "replace"] = "weighted"
    # Long chunks are read in windows of about so many tokens; the best window counts.
    window_tokens: int = 144
    # Of a long chunk so many windows are read, those that hold most of the question; 0: all.
    windows: int = 1
    # Hits that nobody judged: "auto" leaves those behind a pool that was read as a whole out, and
    # keeps them otherwise; "keep" and "drop" always do.
    unjudged: Literal["auto", "keep", "drop"] = "auto"
    # Do not read when the first hit leads the second by this share of its score; 0: always read.
    certain_margin: float = 0.0
    # Sizes of mode "union": ask for as many hits as both together to see it whole.
    union_reranked: int = 10
    union_first: int = 5
    # Scores of so many pairs are remembered; a question has about 20 to 100 of them.
    cache_pairs: int = 10_000
    # "fallback": a search never fails because of re-ranking; "raise": it does, for measurements.
    on_error: Literal["fallback", "raise"] = "fallback"


@dataclass(frozen=True)
class AnswerTuning:
    """How an answer is quoted or written."""

    # At most so many places that the hits do not stand without: tables, exceptions, definitions.
    companions: int = 4
    # At most so many quotations.
    quotes: int = 3
    # Each token of a model after the first may take this long.
    idle_seconds: float = 20.0
    # Tokens that the model may write, and its temperature: 0 makes it as repeatable as it can be.
    max_tokens: int = 500
    temperature: float = 0.0
    # What a million tokens cost to read and to write, in any currency; 0: nobody counts.
    price_in: float = 0.0
    price_out: float = 0.0
    # If the model fails before its first word: "fallback" quotes instead; "raise" tells the error.
    on_error: Literal["fallback", "raise"] = "fallback"


@dataclass(frozen=True)
class ServeTuning:
    """Bounds of the service, of one worker process."""

    # Requests that may wait for a thread; the next one gets 503 and is asked to come back.
    queue: int = 256
    # A search is given up after this time, an answer after that; 504 says so.
    search_seconds: float = 30.0
    ask_seconds: float = 120.0
    # Answers that may be streamed at the same time.
    streams: int = 128
    # Largest body of a request that is no upload, and the time in which any has to arrive.
    body_mb: float = 2.0
    body_seconds: float = 30.0
    # Uploads that may wait to be ingested, for each collection.
    jobs: int = 16
    # How many requests of one key may come at once.
    burst: int = 200
    # Texts of one request for scores or vectors.
    texts: int = 1000
    # Characters of all of them.
    text_chars: int = 500_000
    # How often to look for a new generation of an index, and for changed keys.
    reload_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Tuning:
    """What `pincite tune` chooses, experiments vary and tests switch: listed, without a promise."""

    # How words and meaning become one score: "minmax", "theoretical" (min-max from the smallest
    # possible score), "zscore", "rrf".
    fusion: Literal["minmax", "theoretical", "zscore", "rrf"] = "theoretical"
    # How many candidates the first stage considers.
    depth: int = 100
    # What a hit loses for every better one of its section: 0 leaves the order as it is.
    spread: float = 0.08
    # What another name ("AC" for "Armor Class") is worth beside the query's own words.
    alias_weight: float = 0.2
    # Index pairs of neighbouring terms too: about doubles the index, buys phrase evidence. Shapes
    # the index.
    bigrams: bool = True
    # Keep vectors of tokens when ingesting, for a learned ranker that compares word by word.
    token_vectors: bool = False
    # Keep vectors of texts in the user's cache folder, so that none is computed twice.
    cache: bool = True
    # Processor threads of a model that runs here; 0 takes all. Of a service: requests at a time.
    threads: int = 0
    lexical: LexicalTuning = field(default_factory=LexicalTuning)
    graph: GraphTuning = field(default_factory=GraphTuning)
    routing: RoutingTuning = field(default_factory=RoutingTuning)
    rerank: RerankTuning = field(default_factory=RerankTuning)
    answer: AnswerTuning = field(default_factory=AnswerTuning)
    serve: ServeTuning = field(default_factory=ServeTuning)
