"""Texts read together with a question: windows, batches, checked scores, a memory, an end."""

from __future__ import annotations

import math
import re
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from threading import Lock

from pincite.encode.windows import OVERLAP_TOKENS, SEPARATOR, cut
from pincite.index.tokens import QueryAnalyzer
from pincite.model.errors import ModelError
from pincite.model.types import Chunk, PairScorer

# About a token of any model: short words and parts of long ones, numbers in threes, each sign and
# each character of other scripts. Exactness is not needed: windows are far below any limit.
_TOKEN = re.compile(r"[A-Za-z\u00c0-\u024f]{1,8}|[0-9]{1,3}|[^\sA-Za-z\u00c0-\u024f0-9]")
HEADING_CHARS = 240


class BadScores(ModelError):
    """A scorer gave something else than one probability for each text."""


def windows_of(chunk: Chunk, tokens: int) -> list[str]:
    """Return what is read of a chunk: all of it, in stretches that each stand under the headings.

    Nothing is cut away: a long chunk has several windows, and the best of them speaks for it.
    """
    body = chunk.text.strip()
    # The first heading is the document's title: the same for all of its chunks.
    names = chunk.path[1:] if len(chunk.path) > 1 else chunk.path
    heading = SEPARATOR.join(names)[-HEADING_CHARS:]
    return [f"{heading}\n{body[a:b].strip()}".strip() for a, b in stretches(body, tokens)]


def stretches(text: str, tokens: int) -> list[tuple[int, int]]:
    """Return where the windows of a text begin and end; none for one without words."""
    starts = [found.start() for found in _TOKEN.finditer(text)]
    return cut(starts, len(text), max(tokens, 2 * OVERLAP_TOKENS)) if starts else []


def select_windows(
    weights: Mapping[str, float], texts: Sequence[str], most: int, analyzer: QueryAnalyzer
) -> list[str]:
    """Return the ``most`` windows of a chunk that hold most of a question's terms, in order."""
    if len(texts) <= most:
        return list(texts)
    terms = (set(analyzer.terms(text)) for text in texts)
    worth = [math.fsum(weights[term] for term in weights.keys() & has) for has in terms]
    best = sorted(range(len(texts)), key=lambda at: (-worth[at], at))[:most]
    return [texts[at] for at in sorted(best)]


def checked(scores: Sequence[float], count: int) -> list[float]:
    """Return the scores as plain numbers; BadScores unless they are probabilities of all texts.

    >>> checked([0.5, 1.0000001], 2)
    [0.5, 1.0]
    """
    try:
        values = [float(score) for score in scores]
    except (TypeError, ValueError) as error:
        raise BadScores("the model gave something else than numbers") from error
    if len(values) != count:
        raise BadScores(f"the model gave {len(values)} scores for {count} texts")
    if not all(math.isfinite(value) for value in values):
        raise BadScores("the model gave scores that are no numbers")
    if not all(-1e-6 <= value <= 1 + 1e-6 for value in values):
        raise BadScores(
            "the model gave scores that are not from 0 to 1",
            hint="it has to give probabilities: logits go through a sigmoid first",
        )
    return [min(1.0, max(0.0, value)) for value in values]


class PairCache:
    """The last ``size`` pairs with their scores; any number of threads may share it.

    A key is made of the scorer's id, the question and the very text that was read, so that nothing
    that could change a score is missing from it. 0 remembers nothing.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._scores: OrderedDict[bytes, float] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._scores)

    def get(self, scorer: str, query: str, texts: Iterable[str]) -> dict[str, float]:
        """Return the scores that are known, by text."""
        if not self.size:
            return {}
        keys = {text: _key(scorer, query, text) for text in texts}
        found = {}
        with self._lock:
            for text, key in keys.items():
                if key in self._scores:
                    self._scores.move_to_end(key)
                    found[text] = self._scores[key]
        return found

    def put(self, scorer: str, query: str, scores: Mapping[str, float]) -> None:
        """Remember scores by text; the least recently used ones are forgotten."""
        keyed = {_key(scorer, query, text): score for text, score in scores.items()}
        with self._lock:
            for key, score in keyed.items():
                self._scores[key] = score
                self._scores.move_to_end(key)
            while len(self._scores) > self.size:
                self._scores.popitem(last=False)


def _key(scorer: str, query: str, text: str) -> bytes:
    digest = blake2b(digest_size=16)
    for part in (scorer, query, text):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)  # where a part ends is part of it
    return digest.digest()


class PairReader:
    """Scores texts in batches, in the order given, and remembers what it scored."""

    def __init__(self, scorer: PairScorer, cache: PairCache, batch: int) -> None:
        self.scorer = scorer
        self.cache = cache
        self.batch = max(1, batch)
        self._lock = Lock()
        self._rate = 0.0  # seconds a character took lately; 0 if nobody knows

    @property
    def is_loaded(self) -> bool:
        """Whether the first text would be read at once."""
        return bool(getattr(self.scorer, "ready", True))

    def try_out(self) -> None:
        """Load the model and read one text; ModelError if that does not work."""
        checked(self.scorer.score("is this a text?", ["This is a text."]), 1)

    def known(self, query: str, texts: Sequence[str]) -> dict[str, float]:
        """Return what was read before; asks a model that is not loaded for nothing."""
        return self.cache.get(self.scorer.id, query, texts) if self.is_loaded else {}

    def read(
        self,
        query: str,
        texts: Sequence[str],
        found: list[Mapping[str, float]],
        deadline: float | None,
    ) -> None:
        """Put the scores of each batch into ``found`` until all are there or the time is up.

        A batch that would not be done in time, by what the last ones took, is not begun; the first
        one always is, or a single slow one would stop all reading for ever.
        """
        scorer = self.scorer.id  # loads the model now, so that no batch seems slow for it
        for number, batch in enumerate(self._batches(texts)):
            chars = sum(len(text) + len(query) for text in batch)
            started = time.monotonic()
            expected = started + (self._rate * chars if number else 0.0)
            if deadline is not None and expected > deadline:
                return
            scores = dict(
                zip(batch, checked(self.scorer.score(query, batch), len(batch)), strict=True)
            )
            self._learn((time.monotonic() - started) / max(1, chars))
            self.cache.put(scorer, query, scores)
            found.append(scores)

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Yield the texts a few at a time; those of one batch by length, to pad little."""
        for at in range(0, len(texts), self.batch):
            yield sorted(texts[at : at + self.batch], key=len)

    def _learn(self, rate: float) -> None:
        with self._lock:
            self._rate = (self._rate + rate) / 2 if self._rate else rate
