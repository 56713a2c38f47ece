"""pincite check as a user sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"
Run = Callable[..., Any]
GOOD = "Rods “shall be at least 2.4 m apart” (250.56(B)).\n"
BAD = "Rods “shall be at least 2.5 m apart” (250.56(B)).\n\nCompare § 5 BGB.\n"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, pincite: Run) -> Path:
    folder: Path = tmp_path_factory.mktemp("check") / "index"
    assert pincite("ingest", SAMPLES / "electrical-code-2024.md", "--index", folder).code == 0
    return folder


def test_what_holds_ends_with_zero(pincite: Run, index: Path, tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text(GOOD, encoding="utf-8")
    told = pincite("check", tmp_path / "good.md", "-i", index)
    assert (told.code, told.out) == (0, "1 claim: 1 exact\n")


def test_what_does_not_hold(pincite: Run, index: Path, tmp_path: Path) -> None:
    draft, page, sarif = (tmp_path / name for name in ("bad.md", "bad.html", "bad.sarif"))
    draft.write_text(BAD, encoding="utf-8")
    told = pincite("check", draft, "-i", index, "--html", page, "--sarif", sarif)
    assert told.code == 1
    first, change, *_, last = told.out.splitlines()
    assert first == "1:7 number differs  shall be at least 2.5 m apart"
    assert change.strip() == "2.5 → 2.4"
    assert last == "2 claims: 1 number differs, 1 outside the index"
    assert "<del>2.5</del>" in page.read_text(encoding="utf-8")
    (result,) = json.loads(sarif.read_text(encoding="utf-8"))["runs"][0]["results"]
    assert result["ruleId"] == "number_differs"


def test_other_formats_are_read_as_documents_are(pincite: Run, index: Path, tmp_path: Path) -> None:
    words = "<p>Rods <q>x</q> “shall be at least 2.4 m apart” (250.56(B)).</p>"
    (tmp_path / "draft.html").write_text(f"<html><body>{words}</body></html>", encoding="utf-8")
    told = pincite("check", tmp_path / "draft.html", "-i", index, "--json")
    assert told.code == 0
    assert json.loads(told.out)["counts"] == {"exact": 1}
