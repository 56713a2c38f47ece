"""Strangers, slow clients, and what one key can do to another's chats, views and memory."""

from __future__ import annotations

import gc
import os
import socket
import stat
import weakref
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pincite.encode.encoders import _remembered
from pincite.measure.labelling import added
from pincite.model.settings import Settings
from pincite.serve import feedback_routes
from pincite.serve.access import add_key, new_key
from pincite.serve.collections import VIEWS, OpenGeneration, ServedCollection
from pincite.serve.connections import HEAD_BYTES, BoundedConnection
from pincite.serve.reading import generation_of
from pincite.serve.run import ListenAddress
from pincite.serve.run import run as serve
from pincite.serve.service import Options, Sessions
from pincite.serve.work import Work
from pincite.update import ingest_files

from .conftest import client, run, served, settings

PLAIN = Settings().changed({"embedding.model": "none"})
RULES = "---\naccess: [{tag}]\n---\n# Rules {number}\n\n## 1 Rods\n\nRods are {number} m apart.\n"


def _connect(address: str) -> socket.socket:
    place = urlsplit(address)
    return socket.create_connection((place.hostname, place.port), timeout=20)


def _answer(client: socket.socket) -> bytes:
    """Return all that the server says until it closes the connection."""
    told = b""
    try:
        while part := client.recv(4096):
            told += part
    except ConnectionResetError:
        pass
    return told


@pytest.fixture
def options(tmp_path: Path) -> Options:
    key, _ = new_key("reader")
    add_key(tmp_path / "keys.json", key)
    return Options(keys=tmp_path / "keys.json")


def test_a_stranger_is_refused_before_the_body_is_read(tmp_path: Path, options: Options) -> None:
    head = (
        b"POST /v1/documents HTTP/1.1\r\nhost: localhost\r\ncontent-length: 60000000\r\n"
        b"content-type: multipart/form-data; boundary=x\r\n\r\n--x\r\n"
    )
    with (
        served({"default": tmp_path / "index"}, settings(), options) as address,
        _connect(address) as client,
    ):
        client.sendall(head)
        told = _answer(client)  # and the connection is closed: no more of it comes in
    assert told.startswith(b"HTTP/1.1 401") and b"Bearer" in told


