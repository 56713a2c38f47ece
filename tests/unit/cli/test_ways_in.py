"""What a newcomer and a program meet first: no arguments, completion, JSON that is short."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from pincite.api import Index
from pincite.cli.main import app
from pincite.model.settings import Settings, merged

ROOT = Path(__file__).parents[3]
HIT_BYTES = 1200
WORDS_ALONE = merged(Settings(), {"embedding": {"model": "none"}}, origin="test")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("ways") / "index"
    for _ in Index._unwritten(home, WORDS_ALONE).iter_ingest(ROOT / "samples"):
        pass
    return home


def run(*arguments: str | Path, **variables: str) -> str:
    done = CliRunner().invoke(app, [*map(str, arguments)], env=variables)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_no_arguments_say_where_one_is_and_what_to_do_next(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nothing = run(PINCITE_INDEX="")
    assert "none yet in pincite-index" in nothing and "pincite ingest FOLDER" in nothing
    there = run(PINCITE_INDEX=str(index))
    assert f"index: {index}, 5 documents" in there and 'pincite search "WORDS"' in there


def test_a_hit_is_short_and_the_whole_is_there_for_the_asking(index: Path) -> None:
    lines = (ROOT / "samples/questions.jsonl").read_text("utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines[::4]]
    for question in [*questions, "Table 250.66", "Table 310.16"]:
        told = json.loads(run("search", question, "--json", "-i", index))
        for hit in told["hits"]:
            assert len(json.dumps(hit, ensure_ascii=False).encode()) <= HIT_BYTES
            assert set(hit) == {"citation", "document", "locator", "page", "score", "snippet"}
    full = json.loads(run("search", question, "--json=full", "-i", index))
    assert [hit["citation"] for hit in full["hits"]] == [hit["citation"] for hit in told["hits"]]
    assert full["hits"][0]["chunk"]["text"] and full["seconds"]


def test_an_answer_is_short_too(index: Path) -> None:
    asked = ("ask", "how far apart do two earth rods have to be", "-i", index)
    told, full = (json.loads(run(*asked, how)) for how in ("--json", "--json=full"))
    assert (told["state"], told["text"]) == (full["state"], full["text"])
    assert told["citations"][0]["citation"].endswith(", 250.56(B)")
    assert len(json.dumps(told)) < len(json.dumps(full)) / 2
    events = [json.loads(line) for line in run(*asked, "--stream").splitlines()]
    assert events[-1]["event"] == "complete"


def completed(index: Path | str, *words: str) -> list[str]:
    line = {"COMP_WORDS": " ".join(("pincite", *words)), "COMP_CWORD": str(len(words))}
    variables = {**line, "_PINCITE_COMPLETE": "bash_complete", "PINCITE_INDEX": str(index)}
    out = CliRunner().invoke(app, [], prog_name="pincite", env=variables).stdout
    return [name.partition(",")[2] for name in out.split()]


def test_documents_and_places_are_completed(index: Path, tmp_path: Path) -> None:
    assert completed(index, "search", "-d", "electrical") == [
        "electrical-code-2021.md",
        "electrical-code-2024.md",
    ]
    assert completed(index, "list", "man") == ["manual.md"]
    assert "250.66(A)" in completed(index, "show", "250.6")
    assert completed(tmp_path / "none", "show", "250.6") == []
    assert completed("postgresql://localhost:1/x", "show", "250.6") == []


def test_the_places_of_a_document_are_a_tree(index: Path) -> None:
    lines = run("list", "manual.md", "-i", index).splitlines()
    assert lines[0].startswith("Orlewick") and any(
        line.startswith("    2.1  Cho") for line in lines
    )
    assert "characters" in lines[3]
    assert len(lines) == len(run("outline", "manual.md", "--depth", "50", "-i", index).splitlines())


def test_grep_says_that_words_stand_nowhere(index: Path) -> None:
    done = CliRunner().invoke(app, ["grep", "no such words", "-i", str(index)])
    assert done.exit_code == 1 and "stand nowhere" in done.stderr and done.stdout == ""
