"""Static vectors beside the encoder's: how fast they are made, and what they find.

    python bench/static_vectors.py speed                  # chunks a second, one thread each
    python bench/static_vectors.py quality [--sets part97,srd,obliqa,cuad,scifact]
    python bench/static_vectors.py at-once [--chunks 200000]

`quality` asks each set by words alone, by words and static vectors, and by words and the encoder's
(`--without-encoder` leaves these out: they take minutes), and shows the half that was looked at and
the other one (`finding_checks/`), and the difference to words alone with its interval. `at-once`
repeats real documents, each time with other words in every chunk, until there are so many chunks,
and takes the time from the end of reading to the first search by words and meaning.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from experiments import collection, cuad, obliqa, part97, scifact, srd
from experiments.indexes import Files, opened_at
from finding_checks._halves import HALVES, is_open
from pincite.api import Index
from pincite.encode.encoders import open_encoder
from pincite.encode.models import Encoder
from pincite.encode.windows import windows_of
from pincite.measure.statistics import bootstrap_interval
from pincite.model.settings import Settings, load_settings
from pincite.model.types import Chunk
from pincite.read.load import parse
from pincite.update import embed_index, ingest_files

DATA = Path(os.environ.get("PINCITE_DATA", "../shared/data"))
ENCODER_SAMPLE = 300
Judged = dict[str, tuple[list[float], list[str]]]  # by measure: values, and what tells the half


def settings_of(*overrides: str) -> Settings:
    return load_settings(overrides=["tuning.threads=1", *overrides])


def speed() -> None:
    """Print how many chunks a second both encode, windows and all."""
    settings = settings_of()
    chunks = [chunk for chunk in _part97_chunks(settings) if chunk.searched]
    few = chunks[:: max(1, len(chunks) // ENCODER_SAMPLE)]
    rates = {}
    for name, some in (("minilm", few), ("static", chunks)):
        encoder = open_encoder(settings_of(f"embedding.model={name}").encoding)
        assert encoder is not None
        _encode(some[:100], encoder)
        rates[name] = max(_rate(some, encoder) for _ in range(3))
        print(f"{name}: {rates[name]:,.0f} chunks/s of processor time, one thread ({len(some)})")
    print(f"{rates['static'] / rates['minilm']:,.0f} times as fast")


def _rate(chunks: Sequence[Chunk], encoder: Encoder) -> float:
    start = time.process_time()
    _encode(chunks, encoder)
    return len(chunks) / (time.process_time() - start)


def _encode(chunks: Sequence[Chunk], encoder: Encoder) -> None:
    encoder.encode([text for chunk in chunks for text in windows_of(chunk, encoder)])


def _part97_chunks(settings: Settings) -> Sequence[Chunk]:
    file = DATA / "part97" / part97.DOCUMENT
    return parse(file.read_bytes(), file.name, settings.ingest, source=str(file)).chunks


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Documents and what they are asked."""

    files: Files
    fitted: Callable[[Settings], Settings]
    judge: Callable[[Index], Judged]


def _part97_set(_: Path) -> JudgedSet:
    questions = part97.read_questions(DATA / "part97" / "questions_dev.jsonl")

    def judge(index: Index) -> Judged:
        scored = [part97.scored(index, question) for question in questions]
        found: Judged = {}
        for level in ("section", "clause"):
            judged = [each for each in scored if getattr(each, f"has_{level}")]
            ranks = [getattr(each, f"{level}_rank") or 10**6 for each in judged]
            for depth in (1, 5):
                values = [float(rank <= depth) for rank in ranks]
                found[f"{level} @{depth}"] = (values, [each.question.text for each in judged])
        return found

    files = [(DATA / "part97" / part97.DOCUMENT, part97.DOCUMENT)]
    return JudgedSet(
        files, lambda each: replace(each, ingest=replace(each.ingest, split_depth=1)), judge
    )


