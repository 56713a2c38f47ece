"""Scorers behind HTTP, spoken to over a real socket."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pincite.api import Index
from pincite.model.errors import ConfigError, ModelError, PinciteError
from pincite.model.settings import Reranking, Settings
from pincite.search.http_scorer import HttpScorer
from pincite.search.pair_scorers import open_scorer
from pincite.search.windows import BadScores

SECRET = "co-very-secret-0123456789"
Answer = tuple[int, Any, dict[str, str]]


def relevance(text: str) -> float:
    return len(text) % 100 / 100


def plain(body: dict[str, Any]) -> Answer:
    """Answer as the services do: best first, with the place of each text."""
    scores = [(relevance(text), n) for n, text in enumerate(body["documents"])]
    rows = [{"index": n, "relevance_score": s} for s, n in sorted(scores, reverse=True)]
    return 200, {"id": "x", "results": rows[: body["top_n"]], "meta": {}}, {}


@dataclass
class Loopback:
    """A service on this machine: answers as it is told, and remembers what it was asked."""

    answer: Callable[[dict[str, Any]], Answer] = plain
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def settings(self, **values: Any) -> Reranking:
        chosen = Reranking(enabled=True, model="some/reranker", url=self.url, retries=2)
        return replace(chosen, **values)

    def scorer(self, **values: Any) -> HttpScorer:
        found = open_scorer(self.settings(**values))
        assert isinstance(found, HttpScorer)
        self.pauses: list[float] = []
        found.service._sleep = self.pauses.append
        return found


@pytest.fixture
def service() -> Iterator[Loopback]:
    state = Loopback()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.paths.append(self.path)
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            state.bodies.append(body)
            code, content, headers = state.answer(body)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            try:
                self.send_response(code)
                for name, value in {"Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                pass  # the client did not wait

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def in_turn(*answers: Answer) -> Callable[[dict[str, Any]], Answer]:
    """Return an answerer that gives these answers, then plain ones."""
    left = list(answers)
    return lambda body: left.pop(0) if left else plain(body)


TEXTS = ["a" * 30, "b" * 70, "c" * 10]


def test_scores_come_back_in_the_order_of_the_texts(service: Loopback) -> None:
    assert service.scorer().score("what?", TEXTS) == [0.3, 0.7, 0.1]
    assert service.paths == ["/v1/rerank"]
    assert service.bodies == [
        {
            "model": "some/reranker",
            "query": "what?",
            "documents": TEXTS,
            "top_n": 3,
            "return_documents": False,
        }
    ]
    assert "authorization" not in service.headers[0]
    assert service.scorer().score("what?", []) == []
    assert len(service.bodies) == 1


def test_half_characters_are_no_problem(service: Loopback) -> None:
    assert len(service.scorer().score("\ud800", ["\udfff a"])) == 1


def test_the_key_is_read_from_the_environment_and_never_shown(
    service: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = service.scorer(api_key_env="RERANK_KEY")
    with pytest.raises(ConfigError, match="RERANK_KEY is not set") as missing:
        scorer.score("q", TEXTS)
    assert "rerank.api_key_env" in missing.value.hint
    monkeypatch.setenv("RERANK_KEY", SECRET)
    scorer.score("q", TEXTS)
    assert service.headers[-1]["authorization"] == f"Bearer {SECRET}"
    service.answer = lambda body: (401, {"message": f"bad key {SECRET}"}, {})
    with pytest.raises(ConfigError, match="does not accept the key") as refused:
        scorer.score("q", TEXTS)
    assert SECRET not in refused.value.message + refused.value.hint
    with pytest.raises(ConfigError, match=r"rerank\.api_key_env is not the name"):
        service.scorer(api_key_env=SECRET).score("q", TEXTS)


def test_what_passes_is_tried_again(service: Loopback) -> None:
    service.answer = in_turn((429, {}, {"Retry-After": "1"}), (503, {}, {}))
    scorer = service.scorer()
    assert scorer.score("q", TEXTS) == [0.3, 0.7, 0.1]
    assert len(service.bodies) == 3 and service.pauses[0] >= 1


def test_who_asks_for_a_long_rest_gets_it(service: Loopback) -> None:
    service.answer = lambda body: (429, {}, {"Retry-After": "30"})
    with pytest.raises(ModelError, match="failed 1 times: HTTP 429"):
        service.scorer().score("q", TEXTS)
    assert len(service.bodies) == 1 and service.pauses == []


@pytest.mark.parametrize("code", [429, 500, 503])
def test_what_does_not_pass_is_explained(service: Loopback, code: int) -> None:
    service.answer = lambda body: (code, {"error": "busy"}, {})
    with pytest.raises(ModelError, match=rf"the re-ranking service at .* HTTP {code}") as caught:
        service.scorer().score("q", TEXTS)
    assert len(service.bodies) == 3
    assert "rerank.url" in caught.value.hint and "embedding" not in caught.value.hint


@pytest.mark.parametrize("code", [400, 404, 413, 422, 301])
def test_what_stays_is_not_tried_again(service: Loopback, code: int) -> None:
    service.answer = lambda body: (code, {"detail": "no such model"}, {"Location": "/elsewhere"})
    with pytest.raises(PinciteError) as caught:
        service.scorer().score("q", TEXTS)
    assert len(service.bodies) == 1
    assert "rerank." in caught.value.hint and "embedding" not in caught.value.hint


def row(index: Any, score: Any) -> dict[str, Any]:
    return {"index": index, "relevance_score": score}


@pytest.mark.parametrize(
    "content",
    [
        {"results": [row(0, 0.5), row(1, 0.5)]},  # partial
        {"results": [row(0, 0.5), row(1, 0.5), row(1, 0.5)]},
        {"results": [row(1, 0.5), row(2, 0.5), row(3, 0.5)]},
        {"results": [row("0", 0.5), row("1", 0.5), row("2", 0.5)]},
        {"results": [row(n, "high") for n in range(3)]},
        {"results": [row(n, True) for n in range(3)]},
        {"results": [row(n, None) for n in range(3)]},
        {"results": [row(n, 7.1) for n in range(3)]},  # logits
        {"results": [{"index": n} for n in range(3)]},
        {"results": [0.5] * 3},
        {"results": None},
        {"data": []},
        [],
        "text",
        b'{"results": [{"index": 0, "relevance_score": NaN},'
        b'{"index": 1, "relevance_score": 1}, {"index": 2, "relevance_score": 1}]}',
        b'{"results": [{"index": 0, "relevance_score": 1' + b"0" * 400 + b"},"
        b'{"index": 1, "relevance_score": 1}, {"index": 2, "relevance_score": 1}]}',
    ],
    ids=range(16),
)
def test_strange_answers_are_refused(service: Loopback, content: Any) -> None:
    service.answer = lambda body: (200, content, {})
    with pytest.raises(BadScores, match="the re-ranking service at"):
        service.scorer().score("q", TEXTS)
    assert len(service.bodies) == 1


@pytest.mark.parametrize("content", [b"<html>", b"", b"[" * 100_000, b"\xff\xfe"])
def test_what_is_no_json_is_refused(service: Loopback, content: bytes) -> None:
    service.answer = lambda body: (200, content, {})
    with pytest.raises(ModelError, match="the re-ranking service at"):
        service.scorer().score("q", TEXTS)


def test_an_answer_that_is_cut_off_is_no_answer(service: Loopback) -> None:
    service.answer = lambda body: (200, b'{"results": [', {"Content-Length": "500"})
    with pytest.raises(ModelError):
        service.scorer(retries=0, timeout_seconds=0.5).score("q", TEXTS)


@pytest.mark.alone
def test_slow_services_are_given_up(service: Loopback) -> None:
    def slow(body: dict[str, Any]) -> Answer:
        time.sleep(1.0)
        return plain(body)

    service.answer = slow
    started = time.monotonic()
    with pytest.raises(ModelError, match=r"no answer in 0\.2 seconds"):
        service.scorer(retries=0, timeout_seconds=0.2).score("q", TEXTS)
    assert time.monotonic() - started < 0.9


def test_a_search_through_a_service(service: Loopback, make_index: Callable[..., Index]) -> None:
    texts = {f"{n}.md": f"# B\n\n## {n}.1 Part\n\nThe fuse. {'x' * n}\n" for n in range(9)}
    index = make_index(texts)
    chosen = {"enabled": True, "url": service.url, "model": "m", "weight": 1.0, "budget_ms": 3000}
    settings = Settings().changed({"search.preset": "lexical", "tuning.spread": 0.0})
    settings = settings.changed({f"rerank.{key}": value for key, value in chosen.items()})
    own = Index(index.opened, settings)
    result = own.search("what is the fuse")
    assert len(service.bodies) == 1 and len(service.bodies[0]["documents"]) == 9
    scores = [passage.hit.raw["rerank"] for passage in result.passages]
    assert scores == sorted(scores, reverse=True) and len(set(scores)) == 9
    service.answer = lambda body: (500, {}, {})
    failed = own.search("where is the fuse", budget_ms=400)
    assert len(failed.passages) == 9 and "not re-ranked" in failed.ranking.notes[0]
