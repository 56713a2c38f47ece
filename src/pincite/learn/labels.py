"""What a candidate is worth as an answer: by its place, or as was published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pincite.core.types import Chunk, Span


@dataclass(frozen=True, slots=True)
class Gold:
    """Where a question's answer stands: a page, a stretch of text, or a whole document."""

    doc_id: str
    page: int | None = None
    span: Span | None = None


def grade_by_place(chunk: Chunk, golds: Sequence[Gold]) -> int:
    """Return 2 for a chunk with most of an answer's stretch, or on its page; 1 for some; else 0."""
    return max((_grade(chunk, gold) for gold in golds), default=0)


def _grade(chunk: Chunk, gold: Gold) -> int:
    if chunk.span.doc_id != gold.doc_id:
        return 0
    if gold.span is not None:
        shared = chunk.span.overlap(gold.span)
        shorter = min(len(gold.span), len(chunk.span))
        return 0 if not shared else 2 if 2 * shared >= shorter else 1
    return 2 if gold.page is None or chunk.page == gold.page else 0
