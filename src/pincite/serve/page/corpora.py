"""What the area for documents shows of them: how they were cut, and the gap report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from pincite.audit import Audit, Gap, audit
from pincite.core.errors import StoreError
from pincite.core.types import Chunk
from pincite.evaluate.report import charts
from pincite.model.locators import locator_key
from pincite.search.reader import IndexReader
from pincite.serve import reading
from pincite.serve.page.look import Look

ROWS, MOST_GAPS, MOST_PLACES = 25, 200, 400
# The report of a larger index is made for one document at a time.
MOST_CHUNKS = 50_000
LENGTHS = (100, 200, 400, 800, 1600, 3200)
# What the report's kinds mean to a reader.
KINDS = {
    "dangling_reference": "references that lead nowhere",
    "other_edition": "references into another edition",
    "numbering_hole": "holes in the numbering",
    "empty_section": "empty sections",
    "table_not_read": "tables that were not read well",
    "scanned_page": "scanned pages",
    "hidden_text": "hidden text",
    "skipped_content": "content that was left out",
    "bad_page": "pages that cannot be read",
    "duplicate_document": "documents with the same text",
}


def documents(index: IndexReader, look: Look) -> dict[str, Any]:
    """Return a page of the list of documents, each with its statistics."""
    every = reading.documents(index)
    text = look.rest.get("from", "")
    first = int(text) if text.isdecimal() and len(text) < 8 else 0
    rows = []
    for each in every[first : first + ROWS]:
        report = _audit(index, each["id"])
        rows.append(
            {
                **each,
                "url": Look(c=look.c, doc=each["id"]).url("/corpus"),
                "places": sum(report.statistics["places"].values()),
                "statistics": report.statistics,
                "gaps": len(report.gaps),
            }
        )
    after = first + ROWS
    return {
        "rows": rows,
        "total": len(every),
        "chunks": len(index.snapshot),
        "generation": reading.generation_of(index),
        "before": _from(look, max(0, first - ROWS)) if first else "",
        "after": _from(look, after) if after < len(every) else "",
    }


def _from(look: Look, first: int) -> str:
    return Look(c=look.c, rest={"from": str(first or "")}).url("/corpus")


def document(index: IndexReader, look: Look) -> dict[str, Any]:
    """Return what is known of one document: how it was cut, its gaps, its places."""
    known = {each["id"]: each for each in reading.documents(index)}
    if look.doc not in known:
        raise StoreError(f"no document {look.doc!r}", hint="see the list of documents")
    report = _audit(index, look.doc)
    chunks = index.snapshot.chunks(look.doc)
    counts = report.statistics["places"]
    searched = [len(chunk.text) for chunk in chunks if chunk.searched]
    kinds = [(kind, float(n), str(n)) for kind, n in sorted(counts.items(), key=lambda e: -e[1])]
    lengths = [(name, float(n), str(n)) for name, n in _lengths(searched)]
    relations = Counter(link.relation for link in index.snapshot.links(look.doc))
    return {
        **known[look.doc],
        "statistics": report.statistics,
        "kinds": charts.bars(kinds, title="places by kind"),
        "lengths": charts.bars(lengths, title="length of searched chunks", series=2),
        "relations": relations.most_common(12),
        "gaps": _shown(index, report.gaps, look),
        "places": _places(chunks, look),
        "place_count": sum(chunk.kind != "piece" for chunk in chunks),
        "read": Look(c=look.c, doc=look.doc).url("/read"),
    }


def _lengths(sizes: Iterable[int]) -> list[tuple[str, int]]:
    """Return how many chunks there are of each length.

    >>> _lengths([50, 150, 5000])[:2]
    [('up to 100 characters', 1), ('up to 200', 1)]
    """
    counts = Counter(next((top for top in LENGTHS if size <= top), 0) for size in sizes)
    names = [f"up to {top:,}{' characters' if top == LENGTHS[0] else ''}" for top in LENGTHS]
    rows = [(name, counts[top]) for name, top in zip(names, LENGTHS, strict=True)]
    return [*rows, (f"above {LENGTHS[-1]:,}", counts[0])]


def _places(chunks: Sequence[Chunk], look: Look) -> list[dict[str, str]]:
    named = [c for c in chunks if c.kind in ("section", "table") and c.locator]
    return [
        {
            "label": c.locator if c.title in c.locator else f"{c.locator} {c.title}",
            "url": Look(c=look.c, doc=look.doc, at=(c.span.start, c.span.end)).url("/corpus"),
        }
        for c in named[:MOST_PLACES]
    ]


def findings(index: IndexReader, look: Look) -> dict[str, Any]:
    """Return the gap report of all documents; of a large index, where to find it."""
    if len(index.snapshot) > MOST_CHUNKS:
        return {"is_large": True, "kinds": [], "gaps": [], "total": 0}
    report = _audit(index, "")
    kind = look.rest.get("kind_of", "")
    gaps = [gap for gap in report.gaps if kind in ("", gap.kind)]
    counts = report.counts()
    return {
        "is_large": False,
        "kinds": [
            (KINDS.get(name, name), count, _kind_url(look, name), name == kind)
            for name, count in counts.items()
        ],
        "all": (sum(counts.values()), _kind_url(look, ""), not kind),
        "gaps": _shown(index, gaps, look),
        "total": len(gaps),
        "statistics": report.statistics,
    }


def _kind_url(look: Look, kind: str) -> str:
    return Look(c=look.c, rest={"view": "findings", "kind_of": kind}).url("/corpus")


def _shown(index: IndexReader, gaps: Sequence[Gap], look: Look) -> list[dict[str, Any]]:
    """Return the first gaps with the places that they are about."""
    some = gaps[:MOST_GAPS]
    keys = {locator_key(gap.place) for gap in some if gap.place}
    spots: dict[tuple[str, str], tuple[int, int]] = {}
    for chunk in index.snapshot.found_by(keys):
        name = (chunk.span.doc_id, chunk.locator)
        spots.setdefault(name, (chunk.span.start, chunk.span.end))
    return [
        {
            "kind": KINDS.get(gap.kind, gap.kind),
            "document": gap.document,
            "place": gap.place,
            "message": gap.message,
            "url": Look(c=look.c, doc=gap.document, at=spots.get((gap.document, gap.place))).url(
                "/read"
            ),
        }
        for gap in some
    ]


_audits: WeakKeyDictionary[IndexReader, dict[str, Audit]] = WeakKeyDictionary()
_lock = Lock()


def _audit(index: IndexReader, doc_id: str) -> Audit:
    """Return the report of one document, or of all without a name; made once for an index."""
    with _lock:
        known = _audits.setdefault(index, {})
    if doc_id not in known:
        known[doc_id] = audit(index.snapshot, [doc_id] if doc_id else None)
    return known[doc_id]
