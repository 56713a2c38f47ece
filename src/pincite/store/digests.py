"""A checksum of each document in a segment: a damaged database need not lose all of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from pincite.core.types import Facts, Loaded
from pincite.store.array_files import Array

DIGESTS = "document_digests"  # of a segment's arrays: a row for each document, by its number
SIZE = 16
_facts_text = lru_cache(20_000)(repr)  # most chunks share theirs with many others


def digest_of(loaded: Loaded) -> bytes:
    """Return a hash of all that an index keeps of a document.

    What a database gives back has the same one, or is not what was written.
    """
    document, nothing = loaded.document, Facts()
    chunks = [
        (
            *(c.id, c.span.start, c.span.end, c.own_end, c.kind, c.locator, c.title, c.path),
            *(c.page, c.parent, c.searched, c.context),
            _facts_text(loaded.facts.get(c.id, nothing)),
        )
        for c in loaded.chunks
    ]
    links = [(x.source, x.relation, x.target, x.span.start, x.span.end) for x in loaded.links]
    boxes = [
        (box.start, box.end, box.page, *map(float, (box.x0, box.y0, box.x1, box.y1)))
        for box in loaded.boxes
    ]
    meta = json.dumps(dict(document.meta), sort_keys=True)
    about = (document.id, document.title, meta)
    whole = repr((about, chunks, links, list(loaded.findings), boxes))
    digest = blake2b(document.text.encode("utf-8", "surrogatepass"), digest_size=SIZE)
    digest.update(whole.encode("utf-8", "surrogatepass"))
    return digest.digest()


def as_array(digests: Iterable[bytes]) -> Array:
    """Return the digests of a segment's documents, in their order, as one of its arrays."""
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(-1, SIZE)
