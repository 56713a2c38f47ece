"""Networks of BERT's kind written out as ONNX, layer by layer: no torch and no exporter needed."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from pincite.store.files import Array

LAYERS, HEADS, WIDTH, EPSILON = 6, 12, 384, 1e-12
OPSET, IR_VERSION = 20, 9


class Graph:
    """Collects the nodes of an ONNX graph; every method returns the name of its output."""

    def __init__(self, weights: dict[str, Array]) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        name = output or f"{operator}_{len(self.nodes)}"
        made = onnx.helper.make_node(operator, list(inputs), [name], name=name, **attributes)
        self.nodes.append(made)
        return name

    def constant(self, name: str, value: Any) -> str:
        array = np.ascontiguousarray(value)
        known = self.constants.get(name)
        if known is not None and not np.array_equal(onnx.numpy_helper.to_array(known), array):
            raise ValueError(f"two constants are called {name}")
        self.constants[name] = onnx.numpy_helper.from_array(array, name)
        return name

    def weight(self, name: str, *, turned: bool = False) -> str:
        value = self.weights[name]
        return self.constant(name, value.T if turned else value)

    def linear(self, value: str, name: str) -> str:
        product = self.add("MatMul", value, self.weight(f"{name}.weight", turned=True))
        return self.add("Add", product, self.weight(f"{name}.bias"))

    def norm(self, value: str, name: str) -> str:
        weight, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", value, weight, bias, axis=-1, epsilon=EPSILON)

    def heads(self, value: str, order: list[int]) -> str:
        """Cut the last axis into attention heads."""
        shape = self.constant("head_shape", np.array([0, 0, HEADS, WIDTH // HEADS]))
        return self.add("Transpose", self.add("Reshape", value, shape), perm=order)

    def attention(self, value: str, name: str) -> str:
        query = self.heads(self.linear(value, f"{name}.self.query"), [0, 2, 1, 3])
        key = self.heads(self.linear(value, f"{name}.self.key"), [0, 2, 3, 1])
        content = self.heads(self.linear(value, f"{name}.self.value"), [0, 2, 1, 3])
        scale = self.constant("scale", np.float32(1 / math.sqrt(WIDTH // HEADS)))
        weights = self.seen(self.add("Mul", self.add("MatMul", query, key), scale))
        mixed = self.add("MatMul", self.add("Softmax", weights, axis=-1), content)
        joined = self.add("Transpose", mixed, perm=[0, 2, 1, 3])
        shape = self.constant("joined_shape", np.array([0, 0, WIDTH]))
        return self.linear(self.add("Reshape", joined, shape), f"{name}.output.dense")

    def seen(self, weights: str) -> str:
        """Return what tokens make of each other, before it is shares: here all see all."""
        return weights

    def layer(self, value: str, name: str) -> str:
        attended = self.add("Add", self.attention(value, f"{name}.attention"), value)
        value = self.norm(attended, f"{name}.attention.output.LayerNorm")
        wide = self.add("Gelu", self.linear(value, f"{name}.intermediate.dense"))
        narrow = self.linear(wide, f"{name}.output.dense")
        return self.norm(self.add("Add", narrow, value), f"{name}.output.LayerNorm")

    def unit(self, value: str, output: str) -> str:
        return self.add("LpNormalization", value, output=output, axis=-1, p=2)

    def embedded(self, ids: str, types: str = "") -> str:
        """Return the tokens' first vectors; without types all belong to the first text."""
        table = self.weights["embeddings.position_embeddings.weight"]
        kinds = self.weights["embeddings.token_type_embeddings.weight"]
        places = self.constant("places", table if types else table + kinds[0])
        length = self.add("Shape", ids, start=1, end=2)
        zero, axis = self.constant("zero", np.array([0])), self.constant("axis", np.array([0]))
        position = self.add("Slice", places, zero, length, axis)
        words = self.add("Gather", self.weight("embeddings.word_embeddings.weight"), ids)
        value = self.add("Add", words, position)
        if types:
            kind = self.add("Gather", self.constant("kinds", kinds), types)
            value = self.add("Add", value, kind)
        return self.norm(value, "embeddings.LayerNorm")

    def encoded(self, value: str) -> str:
        for layer in range(LAYERS):
            value = self.layer(value, f"encoder.layer.{layer}")
        return value

    def model(self, name: str, inputs: list[str], outputs: dict[str, list[Any]]) -> Any:
        """Return the graph as a checked model; all inputs are token numbers, one text a row."""
        helper, kinds = onnx.helper, onnx.TensorProto
        made = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info(i, kinds.INT64, ["texts", "length"]) for i in inputs],
            [helper.make_tensor_value_info(o, kinds.FLOAT, s) for o, s in outputs.items()],
            list(self.constants.values()),
        )
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(made, opset_imports=[opset], ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return model


def save_quantised(model: Any, target: Path, *, whole: Path | None = None) -> None:
    """Write a float model with its weights as int8; ``whole`` gets it as it is."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "float.onnx"
        onnx.save(model, source)
        if whole is not None:
            whole.write_bytes(source.read_bytes())
        quantize_dynamic(
            source,
            target,
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,  # without it sums overflow on processors that lack VNNI
            extra_options={"MatMulConstBOnly": True},  # attention stays float: better, as fast
            nodes_to_exclude=_heads(model),
        )


def _heads(model: Any) -> list[str]:
    """Return the nodes behind the last layer: small ones, where rounding costs most."""
    last = max(n for n, node in enumerate(model.graph.node) if node.op_type == "LayerNormalization")
    return [node.name for node in model.graph.node[last + 1 :] if node.op_type == "MatMul"]
