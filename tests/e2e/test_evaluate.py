"""pincite judgements, eval and label as a user calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, pincite: Run) -> Path:
    folder = tmp_path_factory.mktemp("evaluate") / "index"
    files = [SAMPLES / name for name in ("electrical-code-2024.md", "manual.md", "rulebook.md")]
    assert pincite("ingest", *files, "--index", folder, "--set", "embedding.model=none").code == 0
    return folder


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = (SAMPLES / "questions.jsonl").read_text("utf-8").splitlines()[:30]
    file = tmp_path_factory.mktemp("questions") / "some.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


def test_a_run_is_printed_stored_shown_again_and_compared(
    index: Path, questions: Path, pincite: Run, tmp_path: Path
) -> None:
    where = ("--index", index, "--pipeline", "lexical")
    first = pincite(
        "eval",
        questions,
        *where,
        "--without",
        "pairs",
        "--html",
        tmp_path / "r.html",
        "--runs",
        tmp_path,
    )
    assert first.code == 0, first.err
    assert "nDCG@10" in first.out and "lexical without pairs beside lexical" in first.out
    assert "not significant" in first.out and "lost at (first 10)" in first.out
    assert "<svg" in (tmp_path / "r.html").read_text("utf-8")
    (stored,) = tmp_path.glob("*.json")
    again = pincite("eval", "--run", stored, "--json")
    shown = again.json
    assert [each["name"] for each in shown["pipelines"]] == ["lexical", "lexical without pairs"]
    assert 0.5 < shown["pipelines"][0]["figures"]["nDCG@10"]["value"] <= 1
    assert pincite("eval", "--run", stored, "--baseline", stored, "--json").code == 0
    alone = pincite("eval", questions, *where, "--json", "--runs", tmp_path, "--measure", "RR@5")
    assert list(alone.json["pipelines"][0]["figures"]) == ["RR@5"]


def test_answers_are_measured(index: Path, pincite: Run, tmp_path: Path) -> None:
    asked = [
        {"id": "1", "question": "What does error E-07 mean?", "answer": "Misting pressure low"},
        {"id": "2", "question": "How far apart are earth rods?", "answers": ["2.4 m", "8 ft"]},
        {"id": "3", "question": "What of 999.31(z)?", "gold": {"none": "there is none"}},
    ]
    file, report = tmp_path / "asked.jsonl", tmp_path / "answers.html"
    file.write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    told = pincite("eval", file, "--answers", "--index", index, "--html", report)
    assert told.code == 0, told.err
    assert "2 questions with an answer, 1 without" in told.out
    values = json.loads(pincite("eval", file, "--answers", "--index", index, "--json").out)
    figures = {name: each["value"] for name, each in values["figures"].items()}
    assert figures["quotation holds the answer"] == 1 and 0 < figures["F1"] <= 1
    assert figures["refused of unanswerable"] == 1 and figures["refused of answerable"] == 0
    assert [row["state"] for row in values["rows"]] == ["found", "found", "not_found"]
    assert "Question by question" in report.read_text("utf-8")
    refused = pincite("eval", file, "--answers", "--index", index, "--synthetic")
    assert refused.code == 2 and "--synthetic" in refused.err


def test_a_significant_loss_against_a_baseline_ends_with_1(
    index: Path, questions: Path, pincite: Run, tmp_path: Path
) -> None:
    where = ("eval", questions, "--index", index, "--pipeline", "lexical", "--json")
    assert pincite(*where, "--runs", tmp_path).code == 0
    (stored,) = tmp_path.glob("*.json")
    run = json.loads(stored.read_text())
    for answer in run["parts"][0]["answers"]:  # a pipeline that finds nothing any more
        answer["hits"] = []
    (tmp_path / "broken.json").write_text(json.dumps(run))
    told = pincite("eval", "--run", tmp_path / "broken.json", "--baseline", stored, "--json")
    assert told.code == 1
    worse = [row["measure"] for row in told.json["baseline"] if row["verdict"] == "worse"]
    assert {"nDCG@10", "RR"} <= set(worse)


def test_made_questions_are_a_set_of_their_own(
    index: Path, questions: Path, pincite: Run, tmp_path: Path
) -> None:
    told = pincite(
        "eval", questions, "--synthetic", "--index", index, "--pipeline", "lexical", "--json",
        "--runs", tmp_path, "--measure", "hit@5",
    )  # fmt: skip
    judged, made = told.json
    assert [each["questions"]["is_synthetic"] for each in (judged, made)] == [False, True]
    mixed = tmp_path / "mixed.jsonl"
    lines = questions.read_text("utf-8").splitlines()[:2]
    both = [lines[0], json.dumps({**json.loads(lines[1]), "synthetic": True})]
    mixed.write_text("\n".join(both), encoding="utf-8")
    told = pincite("eval", mixed, "--index", index, "--json")
    assert told.code == 3 and "judged and made" in told.json["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ([], 2, "no questions"),
        (["gone.jsonl"], 3, "cannot read"),
        (["QUESTIONS", "--measure", "nDGC@3"], 2, "no measure"),
        (["QUESTIONS", "--without", "magic"], 2, "no stage"),
        (["QUESTIONS", "--pipeline", "magic"], 2, "no pipeline"),
        (["--run", "gone.json"], 3, "not a run"),
        (["QUESTIONS", "--baseline", "gone.json"], 3, "not a run"),
        (["QUESTIONS", "--index", "gone"], 4, "no index"),
    ],
)
def test_mistakes_are_told(
    arguments: list[str],
    code: int,
    told: str,
    index: Path,
    questions: Path,
    pincite: Run,
    tmp_path: Path,
) -> None:
    named = [str(questions) if each == "QUESTIONS" else each for each in arguments]
    given = () if "--index" in named else ("--index", index)
    lexical = () if "--pipeline" in named else ("--pipeline", "lexical")
    done = pincite("eval", *named, *given, *lexical, "--json", "--runs", tmp_path, cwd=tmp_path)
    assert done.code == code, done
    assert told in done.json["error"]["message"] and done.json["error"]["hint"]


def test_judgements_are_imported_checked_recorded_and_exported(
    index: Path, pincite: Run, tmp_path: Path
) -> None:
    rows = "id,question,locator\na,How far apart are rods?,250.56(B)\nb,What of 705.31?,705.31\n"
    (tmp_path / "t.csv").write_text(rows)
    file = tmp_path / "set.jsonl"
    made = pincite("judgements", "import", "csv", tmp_path / "t.csv", "--out", file, "--json")
    assert made.json["questions"] == 2
    checked = pincite("judgements", "check", file, "--index", index, "--json")
    assert checked.code == 3 and checked.json["is_recorded"]
    assert [(each["question"], each["kind"]) for each in checked.json["oddities"]] == [
        ("b", "not in the index")
    ]
    assert pincite("judgements", "record", file, "--reason", "nothing").code == 2
    file.write_text(file.read_text().replace("705.31", "250.56(A)"))
    recorded = pincite("judgements", "record", file, "--reason", "705.31 is gone", "--json")
    assert recorded.json["version"] == 2
    checked = pincite("judgements", "check", file, "--index", index, "--json")
    assert checked.code == 0
    assert [each["reason"] for each in checked.json["changes"]][1] == "705.31 is gone"
    lines = pincite("judgements", "export", file, "--index", index).out.splitlines()
    assert all(len(line.split()) == 4 for line in lines) and lines[0].startswith("a 0 ")
    told = pincite(
        "eval", file, "--index", index, "--pipeline", "lexical", "--runs", tmp_path / "r"
    )
    assert told.code == 0
    (run,) = (tmp_path / "r").iterdir()
    lines = pincite("judgements", "export", file, "--run", run).out.splitlines()
    assert lines[0].split()[:2] == ["a", "Q0"] and lines[0].split()[3] == "1"
    alpha = pincite("judgements", "agree", file, file, "--json")
    assert alpha.json["nominal"] == 1.0


def labelled(pincite: Run, index: Path, file: Path, answers: list[Any], *more: str) -> list[Any]:
    where = ("--index", index, "--pipeline", "lexical", "--json")
    done = pincite("label", file, *where, *more, stdin="\n".join(map(json.dumps, answers)))
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def test_labelling_is_saved_at_once_and_goes_on_where_it_stopped(
    index: Path, pincite: Run, tmp_path: Path
) -> None:
    file = tmp_path / "mine.jsonl"
    answers = [{"grade": 2}, {"grade": 0}, {"skip": True}, {"quit": True}]
    *seen, end = labelled(
        pincite, index, file, answers, "--add", "How far apart are earth rods?", "--by", "me"
    )
    assert (end["judged"], end["skipped"], len(seen)) == (2, 1, 4)
    head, question = map(json.loads, file.read_text().splitlines())
    (change,) = head["judgements"]["changes"]
    assert (change["by"], change["questions"]) == ("me", [question["id"]])
    (place,) = question["gold"]["any"]
    assert (place["grade"], place["locator"]) == (2, seen[0]["locator"])
    assert len(question["rejected"]) == 1
    again = labelled(pincite, index, file, [{"quit": True}])
    assert again[0]["span"] == seen[2]["span"]  # what was judged does not come again
    ranked = [each["locator"] for each in seen[:3]]
    assert all("score" not in each and "rank" not in each for each in seen) and len(set(ranked)) > 1


def test_keys_come_from_a_pipe_too(index: Path, pincite: Run, tmp_path: Path) -> None:
    where = ("--index", index, "--pipeline", "lexical")
    done = pincite("label", tmp_path / "k.jsonl", *where, "--add", "earth rods", stdin="y\nx\nn\nq")
    assert done.code == 0 and "2 judged" in done.out, done.err
    done = pincite("label", tmp_path / "k.jsonl", *where, stdin="y\n", cwd=tmp_path)
    assert done.code == 0 and "1 judged" in done.out, "the end of the input is the end"


def test_a_wrong_answer_is_told_and_what_came_before_is_kept(
    index: Path, pincite: Run, tmp_path: Path
) -> None:
    file = tmp_path / "k.jsonl"
    where = ("--index", index, "--pipeline", "lexical", "--json", "--add", "earth rods")
    done = pincite("label", file, *where, stdin='{"grade": 1}\n{"grade": 9}')
    assert done.code == 2 and "grade 9" in done.out.splitlines()[-1]
    assert len(json.loads(file.read_text().splitlines()[1])["gold"]["any"]) == 1
