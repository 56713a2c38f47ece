"""Hostile input made by hand: what was tried, what was refused, what was taken in safely.

``python fuzz/hostile.py`` prints the table of docs/hostile.md; ``--slow`` adds the large bombs,
``--kind pdf`` tries one kind, ``--list`` names every case. It ends with an error if a case broke.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from pincite.model.errors import PinciteError  # noqa: E402


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to try in a folder of its own. PinciteError: refused; an end: taken in safely."""

    kind: str
    name: str
    attempt: Callable[[Path], object]
    slow: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a case; ``told`` is the error in plain words, or what broke."""

    case: Case
    outcome: str  # "refused", "accepted", "broken"
    told: str
    seconds: float


def attempted(case: Case) -> Result:
    """Try one case."""
    with tempfile.TemporaryDirectory(prefix="pincite-hostile-") as folder:
        started = time.monotonic()
        try:
            case.attempt(Path(folder))
            outcome, told = "accepted", ""
        except PinciteError as error:
            is_clear = bool(error.message.strip()) and len(error.message) < 2000
            outcome, told = "refused" if is_clear else "broken", error.message
        except Exception:
            outcome, told = "broken", traceback.format_exc(limit=-6)
        return Result(case, outcome, told, time.monotonic() - started)


def cases(*, slow: bool = False) -> list[Case]:
    """Return all cases, the slow ones only if asked for."""
    from fuzz.cases import (
        archives,
        documents,
        models,
        names,
        network,
        own_patterns,
        patterns,
        pdfs,
        queries,
    )

    parts = (
        *(pdfs, archives, documents, names, patterns, own_patterns),
        *(queries, network, models),
    )
    return [case for part in parts for case in part.CASES if slow or not case.slow]


def table(results: Iterable[Result]) -> Iterator[str]:
    """Yield the bad-input table: one line a kind."""
    counts: dict[str, Counter[str]] = {}
    slowest: dict[str, float] = {}
    for each in results:
        kind = each.case.kind
        counts.setdefault(kind, Counter())[each.outcome] += 1
        slowest[kind] = max(slowest.get(kind, 0.0), each.seconds)
    yield "| kind | tried | refused with a reason | taken in safely | broken | slowest s |"
    yield "|---|---:|---:|---:|---:|---:|"
    for kind, found in counts.items():
        yield _line(kind, found, f"{slowest[kind]:.1f}")
    yield _line("**all**", sum(counts.values(), Counter()), "")


def _line(kind: str, found: Counter[str], slowest: str) -> str:
    outcomes = " | ".join(str(found[each]) for each in ("refused", "accepted", "broken"))
    return f"| {kind} | {found.total()} | {outcomes} | {slowest} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slow", action="store_true", help="large bombs too, some minutes")
    parser.add_argument("--kind", help="only this kind")
    parser.add_argument("--list", action="store_true", help="tell what became of every case")
    chosen = parser.parse_args()
    results = []
    for case in cases(slow=chosen.slow):
        if chosen.kind in (None, case.kind):
            results.append(attempted(case))
            if chosen.list or results[-1].outcome == "broken":
                result = results[-1]
                print(f"{result.outcome:9} {result.seconds:6.2f} s  {case.kind}: {case.name}")
                if result.told:
                    print(f"          {result.told[:1000]}")
    print("\n".join(table(results)))
    sys.exit(any(result.outcome == "broken" for result in results))


if __name__ == "__main__":
    main()
