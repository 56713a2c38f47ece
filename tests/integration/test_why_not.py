"""The way of a place through a search."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from pincite.api import Index
from pincite.cli.main import app
from pincite.cli.search import _stage
from pincite.model.settings import Settings
from pincite.model.types import Filters
from pincite.search.explain import FIRST_STAGE, StageView, _verdict
from pincite.update import embed_index, ingest_files

SECTIONS = [
    ("1 Pumps", "A pump shall stop when the tank is full."),
    ("2 Tanks", "A tank shall have a lid. Inspect the tank each year."),
    ("3 Lids", "A lid shall close tightly."),
    ("4 Wages", "Salaries are paid monthly."),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    home: Path = tmp_path_factory.mktemp("why")
    text = "# Rules\n\n" + "".join(f"## {name}\n\n{words}\n\n" for name, words in SECTIONS)
    (home / "rules.md").write_text(text)
    list(ingest_files([(home / "rules.md", "rules.md")], home / "index"))
    list(embed_index(home / "index", Settings()))
    with Index.open(home / "index") as opened:
        yield opened


def test_a_hit_is_found_at_its_rank(index: Index) -> None:
    found = index.search("inspect the tank", 2)
    (way,) = index.why_not("inspect the tank", found.passages[0].place.locator, 2)
    assert way.lost_at == ""
    assert way.stages[-1].rank == 1
    assert [view.stage for view in way.stages] == [
        *("lexical", "dense", "hybrid", "place", "spread")
    ]


def test_a_lost_place_says_where_and_by_how_much(index: Index) -> None:
    (way,) = index.why_not("inspect the tank", "4", 1)
    assert way.lost_at == "hybrid"
    view = next(view for view in way.stages if view.stage == "hybrid")
    assert view.rank is not None and view.rank > 1
    assert view.score is not None and view.needed is not None and view.score < view.needed
    assert f"rank {view.rank}" in way.reason
    words = next(view for view in way.stages if view.stage == "lexical")
    assert words.rank is None


def test_a_place_that_nobody_proposes_is_lost_at_the_first_stage() -> None:
    nobody = [StageView(name, None, None, 0.5, False) for name in ("lexical", "dense", "hybrid")]
    lost, reason = _verdict(nobody, {"lexical", "dense"})
    assert lost == FIRST_STAGE
    assert reason == "neither dense nor lexical proposes it among the first candidates"
    assert [_stage(name) for name in (lost, "filters", "hybrid")] == [
        *("the first stage", "the filters", "hybrid")
    ]


def test_a_place_that_the_only_retriever_lacks_is_not_found(index: Index) -> None:
    command = ["why-not", "tank", "4", "-i", str(index.snapshot.folder)]
    result = CliRunner().invoke(app, [*command, "--set", "search.preset=lexical"])
    assert result.stdout.startswith("4 in rules.md: lost at lexical\n")


def test_parts_add_up_and_times_are_told(index: Index) -> None:
    result = index.search("when is a tank inspected", 4)
    assert {"lexical", "dense", "place", "spread"} <= set(result.seconds)
    for hit in result.ranking.hits:
        assert sum(hit.features.values()) == pytest.approx(hit.score, abs=1e-9)
        assert set(hit.raw) == {"lexical", "dense"}


def test_filters_are_those_of_a_search(index: Index) -> None:
    (way,) = index.why_not("inspect the tank", "2", 4, filters=Filters(path=("Pumps",)))
    assert (way.lost_at, way.reason) == ("filters", "the filters leave it out")
    (way,) = index.why_not("inspect the tank", "3", 1, filters=Filters(path=("Lids",)))
    assert way.lost_at == "" and way.stages[-1].rank == 1  # nothing else may be found


def test_the_command_takes_the_filters(index: Index) -> None:
    command = ["why-not", "tank", "2", "-i", str(index.snapshot.folder), "--json"]
    for options, lost in ([], None), (["--path", "Pumps"], "filters"), (["-d", "x*"], "filters"):
        result = CliRunner().invoke(app, [*command, *options])
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["places"][0]["lost_at"] == lost
