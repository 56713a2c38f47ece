"""What changed between two editions of a document, clause by clause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from pincite.core.types import Chunk
from pincite.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Change:
    """One place that one edition has and the other has not, or has in other words."""

    kind: Literal["added", "removed", "changed", "moved"]
    locator: str
    title: str
    old: str = ""  # the place's own words, without those of places below it
    new: str = ""

    def words(self) -> Iterator[tuple[Literal["same", "old", "new"], str]]:
        """Yield the words of both editions, in order, with which edition has them."""
        old, new = self.old.split(), self.new.split()
        for step, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if step == "equal":
                yield "same", " ".join(old[a:b])
                continue
            if b > a:
                yield "old", " ".join(old[a:b])
            if d > c:
                yield "new", " ".join(new[c:d])


def diff(snapshot: Snapshot, old: str, new: str) -> list[Change]:
    """Return the changes from one document to another, in the order of the new one.

    Places are the same if their locators are; a place whose words stand unchanged under another
    locator has moved.
    """
    before, after = _own(snapshot, old), _own(snapshot, new)
    changes: list[Change] = []
    gone = {name: place for name, place in before.items() if name not in after}
    by_words = {_plain(words): name for name, (_, words) in gone.items() if len(words) > 40}
    for name, (chunk, words) in after.items():
        if name in before:
            earlier = before[name][1]
            if _plain(earlier) != _plain(words):
                changes.append(Change("changed", name, chunk.title, earlier, words))
            continue
        source = by_words.pop(_plain(words), None)
        if source is not None:
            gone.pop(source)
            changes.append(Change("moved", f"{source} → {name}", chunk.title, words, words))
        else:
            changes.append(Change("added", name, chunk.title, "", words))
    removed = [Change("removed", n, chunk.title, words, "") for n, (chunk, words) in gone.items()]
    return [*removed, *changes]


def _own(snapshot: Snapshot, doc_id: str) -> dict[str, tuple[Chunk, str]]:
    """Return every place of a document with its own words, by locator."""
    document = snapshot.document(doc_id)
    places: dict[str, tuple[Chunk, str]] = {}
    for chunk in _places(snapshot.chunks(doc_id)):
        words = document.text[chunk.span.start : chunk.own_end].strip()
        if chunk.locator in places:  # text that goes on below a table belongs to its clause
            first, earlier = places[chunk.locator]
            places[chunk.locator] = (first, f"{earlier}\n{words}")
        else:
            places[chunk.locator] = (chunk, words)
    return places


def _places(chunks: Sequence[Chunk]) -> list[Chunk]:
    return [chunk for chunk in chunks if chunk.kind not in ("piece", "document")]


def _plain(words: str) -> str:
    return " ".join(words.split())
