"""An index opened for reading."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache

from pincite.index.corrections import Aliases, Corrections
from pincite.index.filters import RowFilter
from pincite.index.lexical import Bm25, LexicalIndex
from pincite.index.postings import Vocabulary
from pincite.index.tokens import AUTO, Analyzer, QueryAnalyzer, languages_of
from pincite.model.errors import ConfigError
from pincite.model.locators import locator_key
from pincite.model.profiles import TomlReader, profile_text, profile_values
from pincite.model.settings import StoreSettings
from pincite.model.tables import parse_table
from pincite.model.types import Chunk, Filters
from pincite.store.location import Location, open_snapshot
from pincite.store.snapshot import Snapshot

REMEMBERED_DOCUMENTS = 10_000


class OpenIndex:
    """One generation with its searchable sides; shared by all pipelines and threads."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        # Queries are read as the index was written, whatever the present settings say.
        self._language: str = snapshot.manifest.shape["tokens"]["language"]
        self.lexical = LexicalIndex(snapshot)
        self.filters = RowFilter(snapshot)
        self._language_of = lru_cache(maxsize=REMEMBERED_DOCUMENTS)(self._find_language)
        self.title_of = lru_cache(maxsize=REMEMBERED_DOCUMENTS)(snapshot.title)

    def seen_by(self, access: Iterable[str]) -> OpenIndex:
        """Return the index as one sees it who has these access tags.

        Documents that need others are not filtered but absent: no count, no statistic, no
        suggestion and no error tells of them. See ``docs/decisions/0015-service.md``.
        """
        allowed = self.filters.documents(Filters(access=tuple(access))) or frozenset()
        hidden = frozenset(self.snapshot.documents()) - allowed
        return OpenIndex(self.snapshot.hiding(hidden)) if hidden else self

    @cached_property
    def analyzer(self) -> QueryAnalyzer:
        """Reads queries in the languages of the index."""
        if self._language != AUTO:
            return QueryAnalyzer([self._language])
        return QueryAnalyzer(languages_of(self.snapshot.segments))

    @cached_property
    def corrections(self) -> Corrections:
        """Guesses what unknown words of a query were meant to be."""
        return Corrections(self.lexical, self.analyzer, Vocabulary(self.snapshot.segments))

    @cached_property
    def aliases(self) -> Aliases:
        """Finds other names of what a query names."""
        return Aliases(self.snapshot, self.analyzer, self._synonyms())

    def _synonyms(self) -> dict[str, tuple[str, ...]]:
        """Return the other names that the index's own profile gives, if it is still there."""
        name: str = self.snapshot.manifest.shape["ingest"]["profile"]
        if not name.endswith(".toml"):
            return {}
        try:
            values, _ = profile_values(profile_text(name), origin=name)
            table = TomlReader(values, name).table("synonyms")
            return {word: table.texts(word) for word in table.values}
        except ConfigError:
            return {}  # a profile that was moved or changed must not keep anybody from searching

    def weights_of(self, terms: Iterable[str]) -> dict[str, float]:
        """Return what each of some terms is worth here: rare ones more than common ones."""
        resolved = self.lexical.resolve(list(terms))
        size, bm25 = self.lexical.size, Bm25()
        idf = [bm25.idf(term.df, size) for term in resolved.terms]
        return dict(zip(resolved.words, idf, strict=True))

    def analyzer_of(self, doc_id: str) -> Analyzer:
        """Return the analyzer that read a document."""
        languages = self.analyzer.languages
        if len(languages) == 1:
            return self.analyzer.of(languages[0])
        return self.analyzer.of(self._language_of(doc_id))

    def _find_language(self, doc_id: str) -> str:
        meta = self.snapshot.meta(doc_id) or {}
        return meta.get("language", self.analyzer.languages[0])

    @classmethod
    def open(cls, location: Location, store: StoreSettings | None = None) -> OpenIndex:
        """Return the current generation of the index in a folder, or in the server of a URL."""
        return cls(open_snapshot(location, store))

    def has_vectors(self, model: str) -> bool:
        """Return whether any chunk has a vector of this model."""
        return any(each.entry.model == model for each in self.snapshot.vectors)


SEPARATOR = " > "  # between a table, its row and its column


def rows_of_cell(snapshot: Snapshot, locator: str) -> list[Chunk]:
    """Return the rows that have the cell: "Table 4 > E-07 > What to do"."""
    row, _, column = locator.rpartition(SEPARATOR)
    while row:
        found = [chunk for chunk in snapshot.found_by([locator_key(row)]) if chunk.kind == "row"]
        if rows := [chunk for chunk in found if _has_column(snapshot, chunk, column)]:
            return rows
        # The name of a column may have the sign itself: "Load > 5 kW".
        row, sign, last = row.rpartition(SEPARATOR)
        column = f"{last}{sign}{column}"
    return []


def _has_column(snapshot: Snapshot, row: Chunk, column: str) -> bool:
    tables = snapshot.get([row.parent] if row.parent else [])
    parsed = [table for each in tables if (table := parse_table(each.text))]
    return any(locator_key(column) in map(locator_key, table.columns) for table in parsed)
