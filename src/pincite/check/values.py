"""What a check finds, as values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Literal

from pincite.model.types import Span

ClaimKind = Literal["quotation", "citation", "statement"]
# "exact" of a citation: there is such a place. "outside": of a work that the index does not have.
CheckVerdict = Literal[
    "exact", "altered", "elsewhere", "not_found", "no_such_place", "number_differs", "opposite",
    "supported", "not_supported", "outside",
]  # fmt: skip
# What somebody has to look at.
FAILED: frozenset[CheckVerdict] = frozenset(
    ("altered", "elsewhere", "not_found", "no_such_place", "number_differs", "opposite",
     "not_supported")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceEvidence:
    """What stands in a document, and how to cite it."""

    document: str
    locator: str
    citation: str
    text: str
    span: Span
    page: int | None = None
    page_label: str = ""

    def plain(self) -> dict[str, Any]:
        return {
            "document": self.document,
            "locator": self.locator,
            "citation": self.citation,
            "text": self.text,
            "start": self.span.start,
            "end": self.span.end,
            "page": self.page,
            "page_label": self.page_label,
        }


@dataclass(frozen=True, slots=True)
class WordChange:
    """Words of the source that a quotation has otherwise; one side may be empty."""

    source: str
    written: str

    def plain(self) -> dict[str, str]:
        return {"source": self.source, "written": self.written}


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """One quotation, citation or statement of a text, and what became of it."""

    kind: ClaimKind
    start: int  # in the text that was checked
    end: int
    text: str
    verdict: CheckVerdict
    reason: str = ""  # in plain words
    cited: str = ""  # the citation that it leans on, as written
    evidence: SourceEvidence | None = None
    remedy: str = ""  # the exact words to paste, or the right place
    changes: tuple[WordChange, ...] = ()
    probability: float | None = None  # that a statement is supported

    @property
    def failed(self) -> bool:
        """Whether somebody has to look at it."""
        return self.verdict in FAILED

    def plain(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "verdict": self.verdict,
            "failed": self.failed,
            "reason": self.reason,
            "cited": self.cited,
            "evidence": self.evidence.plain() if self.evidence else None,
            "remedy": self.remedy,
            "changes": [each.plain() for each in self.changes],
            "probability": self.probability,
        }


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All claims of a text in its order."""

    claims: tuple[CheckedClaim, ...]
    notes: tuple[str, ...] = ()  # what was left out, in plain words

    @property
    def failed(self) -> tuple[CheckedClaim, ...]:
        """What somebody has to look at."""
        return tuple(each for each in self.claims if each.failed)

    @property
    def counts(self) -> dict[CheckVerdict, int]:
        """How many claims have each verdict."""
        return dict(Counter(each.verdict for each in self.claims))

    def plain(self) -> dict[str, Any]:
        return {
            "claims": [each.plain() for each in self.claims],
            "counts": self.counts,
            "failed": len(self.failed),
            "notes": list(self.notes),
        }
