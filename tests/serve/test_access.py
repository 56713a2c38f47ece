"""Who may do what: keys, scopes, collections, names, bodies, rates, and what the log says."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from pincite.search.reader import IndexReader
from pincite.serve.access import Key, add_key, new_key, revoke_key
from pincite.serve.service import Options

from .conftest import client, run, settings

SEARCH = {"query": "earth rods", "k": 1}


class Ring:
    """A file of keys and their secrets by name."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "keys.json"
        self.secrets: dict[str, str] = {}
        self.keys: dict[str, Key] = {}

    def add(self, name: str, *scopes: str, **rest: Any) -> None:
        if set(scopes) - {"read"}:
            rest["access"] = None
        key, secret = new_key(name, scopes or ["read"], **rest)
        add_key(self.file, key)
        self.secrets[name], self.keys[name] = secret, key

    def bearer(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.secrets[name]}"}


@pytest.fixture
def ring(tmp_path: Path) -> Ring:
    made = Ring(tmp_path)
    for name, scopes in (("read", ["read"]), ("write", ["read", "write"]), ("admin", ["admin"])):
        made.add(name, *scopes)
    return made


def test_every_route_needs_a_key_and_its_scope(sample_index: Path, ring: Ring) -> None:
    needs = {
        ("POST", "/v1/search"): "read",
        ("GET", "/v1/documents"): "read",
        ("POST", "/v1/ask"): "read",
        ("POST", "/v1/embeddings"): "read",
        ("POST", "/v2/rerank"): "read",
        ("GET", "/sessions/a/messages"): "read",
        ("POST", "/v1/documents"): "write",
        ("DELETE", "/v1/documents/x"): "write",
        ("GET", "/v1/jobs/0123456789abcdef"): "write",
        ("GET", "/metrics"): "admin",
    }
    order = ["read", "write", "admin"]

    async def ask() -> dict[tuple[str, str, str], int]:
        found = {}
        async with client(sample_index, None, Options(ring.file), host="any.name") as opened:
            for method, path in needs:
                for name in ("", "wrong", *order):
                    shown = {"": {}, "wrong": {"x-api-key": "pincite_a_b"}}.get(name)
                    headers = ring.bearer(name) if shown is None else shown
                    told = await opened.request(method, path, headers=headers)
                    found[method, path, name] = told.status_code
            for path in ("/healthz", "/readyz"):
                found["GET", path, ""] = (await opened.get(path)).status_code
        return found

    found = run(ask())
    assert found["GET", "/healthz", ""] == found["GET", "/readyz", ""] == 200
    for (method, path), scope in needs.items():
        assert found[method, path, ""] == found[method, path, "wrong"] == 401
        for name in order:
            status = found[method, path, name]
            if order.index(name) < order.index(scope):
                assert status == 403, (path, name)
            else:  # the body is missing or the thing is: but that was looked at
                assert status in (200, 404, 422), (path, name, status)


def test_no_route_was_forgotten(sample_index: Path, ring: Ring) -> None:
    """Without a key nothing answers but health, readiness and the description of the service."""

    async def ask() -> dict[str, int]:
        async with client(sample_index, None, Options(ring.file)) as opened:
            described = (await opened.get("/openapi.json")).json()
            assert described["security"] == [{"key": []}]
            paths = described["paths"]
            found = {}
            for path, methods in paths.items():
                for method in methods:
                    told = await opened.request(method.upper(), path)
                    found[f"{method} {path}"] = told.status_code
            return found

    free = {name for name, status in run(ask()).items() if status not in (401, 422)}
    assert free == {"get /healthz", "get /readyz"}


