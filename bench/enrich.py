"""How much of a rulebook's and a code's structure enrichment recognises, against its own headings.

    python bench/enrich.py [data folder]        default: $PINCITE_DATA, then ../shared/data

What a document holds is counted from its files and heading lines only, without any profile.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from pincite.model.locators import plain_words
from pincite.model.settings import IngestSettings
from pincite.read.enrich.enrich import enrich, entity_names
from pincite.read.enrich.matching import read_fields, view_of
from pincite.read.enrich.profile import choose_profile, load_profiles
from pincite.read.load import parse

ROOT = Path(__file__).parents[1]
SPELL_FIELDS = ("level", "school", "casting_time", "range", "components", "duration")
PRICED = r"\([\d,]+ [CSGEP]P\)$"
_BRACKETS = re.compile(r" ?[\[(][^\])]*[\])]$")


class Tally:
    """Names that are there and names that were found, for one kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.there: set[tuple[str, str]] = set()
        self.found: set[tuple[str, str]] = set()

    def __str__(self) -> str:
        both = len(self.there & self.found)
        line = f"{self.kind:<10} {len(self.there):5} there {len(self.found):5} found {both:5} both"
        missed = sorted(name for _, name in self.there - self.found)[:6]
        extra = sorted(name for _, name in self.found - self.there)[:6]
        return (
            line + (f"  missed {missed}" if missed else "") + (f"  extra {extra}" if extra else "")
        )


def headings(
    file: Path, levels: str, *, below: str = "", only: str = "", but: str = "^$"
) -> Iterator[str]:
    """Yield the names in the headings of some levels, below a heading if one is named."""
    is_open = not below
    for line in file.read_text(encoding="utf-8-sig").splitlines():
        words = plain_words(line)
        if line.startswith("#") and words == below:
            is_open = True
        is_wanted = str(len(line) - len(line.lstrip("#"))) in levels and re.search(only, words)
        if is_open and is_wanted and words != below and not re.search(but, words):
            yield _BRACKETS.sub("", words)


def first_heading(file: Path) -> str:
    """Return the name in the first heading of a file."""
    lines = file.read_text(encoding="utf-8-sig").splitlines()
    return _BRACKETS.sub("", plain_words(next(line for line in lines if line.startswith("#"))))


def measure(files: Iterable[Path], tallies: dict[str, Tally], fields: dict[str, int]) -> float:
    """Add what enrichment finds in the files; return the CPU seconds it took."""
    profiles, seconds = load_profiles(), 0.0
    for file in files:
        loaded = parse(file.read_bytes(), file.name, IngestSettings())
        document, chunks = loaded.document, loaded.chunks
        begin = time.process_time()
        profile = choose_profile(document, chunks, profiles)
        facts, links = enrich(document, chunks, profile)
        seconds += time.process_time() - begin
        fields[f"profile {profile.name}"] = fields.get(f"profile {profile.name}", 0) + 1
        for kind, names in entity_names(document, facts, links).items():
            if kind in tallies:
                tallies[kind].found |= {(file.name, name) for name in names}
        spells = {link.source for link in links if link.relation == "describes"}
        for chunk in chunks:
            if chunk.id in spells and facts[chunk.id].content_kind == "spell":
                for name in read_fields(view_of(document, chunk, None), profile):
                    fields[name] = fields.get(name, 0) + 1
    return seconds


def report(title: str, files: list[Path], tallies: dict[str, Tally]) -> None:
    """Print one corpus."""
    fields: dict[str, int] = {}
    seconds = measure(files, tallies, fields)
    size = sum(file.stat().st_size for file in files)
    print(f"\n{title}: {len(files)} files, {size / 1e6:.2f} MB, {seconds:.2f} s")
    for tally in tallies.values():
        print("  ", tally)
    both = len(tallies["spell"].there & tallies["spell"].found) if "spell" in tallies else 0
    if both:
        print("   spell fields", {name: fields.get(name, 0) for name in SPELL_FIELDS}, f"of {both}")
    print("  ", {name: count for name, count in fields.items() if name.startswith("profile")})


def srd_5_2(folder: Path) -> None:
    """Measure the chapters of SRD 5.2."""
    tallies = {kind: Tally(kind) for kind in ("spell", "creature", "condition", "feat", "item")}
    files = sorted(folder.rglob("*.md"))
    for file in files:
        put = {
            # One spell's heading is on the level of the letters above the others.
            "07_Spells.md": (
                "spell",
                headings(file, "34", below="Spell Descriptions", but=" Spells$"),
            ),
            "12_MonstersA-Z.md": ("creature", headings(file, "2")),
            "13_Animals.md": ("creature", headings(file, "2")),
            "05_Feats.md": ("feat", headings(file, "4")),
            "10_MagicItems.md": ("item", headings(file, "4", below="Magic Items A–Z")),
            "06_Equipment.md": ("item", headings(file, "4", only=PRICED)),
            "09_GameplayToolbox.md": ("item", headings(file, "34", only=PRICED)),
            "08_RulesGlossary.md": ("condition", headings(file, "4", only=r"\[Condition\]")),
        }.get(file.name)
        if put:
            tallies[put[0]].there |= {(file.name, name) for name in put[1]}
    report("SRD 5.2", files, tallies)


def srd_5_1(folder: Path) -> None:
    """Measure SRD 5.1, where an entry is a file."""
    for sub, kind in (("Spells", "spell"), ("Monsters", "creature"), ("Treasure", "item")):
        files = [file for file in sorted((folder / sub).glob("*.md")) if file.name[0] != "#"]
        tally = Tally(kind)
        for file in files:
            tally.there.add((file.name, first_heading(file)))
        report(f"SRD 5.1 {sub}", files, {kind: tally})
    tally = Tally("condition")
    file = folder / "Gamemastering/Conditions.md"
    tally.there = {(file.name, name) for name in headings(file, "2")}
    report("SRD 5.1 Conditions", [file], {"condition": tally})


def samples(folder: Path) -> None:
    """Measure the sample code's definitions and the sample rulebook."""
    for file in sorted(folder.glob("*.md")):
        loaded = parse(file.read_bytes(), file.name, IngestSettings())
        profile = choose_profile(loaded.document, loaded.chunks, load_profiles())
        facts, links = enrich(loaded.document, loaded.chunks, profile)
        terms = [link.target for link in links if link.relation == "defines"]
        names = entity_names(loaded.document, facts, links)
        print(f"\n{file.name}: {profile.name}, {len(terms)} terms", end=", ")
        print({kind: len(found) for kind, found in names.items()})


if __name__ == "__main__":
    data = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("PINCITE_DATA", ""))
    data = data if (data / "srd-5.2").exists() else ROOT.parent / "shared/data"
    samples(ROOT / "samples")
    srd_5_2(data / "srd-5.2/src")
    srd_5_1(data / "srd-5.1")
