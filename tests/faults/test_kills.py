"""Real kills in short; python bench/faults.py kill --runs 1000 kills more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNS = os.environ.get("PINCITE_KILL_RUNS", "30")


@pytest.mark.slow
def test_killed_writers_lose_nothing(clean_environment: dict[str, str]) -> None:
    """In a process of its own: it forks, and pytest has threads."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "faults.py"), "kill", "--runs", RUNS, "--no-points"],
        env=clean_environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "; 0 failed;" in done.stdout and "| ingest of files |" in done.stdout
