"""From settings to a scorer, loaded once and when it is needed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from pincite.model.errors import ConfigError, ModelError
from pincite.model.settings import Reranking, load_settings
from pincite.search import pair_scorers
from pincite.search.http_scorer import HttpScorer
from pincite.search.pair_scorers import LazyScorer, open_scorer

ON = Reranking(enabled=True)


class One:
    id = "one"

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        return [1.0] * len(texts)


def test_it_is_off_until_it_is_switched_on() -> None:
    assert open_scorer(Reranking()) is None
    assert open_scorer(replace(ON, model="none")) is None
    chosen = load_settings(environment={"PINCITE_RERANK__ENABLED": "true"}).reranking
    assert isinstance(open_scorer(chosen), LazyScorer)


def test_a_url_means_a_service() -> None:
    found = open_scorer(replace(ON, url="http://localhost:8080/v1", model="some/model"))
    assert isinstance(found, HttpScorer)
    assert found.id == "http://localhost:8080/v1/rerank some/model"
    with pytest.raises(ConfigError, match=r"rerank\.url"):
        open_scorer(replace(ON, url="ftp://nowhere"))


def test_many_threads_load_once() -> None:
    loads: list[int] = []

    def load() -> One:
        time.sleep(0.05)
        loads.append(1)
        return One()

    scorer = LazyScorer("one", load)
    assert not scorer.ready
    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(lambda _: list(scorer.score("q", ["a"])) == [1.0], range(64)))
    assert loads == [1] and scorer.ready and scorer.id == "one"


def test_a_load_that_failed_is_tried_again() -> None:
    answers: list[Any] = [ModelError("no file"), One()]

    def load() -> One:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    scorer = LazyScorer("one", load)
    with pytest.raises(ModelError, match="no file"):
        scorer.score("q", ["a"])
    assert list(scorer.score("q", ["a"])) == [1.0]


def test_indexes_share_a_model() -> None:
    assert open_scorer(ON) is open_scorer(replace(ON, weight=0.1))
    assert open_scorer(ON) is not open_scorer(replace(ON, model="other"))


def test_a_model_that_cannot_run_here_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(f"no module {name}")

    monkeypatch.setattr(pair_scorers, "import_module", missing)
    with pytest.raises(ModelError, match="'some-model'") as caught:
        LazyScorer("x", lambda: pair_scorers._load("some-model", 0)).score("q", ["a"])
    assert "rerank.url" in caught.value.hint
