"""A search as a file, to run again later: what was asked of which index, and what came out.

The part ``found`` holds nothing that depends on the clock or the machine's load, so that the same
index gives the same bytes. The saved settings are used again, not those of the day.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pincite.model.errors import MALFORMED, SourceError
from pincite.model.settings import Settings, merged
from pincite.model.types import Filters
from pincite.search.passages import Passage
from pincite.search.reader import IndexReader, Result
from pincite.store.files import explained

FORMAT = 1
MAX_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class Replay:
    """What running a saved search again gave."""

    differences: Sequence[str]  # in words; none if the same bytes came out
    is_same_index: bool
    generations: tuple[int, int]  # of the index, then and now


def save(file: Path, index: IndexReader, result: Result, k: int) -> None:
    """Write a search to a file."""
    with explained("write to", file, hint="choose another file with --save"):
        file.write_bytes(_bytes(_record(index, result, k)))


def replay(file: Path, location: str | Path) -> Replay:
    """Run the search of a file again on an index, and compare what comes out."""
    record = _read(file)
    try:
        asked, then, found = record["asked"], record["index"], record["found"]
        settings = merged(Settings(), asked["settings"], origin=str(file))
        text, k, filters = asked["query"], asked["k"], _filters(asked["filters"])
        if not isinstance(text, str) or type(k) is not int or k < 1:
            raise ValueError("asked")
        generation, manifest, hits = then["generation"], then["manifest"], _by_chunk(found)
        with IndexReader.open(location, settings) as opened:
            now = _record(opened, opened.search(text, k, filters), k)
    except MALFORMED as error:
        raise _not_saved(file, error) from error
    is_same = _bytes(found) == _bytes(now["found"])
    return Replay(
        [] if is_same else list(_differences(hits, _by_chunk(now["found"]))),
        manifest == now["index"]["manifest"],
        (generation, now["index"]["generation"]),
    )


def _bytes(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
    return text.encode("utf-8", "surrogatepass") + b"\n"


def _record(index: IndexReader, result: Result, k: int) -> dict[str, Any]:
    manifest = index.snapshot.manifest
    return {
        "format": FORMAT,
        "asked": {
            "query": result.query.text,
            "k": k,
            "filters": asdict(result.query.filters),
            "settings": asdict(index.settings.portable()),
        },
        "index": {
            "generation": manifest.generation,
            "manifest": sha256(manifest.to_bytes()).hexdigest(),
        },
        "found": {
            "corrections": dict(result.corrections),
            "hits": [_hit(passage) for passage in result.passages],
        },
    }


def _hit(passage: Passage) -> dict[str, Any]:
    return {
        "rank": passage.rank,
        "chunk": passage.chunk.id,
        "citation": passage.citation,
        "document": passage.place.span.doc_id,
        "span": [passage.place.span.start, passage.place.span.end],
        "snippet": passage.snippet,
        "marks": [list(mark) for mark in passage.marks],
        "score": passage.hit.score,
        "features": dict(passage.hit.features),
        "raw": dict(passage.hit.raw),
    }


def _read(file: Path) -> dict[str, Any]:
    hint = "check the path and its permissions; 'pincite search --save FILE' writes such files"
    with explained("read", file, hint=hint), file.open("rb") as stream:
        data = stream.read(MAX_BYTES + 1)
    try:
        if len(data) > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES:,} bytes")
        record = json.loads(data.decode("utf-8", "surrogatepass"))
        if record["format"] != FORMAT:
            raise ValueError(f"its format is {record['format']}, not {FORMAT}")
    except MALFORMED as error:
        raise _not_saved(file, error) from error
    return dict(record)


def _not_saved(file: Path, error: Exception) -> SourceError:
    return SourceError(
        f"{file} is not a saved search: {error}", hint="make one with: pincite search --save FILE"
    )


def _filters(values: Mapping[str, Any]) -> Filters:
    """Return the filters that a file holds; ValueError if they are none."""
    plain: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in values.items()}
    for name, default in asdict(Filters()).items():
        value = plain.get(name, default)
        kind = int if name == "pages" else str
        is_list = isinstance(value, tuple) and all(type(each) is kind for each in value)
        if value != default and not (type(value) is str if default == "" else is_list):
            raise ValueError(f"filter {name}: {value!r}")
    return Filters(**plain)


def _by_chunk(found: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    hits = {str(hit["chunk"]): dict(hit) for hit in found["hits"]}
    for hit in hits.values():
        if not isinstance(hit["rank"], int) or not isinstance(hit["citation"], str):
            raise ValueError("found")
    return hits


def _differences(
    then: Mapping[str, dict[str, Any]], now: Mapping[str, dict[str, Any]]
) -> Iterator[str]:
    """Yield in words what differs, in the order of the ranks."""
    for chunk, hit in then.items():
        name = f"{hit['citation']} (rank {hit['rank']})"
        if chunk not in now:
            yield f"gone: {name}"
            continue
        other = now[chunk]
        for field in (each for each in hit if hit[each] != other.get(each)):
            yield f"{name}: {field} was {_short(hit[field])}, is {_short(other.get(field))}"
    for chunk, hit in now.items():
        if chunk not in then:
            yield f"new: {hit['citation']} (rank {hit['rank']})"
    if then == now:
        yield "the words that were searched for instead of unknown ones"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:77]}..."
