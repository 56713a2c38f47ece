"""Why filters leave nothing to search, in a sentence that names what there is instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from pincite.core.types import Filters
from pincite.index.filters import NOTHING, RowFilter

NAMED = 8  # values that a sentence lists


def explain(rows: RowFilter, filters: Filters) -> str | None:
    """Return why the filters allow nothing, or which value of them is unknown; None if all is well.

    Bad dates and page ranges are errors, not explanations.
    """
    if filters == NOTHING:
        return None
    if sentences := list(_unknown(rows, filters)):
        return "; ".join(sentences)
    if _any_row(rows, filters):
        return None
    alone = [field for field in _fields(filters) if not _any_row(rows, _only(filters, field))]
    if alone:
        return f"nothing in the index satisfies the filter {' or '.join(alone)}"
    return f"nothing in the index satisfies these filters together: {', '.join(_fields(filters))}"


def _unknown(rows: RowFilter, filters: Filters) -> Iterator[str]:
    documents = rows.snapshot.documents()
    for pattern in filters.documents:
        if not rows.documents(Filters(documents=(pattern,))):
            listed = _listed(documents, pattern)
            yield f"no document matches {pattern!r}; documents: {listed}"
    kinds = rows.known("kind") | rows.known("content")
    for what, wanted, known in (
        ("kind", filters.kinds, kinds),
        ("tag", filters.tags, rows.known("tags")),
        ("trait", filters.traits, rows.known("traits")),
        ("audience", (filters.audience,) if filters.audience else (), rows.audiences()),
    ):
        folded = {name.casefold() for name in known}
        for name in wanted:
            if name.casefold() not in folded:
                yield f"no {what} is called {name!r}; {what}s: {_listed(known, name)}"


def _listed(names: Iterable[str], near: str) -> str:
    """Return some names, those that look like the wanted one first."""
    known = sorted(names)
    from difflib import get_close_matches

    first = get_close_matches(near, known[:10_000], n=3)
    shown = list(dict.fromkeys([*first, *known]))[:NAMED]
    more = f" and {len(known) - len(shown):,} more" if len(known) > len(shown) else ""
    return (", ".join(shown) or "none") + more


def _fields(filters: Filters) -> list[str]:
    return [name for name in Filters.__slots__ if getattr(filters, name) != getattr(NOTHING, name)]


def _only(filters: Filters, field: str) -> Filters:
    return replace(NOTHING, **{field: getattr(filters, field)})


def _any_row(rows: RowFilter, filters: Filters) -> bool:
    return any(mask.any() for mask in rows.rows(filters) or ())
