"""Cross references of Part 97 against a sample that a person judged."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from check_references import SAMPLE, data_file, measure


@pytest.mark.skipif(not data_file().exists(), reason="Part 97 is not here; see PINCITE_DATA")
def test_precision_and_recall_on_part97() -> None:
    outcome = measure(data_file())
    assert outcome.precision >= 0.95, outcome.notes
    assert outcome.recall >= 0.95, outcome.notes


def test_the_sample_is_as_large_as_it_says() -> None:
    assert len(SAMPLE["references"]) == 100
    assert len(SAMPLE["look_alikes"]) == 30
