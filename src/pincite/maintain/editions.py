"""What changed between two editions of a document, clause by clause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from pincite.model.editions import EditionPlace, places_of, same_places
from pincite.model.errors import StoreError
from pincite.model.locators import locator_key
from pincite.store.snapshot import Snapshot

AROUND = 6  # unchanged words shown on either side of what changed
ARROW = " → "  # from an old number to a new one
_SIGNS = {"same": "{}", "old": "[-{}-]", "new": "{{+{}+}}"}


@dataclass(frozen=True, slots=True)
class EditionChange:
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

    def marked(self, around: int = AROUND) -> str:
        """Return the changed words between signs, with some of the same words around them.

        >>> EditionChange("changed", "1", "", "It is 2 m high.", "It is 3 m high.").marked()
        'It is [-2-] {+3+} m high.'
        """
        parts = [(edition, text.split()) for edition, text in self.words()]
        shown = []
        for number, (edition, words) in enumerate(parts):
            if edition == "same" and len(words) > 2 * around:
                head = words[:around] if number else []
                tail = words[-around:] if number < len(parts) - 1 else []
                words = [*head, "…", *tail]
            shown.append(_SIGNS[edition].format(" ".join(words)))
        return " ".join(shown)


def diff(snapshot: Snapshot, old: str, new: str, place: str = "") -> list[EditionChange]:
    """Return the changes from one document to another, in the order of the new one.

    A place that is the same under another number has moved. Items that only moved with the place
    above them are not told one by one. With a place, only what changed in it and below it;
    StoreError if neither has it.
    """
    before, after = (_places(snapshot, doc_id) for doc_id in (old, new))
    pairs = same_places(before, after)
    renamed = {first.chunk.locator: second.chunk.locator for first, second in pairs}
    source = {second.chunk.locator: first for first, second in pairs}
    changes: list[EditionChange] = []
    for name, found in after.items():
        earlier = source.get(name)
        if earlier is None and name in before and name not in renamed:
            earlier = before[name]  # one number, other words: to the reader it has changed
            renamed[name] = name
        if earlier is None:
            changes.append(EditionChange("added", name, found.chunk.title, "", found.words))
        else:
            changes += _compared(earlier, found, renamed)
    removed = [
        EditionChange("removed", name, gone.chunk.title, gone.words, "")
        for name, gone in before.items()
        if name not in renamed
    ]
    changes = [*removed, *changes]
    if not place:
        return changes
    inside = _inside(snapshot, old, place) | _inside(snapshot, new, place)
    if not inside:
        raise StoreError(
            f"no place {place!r} in {old} or {new}", hint=f'try: pincite search "{place}"'
        )
    return [each for each in changes if inside.intersection(each.locator.split(ARROW))]


def _inside(snapshot: Snapshot, document: str, place: str) -> set[str]:
    """Return the locators of a place of a document and of all that is below it."""
    above = [c for c in snapshot.found_by([locator_key(place)]) if c.span.doc_id == document]
    return {
        each.locator
        for top in above
        for each in snapshot.chunks_within(document, top.span.start, top.span.end)
        if top.span.start <= each.span.start and each.span.end <= top.span.end
    }


def _compared(
    old: EditionPlace, new: EditionPlace, renamed: Mapping[str, str]
) -> Iterator[EditionChange]:
    """Yield what became of a place, if anything did."""
    was, name = old.chunk.locator, new.chunk.locator
    if was == name:
        if _plain(old.words) != _plain(new.words):
            yield EditionChange("changed", name, new.chunk.title, old.words, new.words)
        return
    above, suffix = renamed.get(old.parent, ""), was.removeprefix(old.parent)
    has_followed = bool(above) and above != old.parent and name == above + suffix
    if not has_followed or old.bag != new.bag:
        yield EditionChange("moved", f"{was}{ARROW}{name}", new.chunk.title, old.words, new.words)


def _places(snapshot: Snapshot, doc_id: str) -> dict[str, EditionPlace]:
    return places_of(snapshot.document(doc_id).text, snapshot.chunks(doc_id))


def _plain(words: str) -> str:
    return " ".join(words.split())
