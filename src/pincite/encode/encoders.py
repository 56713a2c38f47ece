"""Encoders: ONNX here, a service, or the hub's."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pincite.encode.models import (
    GRAPHS,
    SHIPPED,
    STATIC,
    TOKENIZER,
    Array,
    Encoder,
    ModelSpec,
    QueryTokens,
    TokenCodec,
    check_hash,
    graph_file,
    inputs_of,
    listed_hashes,
    load_codec,
    open_session,
    open_tokenizer,
    spec_of,
)
from pincite.encode.static_encoder import StaticEncoder
from pincite.model.errors import ConfigError, ModelError
from pincite.model.settings import Encoding

# No token is longer on average: what is beyond this many characters a token is beyond the limit.
MAX_CHARS = 16
SERVICE_BATCH = 64  # texts in one request: larger ones are refused by some services
# Questions whose vectors are kept: enough for all stages of all searches at the same time.
QUESTIONS_KEPT = 256
# And those with the vectors of all their tokens, up to 800 kB each.
TOKENS_KEPT = 16
HERE = Path(__file__).parent  # where models are that come with Pincite
# Of subjects that are far apart: their cosines tell how narrow a model's cone is.
UNRELATED = (
    "The river rises in the northern hills and reaches the sea after two hundred miles.",
    "Add the eggs one by one and stir until the dough is smooth.",
    "The bank shall keep records of every transaction for seven years.",
    "Tighten the four bolts to 25 newton metres in diagonal order.",
    "The goalkeeper saved a penalty in the last minute of the match.",
    "Cells divide faster at higher temperatures until the protein is damaged.",
)
# Whose question it is: what was remembered for one is not found by another, who could tell by the
# time what others asked.
ASKER: ContextVar[str] = ContextVar("asker", default="")
V = TypeVar("V")


def _remembered(work: Callable[[str], V], most: int) -> Callable[[str], V]:
    """Return the same function, which works each text out once for each asker."""
    known = lru_cache(maxsize=most)(lambda _, text: work(text))
    return lambda text: known(ASKER.get(), text)


class OnnxEncoder:
    """Encodes one text a call: its vector never depends on what else is being encoded.

    Texts are spread over threads instead of batches: as fast on a CPU, and without padding. Any
    number of threads may share one encoder; nothing is loaded before the first text.
    """

    def __init__(self, spec: ModelSpec, *, threads: int = 0) -> None:
        self._spec = spec
        self.threads = threads or os.cpu_count() or 1
        self._is_shipped = spec.source == "shipped"
        self._home = HERE / spec.name if self._is_shipped else Path(spec.hub_name)

    @property
    def spec(self) -> ModelSpec:
        """The model; how long its vectors are may be known only now."""
        if not self._spec.dimension:
            self._spec = replace(self._spec, dimension=len(self._sentence("text")))
        return self._spec

    @cached_property
    def _tokenizer(self) -> Any:
        file = check_hash(self._home / TOKENIZER, self._hashes, self._broken)
        return open_tokenizer(file.read_text("utf-8", "replace"), self._broken)

    @cached_property
    def _hashes(self) -> Mapping[str, str]:
        return listed_hashes(self._home, self._broken)

    @cached_property
    def _session(self) -> Any:
        graph = graph_file(self._home) or self._home / GRAPHS[0]
        return open_session(check_hash(graph, self._hashes, self._broken), self._broken)

    @cached_property
    def _inputs(self) -> list[str]:
        return inputs_of(self._session, self._broken)

    @cached_property
    def _output(self) -> tuple[str, bool]:
        """Return the output to ask for, and whether it is the sentence's or the tokens'."""
        outputs = self._session.get_outputs()
        for rank, is_sentence in ((2, True), (3, False)):
            for each in outputs:
                if len(each.shape) == rank:
                    return each.name, is_sentence
        raise self._broken("it gives no vectors")

    def _broken(self, reason: object) -> ModelError:
        hint = (
            "install Pincite again"
            if self._is_shipped
            else "export it with an output for the sentence"
        )
        return ModelError(f"the encoder {self._spec.name} cannot be loaded: {reason}", hint=hint)

    def token_starts(self, text: str) -> Sequence[int]:
        encoded = self._tokenizer.encode(_whole(text), add_special_tokens=False)
        return [start for start, _ in encoded.offsets]

    def encode(self, texts: Sequence[str]) -> Array:
        vectors = np.zeros((len(texts), self.spec.dimension), dtype=np.float32)
        if len(texts) < 2:
            found = [self._sentence(text) for text in texts]
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(self.threads) as pool:
                found = list(pool.map(self._sentence, texts))
        for row, vector in enumerate(found):
            vectors[row] = vector
        return vectors

    def encode_query(self, text: str) -> Array:
        return self._question_vector(text)

    def query_tokens(self, text: str) -> QueryTokens:
        """Return what late interaction wants to know of a question's tokens."""
        return self._question_tokens(text)

    def encode_with_tokens(self, texts: Sequence[str]) -> tuple[Array, list[Array]]:
        """Return one vector a text, and the codes of its tokens."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self.threads) as pool:
            found = list(pool.map(self._coded, texts))
        vectors = np.zeros((len(texts), self.spec.dimension), dtype=np.float32)
        for row, (vector, _) in enumerate(found):
            vectors[row] = vector
        return vectors, [codes for _, codes in found]

    @cached_property
    def codec(self) -> TokenCodec:
        """What makes token vectors small; ModelError if the model has none."""
        if not self._spec.has_tokens:
            raise ModelError(f"{self._spec.name} has no token vectors", hint="use minilm")
        return load_codec(self._spec.name)

    # A question is encoded once, however many stages ask for it. What late interaction wants is
    # worked out when it asks: most searches do without.

    @cached_property
    def _question_vector(self) -> Callable[[str], Array]:
        def found(text: str) -> Array:
            return self._encoded(text)[0] if self._spec.has_tokens else self._sentence(text)

        return _remembered(found, QUESTIONS_KEPT)

    @cached_property
    def _question_tokens(self) -> Callable[[str], QueryTokens]:
        def found(text: str) -> QueryTokens:
            if not self._spec.has_tokens:
                return QueryTokens.none()
            _, tokens, ids, offsets = self._encoded(text)
            kept = self._kept(ids)
            weights = self.codec.token_weights[ids[kept]]
            shares = weights / max(float(weights.sum()), 1e-9)
            return QueryTokens(self.codec.projected(tokens[kept]), shares, offsets[kept])

        return _remembered(found, QUESTIONS_KEPT)

    @cached_property
    def _encoded(self) -> Callable[[str], tuple[Array, Array, Array, Array]]:
        return _remembered(self._with_tokens, TOKENS_KEPT)

    def _coded(self, text: str) -> tuple[Array, Array]:
        vector, tokens, ids, _ = self._with_tokens(text)
        return vector, self.codec.codes(tokens[self._kept(ids)])

    def token_offsets(self, text: str) -> Array:
        """Return where the tokens that have codes begin and end in a text."""
        encoded = self._tokenizer.encode(self._readable(text))
        return np.array(encoded.offsets)[self._kept(np.array(encoded.ids))]

    def _kept(self, ids: Array) -> Array:
        kept = self.codec.is_kept[ids]
        kept[[0, -1]] = False  # what marks the beginning and the end
        return kept

    def _with_tokens(self, text: str) -> tuple[Array, Array, Array, Array]:
        encoded = self._tokenizer.encode(self._readable(text))
        ids, offsets = np.array(encoded.ids), np.array(encoded.offsets)
        if len(ids) > self._spec.max_tokens:
            inside = np.r_[: self._spec.max_tokens - 1, len(ids) - 1]
            ids, offsets = ids[inside], offsets[inside]
        sentence, tokens = self._session.run(["sentence", "tokens"], {"input_ids": ids[None]})
        return sentence[0], tokens[0], ids, offsets

    def _readable(self, text: str) -> str:
        # Compatible forms of a letter are one letter, as they are to the lexical side.
        limit = MAX_CHARS * self._spec.max_tokens
        return unicodedata.normalize("NFKC", _whole(text[:limit]))

    def _sentence(self, text: str) -> Array:
        ids = self._tokenizer.encode(self._readable(text)).ids
        if len(ids) > self._spec.max_tokens:  # windows are shorter; this is a long question
            ids = [*ids[: self._spec.max_tokens - 1], ids[-1]]
        values = {"input_ids": np.array([ids])}
        values["attention_mask"] = np.ones_like(values["input_ids"])
        values["token_type_ids"] = np.zeros_like(values["input_ids"])
        output, is_sentence = self._output
        found: Array = self._session.run([output], {name: values[name] for name in self._inputs})[0]
        vector: Array = found[0] if is_sentence else self._pooled(found[0])
        return vector

    def _pooled(self, tokens: Array) -> Array:
        """Return the sentence's vector: the first token's or the mean, of length one."""
        if self._spec.pooling not in ("mean", "cls"):
            raise self._broken(f"it wants its tokens pooled by {self._spec.pooling!r}")
        vector = tokens[0] if self._spec.pooling == "cls" else tokens.mean(axis=0)
        scaled: Array = vector / max(float(np.linalg.norm(vector)), 1e-12)
        return scaled


def _whole(text: str) -> str:
    """Return the text with half characters replaced, which no tokeniser takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def open_encoder(settings: Encoding, *, batch: int = SERVICE_BATCH) -> Encoder | None:
    """Return the encoder that the settings name; None if they want no vectors."""
    spec = spec_of(settings)
    if spec is None:
        return None
    if spec.source == "service":  # loaded here: a search without one needs no HTTP
        from pincite.encode.http import OPENAI, OPENAI_KEY, HttpService
        from pincite.encode.remote import HttpEncoder

        service = HttpService(
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
            batch=batch,
            dimensions=settings.dimension,
            threads=settings.threads,
        )
    if settings.dimension:
        raise ConfigError(
            f"embedding.dimension cannot be chosen for {spec.name}", hint="leave it 0"
        )
    if spec.source == "sentence-transformers":
        from pincite.encode.remote import HubEncoder

        return HubEncoder(spec)
    return _local(spec, settings.threads)


def unrelated_cosine(encoder: Encoder) -> float:
    """Return the usual cosine of texts that have nothing to do with each other.

    Of a model in a folder it is measured on a few sentences; a service is not called for it.
    """
    spec = encoder.spec
    if spec.unrelated is not None or spec.source == "service":
        return spec.unrelated or 0.0
    vectors = encoder.encode([spec.text_prefix + text for text in UNRELATED])
    return float((vectors @ vectors.T)[np.triu_indices(len(UNRELATED), 1)].mean())


@lru_cache(maxsize=4)
def _local(spec: ModelSpec, threads: int) -> Encoder:
    """Return one encoder for all indexes that name it: its weights are in memory once."""
    if spec.name == STATIC.name and spec.source == "shipped":
        return StaticEncoder(spec, _local(SHIPPED, threads).encode_query)
    return OnnxEncoder(spec, threads=threads)
