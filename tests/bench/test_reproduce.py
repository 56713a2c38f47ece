"""bench/reproduce.py as a user meets it: one pipeline, several, and what goes wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def documented_settings() -> str:
    """Return the settings file that the documentation tells one to write."""
    page = (Path(__file__).parents[2] / "docs/evaluate.md").read_text(encoding="utf-8")
    (settings,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    return str(settings)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of data sets with a tiny XQuAD."""
    folder = tmp_path / "data" / "xquad"
    folder.mkdir(parents=True)
    paragraphs = [
        {"context": "Cats sleep on roofs.", "qas": [{"question": "Where is a cat sleeping?"}]},
        {"context": "Dogs bark in parks.", "qas": [{"question": "Who barked?"}]},
    ]
    content = {"data": [{"title": "Animals", "paragraphs": paragraphs}]}
    (folder / "xquad.en.json").write_text(json.dumps(content))
    (tmp_path / "plain.toml").write_text(documented_settings())
    return tmp_path / "data"


def test_one_pipeline_prints_its_figures(program: Run, data: Path) -> None:
    call = ("bench/reproduce.py", "xquad", "--data", data, "--pipeline", "lexical")
    told = program(*call)
    assert told.code == 0, told.err
    lines = told.out.splitlines()
    assert lines[0].startswith("xquad, pipeline lexical: 2 questions, 0 not evaluable")
    assert lines[1].split() == ["figure", "value", "95", "%", "n"]
    assert lines[2].split() == ["en_recall@1", "1.000", "1.000", "–", "1.000", "2"]
    flat = program(
        "bench/reproduce.py", "xquad", "--data", data, "--pipeline", "lexical", "--json"
    ).json
    assert (flat["pipeline"], flat["questions"], flat["en_recall@1"]) == ("lexical", 2, 1.0)
    assert flat["intervals"]["en_mrr"] == [1.0, 1.0]


def test_several_pipelines_stand_side_by_side(program: Run, data: Path) -> None:
    pipelines = ("--pipeline", "lexical", "--pipeline", data.parent / "plain.toml")
    told = program("bench/reproduce.py", "xquad", "--data", data, *pipelines, COLUMNS="80")
    assert told.code == 0, told.err
    lines = told.out.splitlines()
    assert lines[0].startswith("xquad, plain beside lexical: 2 questions")
    assert lines[2].split() == ["en_recall@1", "lexical", "1.000", "1.000", "–", "1.000"]
    below = "n = 2 plain 0.000 0.000 – 0.000 -1.000 -1.000 – -1.000"
    assert lines[3].split() == below.split()
    told = program("bench/reproduce.py", "xquad", "--data", data, *pipelines, "--json").json
    assert [each["pipeline"] for each in told["pipelines"]] == ["lexical", "plain"]
    assert [each["en_recall@1"] for each in told["pipelines"]] == [1.0, 0.0]
    (change,) = told["differences"]
    assert (change["pipeline"], change["to"], change["en_recall@1"]) == ("plain", "lexical", -1.0)
    assert change["intervals"]["en_recall@1"] == [-1.0, -1.0]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["xquad", "--data", "nowhere"], 3, "no folder nowhere"),
        (["scifact", "--data", "data"], 3, "corpus.csv"),
        (["srd-5.1", "--data", "data"], 3, "no spells"),
        (["squad-it", "--data", "data"], 3, "dev.json.gz"),
        (["xquad", "--data", "data", "--questions", "plain.toml"], 3, "SQuAD"),
        (["xquad", "--data", "data", "--pipeline", "magic"], 2, "no pipeline 'magic'"),
        (["xquad", "--data", "data", "--pipeline", "gone.toml"], 2, "gone.toml"),
        (["xquad", "--pipeline", "lexical", "--pipeline", "lexical"], 2, "two pipelines"),
    ],
)
def test_errors_are_one_line_with_a_remedy(
    program: Run, data: Path, arguments: list[str], code: int, words: str
) -> None:
    told = program("bench/reproduce.py", *arguments, cwd=data.parent)
    assert (told.code, told.out) == (code, "")
    assert words in told.err and "hint:" in told.err


def test_a_rulebook_is_printed_beside_the_published(program: Run, tmp_path: Path) -> None:
    folder = tmp_path / "srd-5.1"
    (folder / "Spells").mkdir(parents=True)
    for name, text in (("Ember Ring", "burns whoever touches you"), ("Slow Tide", "water rises")):
        (folder / "Spells" / f"{name}.md").write_text(f"# {name}\n\nThe spell: {text}.\n")
    asked = [{"question": "What of Slow Tide rises?", "source_document": "Slow Tide.md"}]
    (folder / "spell_questions_dev.json").write_text(json.dumps(asked))
    call = ("bench/reproduce.py", "rulebook", "--data", tmp_path, "--set", "embedding.model=none")
    told = program(*call, COLUMNS="120")
    assert told.code == 0, told.err
    assert "Ablations" in told.out and "Chapter routing" in told.out and "0.850" in told.out
    shown = program(*call, "--json").json
    assert [table["title"] for table in shown["tables"]] == ["Ablations", "Chapter routing"]
    assert shown["tables"][1]["rows"][0]["published evaluability"] == 0.39
    missing = program("bench/reproduce.py", "rerank", "--data", tmp_path / "none")
    assert missing.code == 3 and "--data" in missing.err
