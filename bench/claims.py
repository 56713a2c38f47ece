"""What we claim, the command that prints it, and the figure: the table of docs/bench.md.

    python bench/claims.py [--run] [--match WORDS]

With --run the commands that need no data set and take little time are run, and what they print
today stands below each. Others say why they are not: a data set, or minutes.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "bench.md"
QUICK = ("python bench/agent_tasks.py", "python bench/startup.py", "pytest -q tests/unit/cli/")
SECONDS = 600
SHOWN = 12  # lines of what a command printed, the last ones


class Claim(NamedTuple):
    """One row: what is said, how much it was, and what prints it."""

    words: str
    figure: str
    command: str

    @property
    def is_quick(self) -> bool:
        """Whether it needs nothing but this repository, and little time."""
        return self.command.startswith(QUICK) and "DIR" not in self.command


def claims(page: str) -> list[Claim]:
    """Return the rows of the table below "Claims"."""
    section = page.partition("\n## Claims\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    found = []
    for row in rows:
        words, figure, how = (cell.strip() for cell in row.strip("| ").split(" | ", 2))
        command = re.search(r"`([^`]+)`", how)
        found.append(Claim(words, figure, command[1] if command else ""))
    return found


def run(claim: Claim) -> list[str]:
    """Return the last lines of what a command prints today."""
    arguments = shlex.split(claim.command)
    if arguments[0] in ("python", "pytest"):
        arguments = [
            sys.executable,
            *(["-m", "pytest"] * (arguments[0] == "pytest")),
            *arguments[1:],
        ]
    source = os.pathsep.join(filter(None, (str(ROOT / "src"), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        arguments,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    lines = (done.stdout if done.returncode == 0 else done.stdout + done.stderr).splitlines()
    return lines[-SHOWN:]


def main() -> None:
    """Print the claims, and what is true of them today."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--run", action="store_true", help="Run those that are quick.")
    parser.add_argument("--match", default="", help="Only claims with these words.")
    given = parser.parse_args()
    for claim in claims(PAGE.read_text(encoding="utf-8")):
        if given.match.casefold() not in " ".join(claim).casefold():
            continue
        print(f"{claim.words}\n    → {claim.command}\n    → {claim.figure}")
        if given.run:
            today = run(claim) if claim.is_quick else ["not run: it needs a data set, or minutes"]
            print("\n".join(f"      {line}" for line in today))


if __name__ == "__main__":
    main()
