"""Look-up before ranking: a query that names a place gets that place first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pincite.core.editions import years
from pincite.core.stages import Retriever
from pincite.core.types import Chunk, Filters, Hit, Query, Ranking, Span
from pincite.index.filters import NOTHING, RowFilter
from pincite.index.languages import QueryAnalyzer
from pincite.model.locators import Mention, in_range, locator_key, mentions
from pincite.store.snapshot import Snapshot

MAX_NAME_CHARS = 100
MOST_WORDS_OF_A_NAME = 2
# A question names a few places. Whoever writes hundreds must not keep the index busy with them.
MOST_PLACES = 20
MOST_LEVELS = 40


def is_bare_name(text: str) -> bool:
    """Tell whether a text that names a place can be nothing but the name."""
    return len(text.split()) <= MOST_WORDS_OF_A_NAME


class PlaceFirst:
    """Puts the places that a query names before what another retriever finds.

    A named place scores above the best of the others: the feature ``place`` holds the lift, so the
    features still add up to the score. Pieces of the named place that the other retriever ranks
    are left in: they say where in it the rest of the query stands.
    """

    name = "place"

    def __init__(
        self,
        inner: Retriever,
        snapshot: Snapshot,
        analyzer: QueryAnalyzer | None = None,
        filters: RowFilter | None = None,
        quick: Retriever | None = None,
    ) -> None:
        self.inner = inner
        # Behind a place that was asked for by its bare number, words say enough.
        self.quick = quick or inner
        self.snapshot = snapshot
        self.analyzer = analyzer
        self.filters = filters or RowFilter(snapshot)

    @property
    def inner_retrievers(self) -> list[Retriever]:
        """What is looked through for queries that name no place, for explanations."""
        return [self.inner]

    def retrieve(self, query: Query, k: int) -> Ranking:
        named = list(dict.fromkeys(chunk.id for chunk in self.places(query.text)))
        # A number says nothing more; a term is asked for with all that is said about it.
        is_number = bool(named) and is_bare_name(query.text) and _has_digit(query.text)
        found = (self.quick if is_number else self.inner).retrieve(query, k)
        if named:
            allowed = self.filters.satisfied(query.filters, named)
            named = [chunk_id for chunk_id in named if chunk_id in allowed]
        if not named:
            return found
        ranked = {hit.chunk_id: hit for hit in found.hits}
        top = max((hit.score for hit in found.hits), default=0.0)
        lifted = []
        for position, chunk_id in enumerate(named):
            hit = ranked.pop(chunk_id, Hit(chunk_id, 0.0))
            score = top + len(named) - position
            lifted.append(
                replace(hit, score=score, features={**hit.features, self.name: score - hit.score})
            )
        return Ranking(query, (*lifted, *ranked.values())).top(k)

    def places(self, text: str) -> Iterator[Chunk]:
        """Yield the chunks that the text names, in the order in which it names them."""
        named = _named_places(text)
        # Questions are longer than names: spare them the look-up as a whole.
        names = self._names(text) if len(text) <= MAX_NAME_CHARS else []
        if not named and not names:
            return
        known = self.snapshot.known_keys([*names, *(mention.first for mention in named)])
        whole = next((name for name in names if name in known), None)
        if whole is not None:
            named = [Mention(whole)]
        for mention in named:
            if mention.first not in known:
                continue
            if not mention.last:
                yield from self._named(mention.first, text)
                continue
            for chunk in self.snapshot.found_by([mention.first]):
                document = self.snapshot.chunks(chunk.span.doc_id)
                yield from in_range(document, mention.first, mention.last)

    def _names(self, text: str) -> list[str]:
        """Return the text as a name, and without question words: "what is a berth?" names berth."""
        names = [locator_key(text.rstrip("?! "))]
        if self.analyzer is not None:
            content = self.analyzer.content_words(text)
            names.append(locator_key(" ".join(content).rstrip("?! ")))
        return list(dict.fromkeys(names))

    def _named(self, key: str, text: str) -> list[Chunk]:
        """Return the places of one name: the edition that the query names, then the newest."""
        asked = years(text)

        def order(chunk: Chunk) -> tuple[bool, bool, bool, int, Span]:
            doc_id = chunk.span.doc_id
            own = years(self.snapshot.title(doc_id), doc_id)
            is_titled = locator_key(chunk.locator) != key  # found by its heading's words
            is_part = chunk.kind in ("text", "piece")
            return is_titled, is_part, not asked & own, -max(own, default=0), chunk.span

        return sorted(self.snapshot.found_by([key]), key=order)


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _named_places(text: str) -> list[Mention]:
    """Return the first places that a text names, each once."""
    return list(dict.fromkeys(mentions(text)))[:MOST_PLACES]


def missing_places(
    text: str, filters: RowFilter, allowed: Filters = NOTHING
) -> list[tuple[str, str]]:
    """Return places that a text names and an index lacks, each with the nearest above it.

    A place that the filters take out is not there.
    """
    snapshot = filters.snapshot
    found = []
    for mention in _named_places(text):
        parts = [mention.first]
        while parts[-1].endswith(")") and len(parts) < MOST_LEVELS:
            parts.append(parts[-1][: parts[-1].rindex("(")])
        known = snapshot.known_keys(parts)
        if allowed != NOTHING:
            known = {key for key in known if _has_place(key, filters, allowed)}
        if mention.first not in known:
            found.append((mention.first, next((part for part in parts if part in known), "")))
    return found


def _has_place(key: str, filters: RowFilter, allowed: Filters) -> bool:
    ids = [chunk.id for chunk in filters.snapshot.found_by([key])]
    return bool(filters.satisfied(allowed, ids))
