"""What the page cites of a PDF is what it boxes; the words over a picture are those of the page."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason='needs: pip install "pincite[serve]"')

from pincite.api import Index
from pincite.model.types import Filters
from pincite.search.passages import passage_values
from pincite.serve.page.drawing import Drawing
from pincite.serve.page.look import Look
from pincite.serve.page.search_page import shown
from pincite.serve.page.sheets import Sheets, line_words, rects
from pincite.update import ingest_files

from .conftest import ROOT

DATA = Path(os.environ.get("PINCITE_DATA", ROOT.parent / "shared" / "data"))
FILES = [
    DATA / "financebench/pdfs/ADOBE_2022_10K.pdf",
    DATA / "financebench/pdfs/FOOTLOCKER_2022_8K_dated_2022-08-19.pdf",
    DATA / "financebench/pdfs/PEPSICO_2023_8K_dated-2023-05-05.pdf",
    DATA / "cuad/pdf/CUROGROUPHOLDINGSCORP_05_04_2020_EX_10_3_SERVICING_AGREEMENT.pdf",
    DATA / "cuad/pdf/WORLDWIDESTRATEGIESINC_11_02_2005_EX_10_RESELLER_AGREEMENT.pdf",
    DATA / "cuad/pdf/BIOCEPTINC_08_19_2013_EX_10_COLLABORATION_AGREEMENT.pdf",
    DATA / "pdf/manuals/fhs-3.0.pdf",
]
MANUAL = [
    "Where do host-specific configuration files live?",
    "What is /usr/share for?",
    "May /opt be on another partition?",
    "What belongs into /sbin?",
    "What is /var/lib for?",
]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(file.exists() for file in FILES), reason="no real PDFs here; see PINCITE_DATA"
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    index = tmp_path_factory.mktemp("cited") / "index"
    list(ingest_files([(file, file.name) for file in FILES], index))
    return index


def questions() -> list[tuple[str, str]]:
    """Return documents and what is asked of each: public questions, and clauses by category."""
    found = [("fhs-3.0.pdf", text) for text in MANUAL]
    for line in (DATA / "financebench/questions.jsonl").read_text("utf-8").splitlines():
        asked = json.loads(line)
        names = [file.name for file in FILES if asked["doc_name"] in file.name]
        found += [(name, asked["question"]) for name in names]
    for line in (DATA / "cuad/clauses.jsonl").read_text("utf-8").splitlines():
        clause = json.loads(line)
        if clause["clauses"] and any(file.stem == clause["contract"] for file in FILES):
            words = f"What does it say about {clause['category'].lower()}?"
            found.append((f"{clause['contract']}.pdf", words))
    return found


def test_the_cited_page_is_the_boxed_page(folder: Path) -> None:
    wrong, heights, count = [], [], 0
    with Index.open(folder) as index:
        for doc, question in questions():
            filters = Filters(documents=(doc,))
            cited = []
            for passage in index.search(question, 3, filters):
                hit = shown(index, passage_values(passage), Look(q=question))
                cited.append((hit["look"].at, hit["look"].number("page"), hit["page"]))
                if hit["kind"] == "row":
                    boxes = index.snapshot.boxes(doc, hit["look"].at)
                    line = min(box.y1 - box.y0 for box in boxes)
                    heights.append(sum(r.height for r in rects(boxes)) / 100 / line)
            answer = index.ask(question, filters=filters)
            cited += [((c.span.start, c.span.end), 0, c.page) for c in answer.citations if c.span]
            for at, opened, page in cited:
                boxed = sorted({box.page for box in index.snapshot.boxes(doc, at)})
                count += 1
                if page not in boxed or (opened or boxed[0]) != page:
                    wrong.append((doc, at, page, boxed))
    # Seen with pytest -s.
    print(f"{count} cited places, {len(wrong)} not boxed on their page; rows {max(heights):.2f}")
    assert count >= 200 and not wrong
    assert heights and max(heights) < 1.5


def test_the_words_over_a_picture_are_those_of_the_page(folder: Path) -> None:
    words = differ = 0
    drawing = Drawing()
    with Index.open(folder) as index:
        for file in FILES:
            pages, text = index.snapshot.pages(file.name), index.snapshot.text(file.name)
            sheets = Sheets(index, Look(doc=file.name), drawing)
            for number in sorted(set(pages.numbers))[::4]:
                ends = [*pages.starts[1:], len(text)]
                own = zip(pages.starts, ends, pages.numbers, strict=True)
                lines = "\n".join(text[start:end] for start, end, page in own if page == number)
                there = Counter(line_words(lines).split())
                over = Counter(" ".join(w.text for w in sheets(number, number)[0].words).split())
                words += there.total()
                differ += (there - over).total() + (over - there).total()
    drawing.close()
    print(f"{words} words, {100 * differ / words:.2f} % differ")  # seen with pytest -s
    assert differ < 0.01 * words
