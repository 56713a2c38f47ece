"""Sources within a budget of tokens."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path

from pincite.answer.sentences import TextUnit, units
from pincite.answer.values import Role, Source
from pincite.model.editions import work_of, years
from pincite.model.errors import MALFORMED, ConfigError
from pincite.model.locators import locator_key
from pincite.model.types import Chunk, Span
from pincite.read.chunks import estimated_tokens
from pincite.read.enrich.summary import summarise
from pincite.search.passages import Matches, Passage
from pincite.search.query import ParsedQuery
from pincite.search.reader import IndexReader, Result

# Share of the budget that companions get at most; what they leave is for hits.
COMPANION_SHARE = 0.25
# A longer table is cut to the rows that fit, so that one does not push out everything else.
TABLE_TOKENS = 600
# Less of a source than this is not worth a number.
MIN_TOKENS = 40
_ROLES: dict[str, Role] = {
    "table": "table",
    "exception": "exception",
    "definition": "definition",
    "clause": "clause",
    "introduction": "introduction",
}


@dataclass(frozen=True, slots=True)
class Context:
    """The numbered sources, and how many tokens their texts have."""

    sources: tuple[Source, ...]
    tokens: int


def build_context(
    index: IndexReader, result: Result, passages: Sequence[Passage], *, budget: int, companions: int
) -> Context:
    """Return the sources for some hits of a search and for what belongs beside them."""
    hits_of = {passage.chunk.id for passage in passages}
    found = index.companions(result, 2 * companions) if companions and passages else []
    beside: list[Source] = []
    for each, chunk in [pair for pair in found if pair[0].of in hits_of][:companions]:
        if source := _source(index, result.parsed, chunk, TABLE_TOKENS):
            beside.append(replace(source, role=_ROLES[each.relation], evidence=each.evidence))
    beside, left = _within(beside, int(budget * COMPANION_SHARE))
    left += budget - int(budget * COMPANION_SHARE)
    hits: list[Source] = []
    for passage in passages:
        source = _source(index, result.parsed, passage.chunk, left)
        # One that lies within a better one says nothing new.
        if source and not any(
            other.span.overlap(source.span) == len(source.span) for other in hits
        ):
            hits.append(source)
    hits, left = _within(hits, left)
    numbered = tuple(replace(each, number=n) for n, each in enumerate((*hits, *beside), 1))
    return Context(numbered, budget - left)


def current(index: IndexReader, question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages without those that another edition replaces.

    Of editions of one work the question's own counts, if it names years; otherwise the newest. A
    place that the edition which counts does not have is kept.
    """
    snapshot = index.snapshot
    works = defaultdict(list)
    for doc_id in {passage.chunk.span.doc_id for passage in passages}:
        works[work_of(index.opened.title_of(doc_id) or doc_id)].append(doc_id)
    asked = years(question)
    counting: dict[str, list[str]] = {}
    for same in works.values():
        if len(same) > 1:
            named = [each for each in same if asked & years(index.opened.title_of(each))]
            dated = [(snapshot.edition(each).effective or date.min, each) for each in same]
            counting |= dict.fromkeys(same, named or [max(dated)[1]])
    keys = {passage.chunk.id: locator_key(passage.chunk.locator) for passage in passages}
    homes = snapshot.documents_with(keys.values()) if counting else {}
    return [
        passage
        for passage in passages
        for doc_id in [passage.chunk.span.doc_id]
        if doc_id in (counts := counting.get(doc_id, [doc_id]))
        or not homes.get(keys[passage.chunk.id], set()) & set(counts)
    ]


def _within(sources: Sequence[Source], budget: int) -> tuple[list[Source], int]:
    """Return the sources that fit, in order, and the tokens left; shorter ones may still fit."""
    kept: list[Source] = []
    for source in sources:
        tokens = estimated_tokens(source.text)
        if tokens <= budget:
            kept.append(source)
            budget -= tokens
    return kept, budget


def _source(index: IndexReader, query: ParsedQuery, chunk: Chunk, most: int) -> Source | None:
    """Return a chunk as a source, or as much of it as the tokens allow; None if that is nothing."""
    if most < MIN_TOKENS or not chunk.text.strip():
        return None
    spans = [(0, len(chunk.text.rstrip()))]
    limit = min(most, TABLE_TOKENS) if chunk.kind == "table" else most
    if estimated_tokens(chunk.text) > limit:
        spans = _best(index, query, chunk, limit)
    if not spans:
        return None
    doc_id, start = chunk.span.doc_id, chunk.span.start
    return Source(
        0,
        chunk.id,
        index.opened.title_of(doc_id) or doc_id,
        chunk.locator,
        chunk.path,
        chunk.page,
        chunk.span,
        "\n".join(chunk.text[a:b] for a, b in spans),
        parts=tuple(Span(doc_id, start + a, start + b) for a, b in spans),
    )


