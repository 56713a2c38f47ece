"""Training: the same steps after an interruption, the same network in torch and in ONNX."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from pincite.model.errors import ModelError, SourceError
from training.groups import Group, PairTokens, batches, read_groups, split

QUESTION = "How often must a fire extinguisher be inspected?"
TEXTS = ["Inspect extinguishers once a month.", "A berth is let for twelve months."]
SHIPPED = files("pincite.search").joinpath("minilm", "model.onnx")
WORDS = files("pincite.encode").joinpath("minilm", "tokenizer.json")


def made(count: int) -> list[Group]:
    return [
        Group(
            f"what is number {n}?",
            (f"number {n} is a crane", f"number {n + 1} is a rope", "red"),
            f"d{n % 50}",
        )
        for n in range(count)
    ]


def test_documents_are_trained_on_or_looked_at_never_both() -> None:
    kept, apart = split(made(200))
    assert len(kept) + len(apart) == 200 and apart
    assert not {group.document for group in kept} & {group.document for group in apart}


def test_a_step_has_the_same_pairs_whenever_training_began() -> None:
    groups = made(200)
    whole = list(batches(groups, 4, 2, 0, 30))
    assert list(batches(groups, 4, 2, 17, 30)) == whole[17:]
    assert all(len(pairs) == 4 * 4 for pairs in whole)
    assert len({pair for pairs in whole for pair in pairs}) > 200


def test_masks_cover_question_and_passage() -> None:
    tokens = PairTokens(Tokenizer.from_str(WORDS.read_text("utf-8")), 24)
    batch = tokens.batch([(QUESTION, TEXTS[0]), ("why?", "because " * 50)])
    assert batch.ids.shape[1] <= 24
    assert (batch.is_question.sum(axis=1) + batch.is_passage.sum(axis=1) + 3).tolist() == (
        batch.is_token.sum(axis=1).tolist()
    )
    assert not (batch.is_question & batch.is_passage).any()
    assert (batch.types == 1)[batch.is_passage].all() and (batch.types == 0)[
        batch.is_question
    ].all()


def test_a_bad_line_is_told(tmp_path: Path) -> None:
    file = tmp_path / "groups.jsonl"
    file.write_text(json.dumps({"query": "a", "texts": ["b", "c"], "doc": "d"}) + "\n{}\n")
    with pytest.raises(SourceError, match="no groups"):
        read_groups([file])


def test_weights_come_back_out_of_the_shipped_model() -> None:
    """Written out again as floats, they say nearly what the int8 model says."""
    pytest.importorskip("onnx", reason="needs the group models")
    import onnxruntime

    from pincite.search.cross_encoder import open_cross_encoder
    from training.export import build
    from training.weights import weights_of

    shipped = open_cross_encoder("shipped")
    model = build(weights_of(SHIPPED.read_bytes()))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for text, expected in zip(TEXTS, shipped.logits(QUESTION, TEXTS), strict=True):
        ids, types = shipped._pair(shipped._ids(QUESTION), text)
        (found,) = session.run(None, {"input_ids": ids, "token_type_ids": types})
        assert found[0] == pytest.approx(expected, abs=0.3)


def test_a_strange_model_is_told() -> None:
    pytest.importorskip("onnx", reason="needs the group models")
    from training.weights import weights_of

    with pytest.raises(ModelError):
        weights_of(b"nothing")


def test_training_learns_and_goes_on_where_it_was(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the group models")
    pytest.importorskip("onnx", reason="needs the group models")
    import onnxruntime

    from training.export import build
    from training.loop import Plan, Training
    from training.weights import weights_of

    words = Tokenizer.from_str(WORDS.read_text("utf-8"))
    plan = replace(Plan(), steps=6, groups=4, rivals=2, warm_up=1, rate=1e-4)
    weights = weights_of(SHIPPED.read_bytes())

    def training() -> Training:
        return Training(weights, made(120), words, plan)

    whole, broken = training(), training()
    losses = [step.loss for step in whole.run(tmp_path / "whole")]
    assert len(losses) == 6 and np.mean(losses[3:]) < np.mean(losses[:3])
    list(broken.run(tmp_path / "broken", until=3))
    again = training()
    assert again.resume(tmp_path / "broken") and again.step == 3
    assert [s.loss for s in again.run(tmp_path / "broken")] == pytest.approx(losses[3:], rel=1e-4)
    batch = whole.tokens.batch([(QUESTION, TEXTS[0])])
    expected = whole.network.logits(batch).item()
    session = onnxruntime.InferenceSession(build(whole.network.arrays()).SerializeToString())
    (found,) = session.run(None, {"input_ids": batch.ids, "token_type_ids": batch.types})
    assert found[0] == pytest.approx(expected, abs=1e-4)
