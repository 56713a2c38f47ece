"""Choosing settings: the default stays unless something is clearly better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.choosing import Part, Table, choose, fusions, measured, parts
from experiments.collection import Collection, Question
from pincite.measure.statistics import standard_error
from pincite.model.errors import SourceError
from pincite.model.settings import load_settings

QUESTIONS = 200
GROUPS = tuple(str(n // 4) for n in range(QUESTIONS))


def table(**means: float) -> Table:
    random = np.random.default_rng(5)
    noise = random.normal(0, 0.3, QUESTIONS)  # what is hard is hard for all
    return Table(
        {n: mean + noise + random.normal(0, 0.05, QUESTIONS) for n, mean in means.items()}, GROUPS
    )


def test_a_clear_winner_is_chosen_and_judged_on_what_it_did_not_see() -> None:
    found = choose(table(default=0.5, better=0.6, worse=0.4))
    assert found.name == "better"
    assert set(found.folds) == {"better"}
    assert found.held_out.values["chosen"] == pytest.approx(
        found.held_out.values["default"] + found.gain[0]
    )
    assert found.gain[1] > 0.05 and found.is_shown


def test_luck_does_not_beat_the_default() -> None:
    names = {f"other{n}": 0.5 for n in range(3)}
    assert choose(table(default=0.52, **names)).name == "default"


def test_choosing_by_luck_gains_nothing_held_out() -> None:
    """Twenty settings that each know some documents by heart look good and are not."""
    random = np.random.default_rng(3)
    flat = np.full(QUESTIONS, 0.5)
    of_group = {g: {n for n in range(20) if random.random() < 0.5} for g in sorted(set(GROUPS))}
    values = {"default": flat} | {
        f"s{n}": np.array([0.9 if n in of_group[g] else 0.1 for g in GROUPS]) for n in range(20)
    }
    found = choose(Table(values, GROUPS))
    seen = max(float(each.mean()) for each in values.values())
    assert found.held_out.values["chosen"] < seen - 0.02
    assert not found.is_shown


def test_a_group_is_left_out_as_a_whole() -> None:
    """A setting that is right for one document alone cannot be learned from that document."""
    values = {"default": np.zeros(8), "other": np.array([0.0] * 4 + [1.0] * 4)}
    found = choose(Table(values, ("a",) * 4 + ("b",) * 4), folds=2)
    assert found.held_out.values["chosen"] == 0.0


def test_a_single_document_teaches_nothing() -> None:
    values = {"default": np.zeros(4), "other": np.ones(4)}
    assert choose(Table(values, ("a",) * 4)).name == "default"


def test_fewer_documents_are_less_sure() -> None:
    values = np.array([0.0, 1.0] * 8)
    apart = standard_error(values, [str(n) for n in range(16)])
    assert standard_error(np.sort(values), [str(n // 4) for n in range(16)]) > apart


def test_the_given_fusion_comes_first_and_once() -> None:
    settings = load_settings(overrides=["search.meaning_weight=0.5", "tuning.fusion=rrf"])
    found = fusions(settings)
    assert next(iter(found.values())) == settings
    assert len(set(found.values())) == len(found)
    assert sum(each.search.meaning_weight == 0 for each in found.values()) == 1


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    names = ("Emberburst", "Frostveil", "Stonewall", "Windrush")
    files, questions = [], []
    for name in names:
        file = tmp_path / f"{name}.md"
        file.write_text(f"# {name}\n\nThis spell is called {name}. It lasts one hour.\n")
        files.append((file, file.name))
        questions.append(Question(f"How long does {name} last?", frozenset([file.name]), name))
    asked = [*questions, Question("What else?", frozenset(), "none")]
    return Collection(files, asked, ("mrr",), lambda chunk: chunk.span.doc_id)


def test_questions_are_asked_under_all_settings(collection: Collection) -> None:
    words = load_settings(overrides=["search.preset=lexical"])
    found = measured(collection, {"a": words, "b": words}, "mrr")
    assert found.groups == ("Emberburst", "Frostveil", "Stonewall", "Windrush")
    assert found.values["a"].tolist() == found.values["b"].tolist() == [1.0] * 4
    with pytest.raises(SourceError, match="known answer"):
        measured(
            Collection(collection.files, [], ("mrr",), collection.place_of), {"a": words}, "mrr"
        )


def test_parts_that_change_nothing_are_not_said_to_help(collection: Collection) -> None:
    words = load_settings(overrides=["search.preset=lexical"])
    found = parts(collection, words, "mrr")
    assert [each.name for each in found] == ["graph", "names", "aliases", "spread"]
    assert {each.verdict for each in found} == {"no difference shown"}
    assert Part("x", 0.1, (0.01, 0.2)).verdict == "helps"
    assert Part("x", -0.1, (-0.2, -0.01)).verdict == "harms"
