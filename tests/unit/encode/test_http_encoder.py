"""Encoders behind HTTP, spoken to over a real socket."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pincite.encode.encoders import SERVICE_BATCH, OnnxEncoder, open_encoder
from pincite.encode.http import MAX_WAIT_SECONDS, HttpService, _retry_after_seconds
from pincite.encode.models import SHIPPED, spec_of
from pincite.encode.remote import HttpEncoder
from pincite.index.opened import OpenIndex
from pincite.model.errors import ConfigError, ModelError, PinciteError
from pincite.model.settings import EmbeddingSettings, Encoding, Settings, load_settings
from pincite.model.types import Query
from pincite.search.build import build
from pincite.store.snapshot import Snapshot
from pincite.update import embed_index, ingest_files

SECRET = "sk-very-secret-0123456789"
DIMENSION = 8
Answer = tuple[int, Any, dict[str, str]]


def vector_of(text: str) -> list[float]:
    """Return some vector of length one that depends on the text alone."""
    digest = np.frombuffer(blake2b(text.encode(), digest_size=DIMENSION).digest(), np.uint8)
    vector = digest.astype(np.float32) - 127.5
    return [float(value) for value in vector / np.linalg.norm(vector)]


def plain(body: dict[str, Any]) -> Answer:
    rows = [{"index": n, "embedding": vector_of(text)} for n, text in enumerate(body["input"])]
    return 200, {"object": "list", "data": rows}, {}


@dataclass
class Loopback:
    """A service on this machine: answers as it is told, and remembers what it was asked."""

    answer: Callable[[dict[str, Any]], Answer] = plain
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def encoder(self, batch: int = SERVICE_BATCH, **settings: Any) -> HttpEncoder:
        chosen = {"model": "some/model:latest", "url": self.url, "retries": 2, **settings}
        found = open_encoder(Encoding(**chosen), batch=batch)
        assert isinstance(found, HttpEncoder)
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
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def in_turn(*answers: Answer | None) -> Callable[[dict[str, Any]], Answer]:
    """Return an answerer that gives these answers, plain ones for None, then plain ones."""
    left = list(answers)

    def answer(body: dict[str, Any]) -> Answer:
        return (left.pop(0) if left else None) or plain(body)

    return answer


def test_a_service_gives_what_the_encoder_behind_it_gives(service: Loopback) -> None:
    direct = OnnxEncoder(SHIPPED, threads=1)

    def answer(body: dict[str, Any]) -> Answer:
        vectors = direct.encode(body["input"]).tolist()
        rows = [{"index": n, "embedding": vector} for n, vector in enumerate(vectors)]
        return 200, {"data": rows}, {}

    service.answer = answer
    texts = ["a box for wires", "the fuse blows", "a box for wires, too", "earth"]
    encoder = service.encoder(batch=3)
    assert np.allclose(encoder.encode(texts), direct.encode(texts), atol=1e-6)
    assert np.allclose(encoder.encode_query("box?"), direct.encode_query("box?"), atol=1e-6)
    assert encoder.spec.dimension == 384
    assert {len(body["input"]) for body in service.bodies} == {1, 3}
    assert service.paths == ["/v1/embeddings"] * 4  # the probe, two batches, the question
    assert service.bodies[0]["model"] == "some/model:latest"


def test_vectors_are_put_in_the_order_of_the_texts(service: Loopback) -> None:
    def shuffled(body: dict[str, Any]) -> Answer:
        code, content, headers = plain(body)
        content["data"].reverse()
        return code, content, headers

    service.answer = shuffled
    texts = [f"text {n}" for n in range(10)]
    found = service.encoder(batch=4).encode(texts)
    assert np.allclose(found, [vector_of(text) for text in texts], atol=1e-6)


def test_base64_is_read_and_vectors_get_length_one(service: Loopback) -> None:
    def packed(body: dict[str, Any]) -> Answer:
        rows = [
            {"index": n, "embedding": base64.b64encode(5 * np.array(vector_of(t), "<f4")).decode()}
            for n, t in enumerate(body["input"])
        ]
        return 200, {"data": rows}, {}

    service.answer = packed
    found = service.encoder().encode(["one", "two"])
    assert np.allclose(found, [vector_of("one"), vector_of("two")], atol=1e-6)


def test_too_many_requests_are_repeated_when_the_service_says(service: Loopback) -> None:
    service.answer = in_turn((429, {}, {"Retry-After": "7"}), (503, {}, {}))
    found = service.encoder(dimension=DIMENSION).encode(["text"])
    assert np.allclose(found, [vector_of("text")], atol=1e-6)
    first, second = service.pauses
    assert 7 <= first <= 7.5 and 0 <= second <= 1


@pytest.mark.parametrize(
    ("said", "least", "most"),
    [
        (None, 0, 0),
        ("3", 3, 3),
        ("-5", 0, 0),
        ("nan", 0, 0),
        ("inf", MAX_WAIT_SECONDS, MAX_WAIT_SECONDS),
        ("999999", MAX_WAIT_SECONDS, MAX_WAIT_SECONDS),
        ("Fri, 31 Dec 2100 23:59:59 GMT", MAX_WAIT_SECONDS, MAX_WAIT_SECONDS),
        ("Fri, 31 Dec 1999 23:59:59 GMT", 0, 0),
        ("soon", 0, 0),
    ],
)
def test_a_wish_to_wait_is_bounded(said: str | None, least: float, most: float) -> None:
    assert least <= _retry_after_seconds(said) <= most


def test_a_service_that_stays_broken_is_given_up(service: Loopback) -> None:
    service.answer = lambda body: (500, {"error": "boom"}, {})
    with pytest.raises(ModelError, match="failed 3 times: HTTP 500") as caught:
        service.encoder(retries=2).encode(["text"])
    assert len(service.bodies) == 3
    assert "embedding.url" in caught.value.hint


def test_a_service_that_is_silent_is_given_up(service: Loopback) -> None:
    def slow(body: dict[str, Any]) -> Answer:
        time.sleep(0.6)
        return plain(body)

    service.answer = slow
    with pytest.raises(ModelError, match=r"no answer in 0\.2 seconds"):
        service.encoder(retries=1, timeout_seconds=0.2).encode(["text"])


def test_nobody_listens() -> None:
    gone = HttpService("http://127.0.0.1:9/v1", model="m", retries=1, sleep=lambda _: None)
    with pytest.raises(ModelError, match="failed 2 times"):
        gone.ask({"input": ["text"]})


def test_a_vector_of_another_length_is_an_error(service: Loopback) -> None:
    encoder = service.encoder(dimension=DIMENSION + 1)
    with pytest.raises(ModelError, match="vectors of 8 numbers, not 9") as caught:
        encoder.encode(["text"])
    assert "embedding.dimension" in caught.value.hint
    assert service.bodies[0]["dimensions"] == DIMENSION + 1


def test_a_length_once_learned_may_not_change(service: Loopback) -> None:
    encoder = service.encoder()
    encoder.encode(["text"])
    service.answer = lambda body: (200, {"data": [{"index": 0, "embedding": [1, 0]}]}, {})
    with pytest.raises(ModelError, match="vectors of 2 numbers, not 8"):
        encoder.encode(["text"])


@pytest.mark.parametrize(
    "content",
    [
        {"data": []},
        {"data": [{"index": 1, "embedding": [1.0] * 8}]},
        {"data": [{"index": 0, "embedding": [1.0] * 8}] * 2},
        {"data": [{"index": 0, "embedding": "no base64!"}]},
        {"data": [{"index": 0, "embedding": ["a", "b"]}]},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": "0", "embedding": [1.0] * 8}]},
        {"data": [None]},
        {"data": None},
        [],
        b"<html>",
        b"[" * 100_000,
        b"\xff\xfe",
    ],
)
def test_strange_answers_are_explained(service: Loopback, content: Any) -> None:
    service.answer = lambda body: (200, content, {})
    with pytest.raises(ModelError, match="the embedding service at"):
        service.encoder(dimension=DIMENSION).encode(["text"])


def test_numbers_that_are_none_are_no_vector(service: Loopback) -> None:
    content = b'{"data": [{"index": 0, "embedding": [NaN, 1, 2, 3, 4, 5, 6, 7]}]}'
    service.answer = lambda body: (200, content, {})
    assert not service.encoder(dimension=DIMENSION).encode(["text"]).any()


def test_one_text_that_is_refused_does_not_stop_the_others(service: Loopback) -> None:
    def picky(body: dict[str, Any]) -> Answer:
        return (400, {"error": "too long"}, {}) if "bad" in body["input"] else plain(body)

    service.answer = picky
    texts = [*(f"text {n}" for n in range(40)), "bad", "last"]
    found = service.encoder(batch=64).encode(texts)
    assert np.flatnonzero(~found.any(axis=1)).tolist() == [40]
    right = np.array([vector_of(text) for text in texts])
    assert np.allclose(np.delete(found, 40, 0), np.delete(right, 40, 0), atol=1e-6)
    assert len(service.bodies) < 20


def test_a_service_that_refuses_everything_is_an_error(service: Loopback) -> None:
    service.answer = lambda body: (400, {"error": "unknown field dimensions"}, {})
    with pytest.raises(ConfigError, match="unknown field dimensions") as caught:
        service.encoder(dimension=DIMENSION).encode(["a", "b"])
    assert "embedding.dimension" in caught.value.hint
    assert len(service.bodies) == 2


@pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 500])
def test_the_key_is_never_shown(
    service: Loopback, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", SECRET)
    # Services do repeat what they were sent.
    service.answer = lambda body: (code, {"error": f"bad key {service.headers[-1]}"}, {})
    encoder = service.encoder(api_key_env="SOME_KEY", retries=0)
    with pytest.raises(PinciteError) as caught:
        encoder.encode(["text"])
    assert service.headers[0]["authorization"] == f"Bearer {SECRET}"
    shown = [caught.value]
    while shown[-1].__cause__ or shown[-1].__context__:
        shown.append(shown[-1].__cause__ or shown[-1].__context__)  # type: ignore[arg-type]
    told = " ".join([*map(repr, shown), caught.value.hint, repr(encoder), repr(encoder.service)])
    assert SECRET not in told + str(vars(encoder)) + str(vars(encoder.service))
    assert caught.value.hint
    if code == 401:
        assert "SOME_KEY" in caught.value.hint


def test_bad_keys_are_refused_without_being_shown(
    service: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError) as caught:
        service.encoder(api_key_env=SECRET).encode(["text"])  # the key in the place of its name
    assert SECRET not in caught.value.message + caught.value.hint
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(ConfigError, match="SOME_KEY is not set"):
        service.encoder(api_key_env="SOME_KEY").encode(["text"])
    monkeypatch.setenv("SOME_KEY", f"{SECRET}\nX-Evil: 1")
    with pytest.raises(ConfigError) as caught:
        service.encoder(api_key_env="SOME_KEY").encode(["text"])
    assert SECRET not in caught.value.message + caught.value.hint
    assert not service.bodies


def test_a_key_goes_to_no_address_that_was_not_given_one(
    service: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    service.encoder(dimension=DIMENSION).encode(["text"])
    assert SECRET not in str(service.headers)


def test_a_redirect_is_not_followed(service: Loopback) -> None:
    service.answer = in_turn((307, {}, {"Location": f"{service.url}/elsewhere"}))
    with pytest.raises(ModelError, match="HTTP 307"):
        service.encoder().encode(["text"])
    assert len(service.paths) == 1


def test_azure_has_its_own_path_and_header(
    service: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_KEY", SECRET)
    base = service.url.removesuffix("/v1")
    for url, path in [
        ("/openai/deployments/mine", "/openai/deployments/mine/embeddings?api-version=2024-10-21"),
        (
            "/openai/deployments/mine/embeddings?api-version=2023-05-15",
            "/openai/deployments/mine/embeddings?api-version=2023-05-15",
        ),
    ]:
        encoder = service.encoder(url=base + url, api_key_env="AZURE_KEY", dimension=DIMENSION)
        encoder.encode(["text"])
        assert service.paths[-1] == path
        assert service.headers[-1]["api-key"] == SECRET
        assert "authorization" not in service.headers[-1]


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        (
            "https://x.openai.azure.com/",
            "https://x.openai.azure.com/openai/deployments/m%2F1/embeddings?api-version=2024-10-21",
        ),
        (
            "https://x.openai.azure.com/openai",
            "https://x.openai.azure.com/openai/deployments/m%2F1/embeddings?api-version=2024-10-21",
        ),
        ("https://x.openai.azure.com/openai/v1", "https://x.openai.azure.com/openai/v1/embeddings"),
        ("http://[::1]:80/v1/embeddings", "http://[::1]:80/v1/embeddings"),
    ],
)
def test_addresses(url: str, asked: str) -> None:
    assert HttpService(url, model="m/1")._url == asked


@pytest.mark.parametrize(
    "url", ["localhost:8080", "file:///etc/passwd", "http://", "http://a b/", "http://u:p@host/v1"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=r"embedding\.url") as caught:
        HttpService(url, model="m")
    assert "u:p" not in caught.value.message


def test_the_estimate_of_tokens_is_from_above() -> None:
    direct = OnnxEncoder(SHIPPED, threads=1)
    encoder = HttpEncoder(SHIPPED, HttpService("http://localhost/v1", model="m"))
    for text in [
        "Conductors of 600 volts or less shall be protected where they enter the box.",
        "Table 250.122: 1,600 A, 4/0 AWG, 350 kcmil (copper); see 97.113(a)(4).",
        "电气装置应当接地。",
        "Überstromschutzeinrichtungen",
    ]:
        starts = list(encoder.token_starts(text))
        assert starts == sorted(set(starts)) and starts[0] == 0
        assert len(starts) >= len(direct.token_starts(text))
    assert not encoder.token_starts(" \n ")


def test_names_and_services_are_told_apart() -> None:
    def known_as(**settings: Any) -> str:
        spec = spec_of(EmbeddingSettings(**settings))
        assert spec is not None
        return spec.id

    one, two = "http://one/v1", "http://two/v1"
    ids = [
        known_as(model="a/b", url=one),
        known_as(model="a-b", url=one),
        known_as(model="a/b", url=two),
        known_as(model="a/b", url=one, dimension=256),
    ]
    assert len(set(ids)) == 4
    assert not any("/" in each for each in ids)
    assert known_as(model="bge-m3", url=one) == known_as(model="bge-m3")
    with pytest.raises(ConfigError, match="no model of the service"):
        known_as(url=one)
    with pytest.raises(ConfigError, match="no embedding model 'unheard-of'") as caught:
        known_as(model="unheard-of")
    assert "embedding.url" in caught.value.hint


def test_an_index_is_embedded_and_searched_by_a_service(service: Loopback, tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text("# Rules\n\n## 1 Box\n\nA box.\n\n## 2 Fuse\n\nA fuse.\n")
    folder = tmp_path / "index"
    names = ["embedding.model=some/model", f"embedding.url={service.url}", "tuning.cache=false"]
    settings: Settings = load_settings(overrides=[*names, "search.preset=dense"])
    list(ingest_files([(tmp_path / "rules.md", "rules.md")], folder))
    last = list(embed_index(folder, settings))[-1]
    assert (last.done, last.without) == (last.total, 0)
    sent = [text for body in service.bodies[1:] for text in body["input"]]
    with Snapshot.open(folder) as snapshot:
        (vectors,) = snapshot.vectors
        assert np.allclose(vectors.exact, [vector_of(text) for text in sent], atol=1e-3)
        searcher = build(settings, OpenIndex(snapshot))
        assert len(searcher.search(Query(sent[0]), 5)) == last.total
        service.answer = lambda body: (200, {"data": [{"index": 0, "embedding": [1, 0]}]}, {})
        with pytest.raises(ModelError, match="gives vectors of 2 numbers, the index has 8"):
            build(settings, OpenIndex(snapshot)).search(Query("fuse"), 5)
