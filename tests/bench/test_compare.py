"""bench/compare.py: the same questions to Pincite and to a peer in an environment of its own."""

from __future__ import annotations

import json
import re
import struct
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import compare
from comparison.environments import PEERS, SCRIPTS
from comparison.report import markdown, page, tables
from comparison.run import chosen_peers
from comparison.task import Task, read_task
from comparison.weights import write_safetensors
from pincite.measure.questions import load
from pincite.model.errors import ConfigError
from pincite.update import ingest_files

SAMPLES = Path(__file__).parents[2] / "samples"
HEAD = {"corpus": "c", "job": "words", "chunks": 3}
LINES: list[dict[str, Any]] = [
    {
        **HEAD,
        "engine": "pincite, words",
        "questions": 2,
        "quality": {"nDCG@10": 0.9, "RR": 0.8},
        "intervals": {"nDCG@10": [0.8, 1.0]},
        "beside_first": {"nDCG@10": 0.0},
        "beside_first_intervals": {"nDCG@10": [0.0, 0.0]},
        "cpu_p50_ms": 0.0431,
        "cpu_p95_ms": 1.2,
        "ready_cpu_s": 0.3,
        "disk_mb": 0.1,
        "peak_mb": 58.0,
    },
    {**HEAD, "engine": "rank_bm25", "missing": "no network"},
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "index"
    names = ["manual.md", "electrical-code-2024.md"]
    list(ingest_files([(SAMPLES / name, name) for name in names], folder))
    return folder


@pytest.fixture(scope="module")
def task(index: Path) -> Task:
    return read_task("samples", index, load(SAMPLES / "questions.jsonl").questions, 12)


def perfect(task: Task) -> list[list[int]]:
    """Return for each question its gold chunks and nothing else, the best grade first."""
    return [[task.ids.index(chunk_id) for chunk_id in gold.chunks][:10] for gold in task.golds]


def test_only_questions_with_an_answer_in_the_index_are_asked(task: Task) -> None:
    assert len(task.golds) == 12
    assert all(gold.is_evaluable for gold in task.golds)
    assert len(task.ids) == len(task.texts) == len(set(task.ids))


def test_gold_first_is_the_best_there_is_and_nothing_is_the_worst(task: Task) -> None:
    best = task.figures(perfect(task))
    assert best.values["RR"] == 1.0
    assert best.values["Recall@10"] == pytest.approx(1.0)
    nothing: Sequence[Sequence[int]] = [[] for _ in task.golds]
    assert set(task.figures(nothing).values.values()) == {0.0}


def test_a_hit_that_is_no_searched_chunk_takes_its_rank(task: Task) -> None:
    later = [[-1, *rows] for rows in perfect(task)]
    assert task.figures(later).values["RR"] == 0.5


def test_engines_get_the_words_that_are_indexed_and_for_a_column_the_bare_chunk(
    task: Task, tmp_path: Path
) -> None:
    """An item stands below its section's heading, or a peer would search less than we do."""
    task.write(tmp_path / "context")
    task.write(tmp_path / "bare", bare=True)
    given, bare = (
        json.loads((tmp_path / name / "bench.json").read_text())["texts"]
        for name in ("context", "bare")
    )
    assert bare == task.texts and task.has_contexts
    for text, context, chunk in zip(given, task.contexts, task.texts, strict=True):
        assert text.startswith(context) and text.endswith(chunk)
        assert len(text) == len(chunk) + (len(context) + 1 if context else 0)


def test_a_bare_column_stands_beside_the_fair_one_where_there_is_one() -> None:
    peer = {**LINES[0], "engine": "bm25s", "bare": {"nDCG@10": 0.25}}
    table = tables([LINES[0], peer])[0]
    at = table.heads.index("nDCG@10, bare chunk")
    assert [row[at] for row in table.rows] == ["", "0.250"]
    assert all(len(row) == len(table.heads) for row in table.rows)
    assert "nDCG@10, bare chunk" not in tables(LINES[:1])[0].heads


def test_every_peer_has_a_program_and_pinned_versions() -> None:
    for name, peer in PEERS.items():
        text = (SCRIPTS / peer.script).read_text(encoding="utf-8")
        assert all(f'"{engine}"' in text for engine in peer.engines), name
        assert all("==" in each for each in peer.requirements), name


def test_a_peer_that_does_not_exist_is_named() -> None:
    with pytest.raises(ConfigError, match="no peer 'solr'"):
        chosen_peers(["solr"])


def test_peers_with_vectors_bring_what_makes_the_vectors() -> None:
    assert chosen_peers(["chroma"]) == ["chroma", "sentence-transformers"]
    assert chosen_peers(["bm25s"]) == ["bm25s"]
    assert chosen_peers(["all", "bm25s"]) == list(PEERS)


def test_weights_are_written_as_safetensors_reads_them(tmp_path: Path) -> None:
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(1, np.float32)}
    write_safetensors(arrays, tmp_path)
    data = (tmp_path / "model.safetensors").read_bytes()
    [size] = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    begin, end = header["a"]["data_offsets"]
    found = np.frombuffer(data[8 + size :][begin:end], "<f4").reshape(header["a"]["shape"])
    assert (found == arrays["a"]).all()
    assert header["b"]["data_offsets"] == [24, 28]


