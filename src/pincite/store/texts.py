"""Texts of recently used documents, kept in memory up to a bound."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

KEPT_CHARS = 16_000_000


class TextCache:
    """Documents' texts by id, the least recently used given up first; safe to share."""

    def __init__(self, kept_chars: int = KEPT_CHARS) -> None:
        self._kept_chars = kept_chars
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._chars = 0
        self._lock = Lock()

    def get(self, doc_id: str) -> str | None:
        with self._lock:
            if doc_id in self._texts:
                self._texts.move_to_end(doc_id)
            return self._texts.get(doc_id)

    def put(self, doc_id: str, text: str) -> None:
        with self._lock:
            if doc_id not in self._texts:
                self._texts[doc_id] = text
                self._chars += len(text)
            while self._chars > self._kept_chars and len(self._texts) > 1:
                _, old = self._texts.popitem(last=False)
                self._chars -= len(old)
