"""An index opened for reading: what a search, a look-up and an explanation give back."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property, partial
from pathlib import Path
from typing import Self, overload

from pincite.index.filters import NOTHING, audience_of, explain
from pincite.index.opened import SEPARATOR, OpenIndex, rows_of_cell, tables_at
from pincite.model.addresses import cell_address, cell_at
from pincite.model.editions import in_force, when
from pincite.model.errors import StoreError
from pincite.model.locators import locator_key
from pincite.model.pages import PageRef
from pincite.model.settings import Settings
from pincite.model.tables import Cell, find_cells, has_words, is_named, parse_table
from pincite.model.types import Chunk, Filters, PairScorer, Query, Ranking
from pincite.search.browse import GrepResult, OutlineEntry, grep, outline
from pincite.search.build import build
from pincite.search.candidates import Step
from pincite.search.citing import CONTEXT_CHARS, PlaceToCite
from pincite.search.explain import WhyNot, searched_in, why_not
from pincite.search.late import WordMatch
from pincite.search.metrics import Metrics
from pincite.search.neighbours import Companion, companions
from pincite.search.passages import Passage, passages
from pincite.search.pipeline import Searcher
from pincite.search.query import ParsedQuery
from pincite.search.rerank import NAME as RERANK
from pincite.search.similar import MAX_SIMILAR, MIN_COSINE, Similar, model_of


@dataclass(frozen=True, slots=True)
class Result(Sequence[Passage]):
    """What a search found, best first, and how it was found."""

    parsed: ParsedQuery
    passages: list[Passage]
    steps: list[Step]
    seconds: Mapping[str, float]  # of every stage by name, also of those inside another one

    @property
    def query(self) -> Query:
        return self.parsed.query

    @overload
    def __getitem__(self, at: int) -> Passage: ...
    @overload
    def __getitem__(self, at: slice) -> list[Passage]: ...
    def __getitem__(self, at: int | slice) -> Passage | list[Passage]:
        return self.passages[at]

    def __len__(self) -> int:
        return len(self.passages)

    @property
    def ranking(self) -> Ranking:
        """All candidates after the last stage."""
        return self.steps[-1].ranking

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader should know of how this was found, in plain words."""
        return self.steps[-1].table.notes

    @property
    def corrections(self) -> Mapping[str, str]:
        """Words that the index does not have, each with the one that was searched for instead."""
        return self.parsed.corrections


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell with its table, and how to cite it."""

    table: Chunk
    cell: Cell

    @property
    def value(self) -> str:
        """What stands in the cell, without its unit."""
        return self.cell.value

    @property
    def unit(self) -> str:
        """The unit of the value; empty if it has none."""
        return self.cell.unit

    @property
    def citation(self) -> str:
        """The table, the row as its place is named, the column; ``Index.show`` takes it."""
        names = (self.table.locator, self.cell.row_name, self.cell.column_name)
        return SEPARATOR.join(filter(None, names))


def _finish(
    metrics: Metrics,
    query: ParsedQuery,
    steps: Sequence[Step],
    found: Sequence[Passage],
    first: int,
    started: float,
) -> None:
    """Tell what came out of a search that re-ranks: its hits, and the document of each."""
    first_stage = sum(step.seconds for step in steps[:first])
    metrics.finished(
        query.text,
        [passage.hit.raw[RERANK] for passage in found if RERANK in passage.hit.raw],
        retrieved=len(steps[first - 1].table),
        documents=[passage.chunk.span.doc_id for passage in found],
        first_stage=first_stage,
        reranking=sum(step.seconds for step in steps if step.stage == RERANK),
        total=time.monotonic() - started,
    )


class IndexReader:
    """An index opened for reading: search it, show a place, look up a cell.

    Searching is safe to share between threads. A search sees the generation that was current when
    the index was opened. A scorer of one's own re-ranks whatever the settings say.
    """

    location: str | Path = ""  # empty if something else opened it

    def __init__(
        self,
        opened: OpenIndex,
        settings: Settings,
        scorer: PairScorer | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.opened = opened
        self.snapshot = opened.snapshot
        self.settings = settings
        self.searcher: Searcher = build(settings, opened, scorer, metrics)
        self._is_warm = False

    @classmethod
    def open(
        cls,
        location: str | Path,
        settings: Settings | None = None,
        scorer: PairScorer | None = None,
    ) -> Self:
        """Return the current generation of the index in a folder, or in the server of a URL."""
        settings = settings or Settings()
        index = cls(OpenIndex.open(location, settings.store), settings, scorer)
        index.location = location
        return index

    @property
    def metrics(self) -> Metrics | None:
        """Figures of re-ranking; None if nothing is re-ranked."""
        return self.searcher.reranker.metrics if self.searcher.reranker else None

    @property
    def ready(self) -> bool:
        """Whether a search would load nothing any more."""
        reranker = self.searcher.reranker
        return self._is_warm and (reranker is None or reranker.reader.is_loaded)

    def warm(self) -> None:
        """Load what the first search would load; raises ModelError if a model is not usable."""
        query = ParsedQuery(Query("what does this say?"), self.searcher.reader)
        next(self.searcher.steps(query, 1))
        if self.searcher.reranker is not None:
            self.searcher.reranker.reader.try_out()
        self._is_warm = True

    def search(
        self,
        text: str,
        k: int | None = None,
        filters: Filters = NOTHING,
        *,
        budget_ms: int | None = None,
    ) -> Result:
        """Return the best passages for a question, a phrase or the name of a place.

        ``budget_ms`` is the time to read candidates in, from now; 0 for as long as it takes.
        """
        started = time.monotonic()
        budget = self.settings.rerank.budget_ms if budget_ms is None else budget_ms
        query = self.parse(text, filters, deadline=started + budget / 1000 if budget else None)
        wanted = self.settings.search.k if k is None else k
        reranker = self.searcher.reranker
        metrics = reranker.metrics if reranker else None
        if metrics:
            metrics.began(text, wanted)
        steps, seconds = self._run(query, wanted, metrics)
        found = passages(query, steps[-1].table.hits(wanted), self.opened)
        self._is_warm = True
        if metrics:
            _finish(metrics, query, steps, found, self.searcher.first, started)
        return Result(query, found, steps, seconds)

    def parse(
        self, text: str, filters: Filters = NOTHING, deadline: float | None = None
    ) -> ParsedQuery:
        """Return a query as a search reads it, with the audience that it names."""
        if self.settings.search.audience != "off" and not filters.audience:
            filters = replace(filters, audience=audience_of(text, self.opened.filters))
        return ParsedQuery(Query(text, filters=filters, deadline=deadline), self.searcher.reader)

    def steps(
        self, text: str, k: int, filters: Filters = NOTHING
    ) -> tuple[list[Step], dict[str, float]]:
        """Return the table after every stage, and the seconds of each and of those inside."""
        return self._run(self.parse(text, filters), k)

    def _run(
        self, query: ParsedQuery, k: int, metrics: Metrics | None = None
    ) -> tuple[list[Step], dict[str, float]]:
        steps: list[Step] = []
        for step in self.searcher.steps(query, k):
            steps.append(step)
            if metrics and len(steps) == self.searcher.first:
                metrics.retrieved(len(step.table), sum(each.seconds for each in steps))
        inner = steps[-1].table.seconds
        return steps, {**inner, **{step.stage: step.seconds for step in steps}}

    def companions(self, result: Result, limit: int = 5) -> list[tuple[Companion, Chunk]]:
        """Return what belongs beside the hits: tables and clauses they name, exceptions, terms."""
        keep = partial(self.opened.filters.keep, result.parsed.filters)
        hits = [passage.chunk.id for passage in result.passages]
        found = companions(hits, self.searcher.reader.neighbours, limit, keep)
        chunks = self.snapshot.get([each.chunk_id for each in found])
        return list(zip(found, chunks, strict=True))

    def why_not(
        self,
        text: str,
        locator: str,
        k: int | None = None,
        document: str | None = None,
        filters: Filters = NOTHING,
    ) -> list[WhyNot]:
        """Return for each place of this name where a search for the text loses it.

        Of a name that several documents have, the places in those that the filters allow; where
        they allow none, the filters are what loses it.
        """
        wanted = self.settings.search.k if k is None else k
        query = self.parse(text, filters)
        allows = partial(self.opened.filters.allows_document, query.filters)
        places = self.show(locator, document)
        places = [place for place in places if allows(place.span.doc_id)] or places
        return [why_not(self.searcher, query, place, wanted) for place in places]

    def similar(
        self, place: Chunk, k: int = MAX_SIMILAR, least: float = MIN_COSINE
    ) -> list[tuple[Chunk, float]]:
        """Return at most ``k`` chunks of other sections that are near in meaning, with cosines."""
        if self._similar is None:
            raise StoreError("the index has no vectors", hint="see embedding.model in the settings")
        ids = [chunk.id for chunk in searched_in(self.opened, place)]
        near = self._similar.of(ids, k, least)
        chunks = self.snapshot.get([chunk_id for chunk_id, _ in near])
        return [(chunk, cosine) for chunk, (_, cosine) in zip(chunks, near, strict=True)]

    @cached_property
    def _similar(self) -> Similar | None:
        model = model_of(self.opened)
        return Similar(self.opened, model) if model else None

    def word_matches(self, text: str, chunk: Chunk) -> list[WordMatch]:
        """Return for each word of a question the word of a chunk nearest to it in meaning."""
        late = self.searcher.late
        return late.words(text, chunk) if late else []

    def missing_places(self, text: str, filters: Filters = NOTHING) -> list[tuple[str, str]]:
        """Return places that a query names and the index lacks, each with the nearest above it."""
        return ParsedQuery(Query(text, filters=filters), self.searcher.reader).missing

    def explain_filters(self, filters: Filters) -> str | None:
        """Return in a sentence why filters leave nothing to search; None if they do not."""
        return explain(self.opened.filters, filters)

    def search_ranking(self, text: str, k: int, filters: Filters = NOTHING) -> Ranking:
        """Return the bare ranking, for those who do not need snippets: measures and programs.

        It has no deadline: what it finds depends on nothing but the question.
        """
        query = self.parse(text, filters)
        return self.searcher.run(query, k).ranking(query.query, k)

    def show(
        self, locator: str, document: str | None = None, *, as_of: date | None = None
    ) -> list[Chunk]:
        """Return the places with this locator or heading; StoreError if there are none.

        With a day, only places of documents that are in force on that day. Of a cell as
        ``TableCell.citation`` names it, the row.
        """
        found = self.snapshot.found_by([locator_key(locator)]) or rows_of_cell(
            self.snapshot, locator
        )
        named = [chunk for chunk in found if document is None or chunk.span.doc_id == document]
        valid = in_force(self.snapshot.editions(), as_of) if as_of else None
        found = [chunk for chunk in named if valid is None or chunk.span.doc_id in valid]
        if named and not found and as_of:
            raise self._not_in_force(locator, named, as_of)
        # A piece stands for a part of a place of the same name, which is here as well.
        wholes = [chunk for chunk in found if chunk.kind not in ("text", "piece")] or found
        exact = [chunk for chunk in wholes if chunk.locator == locator.strip()]
        if not wholes:
            raise self._no_place(locator, document)
        return exact or wholes

    def _not_in_force(self, locator: str, named: Sequence[Chunk], as_of: date) -> StoreError:
        """Return the error for a place that only other editions have, with which."""
        others = [self.snapshot.edition(d) for d in sorted({c.span.doc_id for c in named})]
        works = {each.work for each in others}
        editions = [each for each in self.snapshot.editions() if each.work in works]
        valid = in_force(editions, as_of)
        elsewhere = ", ".join(map(when, others))
        current = ", ".join(when(each) for each in editions if each.doc_id in valid)
        return StoreError(
            f"no place {locator!r} in force on {as_of}; it is in {elsewhere}"
            + (f", and the edition in force is {current}" if current else ""),
            hint=f'try: pincite show "{locator}" --document {others[-1].doc_id}',
        )

    def _no_place(self, locator: str, document: str | None) -> StoreError:
        """Return the error for a place that is not there, with where it is instead."""
        if document is None:
            return StoreError(f"no place {locator!r}", hint=f'try: pincite search "{locator}"')
        if document not in self.documents():
            return StoreError(f"no document {document!r} in the index", hint="see: pincite list")
        elsewhere = sorted({c.span.doc_id for c in self.snapshot.found_by([locator_key(locator)])})
        if not elsewhere:
            return StoreError(
                f"no place {locator!r} in {document}", hint=f'try: pincite search "{locator}"'
            )
        return StoreError(
            f"no place {locator!r} in {document}; it is in {', '.join(elsewhere)}",
            hint=f'try: pincite show "{locator}" --document {elsewhere[-1]}',
        )

    def cells(
        self, table: str, row: str, column: str = "", document: str | None = None
    ) -> list[TableCell]:
        """Return the cells that a row's name or number and a column's name mean in a table.

        Of a workbook's sheet, the row may also be the address of a cell: "B7".
        """
        address = cell_address(row, table) if not column else None
        at = tables_at(self.snapshot, address) if address else ()
        if found := [TableCell(chunk, cell_at(known, *place)) for chunk, known, place in at]:
            return [each for each in found if document in (None, each.table.span.doc_id)]
        for chunk in self._tables(table, document):
            parsed = parse_table(chunk.text)
            if parsed is None:
                raise StoreError(f"{table!r} is not a table", hint=f'see: pincite show "{table}"')
            # A heading may tell the units: "Balance sheets (in millions)".
            parsed = replace(parsed, title=" ".join((*chunk.path[-1:], parsed.title)))
            found += [TableCell(chunk, cell) for cell in find_cells(parsed, row, column)]
        # Of several tables under one title the one that has a row of just that name is meant.
        return [each for each in found if is_named(each.cell, row)] or found

    def _tables(self, name: str, document: str | None) -> list[Chunk]:
        """Return the tables of a name: their own, or that of the section that they stand in.

        In a document, a part of the name is enough: the words of its title, or of its heading.
        """
        failure: StoreError | None = None
        places: list[Chunk] = []
        try:
            places = self.show(name, document)
        except StoreError as error:
            failure = error
        inside = [
            each
            for place in places
            for each in self.snapshot.chunks_within(
                place.span.doc_id, place.span.start, place.span.end
            )
            if each.kind == "table" and each.span.start >= place.span.start
        ]
        if not inside and document in self.documents():
            every = (each for each in self.snapshot.chunks(document) if each.kind == "table")
            inside = [each for each in every if has_words(each.title or each.locator, name)]
        if failure and not inside:
            raise failure
        return list({each.id: each for each in inside}.values()) or places

    def children(self, chunk: Chunk) -> list[Chunk]:
        """Return the places directly below a place."""
        return [each for each in self.snapshot.children(chunk.id) if each.kind != "piece"]

    def documents(self) -> list[str]:
        """Return the ids of all documents."""
        return self.snapshot.documents()

    def outline(self, document: str, depth: int = 2, place: str = "") -> list[OutlineEntry]:
        """Return the tree of a document, or of a place in it, to a depth, with sizes."""
        return outline(self.snapshot, document, depth, place)

    def grep(
        self,
        wanted: str,
        *,
        is_pattern: bool = False,
        filters: Filters = NOTHING,
        limit: int = 20,
        start: int = 0,
    ) -> GrepResult:
        """Return the places whose own words have these words, or a pattern; see ``grep``."""
        return grep(
            self.snapshot,
            wanted,
            is_pattern=is_pattern,
            documents=self.opened.filters.documents(filters),
            limit=limit,
            start=start,
        )

    def cell(
        self, table: str, row: str, column: str = "", document: str | None = None
    ) -> TableCell:
        """Return the one cell that is meant; StoreError if there is none, or more than one."""
        found = self.cells(table, row, column, document)
        if len(found) == 1:
            return found[0]
        which = f"row {row!r} and column {column!r} in {table}"
        if not found:
            raise StoreError(f"no cell for {which}", hint=f"see: index.show({table!r})")
        places = ", ".join(f"{each.citation} ({each.table.span.doc_id})" for each in found)
        raise StoreError(
            f"{len(found)} cells for {which}: {places}",
            hint="name the document or the column, or take them all: index.cells(…)",
        )

    def cite(
        self,
        place: Passage | Chunk | str,
        style: str = "plain",
        document: str | None = None,
        *,
        links: str = "",
    ) -> str:
        """Return how to cite a passage or a place, also one by its locator.

        Styles are plain, markdown, html, bibtex, ris, csl-json, bluebook, oscola and annotation;
        ``links`` is where the documents stand on the web.
        """
        return self.cited(place, document, links=links).cite(style)

    def cited(
        self, place: Passage | Chunk | str, document: str | None = None, *, links: str = ""
    ) -> PlaceToCite:
        """Return a place with everything that a citation may say of it."""
        if isinstance(place, str):
            place = self.show(place, document)[0]
        chunk = place.place if isinstance(place, Passage) else place
        if isinstance(place, Passage):
            page = PageRef(place.page, place.page_label)
        else:
            page = self.snapshot.page_of(chunk)
        span, text = chunk.span, self.snapshot.text(chunk.span.doc_id)
        return PlaceToCite(
            self.snapshot.title(span.doc_id),
            chunk,
            page,
            meta=self.snapshot.meta(span.doc_id) or {},
            identifiers=self._identifiers(chunk),
            before=text[max(0, span.start - CONTEXT_CHARS) : span.start],
            after=text[span.end : span.end + CONTEXT_CHARS],
            links=links,
        )

    def _identifiers(self, chunk: Chunk) -> tuple[str, ...]:
        """Return what a place's source calls it: USLM, Akoma Ntoso, ELI; then its work."""
        above = self.snapshot.chunks_within(chunk.span.doc_id, 0, 1)
        works = [each.id for each in above if each.kind == "document" and each.id != chunk.id]
        facts = self.snapshot.facts([chunk.id, *works])
        own = facts[chunk.id].identifiers if chunk.id in facts else ()
        whole = [name for each in works if each in facts for name in facts[each].identifiers]
        # Of a whole document, only what is a name everywhere: not "body", not "main".
        return tuple(dict.fromkeys((*own, *(name for name in whole if "/" in name))))

    def close(self) -> None:
        if "snapshot" in vars(self):
            self.snapshot.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
