"""Cross references of French regulations against a sample that a person judged."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from french_references import DRAWN, SAMPLE, coverage, data_folder, measure


@pytest.mark.skipif(not data_folder().exists(), reason="the laws are not here; see PINCITE_DATA")
def test_precision_and_recall_in_french() -> None:
    outcome = measure(data_folder())
    assert outcome.precision >= 0.95, outcome.notes
    assert outcome.recall >= 0.95, outcome.notes
    total, found = coverage(data_folder())
    assert found >= 0.95 * total


def test_the_sample_is_as_large_as_it_says() -> None:
    assert len(SAMPLE["references"]) == DRAWN
