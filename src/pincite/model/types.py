"""What all rooms speak: documents and their pages, chunks, spans, queries, hits, rankings."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple, Protocol

# "text" is a stretch that goes on below a table or figure; a "piece" is cut out of a long one.
Kind = Literal[
    "document", "section", "clause", "table", "row", "figure", "exception", "note", "text", "piece"
]


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A place in a document: characters ``start`` up to but not including ``end``."""

    doc_id: str
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def overlap(self, other: Span) -> int:
        """Return how many characters both spans share.

        >>> Span("d", 0, 10).overlap(Span("d", 6, 20))
        4
        """
        if self.doc_id != other.doc_id:
            return 0
        return max(0, min(self.end, other.end) - max(self.start, other.start))


# What a document's card may say, in its ``meta`` beside its title (read/card.py has the meanings).
CARD_KEYS = (
    "kind", "issuer", "parties", "names", "ticker", "period", "period_end", "fiscal_year",
    "quarter", "date", "edition", "years",
)  # fmt: skip
CORRECTED = "corrected"  # in ``meta``: what a user says of the card, as JSON


@dataclass(frozen=True, slots=True)
class Document:
    """One parsed source. ``id`` is its path relative to what was ingested, never random."""

    id: str
    text: str
    title: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Chunk:
    """One addressable piece of a document: a node of its clause tree, or a part of a long one.

    ``document.text[start:end] == text`` always holds. A node covers its children; its own words
    (heading and introduction) end at ``own_end``, so own spans in document order join to the whole
    text. ``searched`` marks the chunks that retrieval ranks; they do not overlap.
    """

    id: str
    span: Span
    text: str
    kind: Kind
    locator: str  # canonical and readable: "97.113(a)(4)", "Table 250.122", "Fireball"
    title: str  # the heading's or the caption's words, without number
    path: tuple[str, ...]  # headings from the top of the document down to this place
    own_end: int
    page: int | None = None
    parent: str | None = None  # id of the enclosing chunk
    searched: bool = True
    context: str = ""  # words of the parents that help to find it, never shown as its text


@dataclass(frozen=True, slots=True)
class Link:
    """A typed, directed edge of the graph, with the words that say so.

    ``target`` is a name, not an id: a locator's key or a term. What it leads to depends on which
    documents are in the index, and a name that leads nowhere is a finding of its own.
    """

    source: str  # chunk id
    relation: str  # "refers_to", "exception_to", "defines", "uses", "has_trait", ...
    target: str
    span: Span  # the evidence


@dataclass(frozen=True, slots=True)
class Enrichment:
    """What enrichment knows of a chunk, beyond its words."""

    content_kind: str = ""  # "rule", "definition", "spell", ... as the profile names them
    is_rule_bearing: bool = False
    tags: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()  # terms that the chunk defines
    aliases: tuple[str, ...] = ()  # other names of the chunk or its term
    identifiers: tuple[str, ...] = ()  # that its source has for it: "/us/usc/t9/s301", "art_5"

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Enrichment:
        """Return the facts that ``dataclasses.asdict`` wrote, also after a trip through JSON."""
        plain: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in values.items()
        }
        return cls(**plain)


@dataclass(frozen=True, slots=True)
class Box:
    """Where a stretch of the text stands on its page, in shares of the page's size."""

    start: int
    end: int
    page: int  # the page's number in the file, from 1
    x0: float
    y0: float  # from the top
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class ReaderWarning:
    """Something a reader noticed that the user should know."""

    kind: Literal[
        "scanned_page", "hidden_text", "table_not_read", "skipped_content", "bad_page",
        "reader_failed",
    ]  # fmt: skip
    message: str
    page: int | None = None
    start: int | None = None
    end: int | None = None


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document with everything that was read from it."""

    document: Document
    chunks: Sequence[Chunk]
    links: Sequence[Link] = ()
    facts: Mapping[str, Enrichment] = field(default_factory=dict)  # by chunk id
    findings: Sequence[ReaderWarning] = ()
    boxes: Sequence[Box] = ()


@dataclass(frozen=True, slots=True)
class Filters:
    """Where to look. An empty field allows everything; what is in one field is any-of.

    A chunk has to satisfy every field. A filtered chunk never comes out of a search, whichever
    stage found it.
    """

    documents: tuple[str, ...] = ()  # ids, or patterns like "manuals/*.pdf"
    as_of: str = ""  # "2022-06-30" or "2022": only the editions in force then
    kinds: tuple[str, ...] = ()  # a chunk's kind, or what enrichment calls its content
    tags: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()  # first and last
    path: tuple[str, ...] = ()  # words of a heading on the way down to the place
    audience: str = ""  # as the profile names its readers: "player", "gm"
    # What the asker may see: documents with access tags need one of these. None: the owner asks.
    access: tuple[str, ...] | None = None
    # Parts of the collection as a router names them: "folder:law", "document:law/act.pdf".
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """What was asked, and where to look."""

    text: str
    id: str = ""
    filters: Filters = field(default_factory=Filters)
    # When the answer is due, on the clock of time.monotonic(); it changes how, not what, is asked.
    deadline: float | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Hit:
    """One line of a ranking. Bigger scores are better, everywhere.

    ``features`` holds what each stage added, by name: they add up to the score. ``raw`` holds
    what a stage measured on its own scale, for the eye and for learned rankers.
    """

    chunk_id: str
    score: float
    features: Mapping[str, float] = field(default_factory=dict)
    raw: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not math.isfinite(self.score):
            raise ValueError(f"score of {self.chunk_id} must be finite, got {self.score}")


# A ranking is made several times a search: these are quicker than functions of our own.
_CHUNK_ID, _SCORE = attrgetter("chunk_id"), attrgetter("score")


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits of one query, best first: sorted by score, ties by chunk id, no chunk twice.

    ``notes`` are what the reader should know of how it was made, in plain words.
    """

    query: Query
    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        hits = sorted(self.hits, key=_CHUNK_ID)
        hits.sort(key=_SCORE, reverse=True)  # stable: equal scores stay in the order of ids
        if len(set(map(_CHUNK_ID, hits))) != len(hits):
            raise ValueError("a ranking holds each chunk once")
        object.__setattr__(self, "hits", tuple(hits))

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(map(_CHUNK_ID, self.hits))

    def top(self, k: int) -> Ranking:
        """Return the best ``k`` hits.

        >>> Ranking(Query("q"), (Hit("b", 1.0), Hit("a", 1.0), Hit("c", 2.0))).top(2).ids
        ('c', 'a')
        """
        return self if k >= len(self.hits) else replace(self, hits=self.hits[:k])


