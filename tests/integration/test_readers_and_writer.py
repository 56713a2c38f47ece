"""Readers open and search while a writer commits and sweeps as fast as it can."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from pincite.api import Index
from pincite.index import builder
from pincite.index.builder import IndexBuilder
from pincite.model.settings import Settings
from pincite.read.load import parse

COMMITS = 25
READERS = 3


def write(folder: Path, version: int) -> None:
    """Replace both documents, which together always have one version."""
    with IndexBuilder(folder, Settings()) as index_builder:
        for name in ("a.md", "b.md"):
            text = f"# {name}\n\nversion{version} of the words\n"
            index_builder.put(parse(text.encode(), name, Settings().ingest))
        index_builder.flush()


def read(folder: Path, done: Event) -> int:
    """Open and search until the writer is done; return how many generations were seen."""
    seen: set[int] = set()
    newest = 0
    while not done.is_set():
        with Index.open(folder) as index:
            generation = index.snapshot.manifest.generation
            assert generation >= newest
            newest = generation
            passages = index.search("words").passages
            texts = {each.chunk.text.split()[2] for each in passages}
            assert len(passages) == 2 and len(texts) == 1
        seen.add(generation)
    return len(seen)


def test_every_reader_sees_one_whole_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder, "MERGE_FACTOR", 2)
    write(tmp_path, 0)
    done = Event()
    with ThreadPoolExecutor(READERS) as pool:
        readers = [pool.submit(read, tmp_path, done) for _ in range(READERS)]
        try:
            for version in range(1, COMMITS):
                write(tmp_path, version)
        finally:
            done.set()
        assert all(reader.result() > 3 for reader in readers)
