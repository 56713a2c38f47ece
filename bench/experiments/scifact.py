"""SciFact: scientific claims, and the abstracts that they cite.

``corpus.csv`` has the abstracts. A row of a claim file is one piece of evidence, so that a claim
comes several times; the cited abstracts are the relevant ones, as in BEIR.
"""

from __future__ import annotations

from pathlib import Path

from experiments.collection import WHOLE_PAGES, Collection, Question, page_of, write_pages
from pincite.measure.imports import SCIFACT_ABSTRACTS, read_abstracts, read_claims

MEASURES = ("ndcg@10", "recall@10", "recall@100", "mrr")


def read(data: Path, questions: Path, scratch: Path) -> list[Collection]:
    """Return the collection; every abstract is one chunk with its title."""
    abstracts = read_abstracts(data / SCIFACT_ABSTRACTS)
    numbers = {doc_id: str(number) for number, doc_id in enumerate(abstracts)}
    files = write_pages(list(abstracts.values()), scratch / "abstracts.json")
    asked = []
    for claim, cited in read_claims(questions):
        gold = frozenset(numbers[doc_id] for doc_id in cited if doc_id in numbers)
        # Claims about the same abstracts are often each other's negation.
        asked.append(Question(claim, gold, group=" ".join(sorted(cited))))
    return [Collection(files, asked, MEASURES, page_of, ingest=WHOLE_PAGES)]
