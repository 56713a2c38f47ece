"""Answers, citations, sources and events as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal

from pincite.answer.lighting import lit
from pincite.model.errors import PinciteError
from pincite.model.types import PageRef, Pages, Span

# A hit of the search, or what a hit does not stand without (retrieve/companions.py).
Role = Literal["hit", "table", "exception", "definition", "clause", "introduction"]
Verdict = Literal["supported", "unsupported", "uncited"]
Reason = Literal[
    "not_in_corpus", "removed_in_this_edition", "referenced_but_missing", "low_confidence"
]
# An answer; places that may hold it, and no answer; or neither, and why.
State = Literal["found", "candidates", "not_found"]
STATES: Mapping[State, str] = {
    "found": "Found",
    "candidates": "Candidates: places only",
    "not_found": "Not in these documents",
}


@dataclass(frozen=True, slots=True)
class Source:
    """A numbered place that an answer may cite. ``text`` is as much of it as was read."""

    number: int  # from 1
    chunk_id: str
    title: str  # of the document
    locator: str
    path: tuple[str, ...]
    page: int | None  # that the place begins on
    span: Span  # of the whole place
    text: str
    role: Role = "hit"
    evidence: str = ""  # the words of a hit that lead here: "see Table 250.122"
    # Where the text stands in the document, a line each; of a long table only some rows.
    parts: tuple[Span, ...] = ()
    page_label: str = ""  # what is printed on the page, if that is another number
    pages: Pages = field(default_factory=Pages, compare=False)  # of the place, where it was read

    def page_at(self, span: Span | None) -> PageRef:
        """Return the page of a quotation's first word, or of the place's."""
        if span is None or not self.pages.starts:
            return PageRef(self.page, self.page_label)
        return self.pages.cited(span.start)

    @property
    def citation(self) -> str:
        """The place as one would write it in a text."""
        return _written(self.title, self.locator, self.page_at(None))

    def cited(self, citation: Citation) -> str:
        """Return the place of a quotation as one would write it: the clause, not its section."""
        cited = self if citation.page is None else citation
        page = PageRef(cited.page, cited.page_label)
        return _written(self.title, citation.locator or self.locator, page)

    def find(self, quote: str) -> Span | None:
        """Return where words stand in the document, if they stand in what was read of it."""
        before = 0
        for part in self.parts or (self.span,):
            at = self.text.find(quote, before, before + len(part))
            if at >= 0:
                start = part.start + at - before
                return Span(part.doc_id, start, start + len(quote))
            before += len(part) + 1
        return None

    def holds(self, span: Span) -> bool:
        """Return whether a stretch of the document is in what was read of this source."""
        return any(part.overlap(span) == len(span) for part in self.parts or (self.span,))

    def plain(self) -> dict[str, Any]:
        return {
            **_plain_place(self.span),
            **_without(asdict(self), "span", "path", "parts", "pages"),
        } | {
            "path": list(self.path),
            "parts": [[part.start, part.end] for part in self.parts],
            "citation": self.citation,
        }


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that a sentence names, and what of it the sentence says.

    ``quote`` stands in the document exactly as here, at ``span``; both are empty for a citation
    that quotes nothing.
    """

    source: int
    locator: str
    page: int | None = None  # of the quotation's first word
    quote: str = ""
    span: Span | None = None
    ok: bool = True
    reason: str = ""  # why it was rejected
    page_label: str = ""  # what is printed on the page, if that is another number

    def plain(self) -> dict[str, Any]:
        where = _plain_place(self.span) if self.span else {}
        return {**_without(asdict(self), "span"), **where}


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence or quotation of an answer with its citations; rejected ones are not in it."""

    text: str
    citations: tuple[Citation, ...] = ()
    verdict: Verdict = "supported"
    problems: tuple[str, ...] = ()  # what of it no source says, in plain words

    def lit(self, spans: Sequence[Span]) -> list[tuple[int, int]]:
        """Return where the words of some spans stand in the text, as far as they are quoted."""
        found: list[tuple[int, int]] = []
        for citation in self.citations:
            for span in spans:
                if citation.span is None or not citation.span.overlap(span):
                    continue
                start, end = (each - citation.span.start for each in (span.start, span.end))
                if at := lit(self.text, citation.quote, max(0, start), end):
                    found.append(at)
        found.sort()
        return [at for n, at in enumerate(found) if not n or at[0] >= found[n - 1][1]]

    def plain(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "citations": [each.plain() for each in self.citations],
            "verdict": self.verdict,
            "problems": list(self.problems),
        }


@dataclass(frozen=True, slots=True)
class CitedPlace:
    """Where something stands, by name."""

    document: str
    title: str
    locator: str
    page: int | None = None
    page_label: str = ""

    def plain(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Abstention:
    """Why there is no answer, and what comes nearest."""

    reason: Reason
    message: str
    nearest: tuple[CitedPlace, ...] = ()

    def plain(self) -> dict[str, Any]:
        return {**asdict(self), "nearest": [place.plain() for place in self.nearest]}


@dataclass(frozen=True, slots=True)
class Usage:
    """What a language model read and wrote; zeros where none was asked."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0  # in the currency of the prices in the settings
    is_estimate: bool = False  # the service did not count, so we did

    def plain(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. ``text`` is what the tokens of its stream join to.

    ``short`` is the answer itself, where there is one in a few words: "yes", "no", words of a
    document, a cell with its unit and scale. ``short_spans`` is where these stand.
    """

    question: str
    text: str
    sentences: tuple[Sentence, ...] = ()
    sources: tuple[Source, ...] = ()
    abstention: Abstention | None = None
    confidence: float = 1.0  # that the sources answer the question, 0 to 1
    model: str = ""  # of language; empty if the answer is quoted without one
    usage: Usage = field(default_factory=Usage)
    seconds: Mapping[str, float] = field(default_factory=dict)  # by phase
    notes: tuple[str, ...] = ()  # what the reader should know of how it was made
    short: str = ""
    short_spans: tuple[Span, ...] = ()

    @property
    def state(self) -> State:
        """Whether this answers, only names places that may, or says that nothing does."""
        if self.abstention is None:
            return "found"
        return "candidates" if self.abstention.reason == "low_confidence" else "not_found"

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The citations of all sentences, in order."""
        return tuple(each for sentence in self.sentences for each in sentence.citations)

    def plain(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "state": self.state,
            "short": self.short,
            "short_spans": [_plain_place(each) for each in self.short_spans],
            "text": self.text,
            "sentences": [
                {**each.plain(), "lit": [[*at] for at in each.lit(self.short_spans)]}
                for each in self.sentences
            ],
            "sources": [each.plain() for each in self.sources],
            "abstention": self.abstention.plain() if self.abstention else None,
            "confidence": self.confidence,
            "model": self.model or None,
            "usage": self.usage.plain(),
            "seconds": dict(self.seconds),
            "notes": list(self.notes),
        }


def _written(title: str, locator: str, page: PageRef) -> str:
    own = locator if locator != title else ""
    return ", ".join(part for part in (title, own) if part) + str(page)


def _plain_place(span: Span) -> dict[str, Any]:
    return {"document": span.doc_id, "span": [span.start, span.end]}


def _without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


@dataclass(frozen=True, slots=True)
class SearchEvent:
    """The search is done."""

    name: ClassVar[str] = "search"
    question: str
    searched: str  # the words that were searched for; of a follow-up, with those before it
    hits: int
    seconds: float
    corrections: Mapping[str, str] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "searched": self.searched,
            "hits": self.hits,
            "seconds": self.seconds,
            "corrections": dict(self.corrections),
        }


