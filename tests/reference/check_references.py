"""Precision and recall of cross references on the judged strings of Part 97.

    python tests/reference/check_references.py [folder with part97/part97.md]

A predicted target counts for the judged string that its words overlap. In the clauses of the
sample, a link whose words overlap nothing that looks like a reference counts as wrong, too.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from draw_references import strings

from pincite.model.settings import Settings
from pincite.model.types import Chunk, Link
from pincite.read.load import parse
from pincite.read.references.resolve import references

HERE = Path(__file__).parent
SAMPLE = json.loads((HERE / "part97_references.json").read_text(encoding="utf-8"))


@dataclass(slots=True)
class Outcome:
    """How many targets are right, wrong and missed, and which are not right."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.right + self.missed)

    def add(self, name: str, found: set[str], expected: set[str]) -> None:
        """Count the targets of one string."""
        self.right += len(found & expected)
        self.wrong += len(found - expected)
        self.missed += len(expected - found)
        if found != expected:
            self.notes.append(f"{name}: found {sorted(found)}, expected {sorted(expected)}")


def data_file() -> Path:
    """Return where Part 97 is, whether it is there or not."""
    folder = os.environ.get("PINCITE_DATA") or HERE.parents[2] / "shared" / "data"
    return Path(folder) / "part97" / "part97.md"


def measure(file: Path) -> Outcome:
    """Return the outcome of ``references`` on the judged strings."""
    loaded = parse(file.read_bytes(), file.name, Settings().ingest)
    text, chunks = loaded.document.text, [c for c in loaded.chunks if c.kind != "piece"]
    links = [
        link
        for link in references(loaded.document, loaded.chunks)
        if link.relation.startswith("refers_")
    ]
    outcome = Outcome()
    judged = [*SAMPLE["references"], *SAMPLE["look_alikes"]]
    for item in judged:
        start, end = place(item, chunks)
        found = {link.target for link in links if link.span.start < end and start < link.span.end}
        outcome.add(f"{item['source']} {item['words']}", found, set(item.get("targets", [])))
    sources = {item["source"] for item in judged}
    for link in stray(links, chunks, sources, strings(text)):
        outcome.add(text[link.span.start : link.span.end], {link.target}, set())
    return outcome


def place(item: dict[str, Any], chunks: Sequence[Chunk]) -> tuple[int, int]:
    """Return where a judged string stands."""
    for chunk in chunks:
        if chunk.locator == item["source"]:
            found = list(re.finditer(re.escape(item["words"]), chunk.text))
            if len(found) > item["nth"]:
                match = found[item["nth"]]
                return chunk.span.start + match.start(), chunk.span.start + match.end()
    raise LookupError(f"{item['words']} is not in {item['source']}")


def stray(
    links: Sequence[Link],
    chunks: Sequence[Chunk],
    sources: set[str],
    net: Sequence[tuple[int, int]],
) -> list[Link]:
    """Return the links of judged clauses that stand where nothing looks like a reference."""
    judged = {chunk.id for chunk in chunks if chunk.locator in sources}
    return [
        link
        for link in links
        if link.source in judged
        and not any(start < link.span.end and link.span.start < end for start, end in net)
    ]


def main() -> None:
    """Print the figures and what is not right."""
    file = Path(sys.argv[1]) / "part97" / "part97.md" if len(sys.argv) > 1 else data_file()
    outcome = measure(file)
    print(
        f"{len(SAMPLE['references'])} references, {len(SAMPLE['look_alikes'])} look-alikes: "
        f"precision {outcome.precision:.3f}, recall {outcome.recall:.3f} "
        f"({outcome.right} targets right, {outcome.wrong} wrong, {outcome.missed} missed)"
    )
    print("\n".join(outcome.notes))


if __name__ == "__main__":
    main()
