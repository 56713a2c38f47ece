"""What is done to an index while faults come, and what must hold afterwards.

Documents are small and parsed once; the encoder counts letters. What is written and when is all
that matters here.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from pincite import update
from pincite import update as vectorise
from pincite.api import Index
from pincite.encode.models import SHIPPED
from pincite.index import builder
from pincite.maintain.copy import copy_index
from pincite.maintain.exchange import export_index, import_index
from pincite.maintain.repair import repair_index
from pincite.model.settings import Settings
from pincite.model.tuning import Tuning
from pincite.model.types import ParsedDocument, Query
from pincite.read.enrich.profile import profile_fingerprint
from pincite.read.load import parse
from pincite.search.learned import Linear, RankerModel, load_model, save_model
from pincite.store.manifest import KEPT_GENERATIONS, current, damage, point_to, read_manifest
from pincite.store.snapshot import Snapshot

DOCUMENTS = 5
SETTINGS = Settings(tuning=Tuning(cache=False))
# Searched by words: vectors are compared one by one.
WORDS = SETTINGS.changed({"search.preset": "lexical", "tuning.spread": 0.0})
QUERIES = ("version paragraph section", "2.1", "Title 3 v1")
INDEX = "above/index"  # the folder above it is new as well
MODEL = "models/ranker.json"
Texts = Mapping[str, str]


def document(number: int, version: int) -> str:
    """Return a text that says its version in every paragraph, in small sections."""
    mark = f"Document {number} version {version} paragraph"
    parts = (f"## {number}.{s} Section of v{version}\n\n{mark} {s}.\n\n" for s in range(1, 4))
    return f"# Title {number} v{version}\n\n{mark} 0; see {number}.2.\n\n" + "".join(parts)


def state(number: int) -> dict[str, str]:
    """Return the documents of a round: in each some come, go and change; before the first, none."""
    return {
        f"{i}.md": document(i, (number + i) // 2)
        for i in range(DOCUMENTS)
        if number > 0 and (number + i) % 4
    }


@cache
def loaded(name: str, text: str) -> ParsedDocument:
    """Return a parsed document; the same text is parsed once."""
    return parse(text.encode(), name, SETTINGS.ingest, source=name)


@contextmanager
def small_segments() -> Iterator[None]:
    """Make a few words a segment and a few segments a merge."""
    with (
        patch.object(builder, "SEGMENT_TERMS", 60),
        patch.object(builder, "MERGE_FACTOR", 3),
        patch.object(vectorise, "open_encoder", lambda _: Letters()),
    ):
        yield


class Letters:
    """An encoder that is nothing to wait for."""

    spec = SHIPPED

    def token_starts(self, text: str) -> range:
        return range(0, len(text), 4)

    def encode(self, texts: Sequence[str]) -> Any:
        counts = [np.bincount(list(text.encode()), minlength=384)[:384] for text in texts]
        return np.array(counts, dtype=np.float32).reshape(-1, 384)

    def encode_query(self, text: str) -> Any:
        return self.encode([text])[0]


# -- what is done


def bring(folder: Path, wanted: Texts, *, rebuild: bool = False) -> None:
    """Bring an index up to date with documents, as ingest does."""
    profile = profile_fingerprint(SETTINGS.ingest.profile)
    with builder.IndexBuilder(folder, SETTINGS, rebuild=rebuild, profile=profile) as writer:
        for name, text in wanted.items():
            new = loaded(name, text)
            known = writer.meta(name) or {}
            if known.get("sha256") != new.document.meta["sha256"]:
                writer.put(new)
        for name in writer.documents():
            if name not in wanted:
                writer.drop(name)
        writer.flush()


def encode(folder: Path) -> None:
    """Give the chunks their vectors."""
    list(vectorise.embed_index(folder, SETTINGS))


def model(number: int) -> RankerModel:
    """Return a small model that is not like another number's."""
    return RankerModel("linear", ("bm25", "dense"), 10, Linear(np.array([number, 1.0])), about={})


