"""Chunks of a document: every clause is addressable, some are searched."""

from __future__ import annotations

import math
import re
from base64 import b32encode
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise

from pincite.model.settings import IngestSettings
from pincite.model.types import Chunk, Document, Pages, Span
from pincite.read.extracted import Clause

_PIECE = re.compile(
    r"'(?:[sdmt]|ll|ve|re)\b|[^\r\n\w]?[^\W\d_]+|\d{1,3}| ?(?:[^\s\w]|_)+[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s",
    re.IGNORECASE,
)
# Longest words of a cost class, and their costs in tenths of a token: after a space, words in
# lower case and capitalised ones.
_LOWER = ((5, 9, 11, 13, 15), (10, 11, 12, 13, 18))
_CAPITAL = ((3, 5, 8, 10, 14), (10, 11, 13, 15, 17))
# So that nearly all texts (99.9 % in the measurement) stay below a limit that they are cut to.
_MARGIN = 1.08


def estimated_tokens(text: str) -> int:
    """Return the number of tokens, estimated from above.

    >>> estimated_tokens("The quick brown fox jumps over the lazy dog.")
    12
    """
    tenths = sum(map(_cost, _PIECE.findall(text)))
    return math.ceil(tenths * _MARGIN / 10)


@lru_cache(maxsize=100_000)
def _cost(piece: str) -> int:
    """Return the cost of a piece in tenths of a token."""
    if piece[0].isdigit() or piece.isspace():
        return 10
    if not piece[-1].isalpha():
        return _symbol_cost(piece.strip())
    if piece[0].isalpha():
        return _word_cost(piece, before="")
    return _word_cost(piece[1:], before=piece[0])


def _symbol_cost(symbols: str) -> int:
    n = len(symbols)
    if not symbols.isascii():
        return 11 if n == 1 else 8 * n
    if n <= 2:
        return 9 + n
    return 6 * n if n <= 8 else 40 + n


