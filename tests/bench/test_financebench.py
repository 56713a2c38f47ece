"""FinanceBench: how its questions are read, how hits are judged, and pages by plain BM25."""

from __future__ import annotations

import json
from pathlib import Path

from experiments.financebench import Asked, Found, PageBm25, files_of, read_asked

ASKED = Asked("What was the capex of Tug?", "TUG", "02.pdf", frozenset([3, 4]))


def test_any_page_of_a_hit_counts_and_only_in_the_right_document() -> None:
    pages = [frozenset([3]), frozenset([1]), frozenset([2, 3])]
    found = Found(["01.pdf", "02.pdf", "02.pdf"], pages)
    assert (found.page_rank(ASKED), found.document_rank(ASKED)) == (3, 2)
    nothing = Found(["01.pdf"], [frozenset([3])])
    assert (nothing.page_rank(ASKED), nothing.document_rank(ASKED)) == (None, None)


def test_questions_count_pages_from_0_and_are_of_a_company(tmp_path: Path) -> None:
    for name in ("BARGE_2020_10K", "TUG_2021_10K"):
        (tmp_path / f"{name}.pdf").touch()
    item = {
        "question": "Who sells anchors?",
        "doc_name": "TUG_2021_10K",
        "evidence": [{"page_index": 1, "text": "Tug sells anchors too."}],
    }
    (tmp_path / "questions.jsonl").write_text(json.dumps(item) + "\n")
    (asked,) = read_asked(tmp_path / "questions.jsonl", files_of(tmp_path))
    assert asked == Asked("Who sells anchors?", "TUG", "02.pdf", frozenset([2]))


def test_pages_are_ranked_by_their_words() -> None:
    asked = [Asked("does Tug sell anchors", "TUG", "02.pdf", frozenset([2]))]
    texts = ["Anchors are sold by Barge.", "Cover of Tug.", "Tug can sell anchors too."]
    places = [("01.pdf", 1), ("02.pdf", 1), ("02.pdf", 2)]
    plain = PageBm25(zip(places, texts, strict=True))
    (everywhere,) = plain.search(asked, is_given=False)
    assert everywhere.page_rank(asked[0]) == 1
    assert set(everywhere.documents) == {"01.pdf", "02.pdf"}
    (given,) = plain.search(asked, is_given=True)
    assert (given.documents[:2], given.page_rank(asked[0])) == (["02.pdf", "02.pdf"], 1)
