"""FinanceBench: on which page of which filing does the answer stand?

A filing is indexed under a number, so that nothing but its own words tells whose it is: names of
the files name company, year and form. The plain way beside it ranks pages by BM25 over their text
as the PDF has it, with the defaults of bm25s (k1 1.5, b .75, words of two letters and more without
function words, no stems).
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pypdfium2

from experiments.indexes import Files
from pincite.api import Index
from pincite.index.postings import Array
from pincite.model.languages import function_words
from pincite.model.types import Filters

DEPTH = 20
K1, B = 1.5, 0.75
_WORD = re.compile(r"\b\w\w+\b")
Place = tuple[str, int]  # a document's id and the number of a page, from 1


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the filing and the pages that answer it."""

    text: str
    company: str
    doc_id: str
    pages: frozenset[int]


@dataclass(frozen=True, slots=True)
class Found:
    """The documents of the first hits with the pages that each hit stands on."""

    documents: Sequence[str]
    pages: Sequence[frozenset[int]]

    def page_rank(self, asked: Asked) -> int | None:
        """Return the rank of the first hit that has a page with the answer on it."""
        hits = enumerate(zip(self.documents, self.pages, strict=True), 1)
        here = (at for at, (doc, pages) in hits if doc == asked.doc_id and pages & asked.pages)
        return next(here, None)

    def document_rank(self, asked: Asked) -> int | None:
        """Return the rank of the first hit in the right document."""
        return next((at for at, doc in enumerate(self.documents, 1) if doc == asked.doc_id), None)


def files_of(folder: Path) -> Files:
    """Return the filings, each under a number."""
    return [(file, f"{at:02}.pdf") for at, file in enumerate(sorted(folder.glob("*.pdf")), 1)]


def read_asked(file: Path, files: Files) -> list[Asked]:
    """Return the questions; their data counts pages from 0."""
    ids = {path.stem: doc_id for path, doc_id in files}
    return [
        Asked(
            item["question"],
            item["doc_name"].partition("_")[0],
            ids[item["doc_name"]],
            frozenset(each["page_index"] + 1 for each in item["evidence"]),
        )
        for item in map(json.loads, file.read_text("utf-8").splitlines())
    ]


def search(index: Index, asked: Sequence[Asked], *, is_given: bool) -> Iterator[Found]:
    """Yield the first hits for each question, in its document alone if that is given."""
    for each in asked:
        filters = Filters(documents=(each.doc_id,)) if is_given else Filters()
        ids = index.search_ranking(each.text, DEPTH, filters).ids
        chunks = index.snapshot.get(ids)
        pages = [frozenset(index.snapshot.pages_of(chunk).numbers) for chunk in chunks]
        yield Found([chunk.span.doc_id for chunk in chunks], pages)


class PageBm25:
    """Ranks pages by the words that they share with a question."""

    def __init__(self, pages: Iterable[tuple[Place, str]]) -> None:
        self._stop = frozenset(function_words("english"))
        self.places: list[Place] = []
        rows: dict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths = []
        for place, text in pages:
            words = self._words(text)
            for word, count in Counter(words).items():
                rows[word].append((len(self.places), count))
            self.places.append(place)
            lengths.append(len(words))
        self._rows = {word: np.array(pairs) for word, pairs in rows.items()}
        sizes = np.array(lengths, dtype=float)
        self._norms: Array = K1 * (1 - B + B * sizes / max(1e-9, float(sizes.mean())))

    def _words(self, text: str) -> list[str]:
        return [word for word in _WORD.findall(text.lower()) if word not in self._stop]

    def search(self, asked: Sequence[Asked], *, is_given: bool) -> Iterator[Found]:
        """Yield the first pages for each question, of its document alone if that is given."""
        documents = np.array([doc_id for doc_id, _ in self.places])
        for each in asked:
            scores = self._scores(each.text)
            if is_given:
                scores = np.where(documents == each.doc_id, scores, -1.0)
            best = [self.places[at] for at in np.argsort(-scores, kind="stable")[:DEPTH].tolist()]
            yield Found([doc for doc, _ in best], [frozenset([page]) for _, page in best])

    def _scores(self, text: str) -> Array:
        scores: Array = np.zeros(len(self.places))
        for word in self._words(text):
            if word in self._rows:
                rows, counts = self._rows[word].T
                idf = np.log(1 + (len(scores) - len(rows) + 0.5) / (len(rows) + 0.5))
                scores[rows] += idf * counts / (counts + self._norms[rows])
        return scores


def read_pages(files: Files) -> Iterator[tuple[Place, str]]:
    """Yield each page of PDFs with its text as the PDF has it."""
    for path, doc_id in files:
        document = pypdfium2.PdfDocument(path)
        for number, page in enumerate(document, 1):
            text = page.get_textpage()
            yield (doc_id, number), text.get_text_bounded()
            text.close()
            page.close()
        document.close()
