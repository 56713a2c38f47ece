"""Made questions of a whole index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pincite.core.types import Loaded
from pincite.evaluate.synthetic import records
from pincite.store.snapshot import Snapshot

MOST_PER_KIND = 20  # of one document: enough to see what is not found at all
MOST = 2000


def made_questions(snapshot: Snapshot, *, most: int = MOST) -> Iterator[Any]:
    """Yield questions made from the structure of every document, at most so many."""
    left = most
    for doc_id in snapshot.documents():
        chunks = snapshot.chunks(doc_id)
        loaded = Loaded(
            snapshot.document(doc_id),
            chunks,
            snapshot.links(doc_id),
            snapshot.facts([chunk.id for chunk in chunks]),
        )
        for record in records(snapshot, loaded, most=MOST_PER_KIND):
            if not left:
                return
            left -= 1
            yield record
