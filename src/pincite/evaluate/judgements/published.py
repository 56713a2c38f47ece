"""Question sets of published experiments as judgements, so that they can be tuned and labelled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pincite.core.errors import SourceError, reason_of
from pincite.evaluate import part97, scifact
from pincite.evaluate.judgements.questions import Place, Question, QuestionSet


def read_part97(file: Path, texts: Mapping[str, str]) -> QuestionSet:
    """Return the exam questions: any cited lettered clause, or any cited section if none is."""
    found = []
    for each in part97.read_questions(file):
        names = each.clauses or each.sections
        need = tuple(Place(part97.DOCUMENT, section=name) for name in names)
        labels = {"kind": "clause" if each.clauses else "section"}
        needs = (need,) if need else ()
        reason = "" if needs else "it cites no place"
        found.append(Question(each.id, each.text, needs, unanswerable=reason, labels=labels))
    return QuestionSet("part97", found)


def read_scifact(file: Path, texts: Mapping[str, str]) -> QuestionSet:
    """Return the claims; every cited abstract is a need of its own, as BEIR counts them."""
    found = []
    for number, (claim, cited) in enumerate(scifact.read_claims(file), 1):
        needs = tuple((Place(doc_id),) for doc_id in cited)
        reason = "" if needs else "it cites no abstract"
        group = " ".join(sorted(cited))
        found.append(Question(f"claim {number}", claim, needs, unanswerable=reason, group=group))
    return QuestionSet("scifact", found)


def write_abstracts(claims: Path, file: Path) -> dict[str, int]:
    """Write the abstracts beside a claim file as a document of pages; return the page of each."""
    abstracts = scifact.read_abstracts(claims.with_name(scifact.CORPUS))
    pages = [{"text": text, "page_idx": number} for number, text in enumerate(abstracts.values())]
    try:
        file.write_text(json.dumps(pages), encoding="utf-8")
    except OSError as error:
        raise SourceError(
            f"cannot write {file}: {reason_of(error)}", hint="choose another file"
        ) from error
    return {doc_id: number for number, doc_id in enumerate(abstracts)}
