"""One engine in a process of its own: index what is in a folder, then answer in rounds.

    python peers/bm25s_.py ENGINE FOLDER

The folder holds ``bench.json`` (texts, questions, how many hits) and what the engine writes. For
every line on standard input all questions are asked once; answers are JSON lines on standard
output. Peers run in environments of their own, so nothing of Pincite may be imported here.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

# One thread for everybody, or processor time would count waiting threads as work.
for _variable in ("OMP", "OPENBLAS", "MKL", "RAYON", "NUMEXPR", "LANCE_CPU", "TOKIO_WORKER"):
    os.environ[f"{_variable}_NUM_THREADS"] = "1"
    os.environ[f"{_variable}_THREADS"] = "1"
os.environ.update({"TOKENIZERS_PARALLELISM": "false", "ANONYMIZED_TELEMETRY": "False"})
os.environ.update({"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "DO_NOT_TRACK": "1"})
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

POOL = 10  # candidates that a re-ranker reads
DEPTH = 100  # hits of each kind that a hybrid fuses
Search = Callable[[str], Sequence[int]]


@dataclass(frozen=True)
class Bench:
    """What an engine gets: texts in order, questions, and folders."""

    ids: list[str]  # of the chunks, as Pincite names them
    texts: list[str]
    questions: list[str]
    k: int
    index: Path  # Pincite's own
    scratch: Path  # where an engine may write its index
    vectors: Path  # of the texts, one each, where they were made before
    encoder: str  # folder of the bi-encoder
    cross_encoder: str  # folder of the cross-encoder
    candidates: dict[str, list[int]]  # of each question, for engines that only re-rank

    def text_vectors(self) -> Any:
        import numpy as np

        return np.load(self.vectors)

    def pool(self, question: str) -> list[int]:
        """Return the candidates of a question, for those that only re-rank."""
        return self.candidates[question.strip()]


def read(folder: Path, engine: str) -> Bench:
    """Return the task that a folder holds."""
    given = json.loads((folder / "bench.json").read_text(encoding="utf-8"))
    scratch = folder / "made" / re.sub(r"\W+", "-", engine)
    scratch.mkdir(parents=True, exist_ok=True)
    return Bench(
        given["ids"],
        given["texts"],
        given["questions"],
        given["k"],
        Path(given["index"]),
        scratch,
        folder / "vectors.npy",
        given["encoder"],
        given["cross_encoder"],
        given.get("candidates", {}),
    )


def clock() -> tuple[float, float]:
    """Return processor time and wall time, in seconds."""
    return time.process_time(), time.perf_counter()


def asked(search: Search, questions: list[str]) -> dict[str, Any]:
    """Return the milliseconds and the hits of each question, and the most memory there was."""
    cpu, wall, found = [], [], []
    for question in questions:
        start = clock()
        hits = search(question)
        end = clock()
        cpu.append(1000 * (end[0] - start[0]))
        wall.append(1000 * (end[1] - start[1]))
        found.append([int(row) for row in hits])
    return {"cpu_ms": cpu, "wall_ms": wall, "found": found, "peak_mb": peak_mb()}


def peak_mb() -> float:
    """Return the most memory that this process had."""
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says there is the parent's, if that was larger
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
        assert found is not None
        return int(found[1]) / 1000
    import resource

    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def folder_mb(folder: Path) -> float:
    """Return the size of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def versions_of(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def best(scores: Any, k: int) -> list[int]:
    """Return the rows with the highest scores, best first, equal ones in their order."""
    import numpy as np

    return np.argsort(-np.asarray(scores), kind="stable")[:k].tolist()


def serve(engines: dict[str, Callable[[Bench], Search]], packages: Sequence[str]) -> None:
    """Be one engine: index, say so, and answer rounds until standard input ends."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    # Libraries print what they like; answers go where standard output was.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(line: dict[str, Any]) -> None:
        print(json.dumps(line), file=answers, flush=True)

    bench = read(folder, name)
    start = clock()
    try:
        search = engines[name](bench)
    except ImportError as error:
        answer({"missing": str(error)})
        return
    search(bench.questions[0])  # loads what is loaded late
    end = clock()
    ready = {"ready_cpu_s": end[0] - start[0], "ready_wall_s": end[1] - start[1]}
    answer({**ready, "disk_mb": folder_mb(bench.scratch), "versions": versions_of(packages)})
    for turn, line in enumerate(sys.stdin, 1):
        # Blanks at the end, so that nobody answers from what it remembers of the last round.
        answer(asked(search, [text + " " * turn for text in bench.questions[: int(line)]]))