def _cuad_set(_: Path) -> JudgedSet:
    asked = cuad.read_asked(DATA / "cuad" / "clauses.jsonl")

    def judge(index: Index) -> Judged:
        found = list(cuad.ranks(index, asked))
        keys = [each.contract for each, _ in found]
        ranks = [rank or 10**6 for _, rank in found]
        return {f"clause @{n}": ([float(rank <= n) for rank in ranks], keys) for n in (1, 5)}

    files = [(file, file.name) for file in sorted((DATA / "cuad" / "txt").glob("*.txt"))]
    return JudgedSet(files, lambda each: each, judge)


def _collection_set(asked: collection.Collection) -> JudgedSet:
    def judge(index: Index) -> Judged:
        places = collection.places_of(index, asked)
        questions = [each for each in asked.questions if each.gold]
        results = [collection.scored(index, places, each, asked) for each in questions]
        keys = [each.group for each in results]
        return {name: ([each.values[name] for each in results], keys) for name in results[0].values}

    return JudgedSet(asked.files, asked.fitted, judge)


def _srd_set(scratch: Path) -> JudgedSet:
    folder = DATA / "srd-5.1"
    return _collection_set(srd.read(folder, folder / "spell_questions_dev.json", scratch)[0])


def _obliqa_set(scratch: Path) -> JudgedSet:
    folder = DATA / "obliqa"
    return _collection_set(obliqa.read(folder, folder / "questions_dev.json", scratch)[1])


def _scifact_set(scratch: Path) -> JudgedSet:
    folder = DATA / "scifact"
    return _collection_set(scifact.read(folder, folder / "claims_train.csv", scratch)[0])


SETS = {
    "part97": _part97_set,
    "srd": _srd_set,
    "obliqa": _obliqa_set,
    "cuad": _cuad_set,
    "scifact": _scifact_set,
}


def quality(names: Sequence[str], *, with_encoder: bool) -> None:
    """Print what words alone, static vectors and the encoder's find."""
    print("| set | measure | half | n | words | static | 95 % of the gain | encoder |")
    print("|---|---|---|---|---|---|---|---|")
    pipelines = {
        "words": ("search.preset=lexical",),
        "static": ("search.preset=hybrid", "embedding.model=static"),
        "encoder": ("search.preset=hybrid", "embedding.max_minutes=0"),
    }
    if not with_encoder:
        del pipelines["encoder"]
    with tempfile.TemporaryDirectory(prefix="pincite-") as scratch:
        for name in names:
            asked = SETS[name](Path(scratch))
            folder = Path(os.environ.get("PINCITE_BENCH_INDEXES", scratch)) / name
            results = {}
            for label, overrides in pipelines.items():
                settings = asked.fitted(settings_of(*overrides))
                if not folder.exists():
                    ingest_files(asked.files, folder, settings)
                if label != "words":
                    list(embed_index(folder, settings))
                with opened_at(folder, settings) as index:
                    results[label] = asked.judge(index)
            _print_results(name, results)


def _print_results(name: str, results: dict[str, Judged]) -> None:
    for measure, (words, keys) in results["words"].items():
        for half, wanted in zip(HALVES, (True, False), strict=True):
            own = np.array([is_open(key) == wanted for key in keys])
            found = {label: np.array(each[measure][0])[own] for label, each in results.items()}
            mine = [key for key, is_own in zip(keys, own.tolist(), strict=True) if is_own]
            gain = bootstrap_interval(found["static"] - np.array(words)[own], mine)
            encoder = f"{found['encoder'].mean():.3f}" if "encoder" in found else "-"
            cells = [name, measure, half, str(own.sum()), f"{found['words'].mean():.3f}"]
            cells += [f"{found['static'].mean():.3f}", f"{gain[0]:+.3f} to {gain[1]:+.3f}", encoder]
            print(f"| {' | '.join(cells)} |", flush=True)


