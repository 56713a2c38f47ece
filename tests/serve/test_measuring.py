"""Measuring on the page: runs, two rankings of a question, confidence, live figures."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason='needs: pip install "pincite[serve]"')

from pincite.cli.main import app as cli
from pincite.measure import charts
from pincite.measure.learning import importances
from pincite.measure.runs import PipelineRun, QuestionRecord, Run, RunAnswer, RunHit
from pincite.measure.statistics import confidence
from pincite.model.settings import merged
from pincite.search.learned import Linear, RankerModel, save_model
from pincite.serve.access import add_key, new_key
from pincite.serve.metrics import STEPS, HttpMetrics
from pincite.serve.service import Options

from .conftest import ROOT, client, run, settings


@pytest.fixture(scope="module")
def measured(sample_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the samples with a stored run of two pipelines."""
    from click.testing import CliRunner

    folder = Path(shutil.copytree(sample_index, tmp_path_factory.mktemp("measured") / "index"))
    questions = ROOT / "samples" / "questions.jsonl"
    pipelines = ["--pipeline", "hybrid", "--pipeline", "lexical"]
    told = CliRunner().invoke(cli, ["eval", str(questions), *pipelines, "--index", str(folder)])
    assert told.exit_code == 0, told.output
    return folder


def texts(folder: Path, *asked: dict[str, str], **more: Any) -> list[str]:
    async def work() -> list[str]:
        async with client(folder, **more) as opened:
            told = [await opened.get("/measure", params=params) for params in asked]
            assert all(each.status_code == 200 for each in told), told[0].text
            return [each.text for each in told]

    return run(work())


def test_a_run_is_shown_with_intervals_losses_and_curves(measured: Path) -> None:
    (text,) = texts(measured, {})
    assert re.search(r"hybrid</b> reaches nDCG@10 <b>0\.\d{3}</b> \[0\.\d{3}, [01]\.\d{3}\]", text)
    for title in ("Where answers are lost", "If only the surest", "Question by question"):
        assert title in text
    assert text.count("<svg") > 10 and " style=" not in text and "<script>" not in text


def test_a_question_leads_to_its_two_rankings(measured: Path) -> None:
    (whole,) = texts(measured, {})
    link = re.search(r'<th scope="row"><a href="/measure\?question=([^"&]+)"', whole)
    assert link
    (text,) = texts(measured, {"question": link[1]})
    sides = re.findall(r'<ol class="ranking">(.*?)</ol>', text, re.DOTALL)
    assert len(sides) == 2 and all("/?doc=" in side for side in sides)
    assert any("is-gold" in side for side in sides)


def test_better_worse_and_missed_are_told_apart(measured: Path) -> None:
    asked = [{"show": name} for name in ("all", "better", "worse", "missed")]
    counts = []
    for text in texts(measured, *asked):
        rows = text[text.index('<table class="questions">') :].partition("</table>")[0]
        counts.append((rows.count('scope="row"'), rows.count(">better<"), rows.count(">worse<")))
    (_, better, worse), (n_better, *is_better), (n_worse, *is_worse), _ = counts
    assert is_better == [n_better, 0] and is_worse == [0, n_worse]
    # The first page of all has some of them.
    assert 0 < better <= n_better and 0 < worse <= n_worse


def test_a_run_beside_itself_shows_no_difference(measured: Path) -> None:
    (file,) = (measured / "runs").glob("*.json")
    (text,) = texts(measured, {"run": file.name, "base": file.name})
    assert "get the same for every question" in text


@pytest.mark.parametrize("name", ["../../feedback.jsonl", "nothing.json", "<img src=x>"])
def test_no_other_file_is_read(measured: Path, name: str) -> None:
    (text,) = texts(measured, {"run": name})
    assert "no run" in text and "<img" not in text and str(measured) not in text


def test_without_runs_it_says_how_to_make_one(sample_index: Path) -> None:
    (text,) = texts(sample_index, {})
    assert "No question was judged yet" in text and "/judge" in text


