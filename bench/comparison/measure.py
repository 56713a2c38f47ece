"""Engines in processes of their own, asked in turns: times, memory, sizes, and how good they are.

Processor time is the figure to compare: wall time depends on what else the machine does. Of each
question the best round counts, and every engine has one thread.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from comparison.environments import PEERS, SCRIPTS, Say
from comparison.task import Task
from figures import Figures
from pincite.encode.encoders import open_encoder
from pincite.model.errors import SourceError
from pincite.model.settings import load_settings

Line = dict[str, Any]
SECONDS = 3600  # for one engine to get ready, or for one round
ENCODED = 200  # texts to tell the speed of an encoder
# Pincite's engines, and which of them peers are compared with.
OURS = {
    "words": ["pincite, words", "pincite, BM25 alone", "pincite, words, indexed here"],
    "meaning": ["pincite, meaning"],
    "hybrid": ["pincite, hybrid", "pincite, hybrid, indexed here"],
    "re-ranked": ["pincite, hybrid + cross-encoder", "pincite, hybrid + late interaction"],
    "pairs": ["pincite CrossEncoder"],
}
JOBS = tuple(OURS)
# Those of ours that read texts as peers do; the others have the index with all that it knows.
FROM_TEXTS = ("pincite, words, indexed here", "pincite, hybrid, indexed here", *OURS["pairs"])
CONTEXT, BARE = "context", "bare"  # folders of the two kinds of texts
# Reading pairs takes a second a question: once has to do.
ONCE = ("re-ranked", "pairs")


class Engine:
    """An engine in its process, which answers one round of questions for every line it is sent."""

    def __init__(self, name: str, python: str, script: str, folder: Path) -> None:
        self.name, self.rounds = name, list[Line]()
        self._errors = folder / f"{name.replace('/', '-')}.errors"
        with self._errors.open("w") as errors:
            self._process = self._started(python, script, folder, errors)
        self.start = self._answer()
        self.missing: str | None = self.start.get("missing")

    def _started(
        self, python: str, script: str, folder: Path, errors: IO[str]
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [python, str(SCRIPTS / script), self.name, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )

    def _answer(self) -> Line:
        assert self._process.stdout is not None
        watch = threading.Timer(SECONDS, self._process.kill)
        watch.start()
        line = self._process.stdout.readline()
        watch.cancel()
        if not line:
            said = self._errors.read_text(errors="replace").strip() or "it stopped"
            return {"missing": said.splitlines()[-1][:300]}
        found: Line = json.loads(line)
        return found

    def run_round(self, questions: int) -> None:
        if self.missing:
            return
        assert self._process.stdin is not None
        print(questions, file=self._process.stdin, flush=True)
        answer = self._answer()
        self.missing = answer.get("missing")
        self.rounds.append(answer)

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

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
            "first_cpu_p50_ms": float(np.percentile(self.rounds[0]["cpu_ms"], 50)),
            "ready_cpu_s": self.start["ready_cpu_s"],
            "disk_mb": self.start["disk_mb"],
            "peak_mb": self.rounds[-1]["peak_mb"],
            "versions": self.start["versions"],
        }


def job_lines(
    task: Task, job: str, pythons: dict[str, Path], folder: Path, rounds: int, say: Say
) -> Iterator[Line]:
    """Yield the figures of all engines that do a job, Pincite's first.

    Times are those with the words that Pincite indexes; of bare chunks only the quality is told.
    """
    task.write(folder / CONTEXT)
    rounds = 1 if job in ONCE else rounds
    engines = _asked(task, _engines_of(job, pythons), folder / CONTEXT, rounds, say)
    bare = _bare_quality(task, job, pythons, folder, say) if task.has_contexts else {}
    first: Figures | None = None
    for engine in engines:
        head = {"corpus": task.name, "job": job, "chunks": len(task.texts)}
        if engine.missing:
            yield {**head, "engine": engine.name, "missing": engine.missing}
            continue
        found = engine.rounds[0]["found"]
        figures = task.figures(found)
        if first is None:
            first = figures
            if job == "hybrid":
                keep_candidates(task, found)
        line = {**head, "questions": len(found), **engine.line(), **_quality(figures, first)}
        yield line | ({"bare": bare[engine.name]} if engine.name in bare else {})


def _engines_of(job: str, pythons: dict[str, Path]) -> dict[str, tuple[str, str]]:
    """Return the engines of a job, each with its interpreter and its program."""
    ours = {name: (sys.executable, "ours.py") for name in OURS[job]}
    return ours | {
        name: (str(python), PEERS[peer].script)
        for peer, python in pythons.items()
        for name, its_job in PEERS[peer].engines.items()
        if its_job == job
    }


def _asked(
    task: Task, programs: dict[str, tuple[str, str]], folder: Path, rounds: int, say: Say
) -> list[Engine]:
    """Return engines after their rounds, which they took in turns."""
    engines = []
    for name, program in programs.items():
        say(f"{task.name}, {folder.name}: starting {name}")
        engines.append(Engine(name, *program, folder))
    for turn in range(rounds):
        say(f"{task.name}, {folder.name}: round {turn + 1} of {rounds}")
        for engine in engines:
            engine.run_round(len(task.golds))
    for engine in engines:
        engine.close()
    return engines


def _bare_quality(
    task: Task, job: str, pythons: dict[str, Path], folder: Path, say: Say
) -> dict[str, Line]:
    """Return how good those engines are that take texts, if they get chunks without context."""
    task.write(folder / BARE, bare=True)
    programs = _engines_of(job, pythons)
    taking = {k: v for k, v in programs.items() if k not in OURS[job] or k in FROM_TEXTS}
    engines = _asked(task, taking, folder / BARE, 1, say)
    return {
        each.name: task.figures(each.rounds[0]["found"]).values
        for each in engines
        if not each.missing
    }


def keep_candidates(task: Task, found: Sequence[Sequence[int]]) -> None:
    """Let re-rankers read what the hybrid found."""
    pools = [[row for row in rows if row >= 0] for rows in found]
    task.candidates = dict(zip(task.questions, pools, strict=True))


def _quality(figures: Figures, first: Figures) -> Line:
    change = figures.minus(first)
    return {
        "quality": figures.values,
        "intervals": figures.intervals,
        "beside_first": change.values,
        "beside_first_intervals": change.intervals,
    }


def encode(task: Task, python: Path | None, folder: Path) -> list[Line]:
    """Make the vectors that peers search; return how many texts an encoder reads a second."""
    encoder = open_encoder(load_settings(overrides=["tuning.threads=1"]).encoding)
    assert encoder is not None
    texts = task.given_texts()[:: max(1, len(task.texts) // ENCODED)][:ENCODED]
    encoder.encode(texts[:2])
    start = time.process_time()
    encoder.encode(texts)
    rate = len(texts) / (time.process_time() - start)
    head = {"corpus": task.name, "job": "encoding"}
    lines: list[Line] = [{**head, "engine": "pincite encoder", "texts_per_cpu_s": rate}]
    if python is None:
        return lines
    name = "sentence-transformers"
    try:
        seconds = _peer_vectors(task, python, folder / CONTEXT, bare=False)
        if task.has_contexts:
            _peer_vectors(task, python, folder / BARE, bare=True)
    except SourceError as error:
        return [*lines, {**head, "engine": name, "missing": error.message}]
    return [*lines, {**head, "engine": name, "texts_per_cpu_s": len(task.texts) / seconds}]


def _peer_vectors(task: Task, python: Path, folder: Path, *, bare: bool) -> float:
    """Write the vectors of texts that all peers search; return the processor time it took."""
    task.write(folder, bare=bare)
    script = SCRIPTS / PEERS["sentence-transformers"].script
    done = subprocess.run(
        [str(python), str(script), "vectors", str(folder)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    if done.returncode:
        raise SourceError((done.stderr.strip().splitlines() or ["it stopped"])[-1])
    return float(json.loads(done.stdout.strip().splitlines()[-1])["cpu_s"])
