"""The shipped cross-encoder as FlashRank opens one: ONNX that takes padded batches, int8."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from pincite.store.files import Array
from training.graph import Graph, save_quantised
from training.weights import weights_of

# A name that FlashRank knows, and the file that it looks for under this name.
NAME, FILE = "ms-marco-TinyBERT-L-2-v2", "flashrank-TinyBERT-L-2-v2.onnx"
CLS, SEP, PAD = 101, 102, 0


class Padded(Graph):
    """A network over batches: what only fills a row up is not seen."""

    def __init__(self, weights: dict[str, Array]) -> None:
        super().__init__(weights)
        boolean, number = onnx.TensorProto.BOOL, onnx.TensorProto.FLOAT
        self.kinds = {"bool": boolean, "float": number}
        there = self.cast("attention_mask", "float")
        hidden = self.add("Sub", self.constant("one_float", np.float32(1)), there)
        far = self.add("Mul", hidden, self.constant("far", np.float32(-1e9)))
        self.hidden = self.add("Unsqueeze", far, self.constant("axes_1_2", np.array([1, 2])))

    def cast(self, value: str, kind: str) -> str:
        return self.add("Cast", value, to=self.kinds[kind])

    def seen(self, weights: str) -> str:
        return self.add("Add", weights, self.hidden)

    def words(self) -> str:
        """Return which tokens are words of either text."""
        found = self.cast("attention_mask", "bool")
        for name, number in (("cls", CLS), ("sep", SEP)):
            same = self.add("Equal", "input_ids", self.constant(name, np.array(number)))
            found = self.add("And", found, self.add("Not", same))
        return found

    def sum_of(self, value: str, least: float) -> str:
        """Return the sums of rows, none below a bound: they divide."""
        total = self.add("ReduceSum", value, self.constant("axis_1", np.array([1])), keepdims=0)
        return self.add("Max", total, self.constant(f"least_{least}", np.float32(least)))


def build(weights: Mapping[str, Array]) -> Any:
    """Return the float model: the head of ``train/export.py``, with masks where that cuts."""
    graph = Padded(dict(weights))
    value = graph.encoded(graph.embedded("input_ids", "token_type_ids"))
    first, two = graph.constant("axis_1", np.array([1])), graph.constant("two", np.array([2]))
    words, second = graph.words(), graph.cast("token_type_ids", "bool")
    passage = graph.add("And", words, second)
    question = graph.cast(graph.add("And", words, graph.add("Not", second)), "float")
    unit = graph.unit(value, "unit")
    near = graph.add("MatMul", unit, graph.add("Transpose", unit, perm=[0, 2, 1]))
    columns = graph.add("Unsqueeze", passage, first)
    near = graph.add("Where", columns, near, graph.constant("opposite", np.float32(-1)))
    best = graph.add("ReduceMax", near, two, keepdims=0)
    low, high = graph.constant("low", np.float32(-4)), graph.constant("high", np.float32(4))
    gate = graph.add("Clip", graph.add("Squeeze", graph.linear(value, "gate"), two), low, high)
    weight = graph.add("Mul", graph.add("Exp", gate), question)
    weighed = graph.add("ReduceSum", graph.add("Mul", weight, best), first, keepdims=0)
    match = graph.add("Div", weighed, graph.sum_of(weight, 1e-6))
    inside = graph.add("Unsqueeze", graph.cast(passage, "float"), two)
    summed = graph.add("ReduceSum", graph.add("Mul", value, inside), first, keepdims=0)
    mean = graph.add("Div", summed, graph.sum_of(inside, 1.0))
    zero, one = graph.constant("zero", np.array([0])), graph.constant("one", np.array([1]))
    start = graph.add("Squeeze", graph.add("Slice", value, zero, one, first), first)
    both = graph.add("Concat", start, mean, axis=1)
    deep = graph.linear(graph.add("Tanh", graph.linear(both, "dense")), "out")
    late = graph.add("Mul", graph.add("Unsqueeze", match, first), graph.weight("match.scale"))
    graph.add("Add", graph.add("Add", late, deep), graph.weight("match.bias"), output="logits")
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    return graph.model("pincite-cross-encoder-padded", inputs, {"logits": ["texts", 1]})


def write_for_flashrank(home: Path) -> None:
    """Write the model that ships where FlashRank looks for a model of its own; needs `train`."""
    folder = home / NAME
    folder.mkdir(parents=True, exist_ok=True)
    shipped = Path(str(files("pincite.search").joinpath("minilm", "model.onnx")))
    save_quantised(build(weights_of(shipped)), folder / FILE)
    words = Path(str(files("pincite.encode").joinpath("minilm", "tokenizer.json")))
    shutil.copyfile(words, folder / "tokenizer.json")
    said = {
        "config.json": {"pad_token_id": PAD},
        "tokenizer_config.json": {"model_max_length": 512, "pad_token": "[PAD]"},
        "special_tokens_map.json": {},
    }
    for name, values in said.items():
        (folder / name).write_text(json.dumps(values))
