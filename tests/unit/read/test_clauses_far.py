"""The clauses of a contract regulation: every locator names one place, also in alternates."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pincite.model.settings import Settings
from pincite.read.load import parse

FILE = Path(__file__).parents[4] / "shared/data/docx/Part52.docx"


@pytest.mark.skipif(not FILE.exists(), reason="the regulation is not here")
def test_no_locator_of_part_52_names_two_places() -> None:
    loaded = parse(FILE.read_bytes(), FILE.name, Settings().ingest)
    places = [chunk for chunk in loaded.chunks if chunk.kind not in ("piece", "text")]
    counts = Counter(chunk.locator for chunk in places)
    assert [locator for locator, count in counts.items() if count > 1] == []
    assert "52.203-6 Alternate I(b)" in counts
    assert "52.204-30 Alternate II(b)(5)(i)(C)" in counts
