"""On real questions, the general harness gives the figures of the experiments written for them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from experiments import ohr_bench, part97
from experiments.indexes import make_index
from pincite.api import Index
from pincite.measure.grades import parse_all
from pincite.measure.harness import EvalOptions, ask
from pincite.measure.imports import read
from pincite.measure.questions import JudgedPlace, Question
from pincite.measure.words import WordNumbers
from pincite.model.settings import Settings, merged

DATA = Path(__file__).parents[3] / "shared" / "data"
LEXICAL = merged(Settings(), {"search": {"preset": "lexical"}}, origin="test")


@pytest.mark.slow
def test_part97_ranks_are_the_same(tmp_path: Path) -> None:
    folder = DATA / "part97"
    if not folder.is_dir():
        pytest.skip("Part 97 is not here")
    asked = part97.read_questions(folder / "questions_dev.jsonl")[:60]
    expected = [row[0] for row, _ in zip(
        part97.run(folder, folder / "questions_dev.jsonl", [LEXICAL]), asked, strict=False
    )]  # fmt: skip
    lettered = replace(LEXICAL, ingest=replace(LEXICAL.ingest, split_depth=1))
    make_index([(folder / part97.DOCUMENT, part97.DOCUMENT)], tmp_path / "index", [lettered])
    questions = [
        Question(
            q.id, q.text, (tuple(JudgedPlace(part97.DOCUMENT, section=s) for s in q.sections),)
        )
        for q in asked
    ]
    with Index.open(tmp_path / "index", lettered) as index:
        rows = list(ask([index], questions, EvalOptions(depth=40)))
    assert [answers[0].rank for _, answers in rows] == [each.section_rank for each in expected]


@pytest.mark.slow
def test_ohr_bench_scores_are_the_same(tmp_path: Path) -> None:
    folder = DATA / "ohr-bench"
    if not folder.is_dir():
        pytest.skip("OHR-Bench is not here")
    everything = read("qas", folder / "qas_dev.json", {}).questions
    asked = [each for each in everything if each.labels["domain"] == "news"][:60]
    ids = {each.id for each in asked}
    known = [each for each in ohr_bench.read_questions(folder / "qas_dev.json") if each.id in ids]
    fixed = ohr_bench.fixed_pieces(LEXICAL)
    files = [(f, f"news/{f.name}") for f in ohr_bench.domain_files(folder / "gt", "news")]
    make_index(files, tmp_path / "index", [fixed], lenient=True)
    how = EvalOptions(depth=20, measures=parse_all(["LCS@2", "LCS(loose)@2"]))
    with Index.open(tmp_path / "index", fixed) as index:
        words = WordNumbers()
        expected = [ohr_bench.scored(index, each, words) for each in known]
        rows = list(ask([index], asked, how))
    assert [answers[0].rank for _, answers in rows] == [each.page_rank for each in expected]
    strict = [answers[0].taken["LCS@2"] for _, answers in rows]
    loose = [answers[0].taken["LCS(loose)@2"] for _, answers in rows]
    assert strict == pytest.approx([each.strict for each in expected])
    assert loose == pytest.approx([each.loose for each in expected])