def test_who_sees_some_documents_sees_no_run_and_only_admins_see_live_figures(
    measured: Path, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    some, all_documents, admin = (
        new_key("some", ("read",), access=("staff",)),
        new_key("all", ("read",), access=None),
        new_key("admin", ("read", "admin"), access=None),
    )
    for key, _ in (some, all_documents, admin):
        add_key(file, key)

    async def work(secret: str) -> tuple[int, bool]:
        async with client(measured, options=Options(file), key=secret) as opened:
            told = await opened.get("/measure")
            return told.status_code, 'id="live"' in told.text

    told = [run(work(secret)) for _, secret in (some, all_documents, admin)]
    assert told == [(403, False), (200, False), (200, True)]


def test_the_learned_ranker_tells_what_it_looks_at(measured: Path, tmp_path: Path) -> None:
    weights = np.array([1.0, 0.0, -2.0, 1.0])
    model = RankerModel(
        "logistic", ("bm25", "<b>cosine"), 10, Linear(weights), ("plain", "relative")
    )
    assert importances(model) == [("bm25", 0.75), ("<b>cosine", 0.25)]
    save_model(model, tmp_path / "model.json")
    chosen = merged(settings(), {"search": {"ranker": str(tmp_path / "model.json")}}, origin="test")
    # The model cannot rank here, and is shown all the same.
    from pincite.serve.page.measure_page import learned
    from pincite.serve.service import SearchService

    told = learned(SearchService({"default": measured}, chosen))
    assert "75.0 %" in told["chart"] and "&lt;b&gt;cosine" in told["chart"]
    gone = merged(settings(), {"search": {"ranker": "nowhere.json"}}, origin="test")
    assert "problem" in learned(SearchService({"default": measured}, gone))


def made_run(firsts: Sequence[tuple[float, bool]]) -> Run:
    asked = tuple(
        QuestionRecord(str(at), "?", "judged", "", (), 1, (1.0,)) for at in range(len(firsts))
    )
    answers = tuple(
        RunAnswer((RunHit("c", "d", "1", score, {0: 1.0} if right else {}),), {}, 0.1, {})
        for score, right in firsts
    )
    return Run("s", 1, "h", False, 1, 1, 1, 10, "", "", asked, (PipelineRun("p", "", answers),))


def test_risk_falls_where_the_surest_are_right() -> None:
    made = made_run([(0.9, True), (0.8, True), (0.3, False), (0.3, True)])
    told = confidence(made, made.parts[0])
    assert told is not None
    # The two with the same score are answered together.
    assert told.risk_coverage == ((0.25, 0.0), (0.5, 0.0), (1.0, 0.25))
    assert told.reliability[0] == pytest.approx((0.3, 0.5, 2))
    assert told.error == pytest.approx((0.1 + 0.2 + 2 * 0.2) / 4)
    logits = made_run([(7.0, True), (-1.0, False)])
    odd = confidence(logits, logits.parts[0])
    assert odd is not None and odd.error is None and not odd.reliability


def test_charts_escape_names() -> None:
    bad = "<img src=x>"
    drawn = charts.plot({bad: [(0.5, 0.5)]}, x_title=bad, y_title=bad)
    drawn += charts.bars([(bad, 1.0, bad)], title=bad) + charts.columns([], title=bad, unit=bad)
    assert "<img" not in drawn


def test_recent_requests_are_counted_but_not_the_looking(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000]
    monkeypatch.setattr("pincite.serve.metrics._now", lambda: now[0])
    metrics = HttpMetrics()
    metrics.finished("GET", "/v1/search", 200, 0.1)
    metrics.finished("GET", "/measure", 200, 9.0)
    now[0] += 2
    metrics.finished("GET", "/v1/search", 503, 0.2)
    steps = metrics.recent()
    assert len(steps) == STEPS
    assert [(s.count, s.failed) for s in steps[-3:]] == [(1, 0), (0, 0), (1, 1)]
    now[0] += 10 * STEPS
    assert sum(step.count for step in metrics.recent()) == 0
    (search, _) = metrics.routes()
    assert (search.route, search.count, search.failed) == ("/v1/search", 2, 1)


def test_prometheus_reads_the_figures_of_each_service(sample_index: Path) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    async def work(searches: int) -> str:
        async with client(sample_index) as opened:
            for _ in range(searches):
                await opened.post("/v1/search", json={"query": "earth rods"})
            return (await opened.get("/metrics")).text

    for searches in (1, 3):  # the second service in this process begins at nothing
        read = {each.name: each for each in text_string_to_metric_families(run(work(searches)))}
        asked = [
            s.value for s in read["pincite_http_requests"].samples if "search" in str(s.labels)
        ]
        assert asked == [searches]
        quantiles = [
            s for s in read["pincite_http_request_seconds"].samples if "quantile" in s.labels
        ]
        assert len(quantiles) >= 3 and all(s.value > 0 for s in quantiles)
        buckets = [s.value for s in read["pincite_search_latency_seconds"].samples if s.labels]
        assert buckets == sorted(buckets) and len(buckets) == 20
        assert {s.labels["outcome"] for s in read["pincite_rerank_requests"].samples} >= {"timeout"}
        rest = "rerank_pairs rerank_score rerank_latency_p95_ms http_refused streams generation"
        assert {f"pincite_{name}" for name in rest.split()} <= set(read)


def test_what_re_ranking_did_is_shown_where_it_is_on(sample_index: Path) -> None:
    from pincite.serve.page.measure_page import live
    from pincite.serve.service import SearchService

    chosen = merged(settings(), {"rerank": {"enabled": True}}, origin="test")
    told = live(SearchService({"law": sample_index}, chosen))["reranking"]
    assert {"rerank_latency_p95_ms", "rerank_fallback_rate"} <= {name for _, name, _ in told}
    assert not live(SearchService({"law": sample_index}, settings()))["reranking"]
