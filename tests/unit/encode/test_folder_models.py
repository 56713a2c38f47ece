"""Encoders from a folder: any ONNX export, and what sentence-transformers saves."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pincite.encode
from pincite.encode.encoders import OnnxEncoder, open_encoder, unrelated_cosine
from pincite.encode.models import SHIPPED, Encoder, ModelSpec, spec_of
from pincite.encode.remote import HubEncoder
from pincite.encode.windows import windows_of
from pincite.model.errors import ConfigError, MissingExtra, ModelError
from pincite.model.settings import EmbeddingSettings, Encoding
from pincite.model.types import Chunk, Span

TEXTS = ["A box for wires.", "the fuse, ﬁnally", "", "x " * 400]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped model, as a user would have one of their own."""
    shipped = Path(pincite.encode.__file__).parent / SHIPPED.name
    folder = Path(shutil.copytree(shipped, tmp_path / "my model"))
    (folder / "model.json").unlink()  # a folder of somebody else's lists no hashes
    return folder


def opened(folder: Path, **settings: Any) -> Encoder:
    encoder = open_encoder(Encoding(model=str(folder), **settings))
    assert encoder is not None
    return encoder


def test_a_folder_gives_what_the_shipped_encoder_gives(folder: Path) -> None:
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    mine, shipped = opened(folder, threads=2), OnnxEncoder(SHIPPED, threads=2)
    assert np.array_equal(mine.encode(TEXTS), shipped.encode(TEXTS))
    assert np.array_equal(mine.encode_query("box"), shipped.encode_query("box"))
    assert list(mine.token_starts(TEXTS[3])) == list(shipped.token_starts(TEXTS[3]))
    assert (mine.spec.dimension, mine.spec.max_tokens) == (384, 256)
    assert mine.spec.id.startswith("my-model@")


def test_the_graph_may_stand_in_a_folder_of_its_own(folder: Path) -> None:
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert opened(folder).encode(["box"]).any()


def test_a_tokeniser_that_cuts_does_not_cut(folder: Path) -> None:
    """Exports carry a limit; windows are cut by us, and the text after the limit has some too."""
    file = folder / "tokenizer.json"
    values = json.loads(file.read_text())
    values["truncation"] = {
        "direction": "Right",
        "max_length": 16,
        "strategy": "LongestFirst",
        "stride": 0,
    }
    file.write_text(json.dumps(values))
    assert len(opened(folder).token_starts("x " * 400)) == 400


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ("{}", "mean"),
        ('{"pooling_mode": "mean"}', "mean"),
        ('{"pooling_mode": "cls"}', "cls"),
        ('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}', "cls"),
        ('{"pooling_mode_cls_token": false, "pooling_mode_lasttoken": true}', "lasttoken"),
    ],
)
def test_vectors_of_tokens_are_pooled(folder: Path, config: str, pooling: str) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(config)
    encoder = opened(folder)
    assert isinstance(encoder, OnnxEncoder)
    (name,) = [o.name for o in encoder._session.get_outputs() if len(o.shape) == 3]
    encoder.__dict__["_output"] = (name, False)  # as if the graph gave nothing else
    ids = encoder._tokenizer.encode("A box for wires.").ids
    if pooling == "lasttoken":
        with pytest.raises(ModelError, match="lasttoken"):
            encoder.encode(["box"])
        return
    tokens = encoder._session.run([name], {"input_ids": np.array([ids])})[0][0]
    wanted = tokens[0] if pooling == "cls" else tokens.mean(axis=0)
    found = encoder.encode(["A box for wires."])[0]
    assert np.allclose(found, wanted / np.linalg.norm(wanted), atol=1e-6)
    assert encoder.spec.pooling == pooling


def test_prefixes_come_from_the_folder_and_stand_before_texts(folder: Path) -> None:
    prompts = {"prompts": {"query": "query: ", "document": "passage: "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    encoder = opened(folder)
    assert encoder.spec.query_prefix == "query: "
    chunk = Chunk(
        id="1",
        span=Span("d", 0, 4),
        text="wire",
        kind="piece",
        locator="1",
        title="",
        path=("Rules", "Box"),
        own_end=4,
    )
    assert windows_of(chunk, encoder) == ["passage: Box\nwire"]


def test_another_model_in_the_same_folder_is_another_model(folder: Path) -> None:
    def known_as() -> str:
        spec = spec_of(EmbeddingSettings(model=str(folder)))
        assert spec is not None
        return spec.id

    before = known_as()
    assert known_as() == before
    with (folder / "model.onnx").open("r+b") as stream:
        stream.seek(-100, 2)
        stream.write(b"retrained")
    changed = known_as()
    assert changed != before
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    assert known_as() not in (before, changed)


def test_what_is_no_model_is_explained(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"embedding\.dimension"):
        opened(folder, dimension=100)
    (folder / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelError, match="my model cannot be loaded"):
        opened(folder).encode(["box"])
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="my model cannot be loaded"):
        opened(folder).token_starts("box")
    with pytest.raises(ConfigError, match="no embedding model in the folder"):
        opened(tmp_path)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text("{")
    with pytest.raises(ConfigError, match="cannot be read"):
        opened(folder)


def test_the_hub_names_its_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    encoder = open_encoder(Encoding(model="bge-m3"))
    assert isinstance(encoder, HubEncoder)
    with pytest.raises(MissingExtra) as caught:
        encoder.encode(["box"])
    assert caught.value.hint == 'pip install "pincite[hub]"'


class Library:
    """As much of sentence-transformers as is used, with the same names and shapes."""

    max_seq_length = 9999

    def __init__(self, name: str) -> None:
        if name == "broken":
            raise OSError("no such model")
        self.name = name

    def encode(self, texts: list[str], **options: Any) -> np.ndarray[Any, Any]:
        assert options["prompt"] == ""
        return np.array([[len(text), 1.0, 0.0] for text in texts])

    def tokenizer(self, text: str, **options: Any) -> dict[str, Any]:
        assert not options["add_special_tokens"]
        return {"offset_mapping": [(at, at + 1) for at in range(len(text))]}


def test_the_hub_is_asked_for_vectors_of_length_one(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(SentenceTransformer=Library)
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    spec = ModelSpec("m", "1", 0, 64, "MIT", "sentence-transformers", hub_name="some/m")
    encoder = HubEncoder(spec)
    found = encoder.encode(["box", "fuse\ud800"])
    assert np.allclose(np.linalg.norm(found, axis=1), 1)
    assert encoder.spec.dimension == 3 and encoder.encode([]).shape == (0, 3)
    assert encoder.encode_query("box").shape == (3,)
    assert list(encoder.token_starts("box")) == [0, 1, 2]
    assert (encoder._model.name, encoder._model.max_seq_length) == ("some/m", 64)
    broken = ModelSpec("m", "1", 0, 64, "MIT", "sentence-transformers", hub_name="broken")
    with pytest.raises(ModelError, match="no such model"):
        HubEncoder(broken).encode(["box"])


def test_how_near_unrelated_texts_are_is_known_or_measured(folder: Path) -> None:
    """The shipped encoder's is a constant, near what is measured on the same model in a folder."""
    shipped, same = OnnxEncoder(SHIPPED), opened(folder)
    assert same.spec.unrelated is None
    assert unrelated_cosine(shipped) == 0.0
    assert 0.0 < unrelated_cosine(same) < 0.1
