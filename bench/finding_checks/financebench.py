"""The page of the filing that answers a question about a company (FinanceBench).

The 66 questions of `financebench/questions.jsonl` over all 39 filings, read from their PDFs: 10-K,
10-Q, 8-K and earnings releases of 16 companies. Asked once of all documents and once of the right
one; a hit is a chunk that has a page of the evidence among the pages it stands on. The right
document counts if one of the first hits is of it. A question belongs to the half that was looked
at by the hash of its company as the file's name has it. By words and meaning, by words alone, and
by plain BM25 over pages (`experiments/financebench.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from checks import Figure
from experiments import financebench
from experiments.financebench import Asked, Found
from experiments.indexes import opened_at
from finding_checks._halves import by_half
from finding_checks._indexes import index_folder
from pincite.model.settings import Settings

DEPTHS = (1, 5, 10, 20)
ASKED = {
    "page, all documents": (".45", ".70", ".80", ".88"),
    "page, document given": (".52", ".80", ".88", ".93"),
    "document": (".85", ".97"),
}


def run(data: Path) -> list[Figure]:
    """Return how often page and document are among the first hits, of each way to search."""
    settings, figures = Settings(), []
    words = replace(settings, search=replace(settings.search, preset="lexical"))
    files = financebench.files_of(data / "financebench" / "pdfs")
    asked = financebench.read_asked(data / "financebench" / "questions.jsonl", files)
    with index_folder("financebench", files, [settings]) as place:
        for name, each in (("", settings), ("words: ", words)):
            with opened_at(place, each) as index:
                found = [list(financebench.search(index, asked, is_given=g)) for g in (False, True)]
            figures += _measured(name, asked, *found)
    plain = financebench.PageBm25(financebench.read_pages(files))
    found = [list(plain.search(asked, is_given=given)) for given in (False, True)]
    return figures + _measured("page BM25: ", asked, *found)


def _measured(
    name: str, asked: Sequence[Asked], everywhere: Sequence[Found], given: Sequence[Found]
) -> list[Figure]:
    pages = [found.page_rank(each) for found, each in zip(everywhere, asked, strict=True)]
    pages_given = [found.page_rank(each) for found, each in zip(given, asked, strict=True)]
    documents = [found.document_rank(each) for found, each in zip(everywhere, asked, strict=True)]
    ranks = dict(zip(ASKED, (pages, pages_given, documents), strict=True))
    keys, figures = [each.company for each in asked], []
    for level, wanted in ASKED.items():
        for depth, least in zip(DEPTHS, wanted, strict=False):
            values = [float((rank or 10**6) <= depth) for rank in ranks[level]]
            goal = "" if name else f">= {least}"
            figures += by_half(f"{name}{level} @{depth}", values, keys, goal)
    return figures
