"""The shipped cross-encoder: what it says, and what happens when its files are not as they were."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from pincite.model.errors import ConfigError, ModelError
from pincite.search.cross_encoder import CrossEncoder, open_cross_encoder

QUESTION = "How often must a fire extinguisher be inspected?"
TEXTS = [
    "Portable fire extinguishers shall be inspected at least once a month.",
    "Portable fire extinguishers shall be red.",
    "A berth is let for twelve months.",
    "Inspection | Interval\nExtinguisher | monthly\nHose | yearly",
]
# The float network in torch, before export and quantisation.
REFERENCE = [3.23, -1.262, -3.48, -0.656]
HOME = Path(str(files("pincite.search").joinpath("minilm")))
WORDS = Path(str(files("pincite.encode").joinpath("minilm", "tokenizer.json")))


@pytest.fixture(scope="module")
def shipped() -> CrossEncoder:
    return open_cross_encoder("shipped")


def copied(folder: Path) -> Path:
    for name in ("model.onnx", "model.json"):
        (folder / name).write_bytes((HOME / name).read_bytes())
    (folder / "tokenizer.json").write_bytes(WORDS.read_bytes())
    return folder


def test_it_says_what_the_float_network_said(shipped: CrossEncoder) -> None:
    assert shipped.logits(QUESTION, TEXTS) == pytest.approx(REFERENCE, abs=0.4)
    probabilities = shipped.score(QUESTION, TEXTS)
    assert probabilities[0] > 0.5 > max(probabilities[1:]) > min(probabilities) > 0
    assert sorted(probabilities) == [
        p for _, p in sorted(zip(REFERENCE, probabilities, strict=True))
    ]


def test_a_pair_does_not_depend_on_its_neighbours(shipped: CrossEncoder) -> None:
    together = shipped.logits(QUESTION, TEXTS)
    alone = [shipped.logits(QUESTION, [text])[0] for text in TEXTS]
    assert together == alone
    assert open_cross_encoder("shipped", 1).logits(QUESTION, TEXTS) == together


@pytest.mark.parametrize("text", ["", " ", "\ud800", "a " * 5000, "日本語", "\x00"])
def test_any_text_gets_a_score(shipped: CrossEncoder, text: str) -> None:
    scores = shipped.score(text, [text, *TEXTS[:1]])
    assert len(scores) == 2 and all(0 <= score <= 1 for score in scores)


def test_it_is_small_enough_to_ship() -> None:
    assert (HOME / "model.onnx").stat().st_size <= 30_000_000
    assert (HOME / "MODEL_CARD.md").is_file()


def test_the_same_files_in_a_folder_are_the_same_model(
    shipped: CrossEncoder, tmp_path: Path
) -> None:
    found = open_cross_encoder(str(copied(tmp_path)))
    assert found.logits(QUESTION, TEXTS) == shipped.logits(QUESTION, TEXTS)
    assert found.id.split("@")[1] == shipped.id.split("@")[1]


def test_damage_is_told_and_never_runs(tmp_path: Path) -> None:
    folder = copied(tmp_path)
    data = bytearray((folder / "model.onnx").read_bytes())
    data[5_000_000] ^= 255
    (folder / "model.onnx").write_bytes(data)
    with pytest.raises(ModelError, match="damaged"):
        open_cross_encoder(str(folder))
    (folder / "model.onnx").write_bytes(b"no model")
    values = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps({**values, "sha256": {}}))
    with pytest.raises(ModelError, match="cannot be used"):
        open_cross_encoder(str(folder)).score(QUESTION, TEXTS)
    (folder / "model.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be read"):
        open_cross_encoder(str(folder))


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no cross-encoder"):
        open_cross_encoder(str(tmp_path))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_reading_pairs_needs_less_than_half_a_gigabyte() -> None:
    # Not ru_maxrss: a process inherits that of the one that started it.
    code = (
        "import re; from pincite.model.settings import Reranking;"
        "from pincite.search.pair_scorers import open_scorer;"
        "scorer = open_scorer(Reranking(enabled=True));"
        "scorer.score('how far apart are rods', ['rods stand apart ' * 100] * 24);"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 100_000_000 < int(done.stdout) * 1024 < 512_000_000
