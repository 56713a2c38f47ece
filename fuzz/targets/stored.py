"""Files of an index and of models, with right checksums: what a stranger may hand on."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
from functools import cache
from pathlib import Path

import numpy as np

from fuzz.harness import Target, filed, halves, work_folder
from fuzz.targets.places import index
from pincite.encode.models import folder_facts, inputs_of, open_session, open_tokenizer
from pincite.index.postings import packed, unpacked
from pincite.model.errors import MALFORMED, ModelError, StoreError
from pincite.search.learned import COLUMNS, Linear, RankerModel, _digest, load_model, save_model
from pincite.store.files import read_arrays
from pincite.store.manifest import SegmentEntry, check_files, manifest_of, pointer
from pincite.store.segment import Segment

MANIFEST = json.dumps(
    {
        "format": 2,
        "generation": 1,
        "shape": {"ingest": {}},
        "segments": [{"name": "a", "sha256": "0", "documents": 1, "chunks": 2, "dropped": []}],
        "vectors": [],
    }
)


def manifest(data: bytes) -> None:
    first, second = halves(data)
    found = manifest_of(first, origin="x")
    assert manifest_of(found.to_bytes(), origin="x") == found
    if second:
        filed(second, "CURRENT")
        pointer(work_folder())


def arrays(data: bytes) -> None:
    """The listing and the numbers of a segment: arrays that lie in their file."""
    listing, numbers = halves(data)
    home = work_folder() / "segments" / "s"
    home.mkdir(parents=True, exist_ok=True)
    (home / "segment.json").write_bytes(listing)
    (home / "arrays.bin").write_bytes(numbers)
    entry = SegmentEntry("s", hashlib.sha256(listing).hexdigest(), 1, 1)
    if check_files(work_folder(), entry, full=True):
        raise StoreError("damaged", hint="-")
    try:
        found = read_arrays(home)
    except MALFORMED:  # as whoever opens a segment or its vectors takes it
        raise StoreError("damaged", hint="-") from None
    for array in found.values():
        assert array.nbytes <= len(numbers)


@cache
def _segment() -> tuple[Path, SegmentEntry, bytes]:
    """Return a copy of a real segment in a folder of our own."""
    opened = index().snapshot.segments[0]
    home = Path(opened.folder) / "segments" / opened.entry.name
    copy = work_folder() / "real" / "segments" / "s"
    shutil.copytree(home, copy, dirs_exist_ok=True)
    return copy, opened.entry, (copy / "chunks.sqlite").read_bytes()


def segment(data: bytes) -> None:
    """A database that was tampered with, under a right listing: StoreError or plain values."""
    home, entry, whole = _segment()
    damaged = bytearray(whole)
    for at in range(0, len(data) - 4, 5):
        damaged[int.from_bytes(data[at : at + 4]) % len(damaged)] = data[at + 4]
    (home / "chunks.sqlite").write_bytes(damaged)
    listing = json.loads((home / "segment.json").read_bytes())
    listing["files"]["chunks.sqlite"] = {
        "bytes": len(damaged),
        "sha256": hashlib.sha256(damaged).hexdigest(),
    }
    text = json.dumps(listing).encode()
    (home / "segment.json").write_bytes(text)
    changed = SegmentEntry("s", hashlib.sha256(text).hexdigest(), entry.documents, entry.chunks)
    opened = Segment(home.parents[1], changed)
    try:
        for doc_id in opened.doc_ids():
            opened.document(doc_id)
            opened.links(doc_id)
            list(opened.chunk_rows("WHERE doc_id = ?", (doc_id,)))
    finally:
        opened.close()


def words(data: bytes) -> None:
    found = unpacked(np.frombuffer(data, dtype=np.uint8))
    assert sum(map(len, found)) <= 60_000_000


def learned(data: bytes) -> None:
    """A learned ranker whose hash is right: it scores finitely, or ModelError."""
    try:
        values = json.loads(data)
        assert isinstance(values, dict)
    except (ValueError, RecursionError, AssertionError):
        values = None
    if values is not None:
        values.pop("sha256", None)
        values["sha256"] = _digest(values)
        data = json.dumps(values).encode()
    model = load_model(filed(data, "model.json"))
    if len(model.features) < 50:
        scores = model.scores_of(np.zeros((3, len(model.features))))
        assert scores.shape == (3,) and np.isfinite(model.probabilities(scores)).all()


def _models() -> list[bytes]:
    file = work_folder() / "seed.json"
    save_model(RankerModel("logistic", ("a",), 3, Linear(np.array([1.5]))), file)
    linear = file.read_bytes()
    body = json.loads(linear)
    plain = {
        "feature": [0, 0, 0],
        "threshold": [0.5, 0, 0],
        "left": [1, 1, 2],
        "right": [2, 1, 2],
        "value": [0, -1.0, 1.0],
        "roots": [0],
    }
    body["arrays"] = {
        name: base64.b64encode(np.array(plain[name], dtype=kind).tobytes()).decode()
        for name, kind in COLUMNS.items()
    }
    return [linear, json.dumps(body).encode()]


def _broken(reason: object) -> ModelError:
    return ModelError(f"x: {reason}"[:500], hint="-")


def tokenizer(data: bytes) -> None:
    opened = open_tokenizer(data.decode("utf-8", "replace"), _broken)
    try:
        opened.encode("A rod, 2.4 m (250.66).")
    except Exception as error:  # a plain Exception is what the library raises
        raise _broken(error) from error


def graph(data: bytes) -> None:
    file = work_folder() / "graph.onnx"
    file.write_bytes(data)
    inputs_of(open_session(file, _broken), _broken)


def model_folder(data: bytes) -> None:
    """What a model's folder says of it, file by file."""
    home = work_folder() / "model"
    names = (
        "config_sentence_transformers.json",
        "sentence_bert_config.json",
        "tokenizer_config.json",
        "1_Pooling/config.json",
    )
    (home / "1_Pooling").mkdir(parents=True, exist_ok=True)
    for name in ("model.onnx", "tokenizer.json"):
        (home / name).touch()
    for name, part in zip(names, [*data.split(b"\0"), b"{}", b"{}", b"{}"], strict=False):
        (home / name).write_bytes(part)
    facts = folder_facts(home)
    assert 0 <= facts.max_tokens <= 32_768


