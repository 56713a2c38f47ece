"""What a query names: places by number or heading, and things that chunks describe."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pincite.index.filters import NOTHING, RowFilter
from pincite.model.editions import years
from pincite.model.locators import Mention, in_range, locator_key
from pincite.model.types import Chunk, Filters
from pincite.search.neighbours import Neighbours
from pincite.store.snapshot import Snapshot

# Questions are longer than names: they are spared the look-up as a whole.
MAX_NAME_CHARS = 100
MAX_BARE_WORDS = 2
# A question names a few places. Whoever writes hundreds must not keep the index busy with them.
MAX_PLACES = 20
MAX_LEVELS = 40
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
MAX_WORDS = 60
MAX_NAME_WORDS = 5
# A name of more chunks than this does not narrow a search.
MAX_CHUNKS = 16


def is_bare_name(text: str) -> bool:
    """Tell whether a text that names a place can be nothing but the name."""
    return len(text.split()) <= MAX_BARE_WORDS


def named_places(
    text: str, mentions: Sequence[Mention], content_words: Sequence[str], snapshot: Snapshot
) -> Iterator[Chunk]:
    """Yield the chunks that a text names, in the order in which it names them."""
    names: list[str] = []
    if len(text) <= MAX_NAME_CHARS:
        # The text as a name, and without question words: "what is a berth?" names berth.
        whole_texts = (text, " ".join(content_words))
        names = list(dict.fromkeys(locator_key(each.rstrip("?! ")) for each in whole_texts))
    if not mentions and not names:
        return
    known = snapshot.known_keys([*names, *(mention.first for mention in mentions)])
    whole = next((name for name in names if name in known), None)
    for mention in mentions if whole is None else [Mention(whole)]:
        if mention.first not in known:
            continue
        if not mention.last:
            yield from _named(mention.first, text, snapshot)
            continue
        for chunk in snapshot.found_by([mention.first]):
            document = snapshot.chunks(chunk.span.doc_id)
            yield from in_range(document, mention.first, mention.last)


def _named(key: str, text: str, snapshot: Snapshot) -> list[Chunk]:
    """Return the places of one name: the edition that the query names, then the newest."""
    asked = years(text)
    ordered = []
    for number, chunk in enumerate(snapshot.found_by([key])):
        doc_id = chunk.span.doc_id
        own = years(snapshot.title(doc_id), doc_id)
        is_titled = locator_key(chunk.locator) != key  # found by its heading's words
        is_part = chunk.kind in ("text", "piece")
        edition = (not asked & own, -max(own, default=0))
        ordered.append((is_titled, is_part, *edition, chunk.span, number, chunk))
    return [each[-1] for each in sorted(ordered)]


def missing_places(
    mentions: Sequence[Mention], filters: RowFilter, allowed: Filters = NOTHING
) -> list[tuple[str, str]]:
    """Return places that are named and an index lacks, each with the nearest above it.

    A place that the filters take out is not there.
    """
    found = []
    for mention in mentions:
        parts = [mention.first]
        while parts[-1].endswith(")") and len(parts) < MAX_LEVELS:
            parts.append(parts[-1][: parts[-1].rindex("(")])
        known = filters.snapshot.known_keys(parts)
        if allowed != NOTHING:
            known = {key for key in known if _has_place(key, filters, allowed)}
        if mention.first not in known:
            found.append((mention.first, next((part for part in parts if part in known), "")))
    return found


def _has_place(key: str, filters: RowFilter, allowed: Filters) -> bool:
    ids = [chunk.id for chunk in filters.snapshot.found_by([key])]
    return bool(filters.satisfied(allowed, ids))


@dataclass(frozen=True, slots=True)
class Entity:
    """A name in a query and the searched chunks that have it."""

    name: str
    chunk_ids: tuple[str, ...]
    is_thing: bool = False  # a chunk describes it: a spell, an item; not only a term
    is_marked: bool = False  # has several words, or a capital inside the text


def entity_chunks(text: str, content_words: Sequence[str], neighbours: Neighbours) -> list[str]:
    """Return what a named thing says and what is one step away; nothing unless one is for sure.

    Sure are things that a chunk describes; terms that a text only defines are used all over it,
    and say little about where the answer stands.
    """
    if not neighbours.rows.describes:
        return []
    words = [(m.start(), m.end()) for m in _WORD.finditer(text)][:MAX_WORDS]
    spans = {
        (start, start + length): locator_key(text[words[start][0] : words[start + length - 1][1]])
        for length in range(MAX_NAME_WORDS, 0, -1)
        for start in range(len(words) - length + 1)
    }
    content = set(map(locator_key, content_words))
    names = {at: key for at, key in spans.items() if at[1] - at[0] > 1 or key in content}
    # Most queries name no thing, and end here.
    things = neighbours.rows.described(sorted(set(names.values())))
    if not things:
        return []
    marked = {
        at for at in names if at[1] - at[0] > 1 or (at[0] > 0 and text[words[at[0]][0]].isupper())
    }
    named = find_entities(names, marked, things, neighbours)
    sure = [i for each in named if each.is_thing and each.is_marked for i in each.chunk_ids]
    edges = (edge for group in neighbours.of(sure).values() for edge in group)
    # What stands next is about another thing as often as not.
    return sorted({*sure, *(edge.chunk_id for edge in edges if edge.relation != "next")})


def find_entities(
    names: Mapping[tuple[int, int], str],
    marked: Container[tuple[int, int]],
    things: Container[str],
    neighbours: Neighbours,
) -> list[Entity]:
    """Return the headings, defined terms and aliases among names, the longest ones.

    Names come by their first and last word, the longest first. One lies within no longer one, and
    what too many chunks are called names nothing.
    """
    homes = neighbours.searched(sorted(set(names.values())))
    found: list[Entity] = []
    taken: list[tuple[int, int]] = []
    for at, key in names.items():
        ids = tuple(dict.fromkeys(chunk_id for chunk_id, _ in homes[key]))
        is_inside = any(first <= at[0] and at[1] <= last for first, last in taken)
        if 0 < len(ids) <= MAX_CHUNKS and not is_inside:
            taken.append(at)
            found.append(Entity(key, ids, key in things, at in marked))
    return list(dict.fromkeys(found))
