"""Judgements and runs as TREC writes them: read, ordered, written."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from pincite.core.errors import SourceError, reason_of
from pincite.evaluate.grades import Array, Grades, padded

# Grades by question and document; scores by question and document.
Qrels = Mapping[str, Mapping[str, int]]
Scores = Mapping[str, Mapping[str, float]]

MAX_BYTES = 512_000_000
UNJUDGED = -math.inf  # not relevant as far as we know; a grade of 0 or less is somebody's word
_SPACE = re.compile(r"\s")


def read_qrels(file: Path) -> dict[str, dict[str, int]]:
    """Return the grades of a file with lines "question iteration document grade".

    The three columns of BEIR, with a heading, are understood as well.
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, fields in _lines(file):
        if number == 1 and fields[-1] in ("score", "relevance", "rel"):
            continue
        if len(fields) not in (3, 4):
            raise _bad(file, number, f"{len(fields)} columns", "question 0 document grade")
        try:
            grade = int(fields[-1])
        except ValueError:
            raise _bad(file, number, f"grade {fields[-1]!r}", "a whole number") from None
        documents = qrels.setdefault(fields[0], {})
        if documents.setdefault(fields[-2], grade) != grade:
            raise _bad(file, number, f"two grades for {fields[-2]!r}", "one grade for each")
    return qrels


def read_run(file: Path) -> dict[str, dict[str, float]]:
    """Return the scores of a file with lines "question Q0 document rank score name"."""
    run: dict[str, dict[str, float]] = {}
    for number, fields in _lines(file):
        if len(fields) != 6:
            raise _bad(file, number, f"{len(fields)} columns", "question Q0 document rank score x")
        try:
            score = float(fields[4])
        except ValueError:
            raise _bad(file, number, f"score {fields[4]!r}", "a number") from None
        if score != score:
            raise _bad(file, number, "score nan", "a number")
        documents = run.setdefault(fields[0], {})
        if fields[2] in documents:
            raise _bad(file, number, f"{fields[2]!r} twice", "each document once for a question")
        documents[fields[2]] = score
    return run


def ranked(scores: Mapping[str, float]) -> list[str]:
    """Return documents in the order of trec_eval: by score, ties by id, both downwards.

    It keeps scores in single precision, so that two which differ less than that are tied.

    >>> ranked({"a": 1.0, "b": 1.0, "c": 2.0})
    ['c', 'b', 'a']
    """
    if not scores:
        return []
    rounded = np.fromiter(scores.values(), dtype=np.float32, count=len(scores)).tolist()
    pairs = sorted(zip(rounded, scores, strict=True), reverse=True)
    return [document for _, document in pairs]


def graded(qrels: Qrels, run: Scores) -> Grades:
    """Return the tables of a run against grades; a judged question without hits is a line too.

    Here every document is a need of its own, so no document has to be looked for twice and the
    tables are filled with whole lines at a time.
    """
    rows = [
        [grades.get(d, UNJUDGED) for d in ranked(run.get(q, {}))] for q, grades in qrels.items()
    ]
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    filled = np.full((len(rows), int(lengths.max(initial=0))), UNJUDGED)
    for at, row in enumerate(rows):
        filled[at, : len(row)] = row
    relevant = filled > 0
    gains: Array = np.where(relevant, filled, 0.0)
    ideal = [sorted((g for g in each.values() if g > 0), reverse=True) for each in qrels.values()]
    return Grades(
        gains,
        relevant.astype(np.int64),
        relevant,
        np.isfinite(filled),
        padded(ideal),
        np.array([len(each) for each in ideal], dtype=np.int64),
        lengths,
    )


def write_qrels(qrels: Qrels) -> Iterator[str]:
    """Yield the lines of a file of grades."""
    for question, grades in qrels.items():
        for document, grade in grades.items():
            yield f"{_name(question)} 0 {_name(document)} {grade}\n"


def write_run(rankings: Mapping[str, Iterable[str]], name: str) -> Iterator[str]:
    """Yield the lines of a run; scores count down, so that everybody reads the same order."""
    for question, documents in rankings.items():
        ids = list(documents)
        for rank, document in enumerate(ids, 1):
            score = len(ids) - rank + 1
            yield f"{_name(question)} Q0 {_name(document)} {rank} {score} {_name(name)}\n"


def _name(text: str) -> str:
    """Return a name without spaces, which TREC's columns cannot hold."""
    return _SPACE.sub("_", text) or "_"


def _lines(file: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise SourceError(f"{file} is larger than {MAX_BYTES:,} bytes", hint="split it")
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if fields := line.split():
                    yield number, fields
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(
            f"cannot read {file}: {reason_of(error)}", hint="give a text file"
        ) from error


def _bad(file: Path, number: int, what: str, wanted: str) -> SourceError:
    return SourceError(f"{file}, line {number}: {what}", hint=f"a line is: {wanted}")
