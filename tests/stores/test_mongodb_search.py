"""Search in MongoDB on real text, and by the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pincite.api import Index
from pincite.model.settings import Settings
from pincite.update import embed_index, ingest_files

ROOT = Path(__file__).parents[2]
PART97 = ROOT.parent / "shared" / "data" / "part97"


@pytest.mark.slow
@pytest.mark.skipif(not PART97.is_dir(), reason="Part 97 is not beside the repository")
def test_part97_is_found_as_in_a_folder(new_mongodb: Callable[[], str], tmp_path: Path) -> None:
    settings = Settings()
    settings = replace(settings, ingest=replace(settings.ingest, split_depth=1))
    server, folder = new_mongodb(), tmp_path / "index"
    for location in (server, folder):
        list(ingest_files([(PART97 / "part97.md", "part97.md")], location, settings))
        list(embed_index(location, settings))
    lines = (PART97 / "questions_dev.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line)["question"] for line in lines][::60]
    with Index.open(server, settings) as mine, Index.open(folder, settings) as theirs:
        for question in asked:
            found, wanted = (each.search_ranking(question, 40) for each in (mine, theirs))
            assert found.hits == wanted.hits, question


def test_the_command_line_takes_a_url(
    new_mongodb: Callable[[], str], tmp_path: Path, pincite: Callable[..., Any]
) -> None:
    url = new_mongodb() + "#commands"
    missing = pincite("search", "anything", "--index", url)
    assert missing.code == 4 and "pincite ingest" in missing.err
    told = pincite("ingest", ROOT / "samples" / "rulebook.md", "--index", url, "--json")
    assert told.json["counts"] == {"added": 1}
    assert "Grabbed" in pincite("search", "what does grabbed do", "--index", url).out
    assert pincite("show", "Grabbed", "--index", url).out.startswith("#")
    copied = pincite("copy", url, tmp_path / "copy", "--json").json
    assert (copied["documents"], copied["new"]) == (1, 1)