WORD = re.compile(r"\b[a-z]{7,}\b")
SOURCES = ("ohr-bench", "obliqa", "canada-regs/eng", "cuad/txt", "srd-5.1", "part97")


# What is measured begins when reading is done: cut at pages and sizes, and looked at no further.
QUICKLY_READ = ("ingest.profile=none", "ingest.chunking=fixed", "ingest.max_tokens=256")
CHARS_PER_CHUNK = 750
SEARCHES = 200


def at_once(wanted: int, folder: Path | None) -> None:
    """Print how long it takes from reading so many chunks to searching them by meaning."""
    settings = settings_of("embedding.max_minutes=0.01", *QUICKLY_READ)
    with tempfile.TemporaryDirectory(prefix="pincite-", dir=folder) as scratch:
        home = Path(scratch)
        start = time.monotonic()
        report = ingest_files(_files(home, wanted), home / "i", settings)
        count, read, cpu = (
            sum(each.chunks for each in report),
            time.monotonic(),
            time.process_time(),
        )
        print(f"{count:,} chunks read and indexed by words in {read - start:.0f} s", flush=True)
        for step in embed_index(home / "i", settings):
            if step.model != "static":
                break
        took, cpu = time.monotonic() - read, time.process_time() - cpu
        print(f"static vectors in {took:.0f} s, {cpu:.0f} s of the processor", flush=True)
        index = Index.open(home / "i", settings)
        hits = index.search("what must be reported to the authority?")
        found = sorted({name for hit in hits for name in hit.hit.raw})
        print(f"{time.monotonic() - read:.0f} s after reading, a search goes by {', '.join(found)}")
        times = []
        for number in range(SEARCHES):
            begin = time.perf_counter()
            index.search(f"who keeps records of accident number {number} and for how long?")
            times.append(1000 * (time.perf_counter() - begin))
        print("a search: p50 {:.0f} ms, p95 {:.0f} ms".format(*np.percentile(times, (50, 95))))


def _files(home: Path, wanted: int) -> Iterator[tuple[Path, str]]:
    """Yield real texts, again and again with other words, until they make so many chunks."""
    texts = list(_texts())
    chars = 0
    for turn in range(1000):
        for number, text in enumerate(texts):
            if chars >= wanted * CHARS_PER_CHUNK:
                return
            changed = text if not turn else WORD.sub(lambda m, t=turn: _turned(m[0], t), text)
            file = home / f"{turn}-{number}.md"
            file.write_text(changed, encoding="utf-8")
            chars += len(changed)
            yield file, file.name


def _turned(word: str, turn: int) -> str:
    """Return a word, or one time in eight another one, as the turn has it."""
    draw = hash((word, turn)) % 8
    return word if draw else f"{word[:3]}{turn}{word[3:]}"


def _texts() -> Iterator[str]:
    for name in SOURCES:
        for file in sorted((DATA / name).rglob("*")):
            if file.suffix in (".md", ".txt"):
                yield file.read_text(encoding="utf-8", errors="replace")
            elif file.suffix == ".json" and name in ("ohr-bench", "obliqa"):
                yield from _pages(json.loads(file.read_text(encoding="utf-8")))


def _pages(values: object) -> Iterator[str]:
    """Yield the texts of a document in JSON as one."""
    if isinstance(values, list):
        pages = [each for each in values if isinstance(each, dict)]
        text = "\n\n".join(str(each.get("text") or each.get("Passage") or "") for each in pages)
        if text.strip():
            yield text


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("speed", "quality", "at-once"))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--without-encoder", action="store_true")
    parser.add_argument("--chunks", type=int, default=200_000)
    parser.add_argument("--folder", type=Path, help="where the large index is made")
    given = parser.parse_args()
    if given.part == "speed":
        speed()
    elif given.part == "quality":
        quality(given.sets.split(","), with_encoder=not given.without_encoder)
    else:
        at_once(given.chunks, given.folder)


if __name__ == "__main__":
    main()
