"""Cross-encoders run by onnxruntime: the one that ships with Pincite, and any in a folder.

A cross-encoder reads question and passage together. One pair a call, spread over threads: no
padding, and the score of a pair never depends on which others are scored with it. A reader is one
that says more in the same pass: whether the answer is a stretch of words, yes or no, where such a
stretch may begin and end, and which tokens are evidence.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pincite.encode.encoders import HERE as ENCODERS
from pincite.encode.models import (
    GRAPHS,
    MAX_TOKENS,
    TOKENIZER,
    check_hash,
    file_hash,
    graph_file,
    inputs_of,
    listed_hashes,
    open_session,
    open_tokenizer,
)
from pincite.model.errors import MALFORMED, ConfigError, ModelError
from pincite.search.calibration import Calibration
from pincite.store.files import Array

SHIPPED = "shipped"
SHIPPED_FOLDER = "minilm"  # here its graph, and its tokenizer where the encoder is
# Questions longer than this are cut: the passage needs the room.
QUESTION_TOKENS = 96
USUAL_TOKENS = 512
# What a pair gets in which there is nothing to read: as good as impossible.
NOTHING = -30.0
# No token is longer on average.
MAX_CHARS = 16
# What a reader gives beside the score, which comes first.
READER_OUTPUTS = ("answers", "answer_kinds", "token_places")
READER_QUESTION_TOKENS = 72  # of a question with its case the end is kept: there it asks
HEADING_TOKENS = 24


@dataclass(frozen=True, slots=True)
class CrossEncoderFacts:
    """What a model's folder says of it."""

    revision: str
    max_tokens: int
    calibration: Calibration


@dataclass(frozen=True, slots=True)
class PassageReading:
    """What a reader says of one passage: logits, on scales of their own.

    Attributes:
        answers: whether it answers.
        kinds: a stretch of words, yes, no.
        offsets: where each token of the passage stands in it; those of its heading are left out.
        places: for each of these tokens whether an answer begins, ends, or has its evidence there.
    """

    answers: float
    kinds: Array
    offsets: Sequence[tuple[int, int]]
    places: Array


