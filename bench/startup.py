"""Processor time of commands from start to end: help, a place, the list, one search.

    python bench/startup.py [--index INDEX] [--source SRC] [--rounds 10]

The best of some rounds is printed, for a busy machine only ever adds. --source names the src folder
of another checkout, which is run in turn with this one. A first round that is not counted caches
the bytecode of each, as it is of a package that is installed.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
QUERY = "how far apart are earth rods"


def cpu_seconds(source: Path, arguments: list[str], bytecode: str) -> float:
    """Return the processor time of one call, in the program and in the system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1"}
    environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
    command = [sys.executable, "-m", "pincite", *arguments]
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the best time of each command, for each source."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", default="")
    parser.add_argument("--source", type=Path, action="append", default=[])
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args()
    sources = [ROOT / "src", *given.source]
    with tempfile.TemporaryDirectory() as folder:
        index = given.index or str(Path(folder) / "index")
        if not given.index:
            cpu_seconds(sources[0], ["ingest", str(ROOT / "samples"), "--index", index], folder)
        looked_up = (["show", "250.66"], ["list"], ["search", QUERY])
        for arguments in (
            ["--version"],
            ["--help"],
            *([*each, "--index", index] for each in looked_up),
        ):
            rounds = [
                [cpu_seconds(each, arguments, folder) for each in sources]
                for _ in range(given.rounds + 1)
            ]
            best = [min(times) for times in zip(*rounds[1:], strict=True)]
            figures = "  ".join(f"{seconds:.3f} s" for seconds in best)
            ratio = f"  ratio {best[0] / best[1]:.2f}" if len(best) > 1 else ""
            print(f"{arguments[0]:<10} {figures}{ratio}")


if __name__ == "__main__":
    main()