@dataclass(frozen=True, slots=True)
class Judgement:
    """Ground truth for one query. It names a place, so re-chunking never spoils it."""

    query_id: str
    span: Span
    relevance: int = 1


def by_id(chunks: Sequence[Chunk]) -> dict[str, Chunk]:
    """Return the chunks keyed by id."""
    return {chunk.id: chunk for chunk in chunks}


def section_of(locator: str) -> str:
    """Return the section of a clause's, an exception's or a table row's locator.

    >>> [section_of(name) for name in ("97.113(a)(4)", "240.6 Exception", "Table 8-2 > 5 to 8")]
    ['97.113', '240.6', 'Table 8-2']
    """
    if locator.startswith("“"):  # no section is known to hold it
        return locator
    base = locator.split(" > ")[0].split("(")[0].strip()
    return base.split()[0] if base[:1].isdigit() else base


class PairScorer(Protocol):
    """Says how well texts answer a query: a cross-encoder, or a service that has one."""

    @property
    def id(self) -> str:
        """Its name and revision: scores of two revisions never meet."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Return for each text how probable it is that it answers the query, 0 to 1.

        Raises ModelError when it cannot. Any number of threads may ask at once.
        """
        ...


class PageRef(NamedTuple):
    """A page as it is cited: its number in the file, and what is printed on it."""

    number: int | None  # None where the document has no pages
    label: str = ""  # "172", "iv", "F-3"; empty where it is not known or the number itself

    def __str__(self) -> str:
        """Return it behind the name of a place.

        >>> f"{PageRef(178, '172')}{PageRef(5)}{PageRef(None)}"
        ', p. 172 (PDF 178), p. 5'
        """
        if self.number is None:
            return ""
        return f", p. {self.label} (PDF {self.number})" if self.label else f", p. {self.number}"

    def plain(self) -> dict[str, int | str | None]:
        """Return it as fields of plain values."""
        return {"page": self.number, "page_label": self.label}


@dataclass(frozen=True, slots=True)
class Pages:
    """Where another page begins in a document's text, and what is printed on each.

    A page may come twice: its footnotes stand behind a paragraph that ends on the next one.
    """

    starts: Sequence[int] = field(default=())  # rising
    numbers: Sequence[int] = field(default=())  # of the page that begins at each
    labels: Mapping[int, str] = field(default_factory=dict)  # of pages that print another number

    def at(self, offset: int) -> int | None:
        """Return the page of a character, None where the document has no pages."""
        if not self.starts:
            return None
        return self.numbers[max(0, bisect_right(self.starts, offset) - 1)]

    def cited(self, offset: int) -> PageRef:
        """Return the page of a character as it is cited."""
        number = self.at(offset)
        return PageRef(number, self.labels.get(number, "") if number is not None else "")

    def __str__(self) -> str:
        """Return what ``read_pages`` reads: of each page, how far behind the last it begins.

        >>> str(Pages([0, 900, 1500], [1, 2, 4], {4: "ii"})), str(Pages())
        ('0 900 600:4=ii', '')
        """
        words, last = [], 0
        for before, start, number in zip(
            (0, *self.starts), self.starts, self.numbers, strict=False
        ):
            label = self.labels.get(number, "")
            named = "" if number == last + 1 else f":{number}"
            words.append(f"{start - before}{named}{label and '='}{label}")
            last = number
        return " ".join(words)

    def within(self, start: int, end: int) -> Pages:
        """Return the pages of a stretch of the text.

        >>> Pages([0, 900, 1500], [1, 2, 3], {3: "i"}).within(950, 1600)
        Pages(starts=(900, 1500), numbers=(2, 3), labels={3: 'i'})
        """
        first = max(0, bisect_right(self.starts, start) - 1)
        some = slice(first, bisect_left(self.starts, end, first + 1))
        numbers = tuple(self.numbers[some])
        labels = {number: self.labels[number] for number in numbers if number in self.labels}
        return Pages(tuple(self.starts[some]), numbers, labels)


@lru_cache(maxsize=64)
def read_pages(text: str) -> Pages:
    """Return pages that were written as text; words that are none of ours are passed over."""
    starts, numbers, labels = [], [], {}
    start = number = 0
    for word in text.split():
        begin, _, label = word.partition("=")
        step, _, named = begin.partition(":")
        if not step.isdecimal() or not (named or "1").isdecimal():
            continue
        start += int(step)
        number = int(named) if named else number + 1
        starts.append(start)
        numbers.append(number)
        if label:
            labels[number] = label
    return Pages(tuple(starts), tuple(numbers), labels)