# -- what an index says


@dataclass(frozen=True)
class Content:
    """All that an index says, in a form that does not depend on how it was written."""

    texts: Texts
    records: str  # documents, places, links, facts, as JSON
    hits: Sequence[Any]
    vectors: Mapping[str, bytes]  # of chunks that have one


def content(folder: Path) -> Content:
    """Return what an index says."""
    with Index.open(folder, WORDS) as index:
        snapshot = index.snapshot
        entries = [entry for part in snapshot.segments for entry in part.entries()]
        records = sorted(
            json.dumps([asdict(each.loaded), sorted(each.keys)], sort_keys=True) for each in entries
        )
        hits = [
            [(hit.chunk_id, hit.score) for hit in index.searcher.search(Query(query), 50).hits()]
            for query in QUERIES
        ]
        texts = {each.loaded.document.id: each.loaded.document.text for each in entries}
        return Content(texts, "\n".join(records), hits, _vectors(snapshot))


def _vectors(snapshot: Snapshot) -> dict[str, bytes]:
    parts = {part.entry.name: part for part in snapshot.segments}
    found: dict[str, bytes] = {}
    for vectors in snapshot.vectors:
        part = parts[vectors.entry.segment]
        live = part.live_rows()
        for row, exact in zip(vectors.rows.tolist(), vectors.exact, strict=True):
            if live[row]:
                chunk_id = part.arrays["ids"][row].decode()
                found[chunk_id] = found.get(chunk_id, b"") + exact.tobytes()
    return found


_clean: dict[tuple[tuple[str, str], ...], Content] = {}


def clean(wanted: Texts) -> Content:
    """Return what an index says that was built of these documents in peace, vectors and all."""
    key = tuple(sorted(wanted.items()))
    if key not in _clean:
        with scratch() as home:
            bring(home / "index", wanted)
            if (home / "index" / "CURRENT").exists():
                encode(home / "index")
                _clean[key] = content(home / "index")
            else:
                _clean[key] = Content({}, "", [], {})
    return _clean[key]


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder in memory where there is one."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(
        prefix="pincite-faults-", dir=memory if memory.is_dir() else None
    ) as name:
        yield Path(name)


# -- what must hold


class Broken(AssertionError):
    """Something that must hold does not."""


def require(holds: bool, what: str) -> None:
    if not holds:
        raise Broken(what)


def check_readable(folder: Path, old: Texts, new: Texts) -> Content:
    """Check an index after a fault, before anything mends it.

    Every document is whole, as it was before or as it was to become; nothing that was there and
    was to stay is gone; and the index says exactly what a clean one of these documents says.
    """
    if not (folder / "CURRENT").exists():
        require(not old, "the index is gone")
        return clean({})
    found_damage = damage(folder)
    require(not found_damage, f"damaged: {found_damage}")
    found = content(folder)
    for name, text in found.texts.items():
        require(text in (old.get(name), new.get(name)), f"{name} is neither old nor new")
    require(old.keys() & new.keys() <= found.texts.keys(), "a document is lost")
    expected = clean(found.texts)
    require(found.records == expected.records, "records differ from a clean rebuild")
    if found.texts:
        require(found.hits == expected.hits, "hits differ from a clean rebuild")
    require(found.vectors.items() <= expected.vectors.items(), "vectors differ")
    return found


def check_complete(folder: Path, wanted: Texts, *, vectors: bool, tidy: bool = True) -> None:
    """Check that an index is what it should be; if tidy, that nothing else is in its folder."""
    found = check_readable(folder, wanted, wanted)
    require(dict(found.texts) == dict(wanted), f"{sorted(found.texts)} is not {sorted(wanted)}")
    if vectors:
        require(found.vectors == clean(wanted).vectors, "vectors are missing")
    if tidy:
        bring(folder, wanted)  # changes nothing: a writer sweeps when it begins
        check_tidy(folder)


