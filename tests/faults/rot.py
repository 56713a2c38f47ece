"""Bit rot: python tests/faults/rot.py --files 500

In a copy of an index one file is flipped, cut, zeroed or deleted. Counted by kind of file: was it
noticed and named by pincite doctor, what became of a search meanwhile, and what the repair made of
it. Documents that were lost are ingested again; then the index has to say what a clean one says.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from fault_workload import (
    WORDS,
    bring,
    check_complete,
    content,
    document,
    encode,
    require,
    scratch,
    small_segments,
)

from pincite.api import Index
from pincite.index import builder
from pincite.maintain.copy import copy_index
from pincite.maintain.exchange import export_index
from pincite.maintain.repair import Repair, repair_index
from pincite.model.errors import PinciteError
from pincite.serve.collections import ServedCollection
from pincite.store.location import open_snapshot
from pincite.store.manifest import current, damage


def flip(data: bytes, dice: random.Random) -> bytes | None:
    changed = bytearray(data)
    for _ in range(dice.choice([1, 1, 1, 8])):
        changed[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def cut(data: bytes, dice: random.Random) -> bytes | None:
    return data[: dice.randrange(len(data))]


def zero(data: bytes, dice: random.Random) -> bytes | None:
    """Zero a stretch, as a lost sector does."""
    start = dice.randrange(len(data)) // 512 * 512
    end = min(len(data), start + 512 * dice.randint(1, 8))
    return data[:start] + bytes(end - start) + data[end:]


def remove(data: bytes, dice: random.Random) -> bytes | None:
    return None


WAYS: tuple[Callable[[bytes, random.Random], bytes | None], ...] = (flip, flip, cut, zero, remove)


@dataclass
class Row:
    """The counts of one kind of file."""

    damaged: int = 0
    noticed: int = 0
    refused: int = 0  # a search said that the index is damaged
    same: int = 0  # a search found what it would have found
    wrong: int = 0  # a search found something else, which doctor explains
    complete: int = 0  # repaired: the index says all that it said
    older: int = 0  # repaired, with documents as an older generation had them
    lost: int = 0  # repaired, with documents named that have to be read again


@dataclass
class Found:
    rows: dict[str, Row] = field(default_factory=lambda: defaultdict(Row))
    failures: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)  # of repairs
    saved: int = 0  # documents out of databases that are damaged
    gone: int = 0  # and those that have to be read again


def kinds(folder: Path) -> dict[str, list[Path]]:
    """Return the files of an index by their kind."""
    number = current(folder).generation
    found: dict[str, list[Path]] = defaultdict(list)
    for file in sorted(folder.rglob("*")):
        if not file.is_file() or file.name == "write.lock":
            continue
        inside = file.relative_to(folder)
        name = file.name
        if inside.parts[0] == "generations":
            name = "manifest" if int(file.stem) == number else "older manifest"
        elif inside.parts[0] in ("segments", "vectors"):
            name = f"{inside.parts[0]}/{name}"
        found[name].append(inside)
    return found


def searched(folder: Path) -> object:
    """Return what a search finds; PinciteError if it says why not."""
    try:
        with Index.open(folder, WORDS) as index:
            return [
                hit.chunk_id for hit in index.search("version paragraph section", 50).ranking.hits
            ]
    except PinciteError:
        raise
    except Exception:
        # As the command line does: an error that nobody expected is worth every checksum.
        problems = damage(folder)
        require(bool(problems), "an error without damage")
        raise PinciteError(problems[0]) from None


def turns(folder: Path, files: int, dice: random.Random) -> Iterator[tuple[str, Path]]:
    """Yield what to damage: each kind as often as the others."""
    by_kind = kinds(folder)
    for number in range(files):
        kind = sorted(by_kind)[number % len(by_kind)]
        yield kind, dice.choice(by_kind[kind])


def _build(folder: Path, wanted: dict[str, str]) -> None:
    """Build an index: a segment of many documents, a merged one, vectors of both."""
    few = dict(list(wanted.items())[:6])
    with patch.object(builder, "SEGMENT_TERMS", 10_000):
        bring(folder, few)
    for more in ({"6.md": document(6, 0)}, {"7.md": document(7, 1)}, {"9.md": document(9, 1)}):
        few = few | more
        bring(folder, few)
        encode(folder)
    bring(folder, wanted)


def run(files: int, seed: int = 0) -> Found:
    """Damage so many files and return what came of it."""
    found, dice = Found(), random.Random(seed)
    wanted = {**{f"{i}.md": document(i, 1) for i in range(8)}, "9.md": document(9, 2)}
    with scratch() as home, small_segments():
        base = home / "base"
        _build(base, wanted)
        hits = searched(base)
        for number, (kind, file) in enumerate(turns(base, files, dice)):
            folder = home / f"copy-{number}"
            shutil.copytree(base, folder)
            data = (folder / file).read_bytes()
            way = dice.choice(WAYS)
            if kind == "older manifest" and way is remove:
                way = cut  # one that is not there is as good as one that was swept
            changed = way(data, dice)
            if changed == data:  # zeros where there were zeros
                changed = flip(data, dice)
            if changed is None:
                (folder / file).unlink()
            else:
                (folder / file).write_bytes(changed)
            row = found.rows[kind]
            row.damaged += 1
            try:
                _examine(folder, file, row, hits)
                start = time.process_time()
                report = repair_index(folder)
                found.seconds.append(time.process_time() - start)
                _check_repair(folder, report, row, wanted)
                if kind == "segments/chunks.sqlite":
                    found.saved += len(report.rebuilt) + len(report.older)
                    found.gone += len(report.lost) + report.lost_unnamed
            except Exception as error:
                found.failures.append(f"{number} {kind} {way.__name__}: {error!r}")
            shutil.rmtree(folder)
    return found


@dataclass
class FlippedRow:
    """The counts of one kind of file of which one bit was flipped."""

    flips: int = 0
    noticed: int = 0  # doctor names the file
    refused: Counter[str] = field(default_factory=Counter)  # by reader: it says so
    same: Counter[str] = field(default_factory=Counter)  # it reads other files: nothing differs
    repaired: int = 0  # after the repair and the next ingest it is as a clean one


@dataclass
class FlippedBits:
    rows: dict[str, FlippedRow] = field(default_factory=lambda: defaultdict(FlippedRow))
    files: int = 0
    failures: list[str] = field(default_factory=list)


def flip_each(bits: int, seed: int = 0) -> FlippedBits:
    """Flip one bit in every file of an index, one after the other, and ask whoever reads it."""
    found, dice = FlippedBits(), random.Random(seed)
    wanted = {**{f"{i}.md": document(i, 1) for i in range(8)}, "9.md": document(9, 2)}
    with scratch() as home, small_segments():
        base = home / "base"
        _build(base, wanted)
        clean = {name: read(base, home / f"clean-{name}") for name, read in READERS.items()}
        for kind, files in sorted(kinds(base).items()):
            found.files += len(files)
            for file in (each for each in files for _ in range(bits)):
                folder = home / "damaged"
                shutil.copytree(base, folder)
                data = bytearray((folder / file).read_bytes())
                at = dice.randrange(8 * len(data))
                data[at // 8] ^= 1 << at % 8
                (folder / file).write_bytes(data)
                row = found.rows[kind]
                row.flips += 1
                try:
                    _ask_all(folder, file, row, clean)
                    _check_repair(folder, repair_index(folder), Row(), wanted)
                    row.repaired += 1
                except Exception as error:
                    found.failures.append(f"{file}, bit {at}: {error!r}")
                shutil.rmtree(folder)
    return found


def _ask_all(folder: Path, file: Path, row: FlippedRow, clean: dict[str, object]) -> None:
    problems = damage(folder)
    require(bool(problems), "not noticed")
    named = any(part in problems[0] for part in (str(file), file.name))
    require(named, f"{file} is not named: {problems}")
    row.noticed += 1
    for name, read in READERS.items():
        aside = folder.parent / f"{name} of damaged"
        try:
            told = read(folder, aside)
        except PinciteError:
            row.refused[name] += 1
        else:
            require(told == clean[name], f"{name}: nothing was said, and it is not the same")
            row.same[name] += 1
        shutil.rmtree(aside, ignore_errors=True)


def _copied(folder: Path, aside: Path) -> object:
    list(copy_index(folder, aside))
    require(damage(aside) == [], "the copy is damaged")
    return content(aside)


def _exported(folder: Path, aside: Path) -> object:
    with open_snapshot(folder) as snapshot:
        list(export_index(snapshot, aside))
    return {file.name: file.read_bytes() for file in sorted(aside.iterdir())}


def _served(folder: Path, _: Path) -> object:
    collection = ServedCollection("one", folder, WORDS)
    try:
        collection.refresh()
        with collection.lease(None) as index:
            hits = index.search("version paragraph section", 50).ranking.hits
            return [hit.chunk_id for hit in hits]
    finally:
        collection.close()


READERS: dict[str, Callable[[Path, Path], object]] = {
    "copy": _copied, "export": _exported, "service": _served,
}  # fmt: skip


def flipped_table(found: FlippedBits) -> str:
    head = ["file", "bits flipped", "named by doctor"]
    head += [f"{name} {end}" for name in READERS for end in ("refused", "same")]
    rows = [[*head, "repaired"], ["---"] * (len(head) + 1)]
    sums = [0] * len(head)
    for kind, row in sorted(found.rows.items()):
        told = [count[name] for name in READERS for count in (row.refused, row.same)]
        counts = [row.flips, row.noticed, *told, row.repaired]
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
        rows.append([kind, *map(str, counts)])
    rows.append(["all", *map(str, sums)])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _examine(folder: Path, file: Path, row: Row, hits: object) -> None:
    """Check that the damage is noticed and named, and count what a search says."""
    problems = damage(folder)
    require(bool(problems), "not noticed")
    named = any(part in problems[0] for part in (str(file), file.name))
    require(named, f"{file} is not named: {problems}")
    row.noticed += 1
    try:
        found = searched(folder)
        row.same += found == hits
        row.wrong += found != hits
    except PinciteError:
        row.refused += 1


def _check_repair(folder: Path, report: Repair, row: Row, wanted: dict[str, str]) -> None:
    require(damage(folder) == [], f"after the repair: {damage(folder)}")
    texts = content(folder).texts
    gone = wanted.keys() - texts.keys()
    changed = {name for name in texts if texts[name] != wanted.get(name)}
    if report.fell_back_to == 0:
        require(gone == set(report.lost), f"gone {sorted(gone)}, told {report.lost}")
        require(changed <= set(report.older), f"changed {sorted(changed)}, told {report.older}")
    told = bool(report.lost or report.lost_unnamed)
    row.lost += told
    row.older += not told and bool(gone or changed)
    row.complete += not told and not (gone or changed)
    bring(folder, wanted)  # the next ingest reads again what is missing or old
    encode(folder)
    check_complete(folder, wanted, vectors=True)


def table(found: Found) -> str:
    head = [
        *("file", "damaged", "noticed and named", "search refused", "search same"),
        *("search wrong", "repaired whole", "repaired, older", "repaired, named as lost"),
    ]
    rows = [
        [kind, *(getattr(row, name) for name in _COLUMNS)]
        for kind, row in sorted(found.rows.items())
    ]
    sums = [sum(int(row[at]) for row in rows) for at in range(1, len(head))]
    lines = [head, ["---"] * len(head), *rows, ["all", *sums]]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


_COLUMNS = ("damaged", "noticed", "refused", "same", "wrong", "complete", "older", "lost")


def last_line(found: Found) -> str:
    return (
        f"documents of damaged databases: {found.saved} saved, {found.gone} to be read again; "
        f"the longest repair took {max(found.seconds, default=0.0):.2f} processor seconds"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    found = run(chosen.files, chosen.seed)
    print(table(found))
    for reason, count in Counter(found.failures).most_common(20):
        print(f"FAILED {count} times: {reason}")
    print(f"{len(found.failures)} failed; {last_line(found)}")
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
