"""SciFact: scientific claims, and the abstracts that they cite.

``corpus.csv`` has the abstracts. A row of a claim file is one piece of evidence, so that a claim
comes several times; the cited abstracts are the relevant ones, as in BEIR.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Sequence
from pathlib import Path

from pincite.core.errors import SourceError
from pincite.evaluate.collection import WHOLE_PAGES, Collection, Question, page_of, write_pages

MEASURES = ("ndcg@10", "recall@10", "recall@100", "mrr")
CORPUS = "corpus.csv"
# A list as an array library prints it: quoted sentences without commas between them.
_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)


def read(data: Path, questions: Path, scratch: Path) -> list[Collection]:
    """Return the collection; every abstract is one chunk with its title."""
    abstracts = read_abstracts(data / CORPUS)
    numbers = {doc_id: str(number) for number, doc_id in enumerate(abstracts)}
    files = write_pages(list(abstracts.values()), scratch / "abstracts.json")
    asked = []
    for claim, cited in read_claims(questions):
        gold = frozenset(numbers[doc_id] for doc_id in cited if doc_id in numbers)
        # Claims about the same abstracts are often each other's negation.
        asked.append(Question(claim, gold, group=" ".join(sorted(cited))))
    return [Collection(files, asked, MEASURES, page_of, ingest=WHOLE_PAGES)]


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
