"""Measures of rankings give the numbers of trec_eval and ranx."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.measure.grades import MEASURES, GradedQuestion, ideal_gains, parse, tabulated
from pincite.model.errors import ConfigError
from trec_tables import graded, ranked, value

HERE = Path(__file__).parent
REFERENCE = json.loads((HERE / "measures.json").read_text())
# ir_measures takes these from other programs than trec_eval, which order ties in other ways.
OTHER_TIES = {"RR@10", "Judged@10"}
NAMES = ["nDCG@10", "nDCG", "nDCG(exp)@5", "Recall@3", "P@4", "RR", "AP", "hit@2", "all@5"]


def made() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_measures", HERE / "make_measures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def cases() -> tuple[Any, Any, list[bool]]:
    module = made()
    qrels, run = module.cases()
    return qrels, run, [module.has_ties(run.get(q, {})) for q in qrels]


@pytest.mark.parametrize("name", REFERENCE["measures"])
def test_every_measure_equals_trec_eval(name: str, cases: tuple[Any, Any, list[bool]]) -> None:
    qrels, run, tied = cases
    at = REFERENCE["measures"].index(name)
    theirs = np.array([REFERENCE["trec_eval"][q][at] for q in qrels])
    ours = parse(name).of(graded(qrels, run))
    asked = np.array([not t for t in tied]) if name in OTHER_TIES else np.ones(1000, dtype=bool)
    assert asked.sum() >= 500 and len(set(theirs[asked])) > 1
    assert abs(ours - theirs)[asked].max() < 1e-9


@pytest.mark.parametrize("name", sorted(REFERENCE["ranx"]))
def test_measures_equal_ranx_where_nothing_is_tied(
    name: str, cases: tuple[Any, Any, list[bool]]
) -> None:
    qrels, run, _ = cases
    theirs = REFERENCE["ranx"][name]
    ours = dict(zip(qrels, parse(name).of(graded(qrels, run)), strict=True))
    assert len(theirs) > 250
    assert {q: ours[q] for q in theirs} == pytest.approx(theirs, abs=1e-9)


def test_the_made_runs_have_all_kinds_of_cases(cases: tuple[Any, Any, list[bool]]) -> None:
    qrels, run, tied = cases
    assert sum(tied) > 200 and len(run) < len(qrels) == 1000
    assert {grade for each in qrels.values() for grade in each.values()} == {-1, 0, 1, 2, 3}


def test_ties_and_single_precision_are_those_of_trec_eval() -> None:
    assert ranked({"a": 1.0, "b": 1.0, "c": 1.0 + 1e-12}) == ["c", "b", "a"]
    assert ranked({"b": 1.0, "a": 1.0 + 1e-12}) == ["b", "a"]
    assert ranked({"b": 1.0, "a": 1.001}) == ["a", "b"]


def test_a_place_is_credited_once() -> None:
    """Two chunks of one document that answers are one find, at the better rank."""
    assert value("recall@4", ["a", "a", "a", "x"], {"a", "b"}) == 0.5
    assert value("ndcg@4", ["a", "a", "b"], {"a", "b"}) < 1.0
    assert value("P@2", ["a", "a"], {"a", "b"}) == 1.0  # a reader wastes no look at either


def test_a_hit_that_meets_two_needs_is_worth_both() -> None:
    """A long chunk that holds all of the evidence is as good as can be, not half as good."""
    both, one, other = {0: 1.0, 1: 1.0}, {0: 1.0}, {1: 1.0}
    ideal = ideal_gains([both, one, other])
    assert ideal == [2.0]
    grades = tabulated(
        [GradedQuestion([both, {}], ideal, 2), GradedQuestion([one, other], ideal, 2)]
    )
    assert parse("nDCG@10").of(grades).tolist() == pytest.approx([1.0, (1 + 0.63092975) / 2])
    assert parse("Recall@1").of(grades).tolist() == [1.0, 0.5]
    assert parse("all@1").of(grades).tolist() == [1.0, 0.0]
    assert parse("AP").of(grades).tolist() == [1.0, 1.0]


def test_every_judged_question_counts() -> None:
    grades = graded({"found": {"a": 1}, "empty": {"a": 1}}, {"found": {"a": 1.0}, "other": {}})
    assert len(grades) == 2
    assert parse("RR").of(grades).tolist() == [1.0, 0.0]
    assert parse("nDCG@10").of(graded({"q": {"a": 1}}, {})).tolist() == [0.0]


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_is_written_as_it_is_read(name: str) -> None:
    needs_depth, variants = MEASURES[name]
    for variant in ("", *variants):
        for depth in ("@7",) if needs_depth else ("", "@7"):
            written = f"{name}{f'({variant})' if variant else ''}{depth}"
            assert str(parse(written)) == written
            assert parse(str(parse(written.lower()))) == parse(written)


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("nDGC@10", "nDCG"),
        ("hit", "hit@10"),
        ("P@0", "P@10"),
        ("nDCG(wild)@3", "nDCG(exp)"),
        ("", "known: nDCG"),
        ("RR@-1", "RR?"),
        ("@10", "known"),
    ],
)
def test_an_unknown_measure_is_told_with_the_nearest(written: str, hint: str) -> None:
    with pytest.raises(ConfigError) as told:
        parse(written)
    assert hint in told.value.hint


places = st.sampled_from("abcdefgh")
grades_of = st.dictionaries(places, st.integers(-1, 3), min_size=1)


@given(found=st.lists(places, unique=True), grades=grades_of)
def test_measures_are_shares_and_best_for_the_ideal(
    found: list[str], grades: dict[str, int]
) -> None:
    ideal = sorted(grades, key=lambda place: -grades[place])
    runs = [{place: -float(rank) for rank, place in enumerate(each)} for each in (found, ideal)]
    ours, best = (graded({"q": grades}, {"q": run}) for run in runs)
    for name in NAMES:
        assert 0.0 <= parse(name).of(ours)[0] <= 1.0
    can_answer = max(grades.values()) > 0
    for name in ("nDCG", "nDCG(exp)@5", "Recall", "RR", "AP", "hit@2"):
        assert parse(name).of(best)[0] == pytest.approx(float(can_answer))
        assert parse(name).of(ours)[0] <= parse(name).of(best)[0] + 1e-12


covers = st.dictionaries(st.integers(0, 3), st.sampled_from([1.0, 2.0]), max_size=3)


@given(hits=st.lists(covers, max_size=6))
def test_hits_that_meet_several_needs_stay_within_bounds(hits: list[dict[int, float]]) -> None:
    needs = len({need for hit in hits for need in hit})
    grades = tabulated([GradedQuestion(hits, ideal_gains(hits), needs)])
    for name in NAMES:
        assert 0.0 <= parse(name).of(grades)[0] <= 1.0 + 1e-12
    assert parse("Recall").of(grades)[0] == float(needs > 0)
