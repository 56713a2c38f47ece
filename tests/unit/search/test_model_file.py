"""A model's file: what was saved comes back, and a bad file is one clear error."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from pincite.model.errors import ModelError
from pincite.search.learned import (
    FORMAT,
    Linear,
    RankerModel,
    _digest,
    joined,
    load_model,
    save_model,
    trees_from,
)

STUMP = {
    "feature": np.array([1, 0, 0]),
    "threshold": np.array([0.5, 0.0, 0.0]),
    "left": np.array([1, 1, 2]),
    "right": np.array([2, 1, 2]),
    "value": np.array([0.0, -1.0, 1.0]),
}


def model() -> RankerModel:
    trees = trees_from(joined([STUMP, STUMP]), features=2, single=False)
    return RankerModel("lambdamart", ("a", "b"), 7, trees, ("plain",), 2.0, -0.5, {"questions": 12})


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    save_model(model(), file)
    back = load_model(file)
    lines = np.array([[0.0, 0.5], [0.0, 0.6]])
    assert back.scores(lines, ("a", "b")).tolist() == [-2.0, 2.0]
    assert (back.k, back.slope, back.offset, back.features) == (7, 2.0, -0.5, ("a", "b"))
    assert back.about == {"questions": 12}
    linear = RankerModel("logistic", ("a",), 3, Linear(np.array([1.5, 2.0])), ("plain", "relative"))
    save_model(linear, file)
    assert load_model(file).scores(np.array([[1.0], [3.0]]), ["a"]).tolist() == [-0.5, 4.5]


def test_columns_are_found_by_name() -> None:
    lines = np.array([[0.6, 9.0, 0.0]])
    assert model().scores(lines, ("b", "c", "a")).tolist() == [2.0]
    with pytest.raises(ModelError, match="'b'"):
        model().scores(lines, ("a", "c", "d"))


def test_every_flipped_byte_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    save_model(model(), file)
    whole = file.read_bytes()
    for at in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[at] ^= 0x11
        file.write_bytes(bytes(damaged))
        try:
            load_model(file)
        except ModelError:
            continue
        # White space between values may change without a change of meaning.
        assert json.loads(bytes(damaged)) == json.loads(whole)
    for size in range(0, len(whole), 50):
        file.write_bytes(whole[:size])
        with pytest.raises(ModelError):
            load_model(file)


def packed(values: list[float], kind: str) -> str:
    return base64.b64encode(np.array(values, dtype=kind).tobytes()).decode()


@pytest.mark.parametrize(
    "change",
    [
        {"left": packed([0, 1, 2], "<i4")},  # a node that is half a leaf
        {"left": packed([1, 0, 2], "<i4")},  # round in circles
        {"right": packed([999, 1, 2], "<i4")},
        {"feature": packed([5, 0, 0], "<i4")},
        {"feature": packed([-1, 0, 0], "<i4")},
        {"roots": packed([3], "<i4")},
        {"roots": packed([], "<i4")},
        {"value": packed([0, float("nan"), 1], "<f8")},
        {"threshold": packed([0.5], "<f8")},
        {"threshold": "AAA"},
        {"threshold": 5},
    ],
)
def test_hostile_trees_with_a_right_hash(tmp_path: Path, change: dict[str, object]) -> None:
    file = tmp_path / "model.json"
    one = RankerModel("x", ("a", "b"), 7, trees_from(joined([STUMP]), features=2, single=False))
    save_model(one, file)
    body = json.loads(file.read_text())
    del body["sha256"]
    body["arrays"].update(change)
    file.write_text(json.dumps({"sha256": _digest(body), **body}))
    with pytest.raises(ModelError, match=r"model\.json") as error:
        load_model(file)
    assert error.value.hint


@pytest.mark.parametrize(
    "change",
    [
        {"k": 0},
        {"k": True},
        {"k": 10**12},
        {"slope": float("inf")},
        {"slope": -1.0},
        {"features": [1, 2]},
        {"features": None},
        {"arrays": []},
        {"about": "text"},
        {"inputs": []},
        {"inputs": ["other"]},
        {"inputs": ["plain", "relative"], "arrays": {"weights": "AAAAAAAAAAA="}},
        {"version": 99},
    ],
)
def test_other_hostile_values(tmp_path: Path, change: dict[str, object]) -> None:
    file = tmp_path / "model.json"
    save_model(model(), file)
    body = json.loads(file.read_text()) | change
    del body["sha256"]
    file.write_text(json.dumps({"sha256": _digest(body), **body}))
    with pytest.raises(ModelError):
        load_model(file)


def test_a_very_deep_tree_is_refused(tmp_path: Path) -> None:
    nodes = 1001  # a chain: every second node is a leaf
    own = np.arange(nodes)
    is_leaf = (own % 2 == 1) | (own == nodes - 1)
    chain = {
        "feature": np.zeros(nodes),
        "threshold": np.zeros(nodes),
        "left": np.where(is_leaf, own, own + 1),
        "right": np.where(is_leaf, own, own + 2),
        "value": np.zeros(nodes),
    }
    with pytest.raises(ModelError):
        trees_from(joined([chain]), features=1, single=False)


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", f'{{"format": "{FORMAT}"}}', "[" * 99999])
def test_files_that_are_no_models(tmp_path: Path, text: str) -> None:
    file = tmp_path / "model.json"
    file.write_text(text)
    with pytest.raises(ModelError):
        load_model(file)
    with pytest.raises(ModelError):
        load_model(tmp_path / "absent.json")
