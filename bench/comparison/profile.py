"""Where the time of a search goes: our own pipelines, function by function."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pincite.api
from comparison.task import Task
from pincite.api import Index
from pincite.model.settings import load_settings

FUNCTIONS = 12  # the dearest of each pipeline
_PACKAGE = Path(pincite.api.__file__).parent


def profiles(task: Task, *, has_vectors: bool) -> Iterator[dict[str, Any]]:
    """Yield a line for each pipeline: the functions that take the most time of their own.

    A profiler makes small functions look dearer than they are: shares, not times, are to be read.
    """
    for name in ("lexical", "hybrid") if has_vectors else ("lexical",):
        settings = load_settings(overrides=[f"search.preset={name}", "tuning.threads=1"])
        with Index.open(task.index, settings) as index:
            index.search_ranking(task.questions[0], 10)  # loads what is loaded late
            profiler = cProfile.Profile()
            profiler.enable()
            for question in task.questions:
                # A blank at the end: nothing is answered from what is remembered of the question.
                index.search_ranking(question + " ", 10)
            profiler.disable()
        yield {
            "job": "profile",
            "engine": f"pincite, {name}",
            "corpus": task.name,
            "functions": _dearest(pstats.Stats(profiler)),
        }


def _dearest(stats: pstats.Stats) -> list[dict[str, Any]]:
    """Return the functions with the largest share of the time, largest first."""
    found: dict[Any, Any] = stats.stats  # type: ignore[attr-defined]
    whole = sum(own for _, _, own, _, _ in found.values())
    dearest = sorted(found.items(), key=lambda item: -item[1][2])[:FUNCTIONS]
    return [
        {"function": _named(*key), "calls": calls, "share": own / whole}
        for key, (_, calls, own, _, _) in dearest
    ]


def _named(file: str, line: int, name: str) -> str:
    """Return a function with its file, if that is ours or has a name.

    >>> _named("~", 0, "<built-in method math.isfinite>")
    'built-in method math.isfinite'
    >>> _named("/usr/lib/python3/dataclasses.py", 1453, "replace")
    'dataclasses.py: replace'
    """
    if file == "~" or not line:
        return name.strip("<>")
    path = Path(file)
    ours = path.is_relative_to(_PACKAGE)
    return f"{path.relative_to(_PACKAGE).as_posix() if ours else path.name}: {name}"
