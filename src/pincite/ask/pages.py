"""What the page of a source is about, for the prompt: from a file, or the page's own sentences."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from pincite.answer.values import Source
from pincite.core.errors import MALFORMED, ConfigError
from pincite.ingest.enrichment.summary import summarise
from pincite.search.reader import IndexReader

MOST_FILE_BYTES = 20_000_000
# A longer document is not looked through for the sake of a prompt.
MOST_CHARS = 5_000_000
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
        if len(self._index.snapshot.text(doc_id)) > MOST_CHARS:
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
        if path.stat().st_size > MOST_FILE_BYTES:
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