def check_tidy(folder: Path) -> None:
    """Check that a folder has only what the kept generations name."""
    names = {"CURRENT", "generations", "segments", "vectors", "write.lock"}
    left = {path.name for path in folder.iterdir()} - names
    require(not left, f"left behind: {sorted(left)}")
    kept = sorted((folder / "generations").iterdir())
    require(len(kept) <= KEPT_GENERATIONS, "too many generations")
    for part in ("segments", "vectors"):
        named = {entry.name for file in kept for entry in getattr(read_manifest(file), part)}
        there = {path.name for path in (folder / part).iterdir()}
        require(there == named, f"{part} left behind: {sorted(there ^ named)}")


# -- the write paths


@dataclass(frozen=True)
class Path_:
    """One way to write: what was there before, what is done, and what must be there after."""

    name: str
    prepare: Callable[[Path], None]
    act: Callable[[Path], None]
    check: Callable[[Path], object]  # after a fault
    finish: Callable[..., None]  # when it was acknowledged; tidy=False: rubbish may lie about


def _index_path(
    name: str,
    before: Callable[[Path], None],
    act: Callable[[Path], None],
    old: Texts,
    new: Texts,
    *,
    vectors: bool = False,
) -> Path_:
    return Path_(
        name,
        lambda home: before(home / INDEX) if old else None,
        lambda home: act(home / INDEX),
        lambda home: check_readable(home / INDEX, old, new),
        lambda home, tidy=True: check_complete(home / INDEX, new, vectors=vectors, tidy=tidy),
    )


def _build(*rounds: int, vectors: bool = False) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        for number in rounds:
            bring(folder, state(number))
            if vectors:
                encode(folder)

    return build


def _with_vectors(wanted: Texts) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        bring(folder, wanted)
        encode(folder)

    return act


def _few(wanted: Texts, *, without: Sequence[str] = ()) -> dict[str, str]:
    return {name: text for name, text in wanted.items() if name not in without}


def _source(home: Path) -> Path:
    """Return an index beside the one under test; it is made once in a home."""
    folder = home / "source"
    if not folder.exists():
        _build(1, 2, vectors=True)(folder)
    return folder


def _copy(home: Path) -> None:
    for _ in copy_index(home / "source", home / INDEX):
        pass


def _exported(home: Path) -> None:
    _build(1, 2)(home / INDEX)
    _build(3)(home / "source")
    with Snapshot.open(home / "source") as snapshot:
        list(export_index(snapshot, home / "plain"))
    shutil.rmtree(home / "source")


def _prepare_model(home: Path) -> None:
    (home / MODEL).parent.mkdir()
    save_model(model(1), home / MODEL)


def _check_model(home: Path, *numbers: float, tidy: bool = False) -> None:
    scorer = load_model(home / MODEL).scorer
    assert isinstance(scorer, Linear)
    require(scorer.weights[0] in numbers, "the model is another one")
    if tidy:
        left = sorted(path.name for path in (home / MODEL).parent.iterdir())
        require(left == ["ranker.json"], f"left behind: {left}")


def as_format_2(folder: Path) -> None:
    """Turn an index into one of the format before: manifests without checksums."""
    for file in (folder / "generations").iterdir():
        values = json.loads(file.read_bytes())
        del values["checksum"]
        file.write_text(json.dumps({**values, "format": 2}, indent=1, sort_keys=True))
    point_to(folder, current_number(folder))


def current_number(folder: Path) -> int:
    return int((folder / "CURRENT").read_text().split()[0])


def _old_format(folder: Path) -> None:
    _build(1, 2)(folder)
    as_format_2(folder)


def _with_damage(folder: Path) -> None:
    """Build an index whose newest segment has no arrays any more: a repair makes them again."""
    _build(1, 2)(folder)
    newest = current(folder).segments[-1].name
    (folder / "segments" / newest / "arrays.bin").write_bytes(b"rot")


