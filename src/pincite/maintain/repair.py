"""Mend a damaged index: keep what checksums vouch for, make the rest again, name what is gone.

    CURRENT, a manifest     the newest generation that can be read takes its place
    a listing               written again from the files it lists; its checksum proves it
    arrays of a segment     made again from the documents and places in the segment's database
    vectors                 left out; computed again from the cache or the encoder
    the database            each document has a checksum of its own: those that are whole stay; the
                            others come from an older kept generation that has them whole, or are
                            left out and named: the next ingest reads them

All of it becomes visible as one new generation, or nothing does.
"""

from __future__ import annotations

from collections.abc import Set
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from pincite.index.builder import IndexBuilder
from pincite.model.errors import IndexBusy, StoreError
from pincite.model.settings import Settings
from pincite.model.types import ParsedDocument
from pincite.store.files import LISTING
from pincite.store.manifest import (
    Manifest,
    SegmentEntry,
    check_files,
    damage,
    home_of,
    last_number,
    pointer,
)
from pincite.store.recovery import documents_of, names_in, newest, readable, rewrite_listing, whole
from pincite.store.segment import Segment


@dataclass
class Repair:
    """What was wrong with an index, and what became of it."""

    problems: list[str]
    generation: int = 0  # the one that is current now
    fell_back_to: int = 0  # the generation that was taken because the current one is unreadable
    listings: list[str] = field(default_factory=list)  # written again
    rebuilt: list[str] = field(default_factory=list)  # documents whose arrays were made again
    older: list[str] = field(default_factory=list)  # documents as an older generation had them
    lost: list[str] = field(default_factory=list)  # documents that are gone
    lost_unnamed: int = 0  # and how many whose names are gone too
    vectors: int = 0  # chunks whose vectors have to be computed again

    @property
    def is_complete(self) -> bool:
        """Whether the index says all that it said before."""
        return not (self.lost or self.older or self.lost_unnamed or self.fell_back_to)


def repair_index(folder: Path) -> Repair:
    """Mend an index and return what was done; nothing is changed if nothing is wrong.

    Raises:
        StoreError: there is no index, or nothing of it can be read.
    """
    report = Repair(damage(folder))
    if not report.problems:
        report.generation = newest(folder).generation
        return report
    shape = newest(folder).shape
    salvaged: dict[str, ParsedDocument] = {}

    def begin() -> Manifest:
        manifest = _examined(folder, report, salvaged)
        if manifest.shape != shape:
            raise IndexBusy("the index was built anew meanwhile", hint="look at it again")
        return replace(manifest, generation=last_number(folder, forget=True))

    settings = Settings.from_shape(shape, origin="index")
    profile = str(shape.get("profile", {}).get("fingerprint", ""))
    with IndexBuilder(folder, settings, profile=profile, begin=begin) as builder:
        for name in sorted(salvaged):
            builder.put(salvaged[name])
        builder.flush()
    report.generation = newest(folder).generation
    return report


def _examined(folder: Path, report: Repair, salvaged: dict[str, ParsedDocument]) -> Manifest:
    """Return what stays as it is; collect what can be saved, and tell what cannot."""
    manifest = newest(folder)
    report.fell_back_to = 0 if _is_current(folder, manifest) else manifest.generation
    for entry in manifest.entries:
        listing = str(home_of(folder, entry) / LISTING)
        broken = any(listing in problem for problem in check_files(folder, entry, full=False))
        if broken and rewrite_listing(folder, entry):
            report.listings.append(listing)
    kept = whole(folder, manifest)
    wanted: set[str] = set()
    for part in (each for each in manifest.segments if each not in kept.segments):
        saved = {each.document.id: each for each in documents_of(folder, part)}
        salvaged |= saved
        wanted |= _missing(folder, part, saved.keys(), report)
    report.rebuilt = sorted(salvaged)
    wanted -= {name for part in kept.segments for name in names_in(folder, part) or ()}
    found = _in_other_generations(folder, manifest, wanted - salvaged.keys())
    salvaged |= found
    report.older = sorted(found)
    report.lost = sorted(wanted - salvaged.keys())
    report.vectors = sum(each.chunks for each in manifest.vectors if each not in kept.vectors)
    return kept


def _missing(folder: Path, part: SegmentEntry, saved: Set[str], report: Repair) -> set[str]:
    """Return the documents of a segment that were not saved; count those nobody knows by name."""
    number = part.documents - len(part.dropped) - len(saved)
    if not number:
        return set()
    missing = set(names_in(folder, part) or ()) - saved
    report.lost_unnamed += max(0, number - len(missing))
    return missing


def _is_current(folder: Path, manifest: Manifest) -> bool:
    try:
        return pointer(folder)[0] == manifest.generation
    except StoreError:
        return False


def _in_other_generations(
    folder: Path, current: Manifest, names: set[str]
) -> dict[str, ParsedDocument]:
    """Return documents as other kept generations have them, the newest version of each."""
    found: dict[str, ParsedDocument] = {}
    for number, manifest in readable(folder):
        if number == current.generation or names <= found.keys():
            continue
        for entry in manifest.segments:
            if not check_files(folder, entry, full=True):
                with closing(Segment(folder, entry)) as segment:
                    for each in segment.entries():
                        name = each.loaded.document.id
                        if name in names:
                            found.setdefault(name, each.loaded)
    return found
