"""Groups of places that a router chooses among: folders, documents, chapters.

A group has a name that says what it is: ``folder:law``, ``document:law/act.pdf`` or
``chapter:law/act.pdf > Part 2``. A chapter is what stands below one of a document's top headings.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Literal

import numpy as np

from pincite.core.errors import ConfigError
from pincite.index.places import Places
from pincite.store.files import Array
from pincite.store.snapshot import Snapshot

By = Literal["folder", "document", "chapter"]
KINDS: tuple[By, ...] = ("folder", "document", "chapter")


def group_name(by: By, doc_id: str, path: tuple[str, ...] | list[str] = ()) -> str:
    """Return the name of the group that a place belongs to.

    >>> group_name("folder", "law/eu/act.pdf"), group_name("folder", "act.pdf")
    ('folder:law', 'folder:')
    >>> group_name("chapter", "act.pdf", ("Part 2", "Fees"))
    'chapter:act.pdf > Part 2'
    """
    if by == "folder":
        folder, slash, _ = doc_id.partition("/")
        return f"folder:{folder if slash else ''}"
    if by == "document":
        return f"document:{doc_id}"
    return f"chapter:{doc_id} > {path[0]}" if path else f"chapter:{doc_id}"


def group_mask(part: Places, names: Iterable[str]) -> Array:
    """Return which chunks of a segment belong to one of the groups."""
    wanted = set(names)
    chosen = np.zeros(len(part.column("start")), dtype=bool)
    for by in _kinds_of(wanted):
        codes, known = numbered(part, by)
        table = np.fromiter((name in wanted for name in known), dtype=bool, count=len(known))
        chosen |= table[codes]
    return chosen


def _kinds_of(names: Iterable[str]) -> list[By]:
    kinds = {name.partition(":")[0] for name in names}
    if unknown := sorted(kinds - set(KINDS)):
        raise ConfigError(
            f"no kind of group called {unknown[0]!r}",
            hint="name a group as folder:NAME, document:ID or chapter:ID > HEADING",
        )
    return [by for by in KINDS if by in kinds]


def numbered(part: Places, by: By) -> tuple[Array, list[str]]:
    """Return the group of each chunk of a segment as a number, and the names of the groups.

    Worked out once a segment: a router asks for it with every question.
    """
    if by not in part.numbered:
        part.numbered[by] = _numbered(part, by)
    return part.numbered[by]


def _numbered(part: Places, by: By) -> tuple[Array, list[str]]:
    documents = part.values("document")
    if by != "chapter":
        return part.column("document"), [group_name(by, doc_id) for doc_id in documents]
    paths = part.values("path")
    both = part.column("document").astype(np.int64) * len(paths) + part.column("path")
    pairs, codes = np.unique(both, return_inverse=True)
    named = (divmod(pair, len(paths)) for pair in pairs.tolist())
    return codes, [group_name(by, documents[doc], paths[path]) for doc, path in named]


class Groups:
    """The groups of an index: which one each searched row belongs to."""

    def __init__(self, snapshot: Snapshot, by: By) -> None:
        self.by = by
        self._parts = [Places(segment) for segment in snapshot.segments]

    @cached_property
    def _numbered(self) -> tuple[list[Array], list[str]]:
        """The group of every row of every segment, and the names of all groups."""
        known: dict[str, int] = {}
        rows = []
        for part in self._parts:
            codes, names = numbered(part, self.by)
            of_rows = codes[part.searched]
            # What only dropped documents have is no group any more; no row of theirs is asked for.
            live = set(of_rows[part.live[part.searched]].tolist())
            table = np.array(
                [
                    known.setdefault(name, len(known)) if code in live else 0
                    for code, name in enumerate(names)
                ],
                dtype=np.int64,
            )
            rows.append(table[of_rows])
        return rows, list(known)

    @property
    def names(self) -> list[str]:
        return self._numbered[1]

    @property
    def rows(self) -> list[Array]:
        return self._numbered[0]