def _repair(folder: Path) -> None:
    repair_index(folder)


def _check_repair(home: Path) -> None:
    """While it is not mended, an index may be damaged; what is there must not get worse."""
    folder = home / INDEX
    if damage(folder):
        require("arrays.bin" in damage(folder)[0], f"more damage: {damage(folder)}")
    else:
        check_readable(folder, state(2), state(2))


def _write_files(home: Path, wanted: Texts) -> None:
    folder = home / "sources"
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        if file.name not in wanted:
            file.unlink()
    for name, text in wanted.items():
        (folder / name).write_text(text)


def _ingest_files(home: Path, wanted: Texts) -> None:
    """Ingest as the command does: files, read by children."""
    _write_files(home, wanted)
    files = update.find_files([home / "sources"])
    for outcome in update.iter_ingest(files, home / INDEX, SETTINGS, prune=True):
        require(outcome.status != "rejected", outcome.reason)


def files_path() -> Path_:
    """Return the write path of the command, with its children."""
    old, new = state(2), state(3)

    def prepare(home: Path) -> None:
        _ingest_files(home, old)
        shutil.rmtree(home / "sources")  # or copies of this home would have two files of a name

    return Path_(
        "ingest of files",
        prepare,
        lambda home: _ingest_files(home, new),
        lambda home: check_texts(home / INDEX, old, new),
        lambda home, tidy=True: check_texts(home / INDEX, new, new),
    )


def check_texts(folder: Path, old: Texts, new: Texts) -> None:
    """Check what does not depend on where the files lie: their paths are in the records."""
    require(not damage(folder), f"damaged: {damage(folder)}")
    found = content(folder)
    for name, text in found.texts.items():
        require(text in (old.get(name), new.get(name)), f"{name} is neither old nor new")
    require(old.keys() & new.keys() <= found.texts.keys(), "a document is lost")
    require(found.hits == clean(found.texts).hits, "hits differ from a clean rebuild")


def paths() -> list[Path_]:
    """Return all write paths of an index folder, and of a model file."""
    dropping = _few(state(3), without=["0.md", "2.md", "3.md"])
    return [
        _index_path("first ingest", _build(), _build(1), {}, state(1)),
        _index_path("add, change, remove", _build(1, 2), _build(3), state(2), state(3)),
        _index_path(
            "segment merge",
            _build(1, 2, vectors=True),
            _with_vectors(state(4)),
            state(2),
            state(4),
            vectors=True,
        ),
        _index_path(
            "remove and compact", _build(3), lambda at: bring(at, dropping), state(3), dropping
        ),
        _index_path(
            "rebuild",
            _build(1, 2),
            lambda at: bring(at, state(3), rebuild=True),
            state(2),
            state(3),
        ),
        _index_path("vector encode", _build(1, 2), encode, state(2), state(2), vectors=True),
        Path_(
            "copy into a folder",
            lambda home: (_source(home), None)[1],
            _copy,
            lambda home: check_readable(home / INDEX, {}, state(2)),
            lambda home, tidy=True: check_complete(home / INDEX, state(2), vectors=True, tidy=tidy),
        ),
        Path_(
            "import of plain files",
            _exported,
            lambda home: [None for _ in import_index(home / "plain", home / INDEX)].clear(),
            lambda home: check_readable(home / INDEX, state(2), state(3)),
            lambda home, tidy=True: check_complete(
                home / INDEX, state(3), vectors=False, tidy=tidy
            ),
        ),
        _index_path("migration", _old_format, _build(3), state(2), state(3)),
        replace(
            _index_path("repair", _with_damage, _repair, state(2), state(2)), check=_check_repair
        ),
        Path_(
            "model save",
            _prepare_model,
            lambda home: save_model(model(2), home / MODEL),
            lambda home: _check_model(home, 1, 2),
            lambda home, tidy=True: _check_model(home, 2, tidy=tidy),
        ),
    ]
