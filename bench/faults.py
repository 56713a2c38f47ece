"""What an index survives, by the number: `python bench/faults.py COMMAND`. Prints a table.

    simulate --seeds 5000     faults of a simulated disk at any write step
    kill --runs 1000          real processes, SIGKILL at random times and at each named write point
    rot --files 500           damaged files: noticed, named, repaired
    flip --bits 10            bits flipped in every file of an index, one after the other
    swap --swaps 100          new generations while searches run in a service
    restart --times 200       SIGTERM while requests run: the service ends what it began
    recover --chunks 100000   seconds until an index is back after a kill, or repaired

Every one of them ends with exit code 1 if anything that must hold did not.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "faults"))


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    sizes = {"simulate": ("seeds", 5000), "kill": ("runs", 1000), "rot": ("files", 500)}
    sizes |= {"flip": ("bits", 10)}
    for command, (name, size) in sizes.items():
        added = commands.add_parser(command)
        added.add_argument(f"--{name}", type=int, default=size, dest="size")
        added.add_argument("--seed", type=int, default=0)
        if command == "kill":
            added.add_argument("--no-points", action="store_true", help="only at random times")
    added = commands.add_parser("swap")
    added.add_argument("--swaps", type=int, default=100)
    added.add_argument("--queries", type=int, default=10_000)
    commands.add_parser("restart").add_argument("--times", type=int, default=200)
    commands.add_parser("recover").add_argument("--chunks", type=int, default=100_000)
    return parser.parse_args(words)


def played(chosen: argparse.Namespace) -> tuple[str, list[str], str]:
    """Return a table, what failed, and a last line."""
    found: Any
    if chosen.command == "simulate":
        import simulate

        found = simulate.run(range(chosen.seed, chosen.seed + chosen.size))
        failures = [f"seed {seed}: {name}: {why}" for seed, name, why in found.failures]
        return simulate.table(found), failures, f"{found.seeds} seeds"
    if chosen.command == "kill":
        import kills

        found = kills.run(chosen.size, points=not chosen.no_points, seed=chosen.seed)
        longest = max(found.recovery, default=0.0)
        last = f"{sum(found.kills.values())} kills; an index was open again within {longest:.3f} s"
        return kills.table(found), found.failures, last
    if chosen.command in ("swap", "restart"):
        import serving_faults

        if chosen.command == "swap":
            found = serving_faults.swap(chosen.swaps, chosen.queries)
            return serving_faults.swap_report(found), found.failures, "swap"
        found = serving_faults.restart(chosen.times)
        return serving_faults.restart_report(found), found.failures, "restart"
    if chosen.command == "recover":
        import recovery

        return (*recovery.run(chosen.chunks), "recover")
    import rot

    if chosen.command == "flip":
        found = rot.flip_each(chosen.size, chosen.seed)
        last = f"{sum(row.flips for row in found.rows.values())} bits in {found.files} files"
        return rot.flipped_table(found), found.failures, last
    found = rot.run(chosen.size, chosen.seed)
    return rot.table(found), found.failures, rot.last_line(found)


def main() -> int:
    start = time.process_time()
    table, failures, last = played(arguments(sys.argv[1:]))
    print(table)
    for failure in failures[:20]:
        print("FAILED", failure)
    print(f"{last}; {len(failures)} failed; {time.process_time() - start:.0f} processor seconds")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
