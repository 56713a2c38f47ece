"""A trained cross-encoder or reader as files that are served: graph, tokenizer and facts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from pincite.store.files import Array, sync, write_durably
from training.graph import WIDTH, Graph, save_quantised
from training.loop import Calibrated


def read_pair(graph: Graph) -> tuple[str, str, str]:
    """Add what reads a pair; return its tokens' vectors, how well words match, and the whole.

    One pair a call, question first: the match is MaxSim inside the joint encoding, the whole is
    what a small network makes of the pair.
    """
    value = graph.encoded(graph.embedded("input_ids", "token_type_ids"))
    first = graph.constant("axis_1", np.array([1]))
    one, two = graph.constant("one", np.array([1])), graph.constant("two", np.array([2]))
    minus_one = graph.constant("minus_one", np.array([-1]))
    # [CLS] question [SEP] passage [SEP]: the passage begins where types become 1.
    ones = graph.add("ReduceSum", "token_type_ids", first, keepdims=0)
    length = graph.add("Shape", "input_ids", start=1, end=2)
    begin = graph.add("Sub", length, ones)
    end_of_question = graph.add("Sub", begin, one)
    question = graph.add("Slice", value, one, end_of_question, first)
    passage = graph.add("Slice", value, begin, minus_one, first)
    near = graph.add(
        "MatMul",
        graph.unit(question, "question_unit"),
        graph.add("Transpose", graph.unit(passage, "passage_unit"), perm=[0, 2, 1]),
    )
    best = graph.add("ReduceMax", near, two, keepdims=0)
    gate = graph.add("Squeeze", graph.linear(question, "gate"), two)
    low, high = graph.constant("low", np.float32(-4)), graph.constant("high", np.float32(4))
    weight = graph.add("Exp", graph.add("Clip", gate, low, high))
    total = graph.add("ReduceSum", weight, first, keepdims=0)
    weighed = graph.add("ReduceSum", graph.add("Mul", weight, best), first, keepdims=0)
    late = graph.add("Mul", graph.add("Div", weighed, total), graph.weight("match.scale"))
    zero = graph.constant("zero", np.array([0]))
    start = graph.add("Squeeze", graph.add("Slice", value, zero, one, first), first)
    mean = graph.add("ReduceMean", passage, first, keepdims=0)
    both = graph.add("Concat", start, mean, axis=1)
    return value, late, graph.add("Tanh", graph.linear(both, "dense"))


def score_pair(graph: Graph, late: str, whole: str, output: str) -> None:
    """Add the score of a pair: how well its words match, and what the whole of it says."""
    first = graph.constant("axis_1", np.array([1]))
    deep = graph.add("Squeeze", graph.linear(whole, "out"), first)
    graph.add("Add", graph.add("Add", late, deep), graph.weight("match.bias"), output=output)


def build(weights: Mapping[str, Array]) -> Any:
    """Return the cross-encoder as a float model."""
    graph = Graph(dict(weights))
    _, late, whole = read_pair(graph)
    score_pair(graph, late, whole, "logits")
    assert weights["dense.weight"].shape == (WIDTH, 2 * WIDTH)
    return graph.model(
        "pincite-cross-encoder", ["input_ids", "token_type_ids"], {"logits": ["texts"]}
    )


def build_reader(weights: Mapping[str, Array]) -> Any:
    """Return the reader as a float model: a score, span or yes or no, and logits of each token."""
    graph = Graph(dict(weights))
    value, late, whole = read_pair(graph)
    score_pair(graph, late, whole, "answers")
    last = [graph.linear(whole, "kind"), graph.linear(value, "place")]
    for name, output in zip(last, ("answer_kinds", "token_places"), strict=True):
        graph.add("Identity", name, output=output)
    kinds, places = (len(weights[f"{name}.bias"]) for name in ("kind", "place"))
    outputs: dict[str, list[Any]] = {
        "answers": ["texts"],
        "answer_kinds": ["texts", kinds],
        "token_places": ["texts", "length", places],
    }
    return graph.model("pincite-reader", ["input_ids", "token_type_ids"], outputs)


def save(
    weights: Mapping[str, Array],
    tokenizer: str,
    target: Path,
    facts: Mapping[str, Any],
    *,
    make: Callable[[Mapping[str, Array]], Any] = build,
    whole: Path | None = None,
) -> None:
    """Write the folder of a model that reads pairs; ``facts`` go into model.json beside hashes.

    That file comes last: a crash before it leaves a folder that is refused, not a mixture.
    """
    target.mkdir(parents=True, exist_ok=True)
    save_quantised(make(weights), target / "model.onnx", whole=whole)
    sync(target / "model.onnx")
    write_durably(target / "tokenizer.json", tokenizer.encode())
    hashes = {
        name: sha256((target / name).read_bytes()).hexdigest()
        for name in ("model.onnx", "tokenizer.json")
    }
    text = json.dumps({**facts, "sha256": hashes}, indent=1, sort_keys=True)
    write_durably(target / "model.json", f"{text}\n".encode())


def with_calibration(folder: Path, found: Calibrated) -> None:
    """Add a calibration to a model's folder, with how it does on other questions."""
    file = folder / "model.json"
    values = json.loads(file.read_text(encoding="utf-8"))
    values["calibration"] = {
        "slope": found.calibration.slope,
        "offset": found.calibration.offset,
        "expected_error": round(found.error, 4),
        "threshold_90": round(found.threshold, 4),
        "precision_above": round(found.precision, 4),
    }
    write_durably(file, f"{json.dumps(values, indent=1, sort_keys=True)}\n".encode())
