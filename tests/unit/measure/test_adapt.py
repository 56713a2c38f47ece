"""Adapters for questions: what they can learn, what they are refused for, what they leave alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from pincite.api import Index
from pincite.cli.main import app
from pincite.measure import adapt
from pincite.measure.adapt import (
    Lessons,
    chosen_fit,
    first_share,
    fit,
    learned,
    lessons_of,
    worth_of,
)
from pincite.measure.questions import QuestionSet, question, save
from pincite.model.errors import ConfigError, ModelError, SourceError
from pincite.model.settings import load_settings
from pincite.search.adapter import QueryAdapter
from pincite.search.reader import IndexReader
from pincite.update import embed_index, ingest_files

WIDTH = 24
STATIC = "embedding.model=static"


def made_lessons(count: int, turn: float) -> Lessons:
    """Return questions whose vectors are those of their texts, turned the same way."""
    chance = np.random.default_rng(5)
    around, _ = np.linalg.qr(chance.standard_normal((WIDTH, WIDTH)))
    texts = chance.standard_normal((count, 12, WIDTH)).astype(np.float32)
    texts /= np.linalg.norm(texts, axis=2, keepdims=True)
    asked = (1 - turn) * texts[:, 0] + turn * texts[:, 0] @ around
    asked = (asked / np.linalg.norm(asked, axis=1, keepdims=True)).astype(np.float32)
    one = question({"id": "q", "question": "?", "gold": {"any": [{"locator": "1"}]}}, "here")
    return Lessons((one,) * count, tuple(f"d{n}" for n in range(count)), asked, texts)


def test_a_mismatch_that_all_questions_share_is_learned_for_those_held_out() -> None:
    lessons = made_lessons(300, turn=0.8)
    is_held = np.arange(300) >= 240
    none = np.zeros((WIDTH, WIDTH), np.float32)
    change = chosen_fit(lessons.of(~is_held))
    before, after = (first_share(lessons.of(is_held), each) for each in (none, change))
    assert before < 0.6 and after > before + 0.2


def test_where_there_is_no_mismatch_nothing_is_lost() -> None:
    lessons = made_lessons(120, turn=0.0)
    assert first_share(lessons, chosen_fit(lessons)) == pytest.approx(1, abs=0.01)


def test_a_ridge_holds_the_map_back() -> None:
    lessons = made_lessons(60, turn=0.5)
    sizes = [float(np.linalg.norm(fit(lessons, ridge))) for ridge in (0.3, 3.0, 30.0)]
    assert sizes == sorted(sizes, reverse=True)


def test_a_file_keeps_it_and_another_encoder_is_refused(tmp_path: Path) -> None:
    made = QueryAdapter("minilm@2", np.eye(4, dtype=np.float32), {"questions": 3})
    made.save(tmp_path / "a.npz")
    read = QueryAdapter.load(tmp_path / "a.npz", "minilm@2")
    assert (read.change == made.change).all() and read.about == made.about
    with pytest.raises(ModelError, match=r"learned from vectors of minilm@2, the search uses bge"):
        QueryAdapter.load(tmp_path / "a.npz", "bge@1")
    (tmp_path / "b.npz").write_bytes(b"PK nothing")
    with pytest.raises(ModelError, match="is no adapter"):
        QueryAdapter.load(tmp_path / "b.npz", "minilm@2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("adapt")
    things = "fire water pay wire fuse boat horse bread paper glass iron salt snow wind rope sail"
    more = (
        "drum flute garden school market bridge tower river forest mountain island desert kitchen"
    )
    for number, thing in enumerate(
        f"{things} {more} bottle candle mirror carpet window ladder".split()
    ):
        text = (
            f"# Book {thing}\n\n## {number + 1} The {thing}\n\nEvery {thing} is kept by a guard.\n"
        )
        (home / f"{thing}.md").write_text(text)
    files = [(file, file.name) for file in sorted(home.glob("*.md"))]
    ingest_files(files, home / "index")
    list(embed_index(home / "index", load_settings(overrides=[STATIC])))
    return home


def asked_of(home: Path) -> list[adapt.Question]:
    names = sorted(file.stem for file in home.glob("*.md"))
    gold = [{"any": [{"document": f"{name}.md"}]} for name in names]
    text = "who looks after the {}?"
    return [
        question({"id": name, "question": text.format(name), "gold": places}, "here")
        for name, places in zip(names, gold, strict=True)
    ]


def test_questions_of_an_index_teach_and_their_worth_is_told(folder: Path, tmp_path: Path) -> None:
    settings = load_settings(overrides=[STATIC])
    index = IndexReader.open(folder / "index", settings)
    with index.snapshot:
        lessons = lessons_of(index, asked_of(folder))
        assert len(lessons.questions) == len(set(lessons.groups)) == len(asked_of(folder))
        worth = worth_of(index, lessons)
        assert set(worth.gains) == {"nDCG@10", "RR@10", "hit@1"}
        assert worth.before["hit@1"] > 0.9 and not worth.is_worth_it  # words find all of them
        with pytest.raises(SourceError, match="too few to learn from"):
            lessons_of(index, asked_of(folder)[:5])
        made = learned(index, lessons, worth)
    made.save(tmp_path / "a.npz")
    named = load_settings(overrides=[STATIC, f"search.adapter={tmp_path / 'a.npz'}"])
    with Index.open(folder / "index", named) as other:
        assert other.searcher.meaning is not None and other.searcher.meaning.adapter is not None
        with pytest.raises(ConfigError, match="name an adapter already"):
            lessons_of(other, asked_of(folder))
    with pytest.raises(ModelError, match="the search uses minilm@2"):
        Index.open(
            folder / "index", load_settings(overrides=[f"search.adapter={tmp_path / 'a.npz'}"])
        )


def test_a_map_that_changes_nothing_leaves_every_score(folder: Path, tmp_path: Path) -> None:
    QueryAdapter("static@1", np.zeros((384, 384), np.float32)).save(tmp_path / "none.npz")
    found = []
    for more in ([], [f"search.adapter={tmp_path / 'none.npz'}"]):
        with Index.open(folder / "index", load_settings(overrides=[STATIC, *more])) as index:
            hits = index.search("who guards the candles?").ranking.hits
            found.append([(hit.chunk_id, pytest.approx(hit.score, abs=1e-6)) for hit in hits])
    assert found[0] == found[1]


def test_the_command_writes_nothing_that_is_not_worth_it(folder: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "asked.jsonl", tmp_path / "a.npz"
    save(QuestionSet("asked", asked_of(folder)), file)
    told = [
        "adapt",
        str(file),
        "--index",
        str(folder / "index"),
        "--set",
        STATIC,
        "--out",
        str(out),
    ]
    plain = CliRunner().invoke(app, told)
    assert plain.exit_code == 0 and "not worth it: nothing is written" in plain.output
    assert not out.exists()
    kept = CliRunner().invoke(app, [*told, "--anyway", "--json"])
    assert kept.exit_code == 0 and out.exists() and '"nDCG@10"' in kept.output
