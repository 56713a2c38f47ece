"""Part 97 asked in a server: every hit of every question, and so every figure, is the same."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.servers.postgres import Postgres

from experiments import indexes, part97
from pincite.api import Index
from pincite.index.opened import OpenIndex
from pincite.model.errors import ConfigError
from pincite.model.settings import Settings, StoreSettings, merged
from pincite.store.location import exists

DATA = Path(os.environ.get("PINCITE_DATA", Path(__file__).parents[3] / "shared/data")) / "part97"
FILES = [(DATA / part97.DOCUMENT, part97.DOCUMENT)]
DEPTH = 40
# As many questions as one likes by PINCITE_TEST_QUESTIONS.
QUESTIONS = int(os.environ.get("PINCITE_TEST_QUESTIONS", "12"))
pytestmark = pytest.mark.slow


@pytest.fixture(params=["postgresql", "mongodb", "chroma", "opensearch"])
def server(request: pytest.FixtureRequest) -> str:
    """A server with nothing of ours in it; another kind is one more line here."""
    if request.param == "mongodb":
        made: Callable[[], str] = request.getfixturevalue("new_mongodb")
        return made()
    if request.param != "postgresql":
        url: str = request.getfixturevalue(request.param).url
        # The same from several shards as from one.
        return f"{url}?shards=3" if request.param == "opensearch" else url
    started: Postgres = request.getfixturevalue("postgres")
    name = f"figures_{uuid4().hex[:8]}"
    started.admin(f"CREATE DATABASE {name}")
    return f"{started.url.rpartition('/')[0]}/{name}"


def pipelines() -> list[Settings]:
    settings = replace(
        Settings(),
        ingest=replace(Settings().ingest, split_depth=1),
        store=StoreSettings(exact=True, timeout_seconds=60),
    )
    names = ("lexical", "hybrid", "hybrid+graph")
    return [merged(settings, {"search": {"preset": name}}, origin="test") for name in names]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not DATA.is_dir():
        pytest.skip("the data of Part 97 is not here")
    made = tmp_path_factory.mktemp("part97") / "index"
    indexes.make_index(FILES, made, pipelines())
    return made


def test_every_hit_is_the_same_as_in_a_folder(folder: Path, server: str) -> None:
    asked = part97.read_questions(DATA / "questions_dev.jsonl")[:QUESTIONS]
    chosen = pipelines()
    here = OpenIndex.open(folder)
    with (
        indexes.asked_in(server) as stays,
        indexes.asked_place(folder, chosen[0], FILES) as place,
    ):
        there = OpenIndex.open(place, chosen[0].store)
        with here.snapshot as mine, there.snapshot as theirs:
            assert type(mine) is not type(theirs)
            for settings in chosen:
                one, other = Index(here, settings), Index(there, settings)
                for question in asked:
                    found = one.search_ranking(question.text, DEPTH).hits
                    assert found and found == other.search_ranking(question.text, DEPTH).hits
                    assert part97.scored(one, question) == part97.scored(other, question)
    assert not exists(place) and stays == []


@pytest.mark.parametrize("url", ["postgresql://host/db#x", "chroma://host/x"])
def test_an_experiment_names_its_own_indexes(url: str) -> None:
    with (
        pytest.raises(ConfigError, match="names an index, and a server is wanted"),
        indexes.asked_in(url),
    ):
        raise AssertionError("not reached")


def test_copies_that_were_there_stay(postgres: Postgres, tmp_path: Path) -> None:
    """Also those that one wants to keep; others go, though the experiment failed."""
    name = f"stays_{uuid4().hex[:8]}"
    postgres.admin(f"CREATE DATABASE {name}")
    url = f"{postgres.url.rpartition('/')[0]}/{name}"
    (tmp_path / "a.md").write_text("# Part 1\n\n## 1.1 Rods\n\nTwo metres.\n")
    words = [merged(Settings(), {"search": {"preset": "lexical"}}, origin="test")]
    places = []
    for keep, stays in ((False, False), (True, True), (False, True)):
        with (
            suppress(ZeroDivisionError),
            indexes.asked_in(url, keep=keep) as told,
            indexes.opened([(tmp_path / "a.md", "a.md")], words) as (index,),
        ):
            snapshot: Any = index.snapshot
            places.append(snapshot.engine.shown)
            raise ZeroDivisionError
        assert exists(places[-1]) == stays == (told == places[-1:])
    assert len(set(places)) == 1
