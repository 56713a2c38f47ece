"""Documents come and go while the service runs, and no request is lost by it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from click.testing import CliRunner

from pincite.cli.main import app
from pincite.measure.questions import load
from pincite.model.errors import SourceError, StoreError
from pincite.serve.collections import document_name
from pincite.serve.run import ListenAddress, check_free
from pincite.update import ingest_files, remove

from .conftest import client, free_port, run, settings

ZEBRA = b"# Zebra\n\n## 1.1 Stripes\n\nA zebra shall have stripes.\n"
OKAPI = b"# Zebra\n\n## 1.1 Stripes\n\nAn okapi shall have stripes on its legs.\n"


async def finished(opened: httpx.AsyncClient, told: httpx.Response) -> dict[str, Any]:
    """Return a job after its end."""
    assert told.status_code == 202, told.text
    until = time.monotonic() + 60
    while time.monotonic() < until:
        job: dict[str, Any] = (await opened.get(told.headers["location"])).json()
        if job["state"] in ("done", "rejected", "failed"):
            return job
        await asyncio.sleep(0.05)
    raise AssertionError("the job does not end")


async def found(opened: httpx.AsyncClient, query: str) -> list[str]:
    told = await opened.post("/v1/search", json={"query": query, "k": 1})
    return [hit["snippet"] for hit in told.json()["hits"]]


def test_a_document_comes_changes_and_goes(own_index: Path) -> None:
    async def work() -> None:
        async with client(own_index) as opened:
            put = opened.post
            file = {"file": ("zoo.md", ZEBRA)}
            added = await finished(opened, await put("/v1/documents", files=file))
            assert (added["state"], added["status"], added["document"]) == (
                "done",
                "added",
                "zoo.md",
            )
            assert added["done"] == added["total"] == 1  # it has its vector
            assert "zebra" in (await found(opened, "zebra stripes"))[0]
            again = await finished(opened, await put("/v1/documents", files=file))
            assert (again["state"], again["status"]) == ("done", "unchanged")
            other = {"file": ("zoo.md", OKAPI)}
            changed = await finished(opened, await put("/v1/documents", files=other))
            assert changed["status"] == "changed"
            assert "okapi" in (await found(opened, "okapi stripes"))[0]
            bad = {"file": ("zoo.md", b"---\naccess:\n---\n# For nobody\n")}
            refused = await finished(opened, await put("/v1/documents", files=bad))
            assert refused["state"] == "rejected" and refused["reason"]
            assert str(own_index) not in json.dumps(refused)
            # What was there before is there still, and can be uploaded again as what it is.
            assert "okapi" in (await found(opened, "okapi stripes"))[0]
            same = await finished(opened, await put("/v1/documents", files=other))
            assert same["status"] == "unchanged"
            gone = await opened.delete("/v1/documents/zoo.md")
            assert gone.status_code == 200
            assert (await opened.get("/v1/documents/zoo.md")).status_code == 404
            assert not any("okapi" in each for each in await found(opened, "okapi"))
            assert (await opened.delete("/v1/documents/zoo.md")).status_code == 404
        leftovers = [each.name for each in (own_index / "uploads").rglob("*") if each.is_file()]
        assert leftovers == []

    run(work())


def test_a_folder_without_an_index_is_served_too(tmp_path: Path) -> None:
    async def work() -> None:
        async with client(tmp_path / "new") as opened:
            assert (await opened.get("/readyz")).status_code == 200
            assert (await opened.get("/v1/documents")).json()["documents"] == []
            empty = await opened.post("/v1/search", json={"query": "zebra"})
            assert empty.status_code == 404 and str(tmp_path) not in empty.text
            data = {"name": "animals/zebra.md"}
            file = {"file": ("x.md", ZEBRA)}
            told = await opened.post("/v1/documents", files=file, data=data)
            assert (await finished(opened, told))["document"] == "animals/zebra.md"
            assert await found(opened, "zebra")

    run(work())


def test_a_document_never_takes_the_place_of_a_folder(own_index: Path) -> None:
    """Uploads are kept as files under their names; one name must not sweep away others."""

    async def work() -> list[dict[str, Any]]:
        async with client(own_index) as opened:
            jobs = []
            for name in ("zoo/zebra.md", "zoo", "zoo/zebra.md/more.md"):
                told = await opened.post(
                    "/v1/documents", files={"file": ("x.md", ZEBRA)}, data={"name": name}
                )
                jobs.append(await finished(opened, told))
            return jobs

    kept, folder, below = run(work())
    assert kept["state"] == "done"
    assert folder["state"] == below["state"] == "failed"
    assert "folder" in folder["reason"] and "folder" in below["reason"]
    assert (own_index / "uploads/zoo/zebra.md").read_bytes() == ZEBRA


def test_what_the_server_ingested_is_not_replaced(own_index: Path) -> None:
    async def work() -> httpx.Response:
        async with client(own_index) as opened:
            return await opened.post("/v1/documents", files={"file": ("rulebook.md", ZEBRA)})

    told = run(work())
    assert told.status_code == 409 and "/" not in told.json()["error"]["message"]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            ".",
            "..",
            "../x.md",
            "a/../b.md",
            "/etc/passwd",
            "a//b.md",
            ".hidden",
            "a/.b",
            "a\\b",
        ),
        *("a\x00b", "a\nb", "C:x.md", " a.md", "a.md ", "x" * 201, "a/" * 9 + "b", "\u202ea.md"),
    ],
)
def test_no_name_leads_out_of_the_folder(name: str) -> None:
    with pytest.raises(SourceError):
        document_name(name)


def test_the_queue_of_jobs_is_bounded(own_index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pincite.serve.collections import Jobs

    monkeypatch.setattr(Jobs, "run", lambda self, job: time.sleep(0.5))

    async def work() -> list[int]:
        async with client(own_index, settings(jobs=1)) as opened:
            calls = [
                opened.post("/v1/documents", files={"file": (f"{n}.md", ZEBRA)}) for n in range(5)
            ]
            return sorted(told.status_code for told in await asyncio.gather(*calls))

    assert run(work()) == [202, 202, 503, 503, 503]


def test_feedback_becomes_judgements(own_index: Path) -> None:
    body = {"question": "rod spacing", "locator": "250.56(B)", "grade": 1}
    body["document"] = "electrical-code-2024.md"

    async def work() -> list[httpx.Response]:
        async with client(own_index) as opened:
            post = opened.post
            return [
                await post("/v1/feedback", json=body),
                await post("/v1/feedback", json=body),
                await post("/v1/feedback", json={**body, "locator": "250.52", "grade": 0}),
                await post("/v1/feedback", json={**body, "locator": "nowhere"}),
            ]

    first, again, worse, none = run(work())
    assert first.status_code == 201 and first.json()["judged"] == 1
    assert again.json()["judged"] == 0 and worse.json()["judged"] == 1
    assert none.status_code == 404
    (question,) = load(own_index / "feedback.jsonl").questions
    assert question.text == "rod spacing" and question.places[0].locator == "250.56(B)"
    assert [place.locator for place in question.rejected] == ["250.52"]


def test_new_generations_come_in_without_losing_a_request(own_index: Path, tmp_path: Path) -> None:
    """Documents come and go in the folder; every search sees one generation as a whole."""
    file = tmp_path / "zoo.md"
    file.write_bytes(ZEBRA)

    async def work() -> tuple[list[httpx.Response], str]:
        async with client(own_index, settings(reload_seconds=0.05, rate_per_minute=0)) as opened:
            stop = asyncio.Event()
            told: list[httpx.Response] = []

            async def search() -> None:
                while not stop.is_set():
                    told.append(await opened.post("/v1/search", json={"query": "zebra", "k": 3}))

            searching = [asyncio.create_task(search()) for _ in range(4)]
            for _ in range(3):
                await asyncio.to_thread(lambda: list(ingest_files([(file, "zoo.md")], own_index)))
                await asyncio.sleep(0.2)
                await asyncio.to_thread(remove, own_index, ["zoo.md"])
                await asyncio.sleep(0.2)
            stop.set()
            await asyncio.gather(*searching)
            return told, (await opened.get("/metrics")).text

    told, figures = run(work())
    assert {each.status_code for each in told} == {200}
    by_generation: dict[int, set[bool]] = {}
    for each in told:
        values = each.json()
        has_zebra = any(hit["document"] == "zoo.md" for hit in values["hits"])
        by_generation.setdefault(values["generation"], set()).add(has_zebra)
    assert len(by_generation) >= 4  # it did move on
    assert all(len(seen) == 1 for seen in by_generation.values())  # nothing in between
    assert 'pincite_reloads_total{collection="default"}' in figures


@pytest.mark.slow
def test_the_command_serves_drains_and_shares(
    sample_index: Path, tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    """Two workers answer, chats are shared, and an interrupted service ends what it began."""
    port = free_port()
    program = [sys.executable, "-c", "from pincite.cli.main import run; run()", "serve"]
    chosen = ["--index", str(sample_index), "--port", str(port), "--workers", "2"]
    process = subprocess.Popen(
        [*program, *chosen], cwd=tmp_path, env=clean_environment, stderr=subprocess.PIPE
    )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as opened:
            _wait(opened, process)
        workers = set()
        for _ in range(40):
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as opened:
                figures = opened.get("/metrics").text
                workers.add(figures.partition('pid="')[2].partition('"')[0])
                opened.post("/sessions/shared/messages", json={"content": "earth rods"})
            if len(workers) == 2:
                break
        assert len(workers) == 2
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as opened:
            said = opened.get("/sessions/shared/messages").json()["messages"]
        assert len(said) >= 4
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) in (0, -signal.SIGTERM)
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate()


def _wait(opened: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until:
        assert process.poll() is None
        try:
            if opened.get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError("the service does not start")


def test_the_command_explains_what_is_wrong(pincite: Any, tmp_path: Path) -> None:
    told = pincite("serve", "--host", "0.0.0.0", cwd=tmp_path)
    assert told.code == 2 and "keys add" in told.err
    told = pincite("serve", "--keys", "none.json", cwd=tmp_path)
    assert told.code == 4 and "keys add" in told.err


def test_a_port_that_is_taken_is_told_in_one_error(pincite: Any, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told = pincite("serve", "--port", str(port), cwd=tmp_path)
    assert told.code == 4 and "http://" not in told.err
    lines = told.err.splitlines()
    assert len(lines) == 2 and f"127.0.0.1:{port}: Address already in use" in lines[0]
    assert "--port" in lines[1]
    check_free(ListenAddress("127.0.0.1", port))  # free again
    with pytest.raises(StoreError, match=r"cannot listen at 192\.0\.2\.1"):
        check_free(ListenAddress("192.0.2.1", port))  # no address of this machine


def test_a_folder_without_an_index_is_named_before_the_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(uvicorn, "run", lambda *_, **__: None)
    monkeypatch.setattr("logging.basicConfig", lambda **_: None)
    folder = tmp_path / ("long-" * 20)
    done = CliRunner().invoke(app, ["serve", "-i", str(folder), "--port", str(free_port())])
    assert done.exit_code == 0, done.output
    warning, address = done.output.splitlines()
    assert warning.startswith(f"warning: there is no index in {folder} yet")
    assert warning.endswith(f"pincite ingest FILES --index {folder}")
    assert address.startswith("http://127.0.0.1:") and address.endswith("may do everything)")
