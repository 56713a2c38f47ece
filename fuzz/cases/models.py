"""Models from strangers: what would run code, was changed, or reads files of the machine."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import zipfile
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.hostile import Case
from pincite.encode.encoders import open_encoder
from pincite.model.errors import ModelError
from pincite.model.settings import Encoding
from pincite.search.cross_encoder import open_cross_encoder
from pincite.search.learned import Linear, RankerModel, load_model, save_model


class _Evil:
    """What a pickle can be: a call of anything."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("/tmp/pincite-was-owned"),))


def _pickle() -> bytes:
    return pickle.dumps(_Evil())


def _torch() -> bytes:
    """Return a pickle in the archive that torch.save writes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", _pickle())
    return stream.getvalue()


def _npz() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, projection=np.array([_Evil()], dtype=object))
    return stream.getvalue()


def _unharmed(attempt: Any) -> None:
    mark = Path("/tmp/pincite-was-owned")
    mark.unlink(missing_ok=True)
    try:
        attempt()
    finally:
        assert not mark.exists(), "code of the model was run"


def _shipped(part: str) -> Path:
    return Path(str(files(f"pincite.{part}"))) / "minilm"


def _encoder(folder: Path) -> Path:
    """Return a copy of the shipped encoder, in a folder of its own."""
    return Path(shutil.copytree(_shipped("encode"), folder / "model"))


def _encode(home: Path) -> None:
    encoder = open_encoder(Encoding(model=str(home), threads=1))
    assert encoder is not None and encoder.encode(["box"]).any()


def _cross(folder: Path) -> Path:
    home = folder / "cross"
    shutil.copytree(_shipped("search"), home)
    shutil.copy(_shipped("encode") / "tokenizer.json", home)
    return home


def changed(name: str, at: float, folder: Path) -> None:
    """One byte of a file of the encoder is another."""
    home = _encoder(folder)
    data = bytearray((home / name).read_bytes())
    data[int(at * (len(data) - 1))] ^= 1
    (home / name).write_bytes(data)
    _encode(home)


def changed_cross(name: str, folder: Path) -> None:
    home = _cross(folder)
    data = bytearray((home / name).read_bytes())
    data[len(data) // 2] ^= 1
    (home / name).write_bytes(data)
    open_cross_encoder(str(home)).score("a", ["b"])


def weights(ending: str, make: Any, folder: Path) -> None:
    """A folder of sentence-transformers whose weights are a pickle."""
    kind = "sentence_transformers.models.Transformer"
    (folder / "modules.json").write_text(json.dumps([{"type": kind, "path": ""}]))
    (folder / f"pytorch_model{ending}").write_bytes(make())
    _unharmed(partial(_encode, folder))


def own_code(kind: object, folder: Path) -> None:
    """A folder that names a class of its own to be imported."""
    (folder / "modules.json").write_text(json.dumps([{"type": kind, "path": ""}]))
    (folder / "model.safetensors").write_bytes(b"x")
    (folder / "evil.py").write_text(
        "import pathlib; pathlib.Path('/tmp/pincite-was-owned').touch()"
    )
    _unharmed(partial(_encode, folder))


def outside(location: str, folder: Path) -> None:
    """A graph whose weights are said to be a file of the machine."""
    import onnx

    tensor = onnx.TensorProto(name="w", data_type=1, dims=[4])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "16")):
        tensor.external_data.add(key=key, value=value)
    node = onnx.helper.make_node("Identity", ["w"], ["out"])
    ids = onnx.helper.make_tensor_value_info("input_ids", 7, ["a", "b"])
    out = onnx.helper.make_tensor_value_info("out", 1, [1, 4])
    made = onnx.helper.make_graph([node], "g", [ids], [out], [tensor])
    model = onnx.helper.make_model(made, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 9
    home = folder / "model"
    home.mkdir()
    (home / "model.onnx").write_bytes(model.SerializeToString())
    shutil.copy(_shipped("encode") / "tokenizer.json", home)
    (folder / "secret").write_bytes(b"0123456789abcdef")
    _encode(home)
    raise AssertionError("the weights were read from outside the model's folder")


def as_learned(make: Any, folder: Path) -> None:
    file = folder / "model.json"
    file.write_bytes(make())
    _unharmed(partial(load_model, file))


def tampered_learned(folder: Path) -> None:
    file = folder / "model.json"
    save_model(RankerModel("logistic", ("a",), 3, Linear(np.array([1.5]))), file)
    values = json.loads(file.read_text())
    file.write_text(json.dumps({**values, "k": 4}))
    load_model(file)


def not_onnx(data: bytes, folder: Path) -> None:
    home = _encoder(folder)
    (home / "model.json").unlink()
    (home / "model.onnx").write_bytes(data)
    _unharmed(partial(_encode, home))


def a_good_one(folder: Path) -> None:
    """So that a refusal means something: the same folder, unchanged, works."""
    _encode(_encoder(folder))
    assert open_cross_encoder(str(_cross(folder))).score("a", ["b"])


_PICKLES = (
    (".bin", _pickle),
    (".bin", _torch),
    (".pt", _torch),
    (".pkl", _pickle),
    (".ckpt", _torch),
)
_CLASSES = (
    "evil.Model",
    "os.system",
    "subprocess.Popen",
    "evil",
    5,
    None,
    "sentence_transformersx.A",
)
_FILES = ("/etc/passwd", "../secret", "a/../../secret", "..\\secret", "/proc/self/environ")
CASES = [
    Case("models", "unchanged, for comparison", a_good_one),
    *(Case("models", f"changed {n} at {at}", partial(changed, n, at))
      for n in ("model.onnx", "tokenizer.json") for at in (0.0, 0.5, 1.0)),
    *(Case("models", f"changed {n} of a cross-encoder", partial(changed_cross, n))
      for n in ("model.onnx", "tokenizer.json")),
    *(Case("models", f"pickled weights{e} ({m.__name__})", partial(weights, e, m)) for e, m in _PICKLES),
    *(Case("models", f"code of its own: {kind}", partial(own_code, kind)) for kind in _CLASSES),
    *(Case("models", f"weights in {name}", partial(outside, name)) for name in _FILES),
    *(Case("models", f"a learned model that is {m.__name__}", partial(as_learned, m))
      for m in (_pickle, _torch, _npz)),
    Case("models", "a learned model that was changed", tampered_learned),
    *(Case("models", f"no graph: {data[:12]!r}", partial(not_onnx, data))
      for data in (b"", b"\0" * 100, b"PK\x03\x04", b"\x80\x04cposix\nsystem\n(S'id'\ntR.", b"\x08\x09" * 5000)),
]  # fmt: skip
__all__ = ["CASES", "ModelError"]
