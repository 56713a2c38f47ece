"""The two published experiments, on values small enough to check by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments import ohr_bench, part97
from experiments.ohr_learned import grade_as_published
from experiments.set_bm25 import SetBm25
from pincite.model.errors import SourceError
from pincite.model.settings import Settings


@pytest.fixture
def ohr_data(tmp_path: Path) -> Path:
    folder = tmp_path / "gt" / "law"
    folder.mkdir(parents=True)
    pages = ["The tenant pays the rent on Monday.", "The landlord repairs the roof in spring."]
    (folder / "lease.json").write_text(
        json.dumps([{"text": text, "page_idx": i} for i, text in enumerate(pages)])
    )
    (folder / "other.json").write_text(json.dumps([{"text": "Dogs bark.", "page_idx": 0}]))
    questions = [
        question("q1", "law/lease", "When does the landlord repair the roof?", pages[1], 1),
        question("q2", "law/gone", "Where is this document?", "nowhere", 0),
    ]
    (tmp_path / "qas_dev.json").write_text(json.dumps(questions))
    return tmp_path


def question(name: str, document: str, text: str, evidence: str, page: int) -> dict[str, object]:
    return {
        "ID": name,
        "doc_name": document,
        "questions": text,
        "evidence_context": evidence,
        "evidence_page_no": page,
        "evidence_source": "text",
    }


def test_ohr_bench_scores_and_counts_missing_documents_apart(ohr_data: Path) -> None:
    results = list(ohr_bench.run(ohr_data, ohr_data / "qas_dev.json", [Settings()]))
    scored = [each for row in results for each in row]
    assert len(results) == 2 and len(scored) == 1
    assert scored[0].strict == 1.0 and scored[0].page_rank == 1
    figures = ohr_bench.summarise(scored)
    assert figures.values["strict_lcs"] == 100.0
    assert figures.values["strict_lcs_by.law"] == 100.0
    assert figures.values["page_recall@1"] == 1.0


def test_strict_counts_only_the_gold_page(ohr_data: Path) -> None:
    wrong_page = question("q", "law/lease", "landlord roof spring", "The landlord repairs", 0)
    (ohr_data / "one.json").write_text(json.dumps([wrong_page]))
    ((result,),) = ohr_bench.run(ohr_data, ohr_data / "one.json", [Settings()])
    assert result.loose == 1.0
    assert result.strict < 0.5


def test_question_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "questions.json"
    file.write_text('{"a": 1}')
    for read in (ohr_bench.read_questions, part97.read_questions):
        with pytest.raises(SourceError, match="not a question file"):
            read(file)


def test_part97_ranks_sections_and_clauses(tmp_path: Path) -> None:
    (tmp_path / "part97.md").write_text(
        "# Part 97\n\n## § 97.1 Music.\n(a) No station shall transmit music.\n"
        "(b) Bells are fine.\n\n## § 97.3 Power.\n(a) Use the least power.\n"
    )
    asked = [
        {"pool": "p", "id": "1", "question": "May a station transmit music?", "cited": "[97.1(a)]"},
        {"pool": "p", "id": "2", "question": "least power", "cited": "[97.99(b)]"},
    ]
    lines = [json.dumps({**item, "gold_sections": [f"§ {item['cited'][1:5]}"]}) for item in asked]
    (tmp_path / "questions.jsonl").write_text("\n".join(lines))
    (first,), (second,) = part97.run(tmp_path, tmp_path / "questions.jsonl", [Settings()])
    assert (first.section_rank, first.clause_rank) == (1, 1)
    assert second.has_section is False and second.has_clause is False
    figures = part97.summarise([first, second])
    assert figures.counts["clause_recall@1"] == 1


def test_set_bm25_loses_counts() -> None:
    ranker = SetBm25(["a pump pump pump pump valve", "pump valve hose", "hose", "cat", "dog"])
    # The same set of words but for one more: how often a word occurs does not count.
    assert ranker.best("pump", 2) == [0, 1]
    assert ranker.words("The pumps, PUMPS and a pump") == ["pump", "pump"]
    assert ranker.best("hose", 1) == [2]


def test_the_published_label() -> None:
    assert grade_as_published(on_page=True, overlap=0.0) == 1
    assert grade_as_published(on_page=False, overlap=0.31) == 1
    assert grade_as_published(on_page=False, overlap=0.3) == 0
