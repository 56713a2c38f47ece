"""What other sections say nearly the same, by stored vectors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from pincite import Index, find_files, ingest_files
from pincite.cli.main import app
from pincite.maintain.exchange import import_index
from pincite.model.errors import StoreError
from pincite.model.settings import Settings
from pincite.update import embed_index

RULES = """# Rules

## 1 Tanks

The operator shall inspect every tank once a year and record the result.

## 2 Vessels

Each year the operator inspects all tanks and writes the result down.

## 3 Wages

Salaries are paid on the last day of the month.
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("similar")
    (folder / "rules.md").write_text(RULES)
    list(ingest_files(find_files([folder / "rules.md"]), folder / "index"))
    list(ingest_files(find_files([folder / "rules.md"]), folder / "bare"))
    list(embed_index(folder / "index", Settings()))
    return folder


@pytest.fixture
def index(home: Path) -> Iterator[Index]:
    with Index.open(home / "index") as opened:
        yield opened


def test_the_nearest_of_other_sections_come_first(index: Index) -> None:
    near = index.similar(index.show("1")[0], k=5, least=-1.0)
    assert next(chunk.locator for chunk, _ in near) == "2"
    assert "1" not in {chunk.locator for chunk, _ in near}
    cosines = [cosine for _, cosine in near]
    assert cosines == sorted(cosines, reverse=True)
    assert index.similar(index.show("1")[0], k=1, least=-1.0) == near[:1]
    assert index.similar(index.show("1")[0], least=0.999) == []


def test_cosines_are_those_of_the_stored_vectors(index: Index) -> None:
    (part,) = index.snapshot.vectors
    ids = index.snapshot.segments[0].arrays["ids"].astype(str).tolist()
    place = index.show("1")[0]
    own = part.exact[part.rows == ids.index(place.id)].astype(np.float32)
    for chunk, cosine in index.similar(place, least=-1.0):
        other = part.exact[part.rows == ids.index(chunk.id)].astype(np.float32)
        assert cosine == pytest.approx(float((own @ other.T).max()), abs=1e-5)


def test_an_index_without_vectors_says_so(home: Path) -> None:
    with Index.open(home / "bare") as bare, pytest.raises(StoreError, match="no vectors"):
        bare.similar(bare.show("1")[0])


def test_export_links_what_is_near_and_import_leaves_it(home: Path, tmp_path: Path) -> None:
    runner = CliRunner()
    done = runner.invoke(app, ["export", str(tmp_path / "x"), "--similar", "-i", f"{home}/index"])
    assert done.exit_code == 0, done.output
    lines = (tmp_path / "x" / "tuning.graph.jsonl").read_text().splitlines()
    edges = [json.loads(line) for line in lines if '"similar_to"' in line]
    assert sorted(edge["target"] for edge in edges) == ["1", "2"]
    assert all(0.7 <= edge["cosine"] <= 1 for edge in edges)
    list(import_index(tmp_path / "x", tmp_path / "again"))
    with Index.open(tmp_path / "again") as again:
        assert not [link for link in again.snapshot.links("rules.md") if "similar" in link.relation]
    bare = runner.invoke(app, ["export", str(tmp_path / "y"), "--similar", "-i", f"{home}/bare"])
    assert bare.exit_code == 2 and "no vectors" in bare.output


def test_the_command_lists_places(home: Path) -> None:
    done = CliRunner().invoke(app, ["similar", "1", "-i", f"{home}/index", "--json"])
    assert done.exit_code == 0, done.output
    assert [each["locator"] for each in json.loads(done.stdout)[0]["similar"]] == ["2"]
