"""LCS, intervals and the two experiments, on values small enough to check by hand."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from pincite.core.errors import SourceError
from pincite.core.settings import Settings
from pincite.evaluate import ohr_bench, part97
from pincite.evaluate.figures import Figures, bootstrap_interval
from pincite.evaluate.lcs import Words, lcs_score


def slow_lcs(a: list[int], b: list[int]) -> int:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if x == y else max(table[i][j + 1], table[i + 1][j])
            )
    return table[-1][-1]


def test_lcs_equals_the_table_of_the_textbook() -> None:
    source = random.Random(3)
    for _ in range(60):
        a = [source.randrange(12) for _ in range(source.randrange(1, 90))]
        b = [source.randrange(12) for _ in range(source.randrange(0, 200))]
        assert lcs_score(a, b) == slow_lcs(a, b) / len(a)


def test_words_drop_articles_and_punctuation() -> None:
    words = Words()
    assert words.of("The cat, a dog; AN ant.") == words.of("cat dog ant")
    assert lcs_score([], [1, 2]) == 0.0


def test_interval_resamples_whole_groups() -> None:
    """Ten questions of one document are one observation, not ten."""
    values = [0.0] * 10 + [1.0] * 10
    alone = bootstrap_interval(values, [str(i) for i in range(20)])
    grouped = bootstrap_interval(values, ["a"] * 10 + ["b"] * 10)
    assert grouped == (0.0, 1.0)
    assert 0.2 < alone[0] < 0.5 < alone[1] < 0.8


def test_figures_hold_mean_interval_and_count() -> None:
    figures = Figures()
    figures.add("strict_lcs", [0.5, 1.0], ["a", "b"], scale=100)
    figures.add("nothing", [], [])
    assert figures.values == {"strict_lcs": 75.0}
    assert figures.counts == {"strict_lcs": 2}
    assert figures.intervals["strict_lcs"] == (50.0, 100.0)


def test_differences_are_paired_by_question() -> None:
    """A small change that every question agrees on is seen, however wide the figures spread."""
    groups = [str(i) for i in range(20)]
    low, high = Figures(), Figures()
    low.add("mrr", [i / 20 for i in range(20)], groups)
    high.add("mrr", [i / 20 + 0.01 for i in range(20)], groups)
    high.add("other", [1.0], ["a"])
    change = high.minus(low)
    assert change.values == {"mrr": pytest.approx(0.01)}
    assert change.intervals["mrr"] == pytest.approx((0.01, 0.01))
    assert high.intervals["mrr"][0] < low.intervals["mrr"][1]


def test_figures_of_other_questions_have_no_difference() -> None:
    one, other = Figures(), Figures()
    one.add("mrr", [1.0, 0.0], ["a", "b"])
    other.add("mrr", [1.0, 0.0], ["a", "c"])
    assert one.minus(other).values == {}


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


def test_cited_clauses() -> None:
    assert part97.cited_clauses("[97.301]") == ()
    assert part97.cited_clauses("[97.303 (h)]") == ("97.303(h)",)
    assert part97.cited_clauses("[97.13(c)(2), 1.1307(b)]") == ("97.13(c)",)


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
