"""A run: what pipelines found for a set of questions, kept so that it can be looked at again.

It holds what was asked, which settings, index and judgements made it, and for
every hit which needs it meets; everything in a report follows from it, without the index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pincite.core.errors import SourceError
from pincite.evaluate.grades import Grades, Line, tabulated

# Asked: "found" could be, "unanswerable", "not in corpus" (no place), "not searched" (no chunk).
State = Literal["judged", "unanswerable", "not in corpus", "not searched"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as a run asked it."""

    id: str
    text: str
    state: State
    group: str
    gold: tuple[str, ...]  # its places in words
    needs: int
    ideal: tuple[float, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    has_cell: bool = False
    has_evidence: bool = False
    has_answer: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """One hit: where it is, and the needs that it meets with their grades."""

    chunk_id: str
    document: str
    locator: str
    score: float
    meets: Mapping[int, float] | None  # None: nobody judged it
    is_near: bool = False  # a neighbour of the gold in the graph
    is_cell: bool = False  # its passage shows the very row that is asked for
    is_astray: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What one pipeline found for one question."""

    hits: tuple[Found, ...]
    ranks: Mapping[str, int | None]  # of the first hit that answers, after each stage
    seconds: float
    stages: Mapping[str, float]  # seconds of every stage
    lost: str = ""  # where the answer was lost; empty if it is among the first
    taken: Mapping[str, float] = field(default_factory=dict)  # measures that need the words

    @property
    def rank(self) -> int | None:
        return next((rank for rank, hit in enumerate(self.hits, 1) if hit.meets), None)


@dataclass(frozen=True, slots=True)
class Part:
    """One pipeline's answers to all questions."""

    name: str
    settings: str  # fingerprint
    answers: tuple[Answer, ...]

    @property
    def chunk_ids(self) -> list[list[str]]:
        return [[hit.chunk_id for hit in answer.hits] for answer in self.answers]


@dataclass(frozen=True, slots=True)
class Run:
    """Pipelines on one set of questions and one generation of an index."""

    questions: str  # name of the set
    version: int
    hash: str  # of the set
    is_synthetic: bool
    generation: int
    documents: int
    chunks: int
    k: int  # how many hits count as found
    made: str  # when, as the clock of the machine says
    program: str  # Pincite's version
    asked: tuple[Asked, ...]
    parts: tuple[Part, ...]

    @property
    def ids(self) -> list[str]:
        return [asked.id for asked in self.asked]

    def part(self, name: str = "") -> Part:
        """Return the part of a pipeline, the first without a name."""
        for part in self.parts:
            if name in ("", part.name):
                return part
        names = ", ".join(part.name for part in self.parts)
        raise SourceError(f"the run has no pipeline {name!r}", hint=f"it has: {names}")

    @property
    def judged(self) -> list[int]:
        """The questions that count: all that have an answer, also one that the index lacks."""
        return [at for at, asked in enumerate(self.asked) if asked.state != "unanswerable"]


def grades(run: Run, part: Part, *, expanded: bool = False) -> Grades:
    """Return the tables of one pipeline over the questions that count.

    With expanded gold, a neighbour of the gold meets the first need: a softer target, to be shown
    beside the figures and never as one.
    """
    return tabulated([_line(run.asked[at], part.answers[at], expanded) for at in run.judged])


def _line(asked: Asked, answer: Answer, expanded: bool) -> Line:
    hits = answer.hits
    meets = [{0: 1.0} if expanded and hit.is_near and not hit.meets else hit.meets for hit in hits]
    flags = {"astray": [hit.is_astray for hit in hits], "cell": [hit.is_cell for hit in hits]}
    return Line(meets, asked.ideal, asked.needs, flags, answer.taken)


def same_questions(one: Run, other: Run) -> bool:
    """Return whether two runs asked the same questions with the same judgements."""
    return one.hash == other.hash and one.ids == other.ids