@pytest.mark.slow
def test_a_peer_is_installed_asked_and_compared(
    program: Callable[..., Any], index: Path, tmp_path: Path
) -> None:
    saved, html = tmp_path / "lines.jsonl", tmp_path / "page.html"
    given = [str(SAMPLES / "questions.jsonl"), "-i", str(index), "--questions", "6"]
    given += ["--rounds", "1", "--peer", "rank_bm25", "--home", str(tmp_path / "home")]
    # Warnings of what pip installs are not ours.
    out = ("--save", saved, "--html", html)
    done = program("bench/compare.py", *given, *out, PYTHONWARNINGS="default")
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in saved.read_text().splitlines()]
    engines = {line["engine"]: line for line in lines if line["job"] == "words"}
    assert engines["rank_bm25"]["versions"]["rank-bm25"] == "0.2.2"
    ours = engines["pincite, words"]
    # Six questions do not tell who is better; either finds most of the answers.
    assert min(each["quality"]["nDCG@10"] for each in (ours, engines["rank_bm25"])) > 0.5
    assert all(line["cpu_p50_ms"] > 0 and line["peak_mb"] > 10 for line in engines.values())
    # Chunks that are indexed from their texts alone, without what documents add, find no more.
    assert engines["pincite, words, indexed here"]["disk_mb"] > 0.1
    assert engines["rank_bm25"]["bare"]["nDCG@10"] > 0.1 and "bare" not in ours
    installs = {line["engine"]: line for line in lines if line["job"] == "install"}
    assert installs["rank_bm25"]["install_mb"] > 5
    assert installs["pincite"]["install_mb"] > 130  # models and libraries, however it is installed
    (profile,) = (line for line in lines if line["job"] == "profile")
    assert len(profile["functions"]) > 5 and 0 < profile["functions"][0]["share"] < 1
    # Which of ours are among the dearest is for time to tell; they are named by room and file.
    named = [each["function"] for each in profile["functions"]]
    assert any(re.match(r"(index|search)/\w+\.py: ", each) for each in named)
    assert "rank_bm25" in html.read_text() and "<svg" in html.read_text()


def test_what_could_not_be_measured_says_so() -> None:
    head = {"corpus": "c", "job": "words", "chunks": 3}
    lines = [{**head, "engine": "<b>ours</b>", "missing": "no module <i>x</i>"}]
    assert "not measured: no module" in markdown(lines)
    assert "<i>x</i>" not in page(lines)
    assert tables(lines)[0].notes[0].startswith("<b>ours</b>")


def test_times_below_a_millisecond_have_three_digits_and_reasons_stand_below() -> None:
    table = tables(LINES)[0]
    engine, *figures = table.rows[0]
    assert (engine, figures[3], figures[4]) == ("pincite, words", "0.043", "1.20")
    assert table.notes == ["rank_bm25 not measured: no network"]
    assert "|\n\nrank_bm25 not measured: no network\n" in markdown(LINES)


def test_a_page_names_other_engines_only_if_there_are_some() -> None:
    assert "<h1>Pincite beside other engines</h1>" in page(LINES)
    assert "other engines" not in page(LINES[:1])


@pytest.mark.parametrize(("is_terminal", "width"), [(False, 80), (True, 80), (True, 200)])
def test_no_word_is_cut_and_a_narrow_terminal_has_fewer_columns(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    is_terminal: bool,
    width: int,
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    compare._print(LINES)
    shown = capsys.readouterr().out
    title, heads, ours, note, *rest = shown.splitlines()
    assert title == "c, by words (3 chunks, 2 questions)"
    assert ours.startswith("pincite, words") and "…" not in shown
    assert note == "rank_bm25 not measured: no network"
    is_narrow = is_terminal and width == 80
    assert ("disk MB" in heads) is not is_narrow
    assert any(line.startswith("left out for want of width: disk MB") for line in rest) is is_narrow
    if is_narrow:
        assert max(len(heads), len(ours)) <= 80