def _graph_seed() -> list[bytes]:
    import onnx

    node = onnx.helper.make_node("Cast", ["input_ids"], ["out"], to=1)
    shape = ["n", "m"]
    ends = [
        onnx.helper.make_tensor_value_info(*each)
        for each in (("input_ids", 7, shape), ("out", 1, shape))
    ]
    made = onnx.helper.make_graph([node], "g", ends[:1], ends[1:])
    model = onnx.helper.make_model(made, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 9
    return [model.SerializeToString()]


_TOKENIZER = json.dumps(
    {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {"a": 0, "[UNK]": 1}, "unk_token": "[UNK]"},
    }
)
_LISTING = json.dumps(
    {
        "files": {
            "arrays.bin": {"bytes": 16, "sha256": hashlib.sha256(bytes(range(1, 17))).hexdigest()}
        },
        "arrays": {"x": {"dtype": "<i4", "shape": [2, 2], "offset": 0}},
    }
)
_WORDS = ("null", "-1", "1e999", "[]", "{}", '"shape":', '"dtype":', "|O", "99999999999999999999")
TARGETS = [
    Target(
        "manifest",
        "a generation that is written the same again, or StoreError",
        manifest,
        lambda: [MANIFEST.encode(), MANIFEST.encode() + b"\x00000001 abc"],
        _WORDS,
        smoke=300,
    ),
    Target(
        "segment-arrays",
        "arrays inside their file, or StoreError",
        arrays,
        lambda: [_LISTING.encode() + b"\0" + bytes(range(1, 17))],
        _WORDS,
        smoke=200,
    ),
    Target(
        "segment-database",
        "plain values, or StoreError",
        segment,
        lambda: [b"", bytes(range(40)), b"\0\0\0\x12\xff"],
        (),
        200,
        smoke=20,
    ),
    Target(
        "segment-words",
        "words within their limit, or StoreError",
        words,
        lambda: [packed(["abcd", "efgh"]).tobytes(), b"x\x9c\x03\0"],
        (),
        smoke=300,
    ),
    Target(
        "learned-model",
        "finite scores, or ModelError",
        learned,
        _models,
        (*_WORDS, '"slope":', '"features":', '"arrays":'),
        8192,
        smoke=200,
    ),
    Target(
        "tokenizer-file",
        "tokens, or ModelError",
        tokenizer,
        lambda: [_TOKENIZER.encode()],
        (*_WORDS, '"type":', '"BPE"', '"Sequence"', '"pattern":', '"Regex":'),
        smoke=100,
    ),
    Target(
        "onnx-graph",
        "a session, or ModelError",
        graph,
        _graph_seed,
        ("Cast", "out", "input_ids"),
        1024,
        smoke=50,
    ),
    Target(
        "model-folder",
        "facts within their limits, or ConfigError",
        model_folder,
        lambda: [
            b'{"prompts": {"query": "q: "}}\0{"max_seq_length": 256}\0{}\0{"pooling_mode": "cls"}'
        ],
        (*_WORDS, '"max_seq_length":', '"prompts":'),
        smoke=100,
    ),
]
