"""Draw French cross references of Canadian regulations, and measure against a judged sample.

    python tests/reference/french_references.py [folder with canada-regs/fra]
    python tests/reference/french_references.py --draw [folder]

The net is wide and knows nothing of the extractor. A predicted target counts for the judged string
that its words overlap.
"""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from check_references import Outcome, place

from pincite.model.settings import Settings
from pincite.model.types import ParsedDocument
from pincite.read.load import parse

HERE = Path(__file__).parent
SAMPLE = json.loads((HERE / "french_references.json").read_text(encoding="utf-8"))
SEED, DRAWN = 97, 40
NET = re.compile(
    r"(?i)\b(?:(?:sous-)?alinéas?|paragraphes?|articles?|(?:sous-)?divisions?"
    r"|(?:sous-)?dispositions?)\s+(?:\d[\d.]*|\(|[a-z]\))[^\s,;:]*"
    r"|présente?\s+(?:article|paragraphe|(?:sous-)?alinéa|partie|annexe)\b"
)


def data_folder() -> Path:
    """Return where the French regulations are, whether they are there or not."""
    folder = os.environ.get("PINCITE_DATA") or HERE.parents[2] / "shared" / "data"
    return Path(folder) / "canada-regs" / "fra"


@cache
def loaded(file: Path) -> ParsedDocument:
    return parse(file.read_bytes(), file.name, Settings().ingest)


def strings(folder: Path) -> Iterator[tuple[Path, int, int]]:
    """Yield what looks like a reference, file by file."""
    for file in sorted(folder.glob("*.xml")):
        for match in NET.finditer(loaded(file).document.text):
            yield file, *match.span()


def coverage(folder: Path) -> tuple[int, int]:
    """Return how many strings of the net there are, and how many of them have a link."""
    total = found = 0
    for file in sorted(folder.glob("*.xml")):
        covered: set[int] = set()
        for link in loaded(file).links:
            if link.relation.startswith("refers_"):
                covered.update(range(link.span.start, link.span.end))
        for match in NET.finditer(loaded(file).document.text):
            total += 1
            found += not covered.isdisjoint(range(*match.span()))
    return total, found


def measure(folder: Path) -> Outcome:
    """Return the outcome on the judged strings."""
    outcome = Outcome()
    for item in SAMPLE["references"]:
        read = loaded(folder / item["file"])
        start, end = place(item, [c for c in read.chunks if c.kind != "piece"])
        found = {
            link.target
            for link in read.links
            if link.relation.startswith("refers_")
            and link.span.start < end
            and start < link.span.end
        }
        outcome.add(f"{item['source']} {item['words']}", found, set(item["targets"]))
    return outcome


def draw(folder: Path) -> None:
    """Print the strings of the sample with what stands around them."""
    for file, start, end in random.Random(SEED).sample(list(strings(folder)), DRAWN):
        text = loaded(file).document.text
        print(file.name, repr(text[start:end]), " ".join(text[start - 90 : end + 90].split()))


def main() -> None:
    """Print the figures and what is not right, or draw the sample."""
    named = [each for each in sys.argv[1:] if each != "--draw"]
    folder = Path(named[0]) / "canada-regs" / "fra" if named else data_folder()
    if "--draw" in sys.argv:
        draw(folder)
        return
    outcome, (total, found) = measure(folder), coverage(folder)
    print(f"{found} of {total} strings that look like references have a link")
    print(
        f"{len(SAMPLE['references'])} judged: precision {outcome.precision:.3f}, "
        f"recall {outcome.recall:.3f} ({outcome.right} targets right, {outcome.wrong} wrong, "
        f"{outcome.missed} missed)"
    )
    print("\n".join(outcome.notes))


if __name__ == "__main__":
    main()
