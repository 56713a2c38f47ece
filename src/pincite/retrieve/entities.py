"""Things that a query names, and a search among what is said about them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pincite.core.stages import Retriever
from pincite.core.types import Hit, Query, Ranking
from pincite.index.languages import QueryAnalyzer
from pincite.model.locators import locator_key
from pincite.retrieve.neighbours import Neighbours

_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
MAX_WORDS = 60
MAX_NAME_WORDS = 5
# A name of more chunks than this does not narrow a search.
MAX_CHUNKS = 16


class Scorer(Retriever, Protocol):
    """A retriever that can also tell the scores of given chunks."""

    def score(self, query: Query, ids: Sequence[str]) -> Sequence[Hit]:
        """Return the hits of those chunks that the query's filters allow."""
        ...


@dataclass(frozen=True, slots=True)
class Entity:
    """A name in a query and the searched chunks that have it."""

    name: str
    chunk_ids: tuple[str, ...]
    is_thing: bool = False  # a chunk describes it: a spell, an item; not only a term
    is_marked: bool = False  # has several words, or a capital inside the text


def entities(text: str, neighbours: Neighbours, analyzer: QueryAnalyzer) -> list[Entity]:
    """Return the headings, defined terms and aliases that a text names, the longest ones.

    A name lies within no longer one. Single function words name nothing, and neither does what
    too many chunks are called.
    """
    words = [(m.start(), m.end()) for m in _WORD.finditer(text)][:MAX_WORDS]
    spans = {
        (start, start + length): locator_key(text[words[start][0] : words[start + length - 1][1]])
        for length in range(MAX_NAME_WORDS, 0, -1)
        for start in range(len(words) - length + 1)
    }
    content = {locator_key(word) for word in analyzer.content_words(text)}
    wanted = {at: key for at, key in spans.items() if at[1] - at[0] > 1 or key in content}
    keys = sorted(set(wanted.values()))
    homes, things = neighbours.searched(keys), neighbours.rows.described(keys)
    found: list[Entity] = []
    taken: list[tuple[int, int]] = []
    for at, key in wanted.items():  # longest first
        ids = tuple(dict.fromkeys(chunk_id for chunk_id, _ in homes[key]))
        is_inside = any(first <= at[0] and at[1] <= last for first, last in taken)
        if 0 < len(ids) <= MAX_CHUNKS and not is_inside:
            taken.append(at)
            is_marked = at[1] - at[0] > 1 or (at[0] > 0 and text[words[at[0]][0]].isupper())
            found.append(Entity(key, ids, key in things, is_marked))
    return list(dict.fromkeys(found))


class EntityFirst:
    """Ranks what a named thing says, and what is one step away, before everything else.

    It is sure of things that a chunk describes; terms that a text only defines are used all over
    it, and say little about where the answer stands. The feature ``entities`` holds the lift.
    """

    name = "entities"

    def __init__(self, inner: Scorer, neighbours: Neighbours, analyzer: QueryAnalyzer) -> None:
        self.inner = inner
        self.neighbours = neighbours
        self.analyzer = analyzer

    def retrieve(self, query: Query, k: int) -> Ranking:
        found = self.inner.retrieve(query, max(k, 1))
        subset = self.subset(query.text)
        first = [hit for hit in self.inner.score(query, subset) if hit.score > 0] if subset else []
        if not first:
            return found.top(k)
        lift = max((hit.score for hit in found.hits[:1]), default=0.0)
        lifted = Ranking(query, tuple(first)).lifted(self.name, [lift] * len(first))
        ids = set(lifted.ids)
        rest = (hit for hit in found.hits if hit.chunk_id not in ids)
        return Ranking(query, (*lifted.hits, *rest)).top(k)

    @property
    def inner_retrievers(self) -> list[Retriever]:
        """What ranks the rest, for explanations."""
        return [self.inner]

    def score(self, query: Query, ids: Sequence[str]) -> Sequence[Hit]:
        """Return these chunks as hits, but for those that the filters forbid."""
        return self.inner.score(query, ids)

    def subset(self, text: str) -> list[str]:
        """Return the chunks that come first; none if the query names nothing for sure."""
        if not self.neighbours.rows.describes:
            return []
        named = entities(text, self.neighbours, self.analyzer)
        sure = [i for each in named if each.is_thing and each.is_marked for i in each.chunk_ids]
        edges = (edge for group in self.neighbours.of(sure).values() for edge in group)
        # What stands next is about another thing as often as not.
        return sorted({*sure, *(edge.chunk_id for edge in edges if edge.relation != "next")})
