"""The shipped cross-encoder as a folder that transformers opens: the same weights, as floats."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from pincite.store.files import Array
from training.weights import weights_of

MODELING = "modeling_pincite.py"
OWN = ("gate.", "dense.", "out.")
RENAMED = {"match.scale": "match_scale", "match.bias": "match_bias"}
CONFIG = {
    "model_type": "bert",
    "architectures": ["PinciteCrossEncoder"],
    "auto_map": {
        "AutoModelForSequenceClassification": "modeling_pincite.PinciteCrossEncoder",
    },
    "vocab_size": 30522,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "max_position_embeddings": 512,
    "id2label": {"0": "answers"},
    "label2id": {"answers": 0},
}
TOKENIZER = {"tokenizer_class": "BertTokenizerFast", "model_max_length": 512, "do_lower_case": True}
_SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}


def write_for_torch(folder: Path) -> None:
    """Write the model that ships as transformers reads one; needs onnx."""
    folder.mkdir(parents=True, exist_ok=True)
    shipped = Path(str(files("pincite.search").joinpath("minilm", "model.onnx")))
    words = Path(str(files("pincite.encode").joinpath("minilm", "tokenizer.json")))
    write_safetensors({_name(k): v for k, v in weights_of(shipped).items()}, folder)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "tokenizer_config.json").write_text(json.dumps(TOKENIZER | _SPECIAL))
    shutil.copyfile(words, folder / "tokenizer.json")
    shutil.copyfile(Path(__file__).with_name("peers") / MODELING, folder / MODELING)


def _name(ours: str) -> str:
    if ours in RENAMED:
        return RENAMED[ours]
    return ours if ours.startswith(OWN) else f"bert.{ours}"


def write_safetensors(arrays: Mapping[str, Array], folder: Path) -> None:
    """Write float arrays in the safetensors format: a header in JSON, then the bytes."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, value in arrays.items():
        header[name] = {
            "dtype": "F32",
            "shape": list(value.shape) or [1],
            "data_offsets": [at, at + value.nbytes],
        }
        at += value.nbytes
    head = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for value in arrays.values():
            file.write(value.astype("<f4").tobytes())