@dataclass(frozen=True, slots=True)
class ContextEvent:
    """The sources are chosen; whatever is cited is one of these."""

    name: ClassVar[str] = "context"
    sources: tuple[Source, ...]
    tokens: int  # of the texts, estimated

    @property
    def message(self) -> str:
        passages = "passage" if len(self.sources) == 1 else "passages"
        return f"Found {len(self.sources)} relevant {passages}"

    def plain(self) -> dict[str, Any]:
        return {
            "message": self.message,
            "passages": len(self.sources),
            "tokens": self.tokens,
            "sources": [source.plain() for source in self.sources],
        }


@dataclass(frozen=True, slots=True)
class GenerationEvent:
    """A language model was asked and has begun to answer."""

    name: ClassVar[str] = "generation"
    model: str

    def plain(self) -> dict[str, Any]:
        return {"model": self.model}


@dataclass(frozen=True, slots=True)
class ShortEvent:
    """The answer itself in a few words, before the tokens that show where it stands."""

    name: ClassVar[str] = "short"
    short: str
    short_spans: tuple[Span, ...] = ()

    def plain(self) -> dict[str, Any]:
        spans = [_plain_place(each) for each in self.short_spans]
        return {"short": self.short, "short_spans": spans}


@dataclass(frozen=True, slots=True)
class TokenEvent:
    """The next words of the answer."""

    name: ClassVar[str] = "token"
    text: str

    def plain(self) -> dict[str, Any]:
        return {"text": self.text}


@dataclass(frozen=True, slots=True)
class CitationEvent:
    """A citation that was checked and holds; ``sentence`` counts from 0."""

    name: ClassVar[str] = "citation"
    citation: Citation
    sentence: int

    def plain(self) -> dict[str, Any]:
        return {**self.citation.plain(), "sentence": self.sentence}


@dataclass(frozen=True, slots=True)
class RejectedEvent:
    """A citation that a model wrote and that does not hold; it is not in the answer."""

    name: ClassVar[str] = "citation_rejected"
    citation: Citation
    sentence: int

    def plain(self) -> dict[str, Any]:
        return {**self.citation.plain(), "sentence": self.sentence}


@dataclass(frozen=True, slots=True)
class AbstainEvent:
    """The documents do not answer; the tokens that follow say so in words."""

    name: ClassVar[str] = "abstain"
    abstention: Abstention

    def plain(self) -> dict[str, Any]:
        return self.abstention.plain()


@dataclass(frozen=True, slots=True)
class CompleteEvent:
    """The whole answer; nothing comes after it."""

    name: ClassVar[str] = "complete"
    answer: Answer

    def plain(self) -> dict[str, Any]:
        return self.answer.plain()


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """There will be no whole answer; nothing comes after it."""

    name: ClassVar[str] = "error"
    error: PinciteError

    def plain(self) -> dict[str, Any]:
        return {
            "kind": type(self.error).__name__,
            "message": self.error.message,
            "hint": self.error.hint,
            "status": self.error.http_status,
        }


Event = (
    SearchEvent
    | ContextEvent
    | GenerationEvent
    | ShortEvent
    | TokenEvent
    | CitationEvent
    | RejectedEvent
    | AbstainEvent
    | CompleteEvent
    | ErrorEvent
)
