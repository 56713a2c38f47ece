"""From the clause tree to chunks: every clause is addressable, some are searched.

With ``clause`` chunking a section is searched whole while it is short; a long one is cut at its
items, each with the headings and the introduction above it as context. With ``fixed`` chunking
the searched chunks are pieces of equal size that never cross a page; clauses stay addressable.
"""

from __future__ import annotations

from base64 import b32encode
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise

from pincite.core.settings import IngestSettings
from pincite.core.types import Chunk, Document, Span
from pincite.ingest.parsed import Pages
from pincite.ingest.split import split_spans
from pincite.ingest.tokencount import estimated_tokens
from pincite.ingest.tree import Clause

# A parent's introduction is context up to this length; beyond it, it would drown the child.
CONTEXT_CHARS = 400


def chunks_of(
    document: Document, clauses: Sequence[Clause], pages: Pages, settings: IngestSettings
) -> list[Chunk]:
    """Return all chunks of a document in document order, parents before children."""
    maker = _Maker(document, clauses, pages, settings)
    return list(maker.fixed() if settings.chunking == "fixed" else maker.by_clause())


class _Maker:
    """Holds what is the same for all chunks of one document."""

    def __init__(
        self, document: Document, clauses: Sequence[Clause], pages: Pages, settings: IngestSettings
    ) -> None:
        self.document, self.clauses, self.pages = document, clauses, pages
        self.settings = settings
        self.children: list[list[int]] = [[] for _ in clauses]
        self.is_cut = [False] * len(clauses)
        self.ids = [""] * len(clauses)
        self.used: Counter[tuple[str, str]] = Counter()
        for i in range(len(clauses) - 1, 0, -1):
            parent = clauses[i].parent
            self.children[parent].insert(0, i)
            # Sections and tables are chunks of their own, so whatever holds one is cut.
            if clauses[i].kind in ("section", "table") or self.is_cut[i]:
                self.is_cut[parent] = True

    def by_clause(self) -> Iterator[Chunk]:
        """Yield every clause; the searched ones do not overlap."""
        covered_to = 0  # end of the last chunk that is searched whole
        for i, clause in enumerate(self.clauses):
            covered = clause.start < covered_to
            whole = not covered and self._stays_whole(i)
            yield self._chunk(i, searched=whole)
            if whole:
                covered_to = clause.end
            elif not covered:
                yield from self._own_pieces(i)

    def fixed(self) -> Iterator[Chunk]:
        """Yield every clause, then pieces of equal size, which are what is searched."""
        for i in range(len(self.clauses)):
            yield self._chunk(i, searched=False)
        text = self.document.text
        starts = [*(self.pages.starts or [0]), len(text)]
        total = 0
        for page_start, page_end in pairwise(starts):
            limit = self.settings.max_tokens
            spans = split_spans(text, page_start, page_end, limit=limit, size=estimated_tokens)
            spans = [span for span in spans if text[span[0] : span[1]].strip()]
            page = self.pages.at(page_start)
            for number, span in enumerate(spans, 1):
                total += 1
                locator = f"part {total}" if page is None else f"p. {page}"
                if page is not None and len(spans) > 1:
                    locator += f" part {number}"
                yield self._piece(0, span, locator)

    def _stays_whole(self, i: int) -> bool:
        clause = self.clauses[i]
        if clause.kind == "table":
            return True
        if self.is_cut[i] or clause.end - clause.start > self.settings.max_chars:
            return False
        return not self.children[i] or self._depth(i) >= self.settings.split_depth

    def _depth(self, i: int) -> int:
        """Return how many enumerated levels deep a clause is; a section is 0."""
        depth = 0
        while i >= 0 and self.clauses[i].kind not in ("section", "document"):
            depth += 1
            i = self.clauses[i].parent
        return depth

    def _own_pieces(self, i: int) -> Iterator[Chunk]:
        """Yield a cut clause's own words as searched pieces, if there are any below its heading."""
        clause = self.clauses[i]
        if not self._body(i):
            return
        text, limit = self.document.text, max(1, self.settings.max_chars)
        spans = split_spans(text, clause.start, clause.own_end, limit=limit, size=len)
        locator = self._locator(i)
        for number, span in enumerate(spans, 1):
            yield self._piece(i, span, locator if len(spans) == 1 else f"{locator} part {number}")

    def _body(self, i: int) -> str:
        """Return a clause's own words without its heading line."""
        clause = self.clauses[i]
        own = self.document.text[clause.start : clause.own_end]
        if clause.kind == "section" or (clause.kind == "document" and own.startswith("#")):
            own = own.partition("\n")[2]
        return own.strip()

    def _context(self, i: int, *, is_piece: bool = False) -> str:
        """Return the headings and introductions above a clause, outermost first."""
        words: list[str] = []
        at = i if is_piece else self.clauses[i].parent
        while at > 0:
            clause = self.clauses[at]
            if not (is_piece and at == i):
                words.append(self._body(at)[:CONTEXT_CHARS])
            if clause.kind == "section":
                words.append(" ".join(clause.path))
                break  # the path holds the headings further up
            at = clause.parent
        return "\n".join(word for word in reversed(words) if word)

    def _locator(self, i: int) -> str:
        return self.clauses[i].locator or self.document.title or self.document.id

    def _chunk(self, i: int, *, searched: bool) -> Chunk:
        clause = self.clauses[i]
        text = self.document.text[clause.start : clause.end]
        locator = self._locator(i)
        self.ids[i] = self._new_id(locator, text)
        return Chunk(
            id=self.ids[i],
            span=Span(self.document.id, clause.start, clause.end),
            text=text,
            kind=clause.kind,
            locator=locator,
            title=clause.title,
            path=clause.path,
            own_end=clause.own_end,
            page=self.pages.at(clause.start),
            parent=self.ids[clause.parent] if clause.parent >= 0 else None,
            searched=searched,
            context=self._context(i) if searched else "",
        )

    def _piece(self, i: int, span: tuple[int, int], locator: str) -> Chunk:
        text = self.document.text[span[0] : span[1]]
        return Chunk(
            id=self._new_id(f"{locator}\0piece", text),
            span=Span(self.document.id, *span),
            text=text,
            kind="piece",
            locator=locator,
            title=self.clauses[i].title,
            path=self.clauses[i].path,
            own_end=span[1],
            page=self.pages.at(span[0]),
            parent=self.ids[i],
            context=self._context(i, is_piece=True) if span[0] > self.clauses[i].start else "",
        )

    def _new_id(self, locator: str, text: str) -> str:
        """Return an id made of document, place and words: the same in every ingest."""
        self.used[locator, text] += 1
        parts = (self.document.id, locator, text, str(self.used[locator, text]))
        digest = blake2b("\0".join(parts).encode(), digest_size=10).digest()
        return b32encode(digest).decode().lower()
