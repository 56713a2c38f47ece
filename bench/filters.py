"""How long filters take on a large index: the first use of each, and the next.

    python bench/filters.py --chunks 1000000

The index is made of columns alone, without texts and postings: a filter reads nothing else.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

import numpy as np

from pincite.index.filters import PlaceColumns, RowFilter
from pincite.model.settings import Settings
from pincite.model.types import Chunk, Document, Enrichment, Filters, ParsedDocument, Span
from pincite.store.segment import Entry
from pincite.store.snapshot import Snapshot
from pincite.store.writer import IndexWriter

SECTIONS = 500  # searched chunks of a document; every second one holds a clause
SEGMENT_DOCUMENTS = 500
KINDS = ("rule", "narrative", "table", "definition", "exception", "procedure")
TAGS = ("requirement", "limit", "permission", "for:player", "for:gm", "level:1", "level:2")
FILTERS = {
    "documents": Filters(documents=("folder1/*",)),
    "as_of": Filters(as_of="2022"),
    "access": Filters(access=("player",)),
    "kinds": Filters(kinds=("exception",)),
    "tags": Filters(tags=("limit",)),
    "traits": Filters(traits=("trait7",)),
    "pages": Filters(pages=(3, 10)),
    "path": Filters(path=("chapter 3",)),
    "audience": Filters(audience="player"),
    "groups": Filters(groups=("folder:folder2",)),
    "all": Filters(
        documents=("folder*",), kinds=("rule",), tags=("limit",), path=("chapter",), pages=(1, 50)
    ),
}


def made(number: int, rng: random.Random) -> ParsedDocument:
    """Return a document with facts for each place and hardly any text."""
    doc_id = f"folder{number % 20}/doc-{number}.md"
    title = f"Code {number // 3}, {2018 + number % 3 * 3} Edition"
    access = {"access": "gm"} if number % 50 == 0 else {}
    document = Document(doc_id, "text", title, {"sha256": "0" * 64, "source": doc_id, **access})
    root = f"{number:06d}root000000"
    whole = Span(doc_id, 0, 200 * SECTIONS)
    chunks = [Chunk(root, whole, "", "document", title, title, (), 0, searched=False)]
    facts = {}
    for i in range(SECTIONS):
        start, path = 200 * i, (f"Chapter {i // 50}", f"Section {i}")
        for name, kind, at, own_end, searched in (
            ("a", "table" if i % 5 == 0 else "section", start, start + 100, True),
            ("b", "clause", start + 100, start + 200, False),
        )[: 1 + i % 2]:
            chunk_id = f"{number:06d}{i:06d}{name * 4}"
            span = Span(doc_id, at, start + 200)
            page = 1 + i // 5
            chunks.append(
                Chunk(
                    chunk_id,
                    span,
                    "",
                    kind,  # type: ignore[arg-type]
                    f"{number}.{i}",
                    "",
                    path,
                    own_end,
                    page,
                    parent=root,
                    searched=searched,
                )
            )
            facts[chunk_id] = Enrichment(
                rng.choice(KINDS),
                tags=tuple(rng.sample(TAGS, rng.randint(0, 2))),
                traits=tuple(f"trait{rng.randint(0, 199)}" for _ in range(rng.choice([0, 0, 1]))),
            )
    return ParsedDocument(document, chunks, facts=facts)


def build(folder: Path, documents: int) -> None:
    rng = random.Random(1)
    with IndexWriter(folder, Settings().shape()) as writer:
        for first in range(0, documents, SEGMENT_DOCUMENTS):
            numbers = range(first, min(first + SEGMENT_DOCUMENTS, documents))
            loaded = [made(number, rng) for number in numbers]
            columns = PlaceColumns()
            for each in loaded:
                columns.add(each)
            ids = [chunk.id for each in loaded for chunk in each.chunks if chunk.searched]
            arrays = {**columns.arrays(), "ids": np.array(ids, dtype="S16")}
            writer.add((Entry(each) for each in loaded), arrays)
        writer.commit()


def timed(rows: RowFilter, filters: Filters) -> tuple[float, int]:
    start = time.perf_counter()
    found = sum(int(masks.rows.sum()) for masks in rows.masks(filters))
    return time.perf_counter() - start, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=1_000_000)
    count = max(1, parser.parse_args().chunks // SECTIONS)
    with tempfile.TemporaryDirectory(prefix="pincite-") as name:
        build(Path(name), count)
        for field, filters in FILTERS.items():
            with Snapshot.open(Path(name)) as snapshot:  # each first use is a first use
                rows = RowFilter(snapshot)
                first, found = timed(rows, filters)
                again, _ = timed(rows, filters)
            report = {"filter": field, "rows": found, "first_s": round(first, 3)}
            print(json.dumps({**report, "again_ms": round(again * 1000, 2)}), flush=True)


if __name__ == "__main__":
    main()
