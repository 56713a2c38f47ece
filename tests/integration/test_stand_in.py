"""Static vectors stand in for the encoder's: at once, in part, for good, and no longer."""

from __future__ import annotations

from pathlib import Path

import pytest

from pincite import update
from pincite.api import Index
from pincite.cli.doctor import _lacking
from pincite.encode.models import SHIPPED, STATIC
from pincite.model.settings import Settings, load_settings
from pincite.store.manifest import current, damage
from pincite.update import embed_index, ingest_files

TEXTS = {
    "fire.md": "# Fire\n\n## 1 Extinguishers\n\nKeep a device against flames in each room.\n",
    "water.md": "# Water\n\n## 2 Pipes\n\nTubing that leaks shall be mended at once.\n",
    "pay.md": "# Pay\n\n## 3 Wages\n\nEmployees get their salary on the last day of the month.\n",
}
QUESTION = "when are workers given the money that they earned"


@pytest.fixture(autouse=True)
def little_is_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(update, "STAND_IN_FROM", 0)


def build(home: Path, *names: str) -> Path:
    for name in names:
        (home / name).write_text(TEXTS[name])
    ingest_files([(home / name, name) for name in names], home / "index")
    return home / "index"


def models(folder: Path) -> set[str]:
    return {entry.model for entry in current(folder).vectors}


def cosines(folder: Path, settings: Settings | None = None) -> dict[str, float]:
    """Return how near each document is to the question, of those that were compared."""
    with Index.open(folder, settings) as index:
        hits = index.search(QUESTION)
        return {hit.chunk.span.doc_id: hit.hit.raw["dense"] for hit in hits}


def test_meaning_works_before_the_encoder_has_begun_and_is_better_when_it_is_done(
    tmp_path: Path,
) -> None:
    folder = build(tmp_path, *TEXTS)
    steps = embed_index(folder)
    done = next(step for step in steps if step.done == step.total)
    assert done.model == STATIC.name
    next(steps)  # the first of the encoder's: all static ones are in place now
    assert models(folder) == {STATIC.id}
    before = cosines(folder)
    assert max(before, key=before.__getitem__) == "pay.md"
    assert [step.model for step in steps] == []
    assert models(folder) == {SHIPPED.id}
    after = cosines(folder)
    assert max(after, key=after.__getitem__) == "pay.md" and before != after
    assert damage(folder) == []


def test_new_documents_are_found_by_meaning_beside_those_that_are_encoded(tmp_path: Path) -> None:
    folder = build(tmp_path, "fire.md", "water.md")
    list(embed_index(folder))
    build(tmp_path, *TEXTS)
    steps = embed_index(folder)
    while next(steps).model != SHIPPED.name:
        pass
    assert models(folder) == {SHIPPED.id, STATIC.id}
    found = cosines(folder)
    assert set(found) == set(TEXTS) and max(found, key=found.__getitem__) == "pay.md"


def test_an_encoder_that_would_take_too_long_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "BATCH", 1)
    monkeypatch.setattr(update, "TIMED_BATCHES", 1)
    folder = build(tmp_path, *TEXTS)
    hasty = load_settings(overrides=["embedding.max_minutes=0.0000001"])
    *_, last = embed_index(folder, hasty)
    assert last.model == SHIPPED.name and last.seconds_left > 0
    assert STATIC.id in models(folder)
    assert max(cosines(folder), key=cosines(folder).__getitem__) == "pay.md"
    assert "static ones stand in" in _lacking(str(folder), hasty)
    *_, last = embed_index(folder, load_settings(overrides=["embedding.max_minutes=0"]))
    assert not last.seconds_left and models(folder) == {SHIPPED.id}
    assert _lacking(str(folder), hasty) == ""


def test_few_chunks_are_encoded_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(update, "STAND_IN_FROM", 500)
    folder = build(tmp_path, *TEXTS)
    assert {step.model for step in embed_index(folder)} == {SHIPPED.name}


def test_the_static_model_alone_is_enough(tmp_path: Path) -> None:
    folder = build(tmp_path, *TEXTS)
    static = load_settings(overrides=["embedding.model=static"])
    assert {step.model for step in embed_index(folder, static)} == {STATIC.name}
    found = cosines(folder, static)
    assert max(found, key=found.__getitem__) == "pay.md"
    # Who asks with the encoder meets the same passages.
    assert set(cosines(folder)) == set(found)


def test_what_is_worth_less_has_a_smaller_share(tmp_path: Path) -> None:
    folder = build(tmp_path, *TEXTS)
    static = load_settings(overrides=["embedding.model=static"])
    list(embed_index(folder, static))
    with Index.open(folder) as index:
        meaning = index.searcher.meaning
        assert meaning is not None and meaning.vectors.stood_in == 1
        assert meaning.share(0.8) == pytest.approx(0.5)
        assert meaning.share(1.0) == 1 and meaning.share(0.0) == 0
    list(embed_index(folder))
    with Index.open(folder) as index:
        meaning = index.searcher.meaning
        assert meaning is not None and meaning.share(0.8) == 0.8
