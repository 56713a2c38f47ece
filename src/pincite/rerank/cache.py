"""Scores of pairs that were read before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from threading import Lock


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