def test_headers_without_an_end_are_refused(tmp_path: Path, options: Options) -> None:
    with (
        served({"default": tmp_path / "index"}, settings(), options) as address,
        _connect(address) as client,
    ):
        client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n")
        try:
            for number in range(3 * HEAD_BYTES // 1000):
                client.sendall(b"x-%d: " % number + b"a" * 1000 + b"\r\n")
            told = _answer(client)
        except (BrokenPipeError, ConnectionResetError):
            told = b"HTTP/1.1 4"  # closed while we were speaking
    assert told.startswith(b"HTTP/1.1 4")


@pytest.mark.parametrize("said", [b"", b"GET /healthz HT"])
def test_who_says_nothing_is_sent_away(
    said: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoundedConnection, "head_seconds", 0.5)
    with served({"default": tmp_path / "index"}, settings()) as address:
        with _connect(address) as client:
            client.sendall(said)
            assert _answer(client) == b""
        with _connect(address) as client:  # a request that came in time is answered
            client.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            assert _answer(client).startswith(b"HTTP/1.1 200")


def test_chats_of_one_key_do_not_make_those_of_another_forgotten() -> None:
    sessions = Sessions(None, 3, 4)
    sessions.add("quiet", "first", "What is a rod?", "A rod.")
    for number in range(10):
        sessions.add("busy", str(number), "What?", "That.")
    assert [each.text for each in sessions.history("quiet", "first")] == [
        "What is a rod?",
        "A rod.",
    ]
    kept = [number for number in range(10) if sessions.history("busy", str(number))]
    assert kept == [7, 8, 9]


def _ingested(tmp_path: Path, number: int) -> Path:
    file = tmp_path / "rules.md"
    file.write_text(RULES.format(tag="staff", number=number))
    list(ingest_files([(file, "rules.md"), *_open_file(tmp_path)], tmp_path / "index"))
    return tmp_path / "index"


def _open_file(tmp_path: Path) -> list[tuple[Path, str]]:
    file = tmp_path / "open.md"
    if not file.exists():
        file.write_text("# Open\n\n## 1 Poles\n\nPoles are 3 m apart.\n")
    return [(file, "open.md")]


def test_many_thresholds_leave_the_views_of_others(tmp_path: Path) -> None:
    index = _ingested(tmp_path, 1)
    generation = OpenGeneration(index, Settings(), ServedCollection("a", index, Settings()).metrics)
    view = generation.seen_by(("guests",))
    for number in range(1, 3 * VIEWS):
        generation.seen_by(("others",), number / 100)
    assert generation.seen_by(("guests",)) is view
    generation.count(retires=True)


def test_generations_that_are_over_are_freed(tmp_path: Path) -> None:
    """Nothing but the service itself frees them here: Python's own collector is switched off."""
    collection = ServedCollection("rules", _ingested(tmp_path, 0), Settings())
    collection.refresh()
    seen: list[weakref.ref[object]] = []
    gc.disable()
    try:
        for number in range(1, 6):
            for tags in (None, (), ("staff",)):
                with collection.lease(tags) as reader:
                    assert reader.search("how far apart are poles")
                    seen.append(weakref.ref(reader.opened))
            del reader
            _ingested(tmp_path, number)
            assert collection.refresh()
        held = sum(each() is not None for each in seen)
    finally:
        gc.enable()
        collection.close()
    assert held == 0, f"{held} of {len(seen)} views are still in memory"


def test_an_odd_search_is_told_what_is_wrong(sample_index: Path) -> None:
    """Searches are read before the framework is asked; what they lack is said as ever."""
    good = {"query": "earth rods", "k": 2}

    async def statuses() -> list[tuple[int, str]]:
        async with client(sample_index) as http:
            sent = [
                await http.post("/v1/search", json=good),
                await http.post("/v1/search", json={**good, "colour": "red"}),
                await http.post("/v1/search", json={**good, "k": "two"}),
                await http.post("/v1/search", content=b'{"query": "\\ud800"}', headers=JSON),
                await http.post("/v1/search", content=b"{", headers=JSON),
                await http.post("/v1/search", content=b"query=rods"),
                await http.get("/v1/search"),
            ]
            return [(s.status_code, s.json().get("error", {}).get("message", "")) for s in sent]

    found = run(statuses())
    assert [status for status, _ in found] == [200, 422, 422, 422, 422, 422, 405]
    assert "colour" in found[1][1] and "k: " in found[2][1]


JSON = {"content-type": "application/json"}


def test_what_was_asked_is_remembered_for_who_asked_alone() -> None:
    """The time would tell whether another key asked the same."""
    encoded: list[str] = []
    vector = _remembered(lambda text: encoded.append(text) or text, 10)

    async def asked() -> None:
        work = Work("test", 1, 10)
        for owner in ("one", "one", "two"):
            assert await work.run(owner, 5, vector, "rods") == "rods"
        work.close()

    run(asked())
    assert encoded == ["rods", "rods"]


def test_the_generation_counts_what_a_key_sees(tmp_path: Path) -> None:
    def told(tag: str, number: int) -> int:
        (tmp_path / f"{number}.md").write_text(RULES.format(tag=tag, number=number))
        list(ingest_files([(tmp_path / f"{number}.md", f"{number}.md")], tmp_path / "index", PLAIN))
        collection = ServedCollection("one", tmp_path / "index", PLAIN)
        collection.refresh()
        with collection.lease(("red",)) as seen, collection.lease(None) as every:
            assert generation_of(every) == number
            found = generation_of(seen)
        collection.close()
        return found

    first = told("red", 1)
    assert told("blue", 2) == told("blue", 3) == first != told("red", 4)


def test_the_address_of_a_model_is_told_to_nobody(sample_index: Path) -> None:
    chosen = settings().changed(
        {"answer.url": "http://127.0.0.1:9/v1", "answer.model": "m", "http.retries": 0}
    )

    async def noted() -> str:
        async with client(sample_index, chosen) as http:
            body = {"question": "How far apart must two earth rods be?"}
            return str((await http.post("/v1/ask", json=body)).json()["notes"])

    found = run(noted())
    assert "without a language model" in found and "127.0.0.1" not in found and ":9" not in found


def test_a_judgement_more_reads_no_thousands_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    load = feedback_routes.load
    monkeypatch.setattr(feedback_routes, "load", lambda file: read.append(file) or load(file))
    file = tmp_path / "feedback.jsonl"
    for number in range(5):
        feedback_routes.change(file, partial(added, texts=[f"question {number}"]))
    assert len(feedback_routes.read(file).questions) == 5 and not read
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("question 4", "another one"), encoding="utf-8")
    assert feedback_routes.read(file).questions[4].text == "another one" and len(read) == 1


def test_with_keys_files_are_not_for_all_users(
    sample_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, _ = new_key("one")
    add_key(tmp_path / "keys.json", key)
    monkeypatch.setattr("uvicorn.run", lambda *_, **__: (tmp_path / "new").write_text("x"))
    before = os.umask(0o022)
    try:
        options = Options(keys=tmp_path / "keys.json")
        serve({"default": str(sample_index)}, settings(), options, ListenAddress(port=0))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