def _best(index: IndexReader, query: ParsedQuery, chunk: Chunk, most: int) -> list[tuple[int, int]]:
    """Return the units that hold most of the question, in order, with a table's frame.

    Caption, header and footnotes of a table come with any row; a row says nothing without.
    """
    every = units(chunk.text)
    tokens = {unit: estimated_tokens(chunk.text[unit.start : unit.end]) + 1 for unit in every}
    is_table = any(unit.kind == "row" for unit in every)
    frame = [unit for unit in every if is_table and unit.kind != "row"]
    matches = Matches(chunk.text, query.weights, index.opened.analyzer_of(chunk.span.doc_id))
    others = [unit for unit in every if not is_table or unit.kind == "row"]
    left = most - sum(tokens[unit] for unit in frame)
    kept = list(frame)
    for unit in sorted(others, key=lambda unit: (-matches.worth(unit.start, unit.end), unit.start)):
        if tokens[unit] <= left:
            kept.append(unit)
            left -= tokens[unit]
    if is_table and len(kept) == len(frame):
        return []
    return _lines(chunk.text, sorted(kept, key=lambda unit: unit.start))


def _lines(text: str, chosen: Sequence[TextUnit]) -> list[tuple[int, int]]:
    """Return the stretches of units, those that only white space parts as one."""
    joined: list[tuple[int, int]] = []
    for unit in chosen:
        if joined and not text[joined[-1][1] : unit.start].strip():
            joined[-1] = (joined[-1][0], unit.end)
        else:
            joined.append((unit.start, unit.end))
    return joined


MAX_FILE_BYTES = 20_000_000
# A longer document is not looked through for the sake of a prompt.
MAX_CHARS = 5_000_000
REMEMBERED_DOCUMENTS = 16


class PageSummaries:
    """Summaries of pages by document and page; safe to share between threads."""

    def __init__(self, index: IndexReader, file: str = "") -> None:
        self._index = index
        self._given = _read(file) if file else {}
        self._starts = lru_cache(maxsize=REMEMBERED_DOCUMENTS)(self._find_starts)

    def of(self, sources: Sequence[Source]) -> dict[int, str]:
        """Return a summary of the page of each source that has one, by the source's number.

        A page is summed up once, at its first source.
        """
        found: dict[int, str] = {}
        seen: set[tuple[str, int]] = set()
        for source in sources:
            page = source.page
            if page is None or (source.span.doc_id, page) in seen:
                continue
            seen.add((source.span.doc_id, page))
            if summary := self._of(source.span.doc_id, page):
                found[source.number] = summary
        return found

    def _of(self, doc_id: str, page: int) -> str:
        given = self._given.get(doc_id, {}).get(str(page))
        if given is not None:
            return given
        starts = self._starts(doc_id)
        if page not in starts:
            return ""
        later = [start for start in starts.values() if start > starts[page]]
        text = self._index.snapshot.text(doc_id)
        return summarise(text[starts[page] : min(later, default=len(text))], 1)

    def _find_starts(self, doc_id: str) -> dict[int, int]:
        """Return where the first place of every page begins."""
        if len(self._index.snapshot.text(doc_id)) > MAX_CHARS:
            return {}
        starts: dict[int, int] = {}
        for chunk in self._index.snapshot.chunks(doc_id):
            if chunk.page is not None and (chunk.searched or chunk.kind != "document"):
                start = starts.get(chunk.page, chunk.span.start)
                starts[chunk.page] = min(start, chunk.span.start)
        return starts


def _read(file: str) -> Mapping[str, Mapping[str, str]]:
    """Return the summaries of a file; ConfigError if it holds none."""
    try:
        path = Path(file)
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ValueError("it is too large")
        values = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(document): {str(page): str(text) for page, text in pages.items()}
            for document, pages in values.items()
        }
    except (OSError, *MALFORMED) as error:
        raise ConfigError(
            f"answer.page_summaries: {file} cannot be read: {error}",
            hint='it is JSON: {"document id": {"12": "what page 12 is about"}}',
        ) from error
