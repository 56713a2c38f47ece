"""Slices of the real test collections: the counts of their makers, and sensible figures."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import collection, scifact, squad, srd
from experiments.collection import Collection
from pincite.model.settings import SearchSettings, Settings

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("PINCITE_DATA", ROOT.parent / "shared" / "data"))
WORDS = Settings(search=SearchSettings(preset="lexical"))


def needs(name: str) -> pytest.MarkDecorator:
    there = (DATA / name).exists()
    return pytest.mark.skipif(not there, reason=f"{name} is not here; see PINCITE_DATA")


def recall(found: Collection, measure: str, every: int) -> float:
    """Return a measure over some of the questions."""
    part = replace(found, questions=found.questions[::every])
    rows = collection.run(lambda *_: [part], DATA, DATA, [WORDS])
    return collection.summarise([row[0] for row in rows]).values[measure]


@pytest.mark.slow
@needs("scifact")
def test_scifact_has_the_counts_of_beir(tmp_path: Path) -> None:
    (found,) = scifact.read(DATA / "scifact", DATA / "scifact/claims_train.csv", tmp_path)
    pages = json.loads(found.files[0][0].read_text())
    assert len(pages) == 5183
    assert all(len(page["text"].partition("\n\n")[2]) > 20 for page in pages)
    assert not any("'\n '" in page["text"] for page in pages)
    assert len(found.questions) == 809
    assert sum(len(question.gold) for question in found.questions) == 919
    assert recall(found, "ndcg@10", every=10) > 0.6


@needs("srd-5.1")
def test_no_spell_question_keeps_its_name(tmp_path: Path) -> None:
    (found,) = srd.read(DATA / "srd-5.1", DATA / "srd-5.1/spell_questions_dev.json", tmp_path)
    assert not any("(Alt)" in doc_id for _, doc_id in found.files)
    assert sum(doc_id.startswith("Spells/") for _, doc_id in found.files) == 322
    assert len(found.questions) == 661
    for question in found.questions:
        (doc_id,) = question.gold
        assert srd.MASK in question.text
        assert f" {Path(doc_id).stem.lower()} " not in f" {question.text.lower()} "


@needs("squad-it")
def test_squad_it(tmp_path: Path) -> None:
    (found,) = squad.read_squad_it(DATA, DATA / "squad-it/dev.json.gz", tmp_path)
    assert len(found.questions) == 4364
    assert len({question.group for question in found.questions}) == 26
    assert recall(found, "recall@5", every=40) > 0.8


@needs("xquad")
def test_xquad(tmp_path: Path) -> None:
    for found in squad.read_xquad(DATA / "xquad", DATA / "xquad", tmp_path):
        assert len(json.loads(found.files[0][0].read_text())) == 240
        assert len(found.questions) == 1190
        assert recall(found, f"{found.name}_recall@5", every=20) > 0.9
