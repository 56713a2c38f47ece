"""What one search, answer or ingest runs through: functions, modules, pairs of modules, depth.

    python scripts/walk.py search|ask|ingest [--json] [--pairs] [--query "..."]

What is counted, of the code of the package alone (the standard library and others are looked
through: a call from ours through theirs back to ours is a call of ours):

What stands in for a decorator of the standard library (``model/cached.py``) is looked through too.

- functions: distinct functions, methods, generators, properties and lambdas that ran; bodies of
  comprehensions and classes are part of what they stand in.
- modules: the files that these functions are in.
- pairs: distinct (calling module, called module) of two different modules.
- depth: the most frames of counted functions that stood on the stack at once.
- both ways: pairs of modules each of which called the other.

Search and ask run on an index of the shipped samples with vectors that has answered the same
question once before, so that nothing is loaded any more. Ingest is three things that are traced one
after the other: bringing a new index up to date with the samples; reading them, here instead of in
the child processes, which cannot be seen into; computing the vectors.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pincite
from pincite import Index, Settings, find_files, ingest_files
from pincite.answer.asker import Asker
from pincite.read.load import parse
from pincite.update import embed_index

PACKAGE = str(Path(pincite.__file__).parent) + os.sep
SAMPLES = Path(pincite.__file__).parents[2] / "samples"
# A question that names something defined, and one whose answer stands in a table.
QUERIES = {"search": "What is a continuous load?", "ask": "What does error E-07 mean?"}
LOOKED_THROUGH = os.path.join("model", "cached.py")
INSIDE = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<module>"}


@dataclass
class Walk:
    """What was called while it was traced."""

    functions: set[CodeType] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    depth: int = 0
    calls: int = 0

    def trace(self, run: Callable[[], object]) -> None:
        """Run a function and count what of the package it calls."""
        sys.setprofile(self._follow)
        try:
            run()
        finally:
            sys.setprofile(None)

    def _follow(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not _is_counted(frame.f_code):
            return
        self.calls += 1
        self.functions.add(frame.f_code)
        stack = _frames(frame)
        self.depth = max(self.depth, len(stack))
        if len(stack) > 1 and _module(stack[1]) != _module(stack[0]):
            self.pairs.add((_module(stack[1]), _module(stack[0])))

    def report(self) -> dict[str, Any]:
        """Return the figures and the names behind them."""
        pairs = sorted(self.pairs)
        modules = sorted({_module(each) for each in self.functions})
        return {
            "functions": len(self.functions),
            "modules": len(modules),
            "pairs": len(pairs),
            "depth": self.depth,
            "calls": self.calls,
            "both_ways": [[a, b] for a, b in pairs if a < b and (b, a) in self.pairs],
            "module_names": modules,
            "module_pairs": [list(each) for each in pairs],
        }


def _is_counted(code: CodeType) -> bool:
    is_ours = code.co_filename.startswith(PACKAGE) and code.co_name not in INSIDE
    return is_ours and code.co_filename != PACKAGE + LOOKED_THROUGH


def _module(code: CodeType) -> str:
    inside = code.co_filename.removeprefix(PACKAGE).removesuffix(".py")
    return inside.replace(os.sep, ".").removesuffix(".__init__")


def _frames(frame: FrameType | None) -> list[CodeType]:
    """Return the counted functions on the stack, the innermost first."""
    found = []
    while frame is not None:
        if _is_counted(frame.f_code):
            found.append(frame.f_code)
        frame = frame.f_back
    return found


def _exhaust(items: Iterable[object]) -> None:
    for _ in items:
        pass


def _ingest(folder: Path) -> list[Callable[[], object]]:
    """Return the three parts of ingesting the samples."""
    files = find_files([SAMPLES])
    settings = Settings()
    return [
        lambda: _exhaust(ingest_files(files, folder, settings)),
        lambda: [parse(path.read_bytes(), name, settings.ingest) for path, name in files],
        lambda: _exhaust(embed_index(folder, settings)),
    ]


def walk(kind: str, query: str) -> Walk:
    """Return what a search, an answer or an ingest ran through."""
    found = Walk()
    with tempfile.TemporaryDirectory(prefix="walk-") as made:
        os.environ["PINCITE_CACHE"] = str(Path(made, "cache"))  # vectors are computed, not found
        folder = Path(made, "index")
        if kind == "ingest":
            for part in _ingest(folder):
                found.trace(part)
            return found
        for part in _ingest(folder):
            part()
        with Index.open(folder) as index:
            asker = Asker(index)
            run: Callable[[str], object] = index.search if kind == "search" else asker.answer
            run(query)
            found.trace(partial(run, query))
    return found


def main() -> None:
    """Print the figures of one walk."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("kind", choices=["search", "ask", "ingest"])
    parser.add_argument("--query", default="", help="another question for search or ask")
    parser.add_argument("--pairs", action="store_true", help="also print the pairs of modules")
    parser.add_argument("--json", action="store_true", dest="as_json")
    chosen = parser.parse_args()
    report = walk(chosen.kind, chosen.query or QUERIES.get(chosen.kind, "")).report()
    if chosen.as_json:
        print(json.dumps(report, indent=2))
        return
    for name in ("functions", "modules", "pairs", "depth", "calls"):
        print(f"{name:10}{report[name]:6}")
    for one, other in report["both_ways"]:
        print(f"both ways: {one} <-> {other}")
    if chosen.pairs:
        for caller, called in report["module_pairs"]:
            print(f"{caller} -> {called}")


if __name__ == "__main__":
    main()
