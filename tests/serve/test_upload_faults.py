"""Uploads on a full disk, killed in the middle, and two of one name in two processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest

from pincite.model.settings import Settings
from pincite.serve.collections import Job, Jobs, ServedCollection

from .conftest import served, settings

PLAIN = {"embedding.model": "none"}
FORK: Any = multiprocessing.get_context("fork")
RULES = b"# Rules\n\n## 1 Rods\n\nRods are 2 m apart.\n"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of three megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def _full(folder: Path) -> Iterator[None]:
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as stream:
        while left := shutil.disk_usage(folder).free:
            stream.write(bytes(min(left, 65_536)))
    yield
    ballast.unlink()


def _files(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}


def _uploaded(http: httpx.Client, name: str, data: bytes) -> str:
    answer = http.post("/v1/documents", files={"file": (name, data)})
    assert answer.status_code == 202, answer.text
    job = answer.json()
    until = time.monotonic() + 120
    while job["state"] not in ("done", "rejected", "failed") and time.monotonic() < until:
        time.sleep(0.1)
        job = http.get(f"/v1/jobs/{job['id']}").json()
    return f"{job['state']} {job['reason']}".strip()


def test_a_full_disk_is_told_and_nothing_is_left(small_disk: Path) -> None:
    index, large = small_disk / "index", RULES + b"Rods are made of copper. " * 10_000
    chosen = settings().changed(PLAIN)
    with (
        served({"default": index}, chosen) as address,
        httpx.Client(base_url=address, timeout=120) as http,
    ):
        assert _uploaded(http, "rules.md", RULES) == "done"
        before = _files(small_disk)
        with _full(small_disk):
            for name in ("large.md", "rules.md"):
                refused = http.post("/v1/documents", files={"file": (name, large)})
                assert refused.status_code == 507, refused.text
                assert "no room left" in refused.json()["error"]["message"]
            gone = http.delete("/v1/documents/rules.md")
            assert gone.status_code == 507, gone.text
            assert http.post("/v1/search", json={"query": "rods"}).json()["hits"]
        assert _files(small_disk) <= before | {"index/uploads.lock"}
        assert _uploaded(http, "large.md", large) == "done"
        assert http.delete("/v1/documents/rules.md").status_code == 200


def _jobs(index: Path) -> Jobs:
    chosen = Settings().changed(PLAIN)
    collection = ServedCollection("default", index, chosen)
    collection.refresh()
    return Jobs(collection, chosen)


def _run(index: Path, name: str, data: bytes, told: Any = None, start: Any = None) -> None:
    """In a process of its own: upload a document."""
    jobs = _jobs(index)
    job: Job = jobs.receive(name, BytesIO(data))
    if start is not None:
        start.wait()
    jobs.run(job)
    if told is not None:
        told.put(jobs.find(job.id).state)


def _wait_for(is_true: Any) -> None:
    until = time.monotonic() + 120
    while not is_true() and time.monotonic() < until:
        time.sleep(0.002)
    assert is_true()


@pytest.mark.parametrize("before", [RULES, b""])
def test_a_kill_in_the_middle_leaves_file_and_index_as_they_were(
    before: bytes, tmp_path: Path
) -> None:
    index, file = tmp_path / "index", tmp_path / "index/uploads/rules.md"
    _run(index, "other.md", RULES)
    if before:
        _run(index, "rules.md", before)
    new = RULES + b"Rods are made of copper.\n\n" * 40_000  # reading takes its time
    process = FORK.Process(target=_run, args=(index, "rules.md", new))
    process.start()
    _wait_for(lambda: file.exists() and file.stat().st_size == len(new))
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    jobs = _jobs(index)
    jobs.recover()
    assert (file.read_bytes() if file.exists() else b"") == before
    assert list((index / "uploads/.incoming").iterdir()) == []
    states = [json.loads(each.read_bytes())["state"] for each in jobs.folder.glob("*.json")]
    assert sorted(states) == ["done"] * (len(states) - 1) + ["failed"]
    _run(index, "rules.md", RULES)  # and the next one is taken in
    assert file.read_bytes() == RULES


def test_two_of_one_name_in_two_processes(tmp_path: Path) -> None:
    index = tmp_path / "index"
    _run(index, "other.md", RULES)
    good, bad = RULES + b"Rods are made of copper.\n\n" * 100, b""
    for _ in range(2):
        told, start = FORK.Queue(), FORK.Barrier(2)
        uploads = [
            FORK.Process(target=_run, args=(index, "rules.md", data, told, start))
            for data in (good, bad)
        ]
        for each in uploads:
            each.start()
        states = sorted(told.get(timeout=120) for _ in uploads)
        for each in uploads:
            each.join()
        assert states == ["done", "rejected"]
        assert (index / "uploads/rules.md").read_bytes() == good
        with _jobs(index).collection.lease(None) as reader:
            assert "rules.md" in reader.documents()
