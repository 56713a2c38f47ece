"""What a judgement says: a question, its needs, and the places that meet each need.

A need is met by any of its places; a question is answered when all its needs are met. A place is
named in the words of the document (a clause, a page, characters), never by a chunk, so that cutting
documents in another way does not spoil what people judged.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

Need = tuple["Place", ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a document; what is given most exactly decides.

    Characters (``start``, ``end``), else a cell (``table``, ``row``, ``column``), else a clause or
    table by its ``locator``, else everything below a ``section``, else a ``page``, else the whole
    document.
    """

    document: str = ""  # an id or a pattern such as "codes/*.md"; empty: any document
    edition: str = ""  # "2024": only documents that count from that year, month or day
    start: int | None = None
    end: int | None = None
    table: str = ""
    row: str = ""
    column: str = ""
    locator: str = ""
    section: str = ""  # "250.12" is a prefix of "250.12(A)", not of "250.122"
    page: int | None = None
    term: str = ""  # of a definition; for the reader
    grade: int = 1  # 0: judged, and no answer
    by: str = ""  # who judged, as they call themselves
    when: str = ""  # the time of the judgement, ISO 8601

    @property
    def kind(self) -> str:
        """What decides where the place is."""
        if self.start is not None:
            return "span"
        if self.table:
            return "cell"
        named = (("clause", self.locator), ("section", self.section))
        return next(
            (kind for kind, name in named if name), "document" if self.page is None else "page"
        )

    def __str__(self) -> str:
        name = self.locator or self.section
        if self.table:
            name = " > ".join(part for part in (self.table, self.row, self.column) if part)
        if not name and self.page is not None:
            name = f"p. {self.page}"
        if not name and self.start is not None:
            name = f"characters {self.start}–{self.end}"
        where = " ".join(part for part in (self.document, self.edition) if part)
        return f"{where}, {name}" if where and name else name or where

    def unsigned(self, grade: int | None = None) -> Place:
        """Return the place alone: without who judged it and when, with another grade if given."""
        return replace(self, by="", when="", grade=self.grade if grade is None else grade)

    def plain(self) -> dict[str, Any]:
        """Return what differs from the defaults, for files."""
        return {f.name: v for f in fields(self) if (v := getattr(self, f.name)) != f.default}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and what it takes to answer it."""

    id: str
    text: str
    needs: tuple[Need, ...] = ()
    # Judged and found to be no answer: nothing is gained by them, and they count as judged.
    rejected: Need = ()
    unanswerable: str = ""  # why the documents have no answer
    answer: str = ""
    evidence: str = ""  # the words that answer, for measures that compare words
    group: str = ""  # questions of one group are alike and are resampled together
    labels: Mapping[str, str] = field(default_factory=dict)  # kind, domain, evidence, language …
    synthetic: bool = False

    @property
    def wording(self) -> str:
        """Its words, whatever their case and spaces."""
        return " ".join(self.text.casefold().split())

    @property
    def places(self) -> list[Place]:
        return [place for need in self.needs for place in need]

    def unsigned(self) -> Question:
        """Return what was judged, each once, whoever did so."""
        needs = tuple(_once(need) for need in self.needs)
        return replace(self, needs=needs, rejected=_once(self.rejected))

    def plain(self) -> dict[str, Any]:
        """Return the question as plain values, which ``files.question`` reads."""
        labels = dict(self.labels)
        values = {
            "id": self.id,
            "question": self.text,
            "gold": self._gold(),
            "kind": labels.pop("kind", ""),
            "answer": self.answer,
            "evidence": self.evidence,
            "group": self.group,
            "labels": dict(sorted(labels.items())),
            "rejected": [place.plain() for place in self.rejected],
            "synthetic": self.synthetic,
        }
        return {k: v for k, v in values.items() if v or k in ("id", "question", "gold")}

    def _gold(self) -> dict[str, Any]:
        if not self.needs:
            return {"none": self.unanswerable}
        plain = [[place.plain() for place in need] for need in self.needs]
        if len(plain) == 1:
            return {"any": plain[0]}
        return {"all": [need[0] if len(need) == 1 else {"any": need} for need in plain]}


def _once(need: Need) -> Need:
    return tuple(dict.fromkeys(place.unsigned() for place in need))


@dataclass(frozen=True, slots=True)
class Change:
    """Why a version differs from the one before."""

    version: int
    reason: str
    hash: str = ""  # of the questions as they were in that version
    by: str = ""
    questions: tuple[str, ...] = ()  # ids

    def plain(self) -> dict[str, Any]:
        values: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items() if v}


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions of one file, with their version and how it came about."""

    name: str
    questions: Sequence[Question]
    version: int = 0  # 0: no version was recorded yet
    changes: tuple[Change, ...] = ()

    @property
    def hash(self) -> str:
        """A short hash of what is asked and judged; order, change log and names do not count."""
        plain = [question.unsigned().plain() for question in self.questions]
        lines = sorted(json.dumps(each, sort_keys=True) for each in plain)
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    @property
    def is_recorded(self) -> bool:
        """Whether the questions are those of the last recorded version."""
        return bool(self.changes) and self.changes[-1].hash == self.hash

    def recorded(self, reason: str, by: str = "", questions: Sequence[str] = ()) -> QuestionSet:
        """Return the set as a new version, with the reason why."""
        version = self.version + 1
        change = Change(version, reason, self.hash, by, tuple(questions))
        return QuestionSet(self.name, self.questions, version, (*self.changes, change))