def test_a_revoked_key_stops_working_while_the_service_runs(sample_index: Path, ring: Ring) -> None:
    async def ask() -> list[int]:
        async with client(sample_index, None, Options(ring.file)) as opened:
            headers = ring.bearer("read")
            before = await opened.post("/v1/search", json=SEARCH, headers=headers)
            revoke_key(ring.file, ring.keys["read"].id)
            until = time.monotonic() + 10
            while time.monotonic() < until:
                after = await opened.post("/v1/search", json=SEARCH, headers=headers)
                if after.status_code == 401:
                    break
                await asyncio.sleep(0.05)
            ring.file.unlink()  # a file that is gone opens nothing
            await asyncio.sleep(0.5)
            gone = await opened.post("/v1/search", json=SEARCH, headers=ring.bearer("admin"))
            return [before.status_code, after.status_code, gone.status_code]

    assert run(ask()) == [200, 401, 401]


def test_collections_are_kept_apart(sample_index: Path, own_index: Path, ring: Ring) -> None:
    ring.add("law", collections=["law"])
    folders = {"law": sample_index, "games": own_index}

    async def ask() -> list[httpx.Response]:
        async with client(folders, None, Options(ring.file)) as opened:
            mine, all_ = ring.bearer("law"), ring.bearer("read")
            post = opened.post
            return [
                await post("/v1/search", json=SEARCH, headers=mine),
                await post("/v1/search", json={**SEARCH, "collection": "games"}, headers=mine),
                await post("/v1/search", json={**SEARCH, "collection": "nope"}, headers=mine),
                await post("/v1/search", json=SEARCH, headers=all_),
                await post("/v1/search", json={**SEARCH, "collection": "games"}, headers=all_),
                await opened.get("/v1/collections", headers=mine),
                await opened.get("/v1/models", headers=mine),
            ]

    own, other, none, unclear, named, listed, models = run(ask())
    assert own.json()["collection"] == "law" and named.json()["collection"] == "games"
    assert other.status_code == none.status_code == 404
    assert (
        other.text.replace("games", "?").partition("request_id")[0]
        == (none.text.replace("nope", "?").partition("request_id")[0])
    )
    assert unclear.status_code == 400
    assert listed.json() == {"collections": ["law"]} and "games" not in models.text


def test_rates_are_kept_by_key(sample_index: Path, ring: Ring) -> None:
    ring.add("slow", rate_per_minute=60)

    async def ask() -> list[httpx.Response]:
        chosen = settings(rate_per_minute=0, burst=3)
        async with client(sample_index, chosen, Options(ring.file)) as opened:
            found = [
                await opened.get("/v1/collections", headers=ring.bearer("slow")) for _ in range(6)
            ]
            other = await opened.get("/v1/collections", headers=ring.bearer("read"))
            return [*found, other]

    *found, other = run(ask())
    statuses = [told.status_code for told in found]
    assert statuses[:3] == [200, 200, 200] and 429 in statuses[3:] and other.status_code == 200
    refused = next(told for told in found if told.status_code == 429)
    assert int(refused.headers["retry-after"]) >= 1


def test_guessing_keys_is_slowed_down(sample_index: Path, ring: Ring) -> None:
    async def ask() -> list[int]:
        async with client(sample_index, None, Options(ring.file)) as opened:
            wrong = {"authorization": "Bearer pincite_aaaa_bbbb"}
            return [(await opened.get("/v1/models", headers=wrong)).status_code for _ in range(40)]

    statuses = run(ask())
    assert statuses[0] == 401 and statuses[-1] == 429


def test_without_keys_only_names_of_this_machine_are_served(sample_index: Path) -> None:
    """A page of another site that lets its name lead here gets nothing."""

    async def ask(host: str, **headers: str) -> int:
        async with client(sample_index, host=host) as opened:
            return (await opened.post("/v1/search", json=SEARCH, headers=headers)).status_code

    assert run(ask("localhost")) == run(ask("127.0.0.1:8321")) == run(ask("[::1]:80")) == 200
    assert run(ask("evil.example")) == 421
    assert run(ask("localhost", origin="http://localhost")) == 200
    assert run(ask("localhost", origin="http://evil.example")) == 403
    assert run(ask("localhost", origin="null")) == 403


