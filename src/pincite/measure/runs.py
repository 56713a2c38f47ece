"""A run: what was asked, found and answered."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pincite.measure.grades import GradedQuestion, Grades, tabulated
from pincite.model.errors import MALFORMED, SourceError, reason_of
from pincite.store.files import write_durably

# Asked: "found" could be, "unanswerable", "not in corpus" (no place), "not searched" (no chunk).
State = Literal["judged", "unanswerable", "not in corpus", "not searched"]


@dataclass(frozen=True, slots=True)
class QuestionRecord:
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
class RunHit:
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
class RunAnswer:
    """What one pipeline found for one question."""

    hits: tuple[RunHit, ...]
    ranks: Mapping[str, int | None]  # of the first hit that answers, after each stage
    seconds: float
    stages: Mapping[str, float]  # seconds of every stage
    lost: str = ""  # where the answer was lost; empty if it is among the first
    taken: Mapping[str, float] = field(default_factory=dict)  # measures that need the words

    @property
    def rank(self) -> int | None:
        return next((rank for rank, hit in enumerate(self.hits, 1) if hit.meets), None)


@dataclass(frozen=True, slots=True)
class PipelineRun:
    """One pipeline's answers to all questions."""

    name: str
    settings: str  # fingerprint
    answers: tuple[RunAnswer, ...]

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
    asked: tuple[QuestionRecord, ...]
    parts: tuple[PipelineRun, ...]

    @property
    def ids(self) -> list[str]:
        return [asked.id for asked in self.asked]

    def part(self, name: str = "") -> PipelineRun:
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


def grades(run: Run, part: PipelineRun, *, expanded: bool = False) -> Grades:
    """Return the tables of one pipeline over the questions that count.

    With expanded gold, a neighbour of the gold meets the first need: a softer target, to be shown
    beside the figures and never as one.
    """
    lines = []
    for asked, answer in ((run.asked[at], part.answers[at]) for at in run.judged):
        hits = answer.hits
        meets = [{0: 1.0} if expanded and h.is_near and not h.meets else h.meets for h in hits]
        is_here = asked.state != "not in corpus"
        flags = {"astray": [hit.is_astray for hit in hits], "cell": [hit.is_cell for hit in hits]}
        flags["home"] = [is_here and not hit.is_astray for hit in hits]
        lines.append(GradedQuestion(meets, asked.ideal, asked.needs, flags, answer.taken))
    return tabulated(lines)


def same_questions(one: Run, other: Run) -> bool:
    """Return whether two runs asked the same questions with the same judgements."""
    return one.hash == other.hash and one.ids == other.ids


FORMAT = 1
MAX_BYTES = 1_000_000_000
_HINT = "make one: pincite eval QUESTIONS"


def run_name(run: Run) -> str:
    """Return the file name of a run: the same questions, index and settings have the same one."""
    what = [run.hash, run.generation, run.k, *(f"{p.name} {p.settings}" for p in run.parts)]
    mark = hashlib.sha256(json.dumps(what).encode()).hexdigest()[:8]
    name = re.sub(r"[^\w.-]+", "-", run.questions)[:60]
    return f"{name}-g{run.generation}-{mark}.json"


def save_run(run: Run, file: Path) -> None:
    """Write a run; a file that is there is replaced at once or not at all."""
    bare = asdict(replace(run, parts=()))
    plain = {"format": FORMAT, **bare, "parts": [_plain(part) for part in run.parts]}
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_durably(file, text.encode("utf-8"))
    except OSError as error:
        hint = "choose another folder with --runs"
        raise SourceError(f"cannot write {file}: {reason_of(error)}", hint=hint) from error


def _plain(part: PipelineRun) -> dict[str, Any]:
    """Return a part as plain values; a run has many hits, so each is a short list."""
    answers = []
    for answer in part.answers:
        hits = [[getattr(hit, each.name) for each in fields(hit)] for hit in answer.hits]
        answers.append({**asdict(replace(answer, hits=())), "hits": hits})
    return {"name": part.name, "settings": part.settings, "answers": answers}


def load_run(file: Path) -> Run:
    """Return a stored run; SourceError if the file is none."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise SourceError(f"{file} is too large for a run", hint=_HINT)
        values = json.loads(file.read_text(encoding="utf-8"))
        if values.pop("format") != FORMAT:
            raise ValueError("another format")
        run: Run = _typed(Run, values)
    except (OSError, *MALFORMED) as error:
        raise SourceError(f"{file} is not a run: {error!r}", hint=_HINT) from error
    if not run.parts or any(len(part.answers) != len(run.asked) for part in run.parts):
        raise SourceError(f"{file} is not a whole run", hint=_HINT)
    return run


def _typed(kind: Any, value: Any) -> Any:
    """Return a value of JSON as the type that is wanted; ValueError if it is none."""
    if is_dataclass(kind):
        return _made(kind, value)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else _typed(inner[0], value)
    if origin is tuple and isinstance(value, list):
        return tuple(_typed(inner[0], each) for each in value)
    if origin is Mapping and isinstance(value, dict):
        name, content = inner
        return {name(key): _typed(content, each) for key, each in value.items()}
    if origin is Literal and isinstance(value, str) and value in inner:
        return value
    if kind is float and type(value) in (int, float) and math.isfinite(value):
        return float(value)
    if kind in (str, int, bool) and type(value) is kind and (kind is not int or 0 <= value < 2**53):
        return value
    raise ValueError(f"{kind} wanted, {str(value)[:40]!r} found")


_HINTS_OF = lru_cache(get_type_hints)  # the same few kinds, very often


def _made(kind: Any, value: Any) -> Any:
    hints = _HINTS_OF(kind)
    if isinstance(value, list):
        value = dict(zip(hints, value, strict=True))
    if value.keys() - hints.keys():
        raise ValueError(f"unknown {sorted(value.keys() - hints.keys())}")
    return kind(**{name: _typed(hints[name], each) for name, each in value.items()})
