"""An index opened for reading: what a search, a look-up and an explanation give back."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Self, overload

from pincite.index.filters import NOTHING, audience_of, explain
from pincite.index.opened import OpenIndex
from pincite.model.errors import StoreError
from pincite.model.settings import Settings
from pincite.model.types import Chunk, Filters, PairScorer, Query, Ranking
from pincite.search.browse import GrepResult, grep
from pincite.search.build import build
from pincite.search.candidates import Step
from pincite.search.explain import WhyNot, searched_in, why_not
from pincite.search.late import WordMatch
from pincite.search.lookup import PlaceReader
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


class IndexReader(PlaceReader):
    """An index opened for reading: search it, show a place, look up a cell.

    Searching is safe to share between threads. A search sees the generation that was current when
    the index was opened. A scorer of one's own re-ranks whatever the settings say.
    """

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
