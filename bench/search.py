"""Speed of search by words, by meaning and by both, beside what others put together by hand.

    python bench/search.py [--peers-python PATH] [--real 1000] [--chunks 5000] [--json FILE]
    python bench/search.py --real 0 --chunks 0 --growth 10000,100000,1000000

Chunks are pages of OHR-Bench, cut as its experiment cuts them; questions are its own. The first
table has real vectors; the second has more chunks, and vectors that are made up, because only time
is measured. The third shows how search by words grows, on made-up texts. Every engine is a process
of its own with one thread; they take turns, and of each question the best round counts. Processor
time is the figure to compare: wall time depends on what else the machine does.

Peers (bench/peers.txt says how to install them in an environment of their own) get the same chunks
and the same vectors and keep them in memory, so they index at every start: that is in "ready s",
with imports and first answer. "Same work" compares like with like: BM25 alone with BM25 alone, a
hybrid with a hybrid.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any
from unittest import mock

import numpy as np
from search_engines import ENGINES, PEERS, clock
from search_growth import WORDS_PER_CHUNK, folder_size, grown
from vectors import Themes

from pincite.core.errors import SourceError
from pincite.core.settings import Settings, load_settings
from pincite.core.types import Loaded
from pincite.embed.onnx_encoder import OnnxEncoder
from pincite.evaluate.ohr_bench import domain_files, read_questions
from pincite.index.builder import IndexBuilder
from pincite.ingest.load import parse
from pincite.store.snapshot import Snapshot
from pincite.vectorise import embed_index

Line = dict[str, Any]
# One language, as peers have it: a query in an index of several is read in each.
CUT = [
    *("ingest.chunking=fixed", "ingest.profile=none", "embedding.cache=false"),
    "tokens.language=english",
]
# Who does the same work, and who does more of it than the peer.
RATIOS = [
    ("pincite plain BM25", "llama-index BM25", "same work"),
    ("pincite plain BM25", "bm25s", "same work"),
    ("pincite hybrid", "rank_bm25 + ST + Chroma", "same work"),
    ("pincite lexical", "llama-index BM25", "ours does more"),
]


class Engine:
    """An engine in its process, which answers one round of questions for every line it is sent."""

    def __init__(self, name: str, python: str, folder: Path) -> None:
        self.name, self.rounds = name, list[Line]()
        self._errors = folder / f"{name}.errors"
        with self._errors.open("w") as errors:
            self._process = self._started(python, folder, errors)
        self.start = self._answer()
        self.missing = self.start.get("missing")

    def _started(self, python: str, folder: Path, errors: IO[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [python, str(Path(__file__).with_name("search_engines.py")), self.name, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )

    def _answer(self) -> Line:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            said = self._errors.read_text(errors="replace").strip() or "it stopped"
            raise SystemExit(f"{self.name}: {said.splitlines()[-1]}")
        found: Line = json.loads(line)
        return found

    def run_round(self) -> None:
        assert self._process.stdin is not None
        print("again", file=self._process.stdin, flush=True)
        self.rounds.append(self._answer())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def line(self) -> Line:
        """Return the figures of every question's best round: what else runs disturbs only some."""
        cpu = np.min([each["cpu_ms"] for each in self.rounds], axis=0)
        wall = np.min([each["wall_ms"] for each in self.rounds], axis=0)
        return {
            "engine": self.name,
            "cpu_p50_ms": float(np.percentile(cpu, 50)),
            "cpu_p95_ms": float(np.percentile(cpu, 95)),
            "cpu_mean_ms": float(np.mean(cpu)),
            "wall_p50_ms": float(np.percentile(wall, 50)),
            "wall_p95_ms": float(np.percentile(wall, 95)),
            "ready_cpu_s": self.start["ready_cpu_s"],
            "peak_mb": self.rounds[-1]["peak_mb"],
            "versions": self.start["versions"],
        }


def documents(data: Path, domains: str, chunks: int, settings: Settings) -> Iterator[Loaded]:
    """Yield documents until they have about so many chunks."""
    seen: set[str] = set()
    for domain in domains.split(","):
        for file in domain_files(data / "gt", domain):
            try:
                loaded = parse(file.read_bytes(), file.name, settings.ingest)
            except SourceError:  # a document without a word
                continue
            if loaded.document.id in seen:
                continue
            seen.add(loaded.document.id)
            yield loaded
            chunks -= sum(chunk.searched for chunk in loaded.chunks)
            if chunks <= 0:
                return


@contextmanager
def made_up_vectors() -> Iterator[None]:
    """Let the encoder give vectors that have neighbours, none of them of its text."""
    source = Themes()

    def encode(_: OnnxEncoder, texts: Sequence[str]) -> Any:
        return source.draw(len(texts)).astype(np.float32)

    with mock.patch.object(OnnxEncoder, "encode", encode):
        yield


