"""An interrupt loses nothing that was finished."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pincite import Index, find_files, iter_ingest


def test_an_interrupted_ingest_keeps_what_was_finished(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}.md").write_text(f"# Document {number}\n\nsome words\n")
    stream = iter_ingest(find_files([tmp_path]), tmp_path / "index")
    first = [next(stream).document for _ in range(5)]
    stream.close()
    with Index.open(tmp_path / "index") as index:
        assert index.documents() == first
    again = Counter(each.status for each in iter_ingest(find_files([tmp_path]), tmp_path / "index"))
    assert again == {"unchanged": 5, "added": 15}