def _word_cost(word: str, *, before: str) -> int:
    """Return the cost of letters with the character that is glued to them, if any."""
    n = len(word)
    glued = before not in ("", " ")
    if not word.isascii():
        return _foreign_cost(word) + (10 if before and max(word) >= "\u0250" else 0)
    if before == "'" and n < 3:
        return 10
    if word.islower():
        if glued:
            return 14 if n <= 4 else 8 + 2 * n
        if before:
            return _by_length(n, _LOWER, beyond=18 * n // 10)
        return 10 if n <= 2 else 11 if n <= 4 else 10 + n
    if n > 1 and word[1:].islower():
        return _by_length(n, _CAPITAL, beyond=2 * n) + (9 if glued else 0 if before else 2)
    cost = (10 if n <= 2 else 9 + 2 * n) if word.isupper() else 13 + 2 * n
    return cost + ((8 if n > 1 else 2) if glued else 0)


def _foreign_cost(word: str) -> int:
    """Return the cost by script: Latin with accents, other alphabets, Chinese and the like."""
    highest = max(word)
    if highest < "\u0250":
        return 12 + 3 * len(word)
    return 10 * len(word) if highest < "\u2e80" else 15 * len(word)


def _by_length(n: int, table: tuple[tuple[int, ...], tuple[int, ...]], *, beyond: int) -> int:
    lengths, costs = table
    at = bisect_left(lengths, n)
    return costs[at] if at < len(costs) else beyond


# From the best place to cut to the worst. Each pattern ends where the next part starts.
_BOUNDARIES = (
    re.compile(r"\n[ \t\r\f]*\n\s*"),
    re.compile(r"\n"),
    re.compile(r"(?<=[.!?;:])\s+"),
    re.compile(r"\s+"),
)

Size = Callable[[str], int]


def split_spans(
    text: str, start: int, end: int, *, limit: int, size: Size, level: int = 0
) -> list[tuple[int, int]]:
    """Return contiguous spans of at most ``limit`` that cover ``text[start:end]``.

    Parts are cut at the best boundary that makes them fit and then filled greedily, so a piece
    ends early rather than in mid-sentence. A single word that is too long is cut anywhere.
    ``level`` is the first kind of boundary that is tried.
    """
    if size(text[start:end]) <= limit:
        return [(start, end)]
    if level == len(_BOUNDARIES):
        # Nothing to cut at: halves are cheap to find and always get there.
        if end - start <= 1:
            return [(start, end)]
        middle = (start + end) // 2
        halves = (start, middle), (middle, end)
        return [
            span
            for half in halves
            for span in split_spans(text, *half, limit=limit, size=size, level=level)
        ]
    cuts = [m.end() for m in _BOUNDARIES[level].finditer(text, start, end) if m.end() < end]
    parts = list(zip([start, *cuts], [*cuts, end], strict=True))
    return _filled(text, parts, limit, size, level)


def _filled(
    text: str, parts: list[tuple[int, int]], limit: int, size: Size, level: int
) -> list[tuple[int, int]]:
    """Join neighbouring parts while they fit; cut the ones that do not fit at the next level."""
    spans: list[tuple[int, int]] = []
    open_start, used = parts[0][0], 0
    for start, end in parts:
        cost = size(text[start:end])
        if used and used + cost > limit:
            spans.append((open_start, start))
            open_start, used = start, 0
        if cost > limit:
            *whole, last = split_spans(text, start, end, limit=limit, size=size, level=level + 1)
            spans.extend(whole)
            open_start, used = last[0], size(text[last[0] : last[1]])
        else:
            used += cost
    spans.append((open_start, parts[-1][1]))
    return spans


# A parent's introduction is context up to this length; beyond it, it would drown the child.
CONTEXT_CHARS = 400
# As much of the paragraph that leads into a table, its end, says what the table shows.
LEAD_CHARS = 250


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
        self.alone: set[str] = set()  # titles with nothing below them
        for i in range(len(clauses) - 1, 0, -1):
            parent = clauses[i].parent
            self.children[parent].insert(0, i)
            # Sections and tables are chunks of their own, so whatever holds one is cut.
            if clauses[i].kind in ("section", "table") or self.is_cut[i]:
                self.is_cut[parent] = True

    def by_clause(self) -> Iterator[Chunk]:
        """Yield every clause; the searched ones do not overlap, and none is a title alone."""
        titles: list[str] = []  # that stand alone before the chunk to come
        for chunk in self._clauses():
            if chunk.searched and titles:
                chunk = replace(chunk, context="\n".join((*titles, chunk.context)).strip())
                titles = []
            elif chunk.kind == "section" and chunk.id in self.alone:
                titles = [*titles[-2:], chunk.title]
            yield chunk

    def _clauses(self) -> Iterator[Chunk]:
        covered_to = 0  # end of the last chunk that is searched whole
        for i, clause in enumerate(self.clauses):
            if self._is_title_alone(i):
                chunk = self._chunk(i, searched=False)
                self.alone.add(chunk.id)
                yield chunk
                continue
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

    def _is_title_alone(self, i: int) -> bool:
        """Return whether a section is a title and nothing else; its words go with what follows."""
        clause = self.clauses[i]
        is_bare = clause.kind == "section" and not clause.label and not self.children[i]
        return is_bare and i + 1 < len(self.clauses) and not self._body(i)

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
        own = self.document.text[clause.body or clause.start : clause.own_end]
        if clause.kind == "document" and own.startswith("#"):
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
        lead = self._lead_in(i) if self.clauses[i].kind == "table" else ""
        if lead and not any(lead in word for word in words):
            words.insert(0, lead)
        return "\n".join(word for word in reversed(words) if word)

    def _lead_in(self, i: int) -> str:
        """Return the paragraph right above a table if it leads into it: it ends with a colon."""
        clause, text = self.clauses[i], self.document.text
        before = text[self.clauses[clause.parent].start : clause.start].rstrip()
        above = before[-CONTEXT_CHARS:].rpartition("\n\n")[2]
        if not above.endswith(":") or above.startswith(("|", "#")):
            return ""
        # No half of a word: it would be one of the index.
        return above if len(above) <= LEAD_CHARS else above[-LEAD_CHARS:].partition(" ")[2]

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
