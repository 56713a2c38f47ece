"""A saved search gives the same bytes again, or says what differs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from pincite import Index, find_files, ingest_files
from pincite.cli.main import app
from pincite.maintain.replay import replay, save
from pincite.model.errors import SourceError, StoreError
from pincite.model.settings import load_settings
from pincite.model.types import Filters

SAMPLES = Path(__file__).parents[2] / "samples"
SETTINGS = load_settings(overrides=["search.preset=lexical", "search.k=4"])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replay")
    for file in SAMPLES.glob("*.md"):
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "extra.md").write_text("# Pumps\n\n## 1.1 Tanks\n\nA pump fills a tank.\n")
    list(ingest_files(find_files([folder]), folder / "index", SETTINGS))
    for file in folder.glob("*.md"):  # what is copied may come from another file of that name
        file.unlink()
    return folder


@pytest.fixture
def home(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "home"))


def saved(home: Path, query: str = "pump fills tank", filters: Filters | None = None) -> Path:
    file = home / "saved.json"
    with Index.open(home / "index", SETTINGS) as index:
        save(file, index, index.search(query, 4, filters or Filters()), 4)
    return file


def test_the_same_index_gives_the_same_bytes(home: Path) -> None:
    for filters in (Filters(), Filters(documents=("extra*",), pages=()), Filters(access=("gm",))):
        file = saved(home, filters=filters)
        before = file.read_bytes()
        assert json.loads(before)["found"]["hits"]
        found = replay(file, home / "index")
        assert (list(found.differences), found.is_same_index) == ([], True)
        assert saved(home, filters=filters).read_bytes() == before


def test_what_differs_is_said(home: Path) -> None:
    file = saved(home)
    (home / "extra.md").write_text("# Pumps\n\n## 1.1 Tanks\n\nA pump empties a tank.\n")
    list(ingest_files(find_files([home / "extra.md"]), home / "index", SETTINGS))
    found = replay(file, home / "index")
    assert not found.is_same_index
    assert found.generations[0] < found.generations[1]
    assert any("1.1" in line for line in found.differences)


def test_another_index_with_the_same_hits_is_no_difference(home: Path) -> None:
    file = saved(home, "pump fills tank", Filters(documents=("extra.md",)))
    list(ingest_files(find_files([home / "extra.md"]), home / "other", SETTINGS))
    record = json.loads(file.read_text())
    record["index"]["manifest"] = "0" * 64
    file.write_text(json.dumps(record))
    found = replay(file, home / "index")
    assert (list(found.differences), found.is_same_index) == ([], False)


def test_every_changed_value_is_found(home: Path) -> None:
    file = saved(home)
    whole = json.loads(file.read_text())
    for name in whole["found"]["hits"][0]:
        record = json.loads(json.dumps(whole))
        hit = record["found"]["hits"][0]
        hit[name] = 99 if name == "rank" else "other"
        file.write_text(json.dumps(record))
        assert replay(file, home / "index").differences, name


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "null", '{"format": 2}', '{"format": 1}', "[" * 100_000),
        '{"format": 1, "asked": 3, "index": {}, "found": {}}',
    ],
)
def test_other_files_are_refused(home: Path, text: str) -> None:
    (home / "bad.json").write_text(text)
    with pytest.raises(SourceError, match="not a saved search"):
        replay(home / "bad.json", home / "index")


@pytest.mark.parametrize("filters", [{"documents": 5}, {"pages": ["x"]}, {"as_of": 3}, {"no": ""}])
def test_bad_filters_are_refused(home: Path, filters: dict[str, object]) -> None:
    file = saved(home)
    record = json.loads(file.read_text())
    record["asked"]["filters"] = filters
    file.write_text(json.dumps(record))
    with pytest.raises(SourceError, match="not a saved search"):
        replay(file, home / "index")


def test_the_command_line_saves_and_replays(home: Path) -> None:
    folder, file = str(home / "index"), str(home / "q.json")
    runner = CliRunner()
    sets = ["--set", "search.preset=lexical"]
    asked = runner.invoke(app, ["search", "pump", "-i", folder, "--save", file, *sets])
    assert asked.exit_code == 0, asked.output
    again = runner.invoke(app, ["replay", file, "-i", folder])
    assert (again.exit_code, again.stdout) == (0, "the same, byte for byte\n")
    record = json.loads(Path(file).read_text())
    record["found"]["hits"].pop()
    Path(file).write_text(json.dumps(record))
    other = runner.invoke(app, ["replay", file, "-i", folder, "--json"])
    assert other.exit_code == 1
    assert json.loads(other.stdout)["differences"][0].startswith("new: ")


def test_a_file_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file") as told:
        replay(tmp_path / "none.json", tmp_path)
    assert "check the path" in told.value.hint and "--index" not in told.value.hint
