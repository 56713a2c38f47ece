"""The rankings that are kept: which collections, which queries, which pipelines, and the rule.

The rule of comparison, with the ids and parts that ``make.py`` stored:

- A query in whose stored result something stands in a tier (a hit with the part ``place``,
  ``entities`` or ``identifier``: the query names it) gives the same first hit and the same
  ``TIERED_K`` ids in the same order. Its parts are not compared: how much a tier adds is no law.
- Every other query gives the same ids in the same order, and every part of every hit, by its name,
  within ``TOLERANCE``.
- Where only ids are stored (locators, larger collections), they are the same in the same order.
- Late interaction compares codes of token vectors, which last digits decide. Where two editions
  have the same words at the same place, either may stand for both (``twins``).

A change that moves rankings on purpose writes the goldens again (``python tests/golden/make.py``)
and says in its commit which and why. Vectors depend on the processor in their last digits: where
the encoder gives another vector than the one in ``vector.json``, what needs vectors is skipped.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pincite import Index, Settings, find_files, ingest_files
from pincite.encode.encoders import open_encoder
from pincite.update import embed_index

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SHARED = Path(os.environ.get("PINCITE_DATA") or ROOT.parent / "shared" / "data")
VECTOR = HERE / "vector.json"
K = 20
TOLERANCE = 1e-6
TIERS = {"place", "entities", "identifier"}
# How many ids of a query that names something must agree; all others agree in all of them.
TIERED_K = K
WORDS_ONLY = ("lexical", "traversal")
CODED = "hybrid+late"  # by codes of token vectors
SLOW = "hybrid+rerank"  # a tenth of a second a query and more
PRESETS = (
    "default",
    "hybrid",
    "hybrid+graph",
    CODED,
    SLOW,
    "lexical",
    "dense",
    "traversal",
)


@dataclass(frozen=True)
class Collection:
    """Documents, and what is asked about them."""

    name: str
    source: Path
    ids_of: tuple[str, ...]  # pipelines whose ids are stored, for questions
    parts_of: tuple[str, ...] = ()  # pipelines whose parts are stored as well
    locators_of: tuple[str, ...] = ()  # pipelines that are asked for every locator
    questions: tuple[str, ...] = field(default=(), repr=False)

    @property
    def has_vectors(self) -> bool:
        wanted = {*self.ids_of, *self.parts_of, *self.locators_of}
        return not wanted <= set(WORDS_ONLY)

    @property
    def pipelines(self) -> list[str]:
        return list(dict.fromkeys((*self.parts_of, *self.ids_of, *self.locators_of)))


def samples() -> Collection:
    """Return the shipped samples, asked in every way."""
    questions = (HERE / "queries.txt").read_text(encoding="utf-8").splitlines()
    return Collection("samples", ROOT / "samples", (), PRESETS, ("default",), tuple(questions))


def part97() -> Collection:
    """Return Part 97 with the questions that are for development."""
    folder = SHARED / "part97"
    lines = (folder / "questions_dev.jsonl").read_text(encoding="utf-8").splitlines()
    questions = tuple(json.loads(line)["question"] for line in lines)
    presets = ("default", "lexical", "dense")
    return Collection("part97", folder / "part97.md", presets, (), ("default",), questions)


def srd() -> Collection:
    """Return the SRD 5.1, by words alone: its vectors take minutes."""
    folder = SHARED / "srd-5.1"
    rows = json.loads((folder / "spell_questions_dev.json").read_text(encoding="utf-8"))
    questions = tuple(row["question"] for row in rows[::8])
    return Collection("srd-5.1", folder, WORDS_ONLY[:1], (), (), questions)


COLLECTIONS = {"samples": samples, "part97": part97, "srd-5.1": srd}


def is_there(name: str) -> bool:
    """Return whether the documents of a collection are on this machine."""
    return name == "samples" or (SHARED / name).is_dir()


def chosen(pipeline: str) -> Settings:
    """Return the settings of a pipeline; re-ranking takes the time that it takes."""
    return Settings().changed({"search.preset": pipeline, "rerank.budget_ms": 0})


def build(collection: Collection, folder: Path) -> None:
    """Build the index of a collection."""
    settings = chosen(CODED if CODED in collection.pipelines else "default")
    for _ in ingest_files(find_files([collection.source]), folder, settings):
        pass
    if collection.has_vectors:
        for _ in embed_index(folder, settings):
            pass


def vector() -> list[float]:
    """Return the vector of a fixed question as this machine's processor works it out."""
    encoder = open_encoder(Settings().encoding)
    assert encoder is not None
    return [round(float(each), 7) for each in encoder.encode_query("how far apart are rods")]


