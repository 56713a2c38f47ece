"""How well documents that nobody here wrote are read, beside other readers.

    python bench/reading.py [CHECK ...] [--data DIR] [--json]

Each check is a module of `bench/reading_checks`; without a name all of them run. What a check
measures, on which documents, and which of them were looked at while the reader was written, is
said at its top.
"""

from __future__ import annotations

import argparse
import json
import time
from importlib import import_module
from pathlib import Path

from reading_checks.figures import Figure, data_folder

HERE = Path(__file__).parent / "reading_checks"
CHECKS = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("__init__", "figures"))


def show(check: str, figures: list[Figure], seconds: float) -> None:
    """Print a check's figures as a table for people."""
    print(f"\n{check} ({seconds:.0f} s)")
    for each in figures:
        value = f"{each.value:.3f}" if isinstance(each.value, float) else f"{each.value:,}"
        of = f" of {each.count:,}" if each.count else ""
        asked = f"   asked {each.asked}" if each.asked else ""
        print(f"  {each.name:<58} {value:>9}{of}{asked}{'   ' + each.note if each.note else ''}")


def main() -> None:
    """Run the checks that were named."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("check", nargs="*", help=f"any of: {', '.join(CHECKS)}")
    parser.add_argument("--data", default="", help="folder with the open data")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    if unknown := set(options.check) - set(CHECKS):
        parser.error(f"no check {', '.join(sorted(unknown))}; there are {', '.join(CHECKS)}")
    data = data_folder(options.data)
    for check in options.check or CHECKS:
        start = time.perf_counter()
        figures: list[Figure] = import_module(f"reading_checks.{check}").run(data)
        if options.json:
            for each in figures:
                print(json.dumps({"check": check, **each.as_dict()}))
        else:
            show(check, figures, time.perf_counter() - start)


if __name__ == "__main__":
    main()
