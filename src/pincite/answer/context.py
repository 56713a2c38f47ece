"""Sources within a budget of tokens."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path

from pincite.answer.sentences import TextUnit, units
from pincite.answer.values import Role, Source
from pincite.model.editions import years
from pincite.model.errors import MALFORMED, ConfigError
from pincite.model.locators import locator_key
from pincite.model.types import Chunk, Span
from pincite.read.chunks import estimated_tokens
from pincite.read.enrich.summary import summarise
from pincite.search.passages import Matches, Passage
from pincite.search.query import ParsedQuery
from pincite.search.reader import IndexReader, Result
from pincite.search.related import Companion

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
    reader = _ContextReader(index, result.parsed)
    hits_of = {passage.chunk.id for passage in passages}
    found = index.companions(result, 2 * companions) if companions and passages else []
    found = [each for each in found if each[0].of in hits_of][:companions]
    beside = [source for each, chunk in found for source in reader.companion(each, chunk)]
    beside = _within(beside, int(budget * COMPANION_SHARE))
    used = sum(estimated_tokens(each.text) for each in beside)
    hits = [
        source
        for passage in passages
        for source in reader.source(passage.chunk, "hit", budget - used)
    ]
    chosen = [*_within(_once(hits), budget - used), *beside]
    numbered = tuple(replace(each, number=n) for n, each in enumerate(chosen, 1))
    return Context(numbered, sum(estimated_tokens(each.text) for each in numbered))


def current(index: IndexReader, question: str, passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages without those that another edition replaces.

    Of editions of one work the question's own counts, if it names years; otherwise the newest. A
    place that the edition which counts does not have is kept.
    """
    snapshot = index.snapshot
    editions = {doc_id: snapshot.edition(doc_id) for doc_id in _documents(passages)}
    works = defaultdict(list)
    for edition in editions.values():
        works[edition.work].append(edition)
    asked = years(question)
    counting: dict[str, list[str]] = {}
    for same in works.values():
        named = [each.doc_id for each in same if asked & years(index.opened.title_of(each.doc_id))]
        newest = max(same, key=lambda each: (each.effective or date.min, each.doc_id)).doc_id
        counting |= {each.doc_id: named or [newest] for each in same if len(same) > 1}
    keys = {passage.chunk.id: locator_key(passage.chunk.locator) for passage in passages}
    homes = snapshot.documents_with(keys.values()) if counting else {}
    return [
        passage
        for passage in passages
        for doc_id in [passage.chunk.span.doc_id]
        if doc_id in (counts := counting.get(doc_id, [doc_id]))
        or not homes.get(keys[passage.chunk.id], set()) & set(counts)
    ]


def _documents(passages: Sequence[Passage]) -> set[str]:
    return {passage.chunk.span.doc_id for passage in passages}


def _once(sources: Sequence[Source]) -> list[Source]:
    """Return the sources without those that lie within a better one."""
    kept: list[Source] = []
    for source in sources:
        if not any(other.span.overlap(source.span) == len(source.span) for other in kept):
            kept.append(source)
    return kept


def _within(sources: Sequence[Source], budget: int) -> list[Source]:
    """Return the sources that fit, in order; one that does not fit leaves room for shorter ones."""
    kept, left = [], budget
    for source in sources:
        tokens = estimated_tokens(source.text)
        if tokens <= left:
            kept.append(source)
            left -= tokens
    return kept


class _ContextReader:
    """Reads chunks for one question."""

    def __init__(self, index: IndexReader, query: ParsedQuery) -> None:
        self._index = index.opened
        self._weights = query.weights

    def companion(self, companion: Companion, chunk: Chunk) -> Iterator[Source]:
        role = _ROLES[companion.relation]
        for source in self.source(chunk, role, TABLE_TOKENS):
            yield replace(source, evidence=companion.evidence)

    def source(self, chunk: Chunk, role: Role, most: int) -> Iterator[Source]:
        """Yield a chunk as a source, or as much of it as the tokens allow, if that is anything."""
        if most < MIN_TOKENS:
            return
        spans = [(0, len(chunk.text.rstrip()))]
        limit = min(most, TABLE_TOKENS) if chunk.kind == "table" else most
        if estimated_tokens(chunk.text) > limit:
            spans = self._best(chunk, limit)
        if not spans or not chunk.text.strip():
            return
        doc_id, start = chunk.span.doc_id, chunk.span.start
        yield Source(
            0,
            chunk.id,
            self._index.title_of(doc_id) or doc_id,
            chunk.locator,
            chunk.path,
            chunk.page,
            chunk.span,
            "\n".join(chunk.text[a:b] for a, b in spans),
            role,
            parts=tuple(Span(doc_id, start + a, start + b) for a, b in spans),
        )

    def _best(self, chunk: Chunk, most: int) -> list[tuple[int, int]]:
        """Return the units that hold most of the question, in order, with a table's frame.

        Caption, header and footnotes of a table come with any row; a row says nothing without.
        """
        every = units(chunk.text)
        is_table = any(unit.kind == "row" for unit in every)
        frame = [unit for unit in every if is_table and unit.kind != "row"]
        matches = Matches(chunk.text, self._weights, self._index.analyzer_of(chunk.span.doc_id))
        others = [unit for unit in every if unit not in frame]
        worth = {unit: matches.worth(unit.start, unit.end) for unit in others}
        left = most - self._tokens(chunk, frame)
        kept = list(frame)
        for unit in sorted(others, key=lambda unit: (-worth[unit], unit.start)):
            tokens = self._tokens(chunk, [unit])
            if tokens <= left:
                kept.append(unit)
                left -= tokens
        if is_table and len(kept) == len(frame):
            return []
        return _lines(chunk.text, sorted(kept, key=lambda unit: unit.start))

    def _tokens(self, chunk: Chunk, chosen: Sequence[TextUnit]) -> int:
        return sum(estimated_tokens(chunk.text[unit.start : unit.end]) + 1 for unit in chosen)


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