Hits = list[tuple[str, dict[str, float]]]


def ranked(index: Index, query: str) -> Hits:
    """Return ids and parts of the best hits."""
    found = index.search(query, k=K).ranking.top(K)
    return [(hit.chunk_id, dict(hit.features)) for hit in found.hits]


def locators(index: Index) -> list[str]:
    """Return every name of a place that an index has."""
    chunks = (chunk for name in index.documents() for chunk in index.snapshot.chunks(name))
    return sorted({chunk.locator for chunk in chunks if chunk.locator})


def queries_of(collection: Collection, pipeline: str, index: Index) -> Iterator[str]:
    """Yield what a pipeline is asked."""
    if pipeline in (*collection.ids_of, *collection.parts_of):
        step = 12 if pipeline == SLOW else 1
        yield from collection.questions[::step]
    if pipeline in collection.locators_of:
        yield from locators(index)


def ask_all(collection: Collection, pipeline: str, folder: Path) -> Iterator[tuple[str, Hits]]:
    """Yield every query with what a pipeline finds."""
    with Index.open(folder, chosen(pipeline)) as index:
        for query in dict.fromkeys(queries_of(collection, pipeline, index)):
            yield query, ranked(index, query)


@dataclass(frozen=True)
class Kept:
    """What is stored of one query; no parts where only ids are."""

    query: str
    ids: list[str]
    parts: list[dict[str, float]]
    is_tiered: bool


class Golden:
    """Stored rankings of one collection: ids as numbers of a table, which compresses well."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._ids: list[str] = values["ids"]
        self._queries: list[str] = values["queries"]
        self._rankings: dict[str, dict[str, Any]] = values["rankings"]

    @classmethod
    def load(cls, name: str) -> Golden:
        return cls(json.loads(gzip.decompress(path_of(name).read_bytes())))

    def rankings(self, pipeline: str) -> Iterator[Kept]:
        """Yield what is stored of every query, in the order in which they are asked."""
        for number, row in self._rankings[pipeline].items():
            ids = [self._ids[each] for each in row["ids"]]
            yield Kept(self._queries[int(number)], ids, row.get("parts", []), "tier" in row)


def path_of(name: str) -> Path:
    return HERE / f"{name}.json.gz"


def stored(collection: Collection, rankings: dict[str, Iterable[tuple[str, Hits]]]) -> bytes:
    """Return the file of a collection's rankings."""
    ids: dict[str, int] = {}
    queries: dict[str, int] = {}
    kept: dict[str, dict[int, Any]] = {}
    asked = set(collection.questions)
    for pipeline, found in rankings.items():
        kept[pipeline] = {}
        for query, hits in found:
            row: dict[str, Any] = {"ids": [ids.setdefault(each, len(ids)) for each, _ in hits]}
            if any(TIERS & parts.keys() for _, parts in hits):
                row["tier"] = 1
            elif pipeline in collection.parts_of and query in asked:
                row["parts"] = [
                    {name: round(part, 6) for name, part in parts.items()} for _, parts in hits
                ]
            kept[pipeline][queries.setdefault(query, len(queries))] = row
    values = {"ids": list(ids), "queries": list(queries), "rankings": kept}
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode(), mtime=0)


def twins(folder: Path) -> dict[str, str]:
    """Return for each chunk the first one with the same words at the same place of an edition."""
    with Index.open(folder) as index:
        chunks = [chunk for name in index.documents() for chunk in index.snapshot.chunks(name)]
    first: dict[tuple[str, str], str] = {}
    return {each.id: first.setdefault((each.locator, each.text), each.id) for each in chunks}


def difference(kept: Kept, hits: Hits, same: Mapping[str, str] = {}) -> str:
    """Return in which way a ranking is not the stored one by the rule above, or nothing."""
    depth = TIERED_K if kept.is_tiered else K
    was, now = kept.ids[:depth], [each for each, _ in hits][:depth]
    if [same.get(each, each) for each in was] != [same.get(each, each) for each in now]:
        pairs = zip_longest(was, now)
        rank = next(rank for rank, (one, other) in enumerate(pairs, 1) if one != other)
        here, there = now[rank - 1 : rank + 2], was[rank - 1 : rank + 2]
        return f"{kept.query!r}: from rank {rank} {here} instead of {there}"
    for rank, (old, (_, new)) in enumerate(zip(kept.parts, hits, strict=False), 1):
        for name in sorted(old.keys() | new.keys()):
            if abs(old.get(name, 0.0) - new.get(name, 0.0)) > TOLERANCE:
                values = f"{new.get(name)} instead of {old.get(name)}"
                return f"{kept.query!r}: rank {rank}, {name}: {values}"
    return ""