class CrossEncoder:
    """Scores pairs; any number of threads may share one."""

    def __init__(
        self,
        name: str,
        graph: Path,
        tokenizer: str,
        facts: CrossEncoderFacts,
        threads: int,
    ) -> None:
        self.id = f"{name}@{facts.revision}"
        self.name = name
        self.facts = facts
        self.threads = threads or os.cpu_count() or 1
        self._graph = graph
        self._tokenizer_text = tokenizer

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return for each text how probable it is that it answers the query."""
        return [self.facts.calibration.probability(x) for x in self.logits(query, texts)]

    def logits(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return what the model itself says of each text, on a scale of its own."""
        question = self._ids(query)[:QUESTION_TOKENS]
        pairs = [self._pair(question, text) for text in texts]
        if len(pairs) < 2 or self.threads == 1:
            return [self._logit(*pair) for pair in pairs]
        with ThreadPoolExecutor(min(self.threads, len(pairs))) as pool:
            return list(pool.map(lambda pair: self._logit(*pair), pairs))

    @property
    def can_read(self) -> bool:
        """Whether the model says more than a score; one in a folder of somebody's may not."""
        return {each.name for each in self._session.get_outputs()} >= set(READER_OUTPUTS)

    def read(self, question: str, passages: Sequence[tuple[str, str]]) -> list[PassageReading]:
        """Return what each passage, given with its heading, says to a question."""
        asked = self._encoded(question)[0][-READER_QUESTION_TOKENS:]
        if len(passages) < 2 or self.threads == 1:
            return [self._reading(asked, *each) for each in passages]
        with ThreadPoolExecutor(min(self.threads, len(passages))) as pool:
            return list(pool.map(lambda each: self._reading(asked, *each), passages))

    def _reading(self, asked: Sequence[int], heading: str, passage: str) -> PassageReading:
        above = self._encoded(heading)[0][-HEADING_TOKENS:]
        ids, offsets = self._encoded(passage)
        start, end = self._marks
        before = [*start, *asked, *end, *above]
        room = max(0, self.facts.max_tokens - len(before) - len(end))
        ids, offsets = ids[:room], offsets[:room]
        whole = np.array([[*before, *ids, *end]])
        types = np.zeros_like(whole)
        types[0, len(before) - len(above) :] = 1
        given = {"input_ids": whole, "token_type_ids": types}
        answers, kinds, places = self._session.run(list(READER_OUTPUTS), given)
        inside = places[0, len(before) : len(before) + len(ids)]
        return PassageReading(float(answers[0]), kinds[0], offsets, inside)

    def _encoded(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the numbers of a text's tokens and where each stands in it."""
        # Half characters are replaced one by one, so that places stay what they are.
        whole = text[: MAX_CHARS * self.facts.max_tokens].encode("utf-8", "replace").decode()
        found = self._tokenizer.encode(whole, add_special_tokens=False)
        return found.ids, found.offsets

    def _logit(self, ids: Array | None, types: Array | None) -> float:
        if ids is None or types is None:
            return NOTHING
        values = {"input_ids": ids, "token_type_ids": types, "attention_mask": np.ones_like(ids)}
        found = self._session.run([self._output], {name: values[name] for name in self._inputs})
        return float(found[0].reshape(-1)[-1])

    def _pair(self, question: Sequence[int], text: str) -> tuple[Array | None, Array | None]:
        """Return the numbers of a pair's tokens and which text each is of; None if one is empty."""
        start, end = self._marks
        room = self.facts.max_tokens - len(question) - len(start) - 2 * len(end)
        passage = self._ids(text)[:room]  # windows are shorter: nothing is cut in a search
        if not question or not passage:
            return None, None
        first = [*start, *question, *end]
        ids = np.array([[*first, *passage, *end]])
        types = np.zeros_like(ids)
        types[0, len(first) :] = 1
        return ids, types

    def _ids(self, text: str) -> list[int]:
        # Half characters are replaced, which no tokeniser takes; forms of a letter are one letter.
        whole = text[: MAX_CHARS * self.facts.max_tokens].encode("utf-8", "replace").decode()
        normal = unicodedata.normalize("NFKC", whole)
        ids: list[int] = self._tokenizer.encode(normal, add_special_tokens=False).ids
        return ids

    @cached_property
    def _marks(self) -> tuple[list[int], list[int]]:
        """Return what stands before the question and after each of the two texts."""
        ids = self._tokenizer.encode("a").ids
        inside = self._ids("a")
        at = ids.index(inside[0]) if inside else 1
        return ids[:at], ids[at + len(inside) :]

    @cached_property
    def _tokenizer(self) -> Any:
        return open_tokenizer(self._tokenizer_text, self._broken)

    @cached_property
    def _session(self) -> Any:
        return open_session(self._graph, self._broken)

    @cached_property
    def _inputs(self) -> list[str]:
        return inputs_of(self._session, self._broken)

    @cached_property
    def _output(self) -> str:
        outputs = [each for each in self._session.get_outputs() if len(each.shape) <= 2]
        if not outputs:
            raise self._broken("it gives no score")
        return str(outputs[0].name)

    def _broken(self, reason: object) -> ModelError:
        hint = "install Pincite again" if self.name == SHIPPED else "export the model again"
        return ModelError(f"the cross-encoder {self.name} cannot be used: {reason}", hint=hint)


def open_cross_encoder(name: str, threads: int = 0, room: str = "search") -> CrossEncoder:
    """Return the shipped cross-encoder, or the one in a folder; what is damaged is refused.

    The one that ships in the room "answer" is a reader.
    """
    if name == SHIPPED:
        home = Path(__file__).parents[1] / room / SHIPPED_FOLDER
        tokenizer = ENCODERS / SHIPPED_FOLDER / TOKENIZER
        return _opened(name, home, home / GRAPHS[0], tokenizer, threads)
    folder = Path(name).expanduser()
    found = graph_file(folder)
    if found is None or not (folder / TOKENIZER).is_file():
        raise ConfigError(
            f"no cross-encoder in {name!r}",
            hint='it is "shipped", or a folder with model.onnx and tokenizer.json; '
            "or set rerank.url to a service",
        )
    return _opened(folder.name, folder, found, folder / TOKENIZER, threads)


def _opened(name: str, home: Path, graph: Path, tokenizer: Path, threads: int) -> CrossEncoder:
    def broken(reason: object) -> ModelError:
        hint = "install Pincite again" if name == SHIPPED else "export the model again"
        return ModelError(f"the cross-encoder {name} is damaged: {reason}", hint=hint)

    values, hashes = _values(home, name), listed_hashes(home, broken)
    check_hash(graph, hashes, broken)
    words = check_hash(tokenizer, hashes, broken).read_text("utf-8", "replace")
    limit = values.get("max_tokens", USUAL_TOKENS)
    if type(limit) is not int or not 0 < limit <= MAX_TOKENS:
        raise broken(f"max_tokens is {limit!r:.40}")
    calibration = Calibration.from_plain(values.get("calibration"))
    revision = (hashes.get(graph.name) or file_hash(graph))[:12]
    facts = CrossEncoderFacts(revision, limit, calibration)
    return CrossEncoder(name, graph, words, facts, threads)


def _values(home: Path, name: str) -> dict[str, Any]:
    """Return what model.json says; a folder of somebody else's has none."""
    file = home.joinpath("model.json")
    if not file.is_file():
        return {}
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        return values if isinstance(values, dict) else {}
    except (OSError, *MALFORMED) as error:
        raise ModelError(
            f"model.json of the cross-encoder {name} cannot be read: {error}",
            hint="export the model again",
        ) from error
