"""Evaluation and tuning on a cluster come to the same figures as on one machine."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import cluster_work
import numpy as np
import pytest
from cluster_work import LOCAL

from pincite.api import Index
from pincite.cluster import Cluster, WorkPiece
from pincite.index.opened import OpenIndex
from pincite.measure.grades import parse, parse_all
from pincite.measure.harness import EvalOptions, ask, without
from pincite.measure.questions import QuestionSet, load
from pincite.measure.runs import QuestionRecord, RunAnswer
from pincite.measure.spreading import Recipe, ask_on, sent
from pincite.measure.tune import nested
from pincite.measure.tune.session import Session, Sources, Wish, about, run
from pincite.measure.tune.shared import Ground, gains
from pincite.measure.tune.space import RememberedPairs, State, Trial
from pincite.measure.tune.trials import Nodes
from pincite.model.settings import Settings, load_settings, merged
from pincite.read.load import find_files
from pincite.search.scorers import open_scorer
from pincite.update import ingest_files

SAMPLES = Path(__file__).parents[2] / "samples"
DOCUMENTS = [SAMPLES / name for name in ("electrical-code-2024.md", "manual.md", "rulebook.md")]
WORDS = load_settings(overrides=["embedding.model=none"])


@pytest.fixture(scope="module")
def questions() -> QuestionSet:
    names = {file.name for file in DOCUMENTS}
    every = load(SAMPLES / "questions.jsonl").questions
    some = [each for each in every if each.places and each.places[0].document in names]
    return QuestionSet("samples", some[:24])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("index") / "index"
    list(ingest_files(find_files(DOCUMENTS), found, WORDS))
    return found


def untimed(
    rows: list[tuple[QuestionRecord, list[RunAnswer]]],
) -> list[tuple[QuestionRecord, list[RunAnswer]]]:
    """Return the rows without what no two runs have in common."""
    bare = {"seconds": 0.0}
    return [
        (asked, [replace(each, **bare, stages=dict.fromkeys(each.stages, 0.0)) for each in answers])
        for asked, answers in rows
    ]


def test_questions_are_answered_as_on_one_machine(
    cluster: Cluster, folder: Path, questions: QuestionSet
) -> None:
    how = EvalOptions(20, 5, parse_all(["nDCG@10", "LCS@2"]))
    opened = OpenIndex.open(folder)
    lexical = merged(WORDS, {"search": {"preset": "lexical"}}, origin="test")
    here = [Index(opened, WORDS), Index(opened, lexical), without(opened, WORDS, "typos")]
    expected = list(ask(here, questions.questions, how))
    recipes = [Recipe(WORDS), Recipe(lexical), Recipe(WORDS, "typos")]
    found = list(ask_on(cluster, opened.snapshot, recipes, questions.questions, how))
    assert len(found) == 24 and any(answers[0].hits for _, answers in found)
    assert untimed(found) == untimed(expected)


def test_a_node_without_the_parents_disk_gets_the_index(
    cluster: Cluster, folder: Path, tmp_path: Path
) -> None:
    opened = OpenIndex.open(folder)
    index = replace(sent(cluster, opened.snapshot), path=str(tmp_path / "elsewhere"))
    pieces = [WorkPiece(None, (index, "Grabbed"))]
    ((_, (path, ids)),) = cluster.distribute(cluster_work.received_and_read, pieces)
    assert Path(path) != folder and Path(path).is_relative_to(os.environ["PINCITE_CACHE"])
    assert ids == Index(opened, WORDS).search_ranking("Grabbed", 5).ids


def tuned(questions: QuestionSet, folder: Path, settings: Settings) -> Session:
    sources = Sources(DOCUMENTS, folder, settings, lambda _: None)
    skipped = ("cross-encoder", "reading deeper", "graph", "phrases", "question words", "names")
    wish = Wish(parse("nDCG@10"), 3, skipped)
    try:
        with State(None, about(questions, sources, wish)) as state:
            return run(sources, questions, wish, state, None)
    finally:
        sources.close()


def test_tuning_comes_to_the_same(
    cluster: Cluster, questions: QuestionSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of equally good settings is taken hangs on times; what trials bring does not."""
    monkeypatch.setattr(nested, "SAMPLE", 3)
    expected = tuned(questions, tmp_path / "here", WORDS)
    found = tuned(questions, tmp_path / "there", replace(WORDS, cluster=LOCAL))
    both = found.bench.tried.keys() & expected.bench.tried.keys()
    assert len(both) > len(expected.bench.tried) / 2
    for trial in (expected.bench.tried[name] for name in sorted(both)):
        assert np.array_equal(*found.bench.values([trial]), *expected.bench.values([trial]))


def test_pairs_that_nodes_read_are_known_to_the_parent(
    cluster: Cluster, folder: Path, questions: QuestionSet
) -> None:
    reads = merged(WORDS, {"rerank": {"enabled": True, "pool": 3}}, origin="test")
    inner = open_scorer(reads.reranking)
    assert inner is not None
    some, measure = questions.questions[:5], parse("nDCG@10")
    scorers = [RememberedPairs(inner, {}), RememberedPairs(inner, {})]
    grounds = [Ground(OpenIndex.open(folder), some, scorer) for scorer in scorers]
    trial = Trial(reads)
    expected = [gains(grounds[0], at, [grounds[0].plan(reads, 10)], measure) for at in range(5)]
    missing = {trial.key: np.array([True, True, False, True, True])}
    nodes = Nodes(cluster, WORDS, measure, 10)
    found = {at: (keys, v) for at, keys, v in nodes.gains(grounds[1], [trial], missing, scorers[1])}
    assert list(found) == [0, 1, 2, 3, 4] and found[2][0] == []
    for at in (0, 1, 3, 4):
        assert np.array_equal(found[at][1], expected[at])
    assert scorers[1].known and scorers[1].known.items() <= scorers[0].known.items()
    assert len(scorers[1].known) < len(scorers[0].known)  # nobody read the third question's
    assert dict(scorers[1].taken()) == scorers[1].known
