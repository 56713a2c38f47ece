"""Search in PostgreSQL on real text, and by the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.servers.postgres import Postgres

from pincite.api import Index
from pincite.model.settings import Settings, StoreSettings
from pincite.store.location import open_engine
from pincite.store.postgres.engine import EXACT_UP_TO, PostgresEngine, nearest
from pincite.update import embed_index, ingest_files

ROOT = Path(__file__).parents[2]
PART97 = ROOT.parent / "shared" / "data" / "part97"


@pytest.mark.slow
@pytest.mark.skipif(not PART97.is_dir(), reason="Part 97 is not beside the repository")
def test_part97_is_found_as_in_a_folder(postgres: Postgres, tmp_path: Path) -> None:
    settings = Settings()
    settings = replace(settings, ingest=replace(settings.ingest, split_depth=1))
    server, folder = f"{postgres.url}#part97", tmp_path / "index"
    for location in (server, folder):
        list(ingest_files([(PART97 / "part97.md", "part97.md")], location, settings))
        list(embed_index(location, settings))
    lines = (PART97 / "questions_dev.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line)["question"] for line in lines][::8]
    with Index.open(server, settings) as mine, Index.open(folder, settings) as theirs:
        for question in asked:
            found, wanted = (each.search_ranking(question, 40) for each in (mine, theirs))
            assert found.hits == wanted.hits, question


def test_the_command_line_takes_a_url(
    postgres: Postgres, tmp_path: Path, pincite: Callable[..., Any]
) -> None:
    url = f"{postgres.url}#commands"
    missing = pincite("search", "anything", "--index", url)
    assert missing.code == 4 and "pincite ingest" in missing.err
    told = pincite("ingest", ROOT / "samples" / "rulebook.md", "--index", url, "--json")
    assert told.json["counts"] == {"added": 1}
    assert pincite("list", "--index", url, "--json").json[0]["document"] == "rulebook.md"
    assert "Grabbed" in pincite("search", "what does grabbed do", "--index", url).out
    assert "Grabbed" in pincite("ask", "What does grabbed do?", "--index", url).out
    assert pincite("show", "Grabbed", "--index", url).out.startswith("#")
    again = pincite("ingest", ROOT / "samples" / "rulebook.md", "--index", url, "--json")
    assert again.json["counts"] == {"unchanged": 1}
    copied = pincite("copy", url, tmp_path / "copy", "--json").json
    assert (copied["documents"], copied["new"]) == (1, 1)


@pytest.mark.slow
def test_the_servers_own_index_finds_nearly_all(postgres: Postgres) -> None:
    random = np.random.default_rng(0)
    centres = random.normal(size=(50, 32))
    count = EXACT_UP_TO + 2_000
    made = centres[random.integers(50, size=count)] + 0.6 * random.normal(size=(count, 32))
    made = (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float16)
    url = f"{postgres.url}#nearest"
    engine = PostgresEngine(url)
    with engine.lock():
        engine.put_vectors("000001-0", "m", made)
    assert np.array_equal(engine.vectors("000001-0", [5, 1, 11_999]), made[[5, 1, 11_999]])
    model = engine._model_of("000001-0")
    sql, values, is_indexed = nearest(model, ["000001-0"], made[0], 50, {}, exact=False)
    assert is_indexed
    plan = "\n".join(row[0] for row in engine._read("EXPLAIN " + sql, values, engine._indexed))
    assert "vectors_of_1" in plan, plan
    found = 0
    allowed = np.flatnonzero(random.random(count) < 0.7)
    for query in made[:40].astype(np.float32):
        scores = made.astype(np.float32) @ query
        near = engine.nearest(["000001-0"], query, 50, {})
        found += len({n for _, n, _ in near} & set(np.argsort(-scores)[:50].tolist()))
        assert all(abs(scores[n] - score) < 0.005 for _, n, score in near)
        some = engine.nearest(["000001-0"], query, 20, {"000001-0": allowed[:3000]})
        best = allowed[:3000][np.argsort(-scores[allowed[:3000]])[:10]]
        assert set(best.tolist()) <= {n for _, n, _ in some}
    assert found / (40 * 50) >= 0.97
    exact = open_engine(url, StoreSettings(exact=True))
    near = exact.nearest(["000001-0"], made[0].astype(np.float32), 50, {})
    scores = made.astype(np.float32) @ made[0].astype(np.float32)
    assert {n for _, n, _ in near[:45]} <= set(np.argsort(-scores)[:50].tolist())
    engine.close()
    exact.close()
