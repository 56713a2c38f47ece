"""An upload and a removal wait for whoever else is writing, in each of their steps."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import httpx

from pincite.index.builder import IndexBuilder
from pincite.model.settings import Settings
from pincite.read.load import find_files
from pincite.store.manifest import current
from pincite.update import ingest_files

from .conftest import served, settings


def test_uploads_and_removals_wait_for_another_writer(tmp_path: Path) -> None:
    folder, files = tmp_path / "index", tmp_path / "files"
    files.mkdir()
    (files / "rules.md").write_text("# Rules\n\n## 1 Rods\n\nRods are 2 m apart.\n")
    list(ingest_files(find_files([files]), folder))
    stop = threading.Event()

    def other_writer() -> None:
        """Hold the lock again and again, so that every step meets it."""
        while not stop.is_set():
            shape = Settings.from_shape(current(folder).shape, origin="index")
            profile = current(folder).shape.get("profile", {}).get("fingerprint", "")
            try:
                with IndexBuilder(folder, shape, profile=profile):
                    time.sleep(0.4)
            except Exception:  # the service was faster
                pass
            time.sleep(0.05)

    writer = threading.Thread(target=other_writer)
    with served({"default": folder}, settings()) as address, httpx.Client(base_url=address) as http:
        writer.start()
        try:
            for number in range(3):
                text = f"# New {number}\n\n## 1 Poles\n\nPoles are {number} m apart.\n".encode()
                job = http.post("/v1/documents", files={"file": (f"new{number}.md", text)}).json()
                while job["state"] not in ("done", "rejected", "failed"):
                    time.sleep(0.1)
                    job = http.get(f"/v1/jobs/{job['id']}").json()
                assert job["state"] == "done", job["reason"]
                gone = http.delete(f"/v1/documents/new{number}.md", timeout=90)
                assert gone.status_code == 200, gone.text
        finally:
            stop.set()
            writer.join()
