"""Tuning on a small index: trials are what a search finds, and an interrupted run goes on."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pincite.api import Index
from pincite.measure.grades import parse
from pincite.measure.learning import Examples, fit
from pincite.measure.questions import QuestionSet, load
from pincite.measure.tune import nested, shared
from pincite.measure.tune.nested import TUNED
from pincite.measure.tune.report import settings_file, write
from pincite.measure.tune.session import Session, Sources, Wish, about, run
from pincite.measure.tune.shared import Ground
from pincite.measure.tune.space import AXES, PRESETS, RememberedPairs, State, Trial
from pincite.model.errors import IndexBusy, StaleIndex, StoreError
from pincite.model.settings import Settings, load_settings, merged
from pincite.model.types import Query

SAMPLES = Path(__file__).parents[2] / "samples"
DOCUMENTS = [SAMPLES / name for name in ("electrical-code-2024.md", "manual.md", "rulebook.md")]
NO_VECTORS = load_settings(overrides=["embedding.model=none"])
# Quick ones: words alone, and no model.
SKIPPED = ("cross-encoder", "reading deeper", "graph", "phrases", "question words", "names")


class Letters:
    """A scorer that compares letters: it is quick, and knows how often it was asked."""

    id = "letters"

    def __init__(self) -> None:
        self.read: list[tuple[str, str]] = []

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        self.read += [(query, text) for text in texts]
        return [len(set(query) & set(text[:200])) / 100 for text in texts]


@pytest.fixture(scope="module")
def questions() -> QuestionSet:
    names = {file.name for file in DOCUMENTS}
    every = load(SAMPLES / "questions.jsonl").questions
    some = [each for each in every if each.places and each.places[0].document in names]
    assert len(some) > 30
    return QuestionSet("samples", some[:24])


@pytest.fixture(scope="module", autouse=True)
def few_are_timed() -> Iterator[None]:
    """Times matter here only in being there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nested, "SAMPLE", 3)
        yield


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    opened = Sources(DOCUMENTS, tmp_path_factory.mktemp("tune"), NO_VECTORS, lambda _: None)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def with_vectors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sources]:
    some = [SAMPLES / "manual.md"]
    opened = Sources(some, tmp_path_factory.mktemp("vectors"), Settings(), lambda _: None)
    yield opened
    opened.close()


def test_a_trial_finds_what_a_search_finds(with_vectors: Sources, questions: QuestionSet) -> None:
    """Whatever is shared between trials, the hits and their scores are those of the pipeline."""
    scorer = RememberedPairs(Letters(), {})
    some = [each for each in questions.questions if "manual" in each.places[0].document][:4]
    ground: Ground = with_vectors.ground(Settings(), some, scorer)
    named = [{"search.preset": name} for name in PRESETS]
    changes = [change for axis in AXES if axis.needs != "files" for change in axis.changes] + named
    made = [Settings().changed(change) for change in changes]
    made += [Settings().leaving_out(axis.part) for axis in AXES if axis.part]
    plans = [ground.plan(each, 10) for each in made]
    for at, question in enumerate(some):
        for settings, plan in zip(made, plans, strict=True):
            reads = settings.rerank.enabled or settings.search.preset == "hybrid+rerank"
            index = Index(ground.opened, settings, Letters() if reads else None)
            expected = index.searcher.search(Query(question.text), 10)
            assert ground.table(at, plan).hits() == expected.hits(), settings


def test_pairs_are_read_once_for_all_trials(with_vectors: Sources, questions: QuestionSet) -> None:
    letters = Letters()
    scorer = RememberedPairs(letters, {})
    ground = Ground(
        with_vectors.ground(Settings(), [], None).opened, questions.questions[:3], scorer
    )
    for weight in (0.2, 0.5, 0.8):
        reads = merged(Settings(), {"rerank": {"enabled": True, "weight": weight}}, origin="test")
        plan = ground.plan(reads, 10)
        for at in range(3):
            ground.table(at, plan)
    assert letters.read and len(set(letters.read)) == len(letters.read)
    assert len(scorer.taken()) == len(letters.read) and not scorer.taken()


def tuned(
    sources: Sources, questions: QuestionSet, state: State, watcher: object = None
) -> Session:
    wish = Wish(parse("nDCG@10"), folds=3, skipped=SKIPPED)
    return run(sources, questions, wish, state, watcher)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def session(sources: Sources, questions: QuestionSet) -> Iterator[Session]:
    with State(None, {}) as state:
        yield tuned(sources, questions, state)


