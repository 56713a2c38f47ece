"""Instructions of a search by words, counted instead of timed: the same however busy a machine is.

    python bench/instructions.py [--peer bm25s --peer tantivy] [--data DIR] [--home .bench]

Each engine runs under valgrind's cachegrind, once with one round of questions and once with three:
half of the difference is a round, without what starting and indexing take. Clauses and questions
are those of Part 97, as in bench/peers.py.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from comparison.environments import PEERS, SCRIPTS, prepare
from peers import task_part97

OURS = ("pincite, BM25 alone", "pincite, words")
MORE_ROUNDS = 2


def instructions(python: str, script: str, engine: str, folder: Path, rounds: str) -> int:
    """Return how many instructions an engine takes to get ready and to answer some rounds."""
    counted = folder / "counted.txt"
    counter = ["valgrind", "--tool=cachegrind", "--cache-sim=no", f"--log-file={counted}"]
    done = subprocess.run(
        [
            *counter,
            "--cachegrind-out-file=/dev/null",
            python,
            str(SCRIPTS / script),
            engine,
            folder,
        ],
        input=rounds,
        capture_output=True,
        text=True,
        # The order of sets, and so the way through a program, is the same in all runs.
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    found = re.search(r"I +refs: +([\d,]+)", counted.read_text())
    if done.returncode or found is None or '"missing"' in done.stdout:
        sys.exit(f"{engine}: {(done.stderr or done.stdout)[-500:]}")
    return int(found[1].replace(",", ""))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("PINCITE_DATA", "../shared/data")
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--home", type=Path, default=Path(".bench"))
    parser.add_argument("--questions", type=int, default=50)
    given = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed: apt-get install valgrind")
    engines = [(name, sys.executable, "ours.py") for name in OURS]
    for peer in given.peer:
        python = str(prepare(given.home, peer, print))
        jobs = PEERS[peer].engines.items()
        engines += [(name, python, PEERS[peer].script) for name, job in jobs if job == "words"]
    with tempfile.TemporaryDirectory(prefix="pincite-bench-") as scratch:
        task = task_part97(given.data / "part97", Path(scratch), given.questions)
        task.write(Path(scratch))
        asked = len(task.questions)
        print(f"| engine | thousand instructions a search ({asked} questions) |\n|---|---:|")
        for name, python, script in engines:
            once, more = (
                instructions(python, script, name, Path(scratch), f"{asked}\n" * rounds)
                for rounds in (1, 1 + MORE_ROUNDS)
            )
            print(f"| {name} | {(more - once) / MORE_ROUNDS / asked / 1000:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
