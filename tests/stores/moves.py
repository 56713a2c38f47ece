"""An index that moves between stores."""

from __future__ import annotations

from pathlib import Path

from tests.stores.documents import build, exported, library, rules

from pincite.api import Index
from pincite.maintain.copy import copy_index
from pincite.update import embed_index, remove


def made(folder: Path) -> Path:
    """Return an index of several segments, with a document dropped and vectors."""
    texts = list(library().items())
    for some in (texts[:3], texts[3:6], texts[6:]):
        build(folder, dict(some))
    build(folder, {"gone.md": rules(20), "stays.md": rules(21)})
    remove(folder, ["gone.md"])
    for _ in embed_index(folder):
        pass
    return folder


def assert_there_and_back(server: str, folder: Path) -> None:
    """Copy an index to a server and back: the same bytes, and the same hits in all three."""
    first, last = made(folder / "first"), folder / "last"
    there = list(copy_index(first, server))
    assert there[-1].done == there[-1].total == len(library()) + 1
    back = list(copy_index(server, last))
    assert [part.documents for part in there] == [part.documents for part in back]
    plain = exported(first, folder / "a")
    assert plain == exported(server, folder / "b") == exported(last, folder / "c")
    with Index.open(first) as one, Index.open(server) as two, Index.open(last) as three:
        for query in ("how many days to inspect a boiler", "clearance near a crane", "5.2(a)"):
            hits = [each.search_ranking(query, 20).hits for each in (one, two, three)]
            assert hits[0] and hits[0] == hits[1] == hits[2]