class Interrupts:
    """Presses Ctrl-C after some questions."""

    def __init__(self, after: int) -> None:
        self.left = after
        self.count = 0

    def begin(self, trials: int, questions: int) -> None:
        pass

    def asked(self, trials: int) -> None:
        self.count += 1
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_an_interrupted_tuning_ends_as_an_uninterrupted_one(
    sources: Sources, questions: QuestionSet, tmp_path: Path
) -> None:
    whole = Interrupts(0)
    with State(None, {}) as state:
        expected = tuned(sources, questions, state, whole)
    file = tmp_path / "state.sqlite"
    key = about(questions, sources, Wish(parse("nDCG@10"), folds=3))
    for after in (7, 60):
        with pytest.raises(KeyboardInterrupt), State(file, key) as state:
            tuned(sources, questions, state, Interrupts(after))
    rest = Interrupts(0)
    with State(file, key) as state:
        found = tuned(sources, questions, state, rest)
    for name, values in expected.tuned.values.items():
        # Choices of equal value may differ where times do; values of fixed ones may not.
        if name != TUNED:
            assert np.array_equal(found.tuned.values[name], values)
    # Which trials are made also hangs on times; what both made has the same values.
    both = found.bench.tried.keys() & expected.bench.tried.keys()
    assert len(both) > len(expected.bench.tried) / 2
    for trial in (expected.bench.tried[name] for name in sorted(both)):
        assert np.array_equal(*found.bench.values([trial]), *expected.bench.values([trial]))
    assert rest.count < whole.count  # what was known was not asked again


def test_with_the_same_times_the_choice_is_the_same(
    sources: Sources, questions: QuestionSet, tmp_path: Path
) -> None:
    file = tmp_path / "state.sqlite"
    with State(file, {}) as state:
        first = tuned(sources, questions, state)
    nothing = Interrupts(1)  # a single question asked would end it
    with State(file, {}) as state:
        again = tuned(sources, questions, state, nothing)
    assert again.tuned.choice == first.tuned.choice
    assert again.tuned.by_fold == first.tuned.by_fold
    assert np.array_equal(again.tuned.values[TUNED], first.tuned.values[TUNED])
    assert again.costs == first.costs


def test_a_state_of_other_questions_is_refused(
    sources: Sources, questions: QuestionSet, tmp_path: Path
) -> None:
    wish = Wish(parse("nDCG@10"))
    file = tmp_path / "state.sqlite"
    State(file, about(questions, sources, wish)).close()
    State(file, about(questions, sources, wish)).close()
    fewer = replace(questions, questions=questions.questions[1:])
    with pytest.raises(StaleIndex, match="other questions") as error:
        State(file, about(fewer, sources, wish))
    assert "--restart" in error.value.hint
    with pytest.raises(StaleIndex, match="other measure"):
        State(file, about(questions, sources, replace(wish, measure=parse("RR"))))


def test_what_is_written_reads_back(session: Session, tmp_path: Path) -> None:
    values = write(session, tmp_path, "test", "today")
    written = load_settings(tmp_path / "pincite.toml")
    assert written == session.tuned.kept.settings
    if not session.tuned.is_better:
        assert "nothing was changed" in (tmp_path / "pincite.toml").read_text("utf-8")
    assert values["trials"] == len(values["tried"]) > 20
    assert [each["name"] for each in values["pipelines"][:2]] == ["tuned", "default"]
    assert len(values["by_fold"]) == 3
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<svg" in page and "Fold by fold" in page and "src=" not in page


def test_a_gain_is_written_with_its_price(session: Session, tmp_path: Path) -> None:
    choice = Trial(session.tuned.default.settings.changed({"tuning.lexical.b": 0.8}))
    better = np.ones(len(session.tuned.folds.groups))
    changed = replace(session.tuned, choice=choice, values={**session.tuned.values, TUNED: better})
    text = settings_file(replace(session, tuned=changed), tmp_path)
    assert changed.is_better and "b = 0.8" in text
    assert tomllib.loads(text)["tuning"] == {"lexical": {"b": 0.8}}


def test_a_learned_ranker_never_sees_the_fold_it_is_judged_on(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, ...]] = []

    def watched(kind: str, examples: Examples, names: Sequence[str]) -> object:
        seen.append(examples.groups)
        return fit(kind, examples, names)

    monkeypatch.setattr(shared, "fit", watched)
    trial = Trial(session.tuned.default.settings, "logistic")
    folds = session.tuned.folds
    tables = [session.bench.values([trial], number)[0] for number in range(folds.count)]
    own = session.bench.values([trial])[0]
    assert len(seen) == 6  # three folds left out alone, three pairs of them
    for groups in seen:
        missing = {g for g in folds.groups if g not in groups}
        left = {int(f) for g, f in zip(folds.groups, folds.fold, strict=True) if g in missing}
        assert len(left) in (1, 2) and not left & {
            int(f) for g, f in zip(folds.groups, folds.fold, strict=True) if g in groups
        }
    for number in range(folds.count):
        is_own = folds.fold == number
        assert np.array_equal(own[is_own], tables[number][is_own])


def test_two_tunings_do_not_share_a_state(tmp_path: Path) -> None:
    file = tmp_path / "state.sqlite"
    with State(file, {}), pytest.raises(IndexBusy, match="locked") as error:
        State(file, {})
    assert "--out" in error.value.hint
    file.write_bytes(b"this is no database, and long enough to be read as one" * 40)
    with pytest.raises(StoreError, match="not a state"):
        State(file, {})


def test_what_a_tuning_wrote_is_not_a_document(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nA text.\n", encoding="utf-8")
    own = tmp_path / "pincite-tune"
    own.mkdir()
    (own / "report.html").write_text("<p>nDCG</p>", encoding="utf-8")
    found = Sources([tmp_path], own, NO_VECTORS, lambda _: None)
    assert [file.name for file, _ in found.files] == ["a.md"]
