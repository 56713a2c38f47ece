"""Writes the goldens again: python tests/golden/make.py [samples] [part97] [srd-5.1] [commands]

Without names, all whose documents are on this machine. golden_rankings.py and golden_commands.py
say what is stored and how it is compared; read the difference before it is committed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import golden_commands as commands
import golden_rankings as rankings


def make(name: str, folder: Path) -> None:
    """Write the golden file of a collection, or of the commands."""
    if name == "commands":
        commands.write(folder)
        return
    collection = rankings.COLLECTIONS[name]()
    rankings.build(collection, folder)
    found = {each: rankings.ask_all(collection, each, folder) for each in collection.pipelines}
    rankings.path_of(name).write_bytes(rankings.stored(collection, found))
    if name == "samples":
        rankings.VECTOR.write_text(json.dumps(rankings.vector()) + "\n", encoding="utf-8")


def main() -> None:
    names = sys.argv[1:] or [*filter(rankings.is_there, rankings.COLLECTIONS), "commands"]
    for name in names:
        with tempfile.TemporaryDirectory(prefix="golden-") as folder:
            make(name, Path(folder) / "index")
        print(f"{name}: written")


if __name__ == "__main__":
    main()
