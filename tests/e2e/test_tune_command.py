"""pincite tune as a user calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"
DOCUMENTS = [SAMPLES / name for name in ("electrical-code-2024.md", "manual.md", "rulebook.md")]
WORDS = ("--set", "embedding.model=none")
QUICK = [
    part
    for name in ("cross-encoder", "graph", "phrases", "names", "aliases", "question words")
    for part in ("--skip", name)
]
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a file to tune on, and one that is held out."""
    lines = (SAMPLES / "questions.jsonl").read_text("utf-8").splitlines()
    names = {file.name for file in DOCUMENTS}
    some = [x for x in lines if '"gold"' in x and any(f'"{name}"' in x for name in names)]
    folder = tmp_path_factory.mktemp("questions")
    files = folder / "tune.jsonl", folder / "kept.jsonl"
    files[0].write_text("\n".join(some[:16]), encoding="utf-8")
    files[1].write_text("\n".join(some[16:22]), encoding="utf-8")
    return files


def test_tuning_writes_settings_and_a_report_and_goes_on_from_its_state(
    questions: tuple[Path, Path], pincite: Run, tmp_path: Path
) -> None:
    asked, kept = questions
    folder = tmp_path / "tuned"
    call = ("tune", *DOCUMENTS, asked, "--folds", "2", *WORDS, *QUICK, "--out", folder)
    first = pincite(*call, "--hold-out", kept)
    assert first.code == 0, first.err
    assert "tuned beside default" in first.out and "folds over" in first.out
    assert "look 1" in first.out and "warning" not in first.err
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert report["trials"] > 15 and report["hold_out"]["peeks"] == 1
    assert "Fold by fold" in (folder / "report.html").read_text("utf-8")
    again = pincite(*call, "--hold-out", kept, "--json")
    assert again.json["trials"] == report["trials"] and again.json["choice"] == report["choice"]
    assert again.json["hold_out"]["peeks"] == 2 and "2 times" in again.json["hold_out"]["warning"]
    # The settings that were written are those that a search can use.
    index = next(folder.glob("index-*"))
    found = pincite("search", "how deep", "--index", index, "--config", folder / "pincite.toml")
    assert found.code == 0, found.err
    stale = pincite(*call, "--measure", "RR")
    assert stale.code == 4 and "other measure" in stale.err and "--restart" in stale.err
    # The index that was made of the files is the same documents: its state holds.
    same = ("tune", index, asked, "--folds", "2", *WORDS, *QUICK, "--chunking", "--out", folder)
    of_index = pincite(*same, "--json")
    assert of_index.code == 0 and "needs the files" in of_index.json["untried"]["chunking"]


def test_what_cannot_be_done_is_said_before_any_work(
    questions: tuple[Path, Path], pincite: Run, tmp_path: Path
) -> None:
    asked, _ = questions
    call = ("tune", DOCUMENTS[1], asked, "--out", tmp_path / "out")
    same = pincite(*call, *WORDS, "--hold-out", asked)
    assert same.code == 2 and "are tuned on" in same.err
    unknown = pincite(*call, *WORDS, "--skip", "magic")
    assert unknown.code == 2 and "cross-encoder" in unknown.err
    text = pincite(*call, *WORDS, "--measure", "LCS@2")
    assert text.code == 2 and "cannot be tuned for" in text.err
    nothing = pincite("tune", tmp_path / "none", asked, "--out", tmp_path / "out")
    assert nothing.code != 0 and "Traceback" not in nothing.err
