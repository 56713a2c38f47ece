"""Vectors of texts that are encoded again and again: the sentences that answers are chosen from."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

import numpy as np

from pincite.embed.models import Encoder
from pincite.store.files import Array

# Vectors of 384 numbers take 6 MB.
REMEMBERED_TEXTS = 4096


class RememberedVectors:
    """Encodes texts, each once while it is among the last ones that were asked for.

    Any number of threads may share it; two that ask at once may both encode a text.
    """

    def __init__(self, encoder: Encoder, size: int = REMEMBERED_TEXTS) -> None:
        self.encoder = encoder
        self.size = size
        self._vectors: OrderedDict[str, Array] = OrderedDict()
        self._lock = Lock()

    def of(self, texts: Sequence[str]) -> Array:
        """Return the vectors of texts, one a row."""
        with self._lock:
            known = {text: self._vectors[text] for text in texts if text in self._vectors}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            # Copies: a row of the whole would keep all of it in memory.
            new = self.encoder.encode(missing).astype(np.float32)
            known |= {text: row.copy() for text, row in zip(missing, new, strict=True)}
        with self._lock:
            for text in texts:
                self._vectors[text] = known[text]
                self._vectors.move_to_end(text)
            while len(self._vectors) > self.size:
                self._vectors.popitem(last=False)
        return np.stack([known[text] for text in texts])