def test_other_origins_are_let_in_if_named(sample_index: Path) -> None:
    async def ask(**serve: Any) -> tuple[httpx.Response, httpx.Response]:
        origin = {"origin": "https://app.example"}
        preflight = {**origin, "access-control-request-method": "POST"}
        async with client(sample_index, settings(**serve)) as opened:
            return (
                await opened.options("/v1/search", headers=preflight),
                await opened.post("/v1/search", json=SEARCH, headers=origin),
            )

    before, told = run(ask())
    assert "access-control-allow-origin" not in before.headers and told.status_code == 403
    before, told = run(ask(cors_origins="https://app.example"))
    assert before.headers["access-control-allow-origin"] == "https://app.example"
    assert told.status_code == 200


def test_bodies_are_bounded(sample_index: Path) -> None:
    async def slow() -> Any:
        yield b'{"query": "'
        await asyncio.sleep(1)
        yield b'x"}'

    async def endless() -> Any:
        for _ in range(100):
            yield b" " * 50_000

    async def ask() -> list[int]:
        async with client(sample_index, settings(body_mb=0.1, body_seconds=0.5)) as opened:
            json_type = {"content-type": "application/json"}
            large = json.dumps({"query": "x" * 200_000})
            return [
                (await opened.post("/v1/search", content=body, headers=json_type)).status_code
                for body in (large, endless(), slow())
            ]

    assert run(ask()) == [413, 413, 408]


def test_too_much_to_do_is_refused_at_once(
    sample_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = IndexReader.search

    def slow(self: IndexReader, *args: Any, **rest: Any) -> Any:
        time.sleep(0.4)
        return real(self, *args, **rest)

    monkeypatch.setattr(IndexReader, "search", slow)

    async def ask() -> tuple[list[httpx.Response], list[httpx.Response], httpx.Response]:
        chosen = settings(threads=1, queue=2, search_seconds=20.0)
        async with client(sample_index, chosen) as opened:
            calls = [opened.post("/v1/search", json=SEARCH) for _ in range(10)]
            many = await asyncio.gather(*calls)
            alive = await opened.get("/healthz")
        async with client(sample_index, settings(search_seconds=0.1)) as opened:
            late = [await opened.post("/v1/search", json=SEARCH)]
        return many, late, alive

    many, late, alive = run(ask())
    statuses = sorted(told.status_code for told in many)
    assert statuses == [200] * 3 + [503] * 7
    refused = next(told for told in many if told.status_code == 503)
    assert int(refused.headers["retry-after"]) >= 1 and refused.elapsed.total_seconds() < 2
    assert late[0].status_code == 504 and alive.status_code == 200


def test_the_audit_log_has_a_line_a_request_and_no_words(
    sample_index: Path, ring: Ring, tmp_path: Path
) -> None:
    file = tmp_path / "audit.jsonl"

    async def ask(**serve: Any) -> None:
        chosen = settings(**serve)
        async with client(sample_index, chosen, Options(ring.file, file)) as opened:
            body = {"query": "my private\nquestion", "k": 2}
            await opened.post("/v1/search", json=body, headers=ring.bearer("read"))
            await opened.get("/v1/documents/secret-name.md", headers=ring.bearer("read"))
            await opened.post("/v1/search", json=body)

    run(ask())
    text = file.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["status"] for line in lines] == [200, 404, 401]
    assert lines[0]["key"] == ring.keys["read"].id and lines[0]["hits"] == 2
    assert lines[0]["query_length"] == 19 and lines[0]["collection"] == "default"
    assert "private" not in text and "secret-name" not in text
    assert not any(secret in text for secret in ring.secrets.values())
    run(ask(log_queries=True))
    assert json.loads(file.read_text().splitlines()[3])["query"] == "my private\nquestion"


def test_an_error_nobody_expected_tells_nothing(
    sample_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("/secret/path and more")

    monkeypatch.setattr(IndexReader, "search", broken)

    async def ask() -> httpx.Response:
        async with client(sample_index) as opened:
            return await opened.post("/v1/search", json=SEARCH)

    told = run(ask())
    assert told.status_code == 500 and "secret" not in told.text
    assert told.json()["error"]["request_id"] == told.headers["x-request-id"]
    assert told.headers["x-content-type-options"] == "nosniff"
