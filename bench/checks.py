"""Checks that print figures: a module a subject in a folder, run by name."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TypeVar

Item = TypeVar("Item")
QUESTIONS = "PINCITE_BENCH_QUESTIONS"  # how many of a set are asked


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value beside what is asked of it and what a peer reaches in the same run."""

    name: str  # "cells right, documents not looked at"
    value: float
    asked: str = ""  # ">= .93"; empty where nothing is asked
    count: int = 0  # of how many
    note: str = ""  # what the value is of, or what was left out

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values."""
        return asdict(self)


def data_folder(named: str = "") -> Path:
    """Return the folder with the open data: the one named, `PINCITE_DATA`, or the one beside us."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    return Path(named or os.environ.get("PINCITE_DATA") or beside)


def sampled(items: Sequence[Item], key: Callable[[Item], str]) -> list[Item]:
    """Return as many questions as `--questions` asks for, by the hash of their keys; or all.

    Of two samples the smaller is a part of the larger.
    """
    count = int(os.environ.get(QUESTIONS) or 0)
    if not count or count >= len(items):
        return list(items)
    order = sorted(items, key=lambda item: hashlib.sha256(key(item).encode()).hexdigest())
    return order[:count]


def show(check: str, figures: list[Figure], seconds: float) -> None:
    """Print a check's figures as a table for people."""
    print(f"\n{check} ({seconds:.0f} s)")
    for each in figures:
        value = f"{each.value:.3f}" if isinstance(each.value, float) else f"{each.value:,}"
        of = f" of {each.count:,}" if each.count else ""
        asked = f"   asked {each.asked}" if each.asked else ""
        print(f"  {each.name:<58} {value:>9}{of}{asked}{'   ' + each.note if each.note else ''}")


def run_checks(package: str, about: str) -> None:
    """Run the checks of a folder that the command line names, or all of them.

    A check is a module with ``run(data: Path) -> list[Figure]``; one whose name begins with an
    underscore is a part of others.
    """
    folder = Path(__file__).parent / package
    checks = sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("check", nargs="*", help=f"any of: {', '.join(checks)}")
    parser.add_argument("--data", default="", help="folder with the open data")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--questions", type=int, default=0, help="at most so many of a set")
    options = parser.parse_args()
    if options.questions:
        os.environ[QUESTIONS] = str(options.questions)
    if unknown := set(options.check) - set(checks):
        parser.error(f"no check {', '.join(sorted(unknown))}; there are {', '.join(checks)}")
    data = data_folder(options.data)
    for check in options.check or checks:
        start = time.perf_counter()
        figures: list[Figure] = import_module(f"{package}.{check}").run(data)
        if options.json:
            for each in figures:
                print(json.dumps({"check": check, **each.as_dict()}), flush=True)
        else:
            show(check, figures, time.perf_counter() - start)
