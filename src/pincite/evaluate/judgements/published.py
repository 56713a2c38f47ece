"""Question sets of published experiments as judgements, so that they can be tuned and labelled."""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pincite.core.errors import MALFORMED, SourceError, reason_of
from pincite.evaluate.judgements.questions import Place, Question, QuestionSet
from pincite.model.locators import locator_key

PART97 = "part97.md"  # the document that questions of Part 97 cite
SCIFACT_ABSTRACTS = "corpus.csv"
_SECTION = re.compile(r"(?<![\d.])(97\.\d+)|\(([a-z])(?:-([a-z]))?\)")
# A list as an array library prints it: quoted sentences without commas between them.
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CitingQuestion:
    """One exam question with the sections and the lettered clauses that it cites."""

    id: str
    text: str
    sections: tuple[str, ...]
    clauses: tuple[str, ...]


def read_part97(file: Path, texts: Mapping[str, str]) -> QuestionSet:
    """Return the exam questions: any cited lettered clause, or any cited section if none is."""
    found = []
    for each in read_citing_questions(file):
        names = each.clauses or each.sections
        need = tuple(Place(PART97, section=name) for name in names)
        labels = {"kind": "clause" if each.clauses else "section"}
        needs = (need,) if need else ()
        reason = "" if needs else "it cites no place"
        found.append(Question(each.id, each.text, needs, unanswerable=reason, labels=labels))
    return QuestionSet("part97", found)


def read_citing_questions(file: Path) -> list[CitingQuestion]:
    """Return the questions of a file of JSON lines in the pools' own format."""
    try:
        items = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
        return [
            CitingQuestion(
                id=f"{item['pool']}/{item['id']}",
                text=_text(item["question"]),
                sections=tuple(locator_key(name) for name in item["gold_sections"]),
                clauses=cited_clauses(item["cited"]),
            )
            for item in items
        ]
    except (OSError, *MALFORMED) as error:
        raise SourceError(
            f"{file} is not a question file of Part 97: {error!r}",
            hint="it has one JSON object a line with pool, id, question, cited, gold_sections",
        ) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"question is {value!r:.40}")
    return value


def cited_clauses(cited: str) -> tuple[str, ...]:
    """Return the lettered clauses that a citation names, to the letter.

    >>> cited_clauses("[97.101(b), (c), 97.301(a-b), 97.3(a)(38)]")
    ('97.101(b)', '97.101(c)', '97.301(a)', '97.301(b)', '97.3(a)')
    """
    section, is_open, found = "", False, []
    for match in _SECTION.finditer(cited):
        if match.group(1):
            section, is_open = match.group(1), True
        elif section and (is_open or cited[match.start() - 2 : match.start()] == ", "):
            first, last = match.group(2), match.group(3) or match.group(2)
            found += [f"{section}({chr(code)})" for code in range(ord(first), ord(last) + 1)]
            is_open = False
    return tuple(dict.fromkeys(found))


def read_scifact(file: Path, texts: Mapping[str, str]) -> QuestionSet:
    """Return the claims; every cited abstract is a need of its own, as BEIR counts them."""
    found = []
    for number, (claim, cited) in enumerate(read_claims(file), 1):
        needs = tuple((Place(doc_id),) for doc_id in cited)
        reason = "" if needs else "it cites no abstract"
        group = " ".join(sorted(cited))
        found.append(Question(f"claim {number}", claim, needs, unanswerable=reason, group=group))
    return QuestionSet("scifact", found)


def write_abstracts(claims: Path, file: Path) -> dict[str, int]:
    """Write the abstracts beside a claim file as a document of pages; return the page of each."""
    abstracts = read_abstracts(claims.with_name(SCIFACT_ABSTRACTS))
    pages = [{"text": text, "page_idx": number} for number, text in enumerate(abstracts.values())]
    try:
        file.write_text(json.dumps(pages), encoding="utf-8")
    except OSError as error:
        raise SourceError(
            f"cannot write {file}: {reason_of(error)}", hint="choose another file"
        ) from error
    return {doc_id: number for number, doc_id in enumerate(abstracts)}


def read_abstracts(file: Path) -> dict[str, str]:
    """Return title and abstract as one text, by document id."""
    rows = _rows(file, ("doc_id", "title", "abstract"), "the abstracts of SciFact")
    return {row["doc_id"]: f"{row['title']}\n\n{sentences(row['abstract'])}" for row in rows}


def read_claims(file: Path) -> list[tuple[str, list[str]]]:
    """Return every claim once, with the ids of the abstracts that it cites."""
    rows = _rows(file, ("id", "claim", "cited_doc_ids"), "a claim file of SciFact")
    once = {row["id"]: row for row in rows}
    return [(row["claim"], re.findall(r"\d+", row["cited_doc_ids"])) for row in once.values()]


def sentences(printed: str) -> str:
    """Return the sentences of a printed list as running text.

    >>> sentences("['New.' 'True.']")
    'New. True.'
    """
    found = _LITERAL.findall(printed)
    return " ".join(str(ast.literal_eval(each)).strip() for each in found)


def _rows(file: Path, columns: Sequence[str], kind: str) -> list[dict[str, str]]:
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines, strict=True))
        missing = [name for name in columns if any(row.get(name) is None for row in rows)]
        if missing or not rows:
            raise ValueError(f"no column {missing[0]!r}" if missing else "no rows")
        return rows
    except (OSError, ValueError, csv.Error) as error:
        raise SourceError(
            f"{file} does not hold {kind}: {error}", hint=f"its columns are {', '.join(columns)}"
        ) from error