def prepare(folder: Path, given: argparse.Namespace, chunks: int, *, is_real: bool) -> Line:
    """Make the index with its vectors, and the files that peers read."""
    settings = load_settings(overrides=CUT)
    data = given.data / "ohr-bench"
    start = clock()
    names = []
    with IndexBuilder(folder / "index", settings) as builder:
        for loaded in documents(data, given.domains, chunks, settings):
            builder.put(loaded)
            names.append(Path(loaded.document.id).stem)
        builder.flush()
    indexed = clock()
    with nullcontext() if is_real else made_up_vectors():
        for progress in embed_index(folder / "index", settings):
            print(f"\rvectors: {progress.done} of {progress.total} chunks", end="", file=sys.stderr)
    print(file=sys.stderr)
    embedded = clock()
    known = set(names)
    questions = [q.text for q in read_questions(data / "qas_dev.json") if q.document in known]
    if not questions:
        raise SystemExit(f"no question is about the first {chunks} chunks; take more")
    step = max(1, len(questions) // given.questions)
    questions = questions[::step][: given.questions]
    line = {"questions": len(questions), **export(folder, questions)}
    line |= {"index_cpu_s": indexed[0] - start[0], "index_wall_s": indexed[1] - start[1]}
    line |= {"vectors_cpu_s": embedded[0] - indexed[0], "vectors_wall_s": embedded[1] - indexed[1]}
    return line | {"vectors": "real" if is_real else "made up"}


def export(folder: Path, questions: list[str]) -> Line:
    """Write texts, questions and vectors as peers read them; return the sizes of all."""
    texts, rows, vectors = list[str](), [], []
    with Snapshot.open(folder / "index") as snapshot:
        of = {each.entry.segment: each for each in snapshot.vectors}
        for part in snapshot.segments:
            ids = [each.decode() for each in part.arrays["ids"].tolist()]
            if (found := of.get(part.entry.name)) is not None:
                rows.append(found.rows.astype(np.int64) + len(texts))
                vectors.append(np.array(found.exact))
            texts += [chunk.text for chunk in snapshot.get(ids)]
        vector_bytes = folder_size(folder / "index" / "vectors")
    np.save(folder / "rows.npy", np.concatenate(rows))
    np.save(folder / "vectors.npy", np.concatenate(vectors))
    content = json.dumps({"texts": texts, "questions": questions})
    (folder / "corpus.json").write_text(content, encoding="utf-8")
    return {
        "chunks": len(texts),
        "windows": sum(map(len, rows)),
        "text_mb": sum(map(len, texts)) / 1e6,
        "index_mb": folder_size(folder / "index") / 1e6,
        "vectors_mb": vector_bytes / 1e6,
    }


def compared(given: argparse.Namespace, chunks: int, *, is_real: bool) -> list[Line]:
    """Measure all engines on so many chunks, and print the table."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        corpus = prepare(Path(name), given, chunks, is_real=is_real)
        print(
            "\n{chunks} chunks ({text_mb:.1f} MB of text), {windows} vectors, {vectors}; "
            "{questions} questions, top 10\nPincite's index: {index_mb:.1f} MB, of which vectors "
            "{vectors_mb:.1f}; words {index_cpu_s:.1f} s CPU, {index_wall_s:.1f} s wall; vectors "
            "{vectors_cpu_s:.1f} s CPU, {vectors_wall_s:.1f} s wall".format(**corpus)
        )
        engines = []
        for engine in ENGINES:
            python = given.peers_python if engine in PEERS else sys.executable
            engines.append(Engine(engine, python, Path(name)))
        running = [engine for engine in engines if not engine.missing]
        for _ in range(given.rounds):
            for engine in running:
                engine.run_round()
        for engine in engines:
            engine.close()
    lines = [engine.line() for engine in running]
    report(lines, {engine.name: engine.missing for engine in engines if engine.missing})
    return [{**corpus, **line} for line in lines]


def report(lines: list[Line], missing: dict[str, str]) -> None:
    """Print the engines' figures, and how they compare."""
    print(f"{'engine':<26}{'CPU p50':>9}{'p95':>8}{'mean':>8}{'wall p50':>10}{'p95':>8}", end="")
    print(f"{'ready s':>9}{'peak MB':>9}")
    for line in lines:
        print(
            "{engine:<26}{cpu_p50_ms:>9.2f}{cpu_p95_ms:>8.2f}{cpu_mean_ms:>8.2f}"
            "{wall_p50_ms:>10.2f}{wall_p95_ms:>8.2f}{ready_cpu_s:>9.2f}{peak_mb:>9.0f}".format(
                **line
            )
        )
    by_name = {line["engine"]: line for line in lines}
    for peer in PEERS:
        if peer in by_name:
            packages = by_name[peer]["versions"].items()
            print(f"{peer}: {', '.join(f'{name} {number}' for name, number in packages)}")
        else:
            print(f"{peer}: not measured ({missing[peer]}); see bench/peers.txt")
    print(f"\n{'CPU time of the peer for 1 of ours':<62}{'p50':>8}{'p95':>8}{'mean':>8}")
    for ours, theirs, work in RATIOS:
        if ours in by_name and theirs in by_name:
            shares = (
                by_name[theirs][key] / by_name[ours][key]
                for key in ("cpu_p50_ms", "cpu_p95_ms", "cpu_mean_ms")
            )
            cells = "".join(f"{share:>8.2f}" for share in shares)
            print(f"{f'{theirs} / {ours} ({work})':<62}{cells}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("PINCITE_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--domains", default="law,finance,manual")
    parser.add_argument("--real", type=int, default=1000, help="chunks with real vectors")
    parser.add_argument("--chunks", type=int, default=5000, help="chunks with made-up vectors")
    parser.add_argument("--growth", default="10000,100000", help="sizes, or nothing")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--peers-python", default=sys.executable, help="the python that has bench/peers.txt"
    )
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if not Path(given.peers_python).is_file():
        parser.error(f"--peers-python {given.peers_python}: no such file")
    lines: list[Line] = []
    for chunks, is_real in ((given.real, True), (given.chunks, False)):
        if chunks:
            lines += compared(given, chunks, is_real=is_real)
    for number, size in enumerate(int(each) for each in given.growth.split(",") if each):
        line = grown(size, given.questions, given.rounds)
        if not number:
            print(
                f"\nsearch by words, made-up texts of {WORDS_PER_CHUNK} words\n{' | '.join(line)}"
            )
        print(" | ".join(map(str, line.values())), flush=True)
        lines.append(line)
    if given.json:
        given.json.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
