"""Makes the frozen index of the present format: python tests/faults/freeze_index.py

It is made once for each format, with the last version that writes it, and never again: later
versions have to open it. Beside the index stands what a search found in it then.
"""

from __future__ import annotations

import json
import tarfile
import tempfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from pincite.api import Index
from pincite.index.builder import IndexBuilder
from pincite.model.settings import SearchSettings, Settings
from pincite.model.tuning import Tuning
from pincite.read.enrich.profile import profile_fingerprint
from pincite.read.load import parse
from pincite.store.format import FORMAT
from pincite.store.manifest import current, has_pointer
from pincite.update import embed_index

SAMPLES = Path(__file__).parents[2] / "samples"
HOME = Path(__file__).parent / "frozen"
QUERIES = ("waiting list", "how long may a book be kept", "safety valve", "list of tools 2")
SETTINGS = Settings(tuning=Tuning(cache=False))


def put(folder: Path, name: str, text: str) -> None:
    """Put one text into the index as a generation of its own, with the profiles it was made with.

    Of newer profiles a user is told to make it anew; here it is the format that is tried.
    """
    profile = profile_fingerprint(SETTINGS.ingest.profile)
    if has_pointer(folder):
        profile = current(folder).shape["profile"]["fingerprint"]
    with IndexBuilder(folder, SETTINGS, profile=profile) as builder:
        builder.put(parse(text.encode(), name, SETTINGS.ingest, source=f"samples/{name}"))
        builder.flush()


def found(folder: Path) -> dict[str, object]:
    """Return what an index says, as plain values: texts, places, and the best hit by words."""
    words = replace(SETTINGS, search=SearchSettings(preset="lexical"))
    with Index.open(folder, words) as index:
        hits = {query: index.search(query, 1).ranking.hits[0].chunk_id for query in QUERIES}
        documents = {
            name: {
                "sha256": sha256(index.snapshot.text(name).encode()).hexdigest(),
                "chunks": sorted(chunk.id for chunk in index.snapshot.chunks(name)),
                "links": len(index.snapshot.links(name)),
            }
            for name in index.documents()
        }
        return {"hits": hits, "documents": documents}


def build(folder: Path) -> None:
    """Build an index with all kinds of files in it: several segments, dropped ones, vectors."""
    manual, notes = ((SAMPLES / name).read_text() for name in ("manual.md", "notes.txt"))
    put(folder, "manual.md", manual)
    put(folder, "notes.txt", notes[: len(notes) // 2])
    put(folder, "other.txt", notes)
    list(embed_index(folder, SETTINGS))
    put(folder, "notes.txt", notes)
    list(embed_index(folder, SETTINGS))


def main() -> None:
    HOME.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "index"
        build(folder)
        (folder / "write.lock").unlink()
        name = f"format-{FORMAT}"
        with tarfile.open(HOME / f"{name}.tar.xz", "w:xz") as archive:
            for file in sorted(folder.rglob("*")):
                facts = tarfile.TarInfo(str(file.relative_to(folder)))
                if file.is_dir():
                    facts.type, facts.mode = tarfile.DIRTYPE, 0o755
                    archive.addfile(facts)
                else:
                    facts.size = file.stat().st_size
                    with file.open("rb") as data:
                        archive.addfile(facts, data)
        text = json.dumps(found(folder))
        (HOME / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
