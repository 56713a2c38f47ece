"""Re-ranking from the command line, against a service on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

Pincite = Callable[..., Any]
TEXT = "# Book\n\n" + "\n\n".join(
    f"## {n}.1 Part\n\nA fuse {'fuse ' * n} stands in room {n}." for n in range(1, 6)
)


@pytest.fixture
def service() -> Iterator[str]:
    """A service that likes what stands in room 1, and nothing else much."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            scores = [0.95 if "room 1." in text else 0.2 for text in body["documents"]]
            rows = [{"index": n, "relevance_score": s} for n, s in enumerate(scores)]
            data = json.dumps({"results": rows}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def folder(tmp_path: Path, pincite: Pincite) -> Path:
    (tmp_path / "book.md").write_text(TEXT)
    told = pincite("ingest", "book.md", "--set", "embedding.model=none", cwd=tmp_path)
    assert told.code == 0, told.err
    return tmp_path


def search(pincite: Pincite, folder: Path, *more: str, **env: str) -> Any:
    words = ["--set", "embedding.model=none"]
    return pincite("search", "where does the fuse stand", *words, *more, cwd=folder, **env)


def test_the_best_read_comes_first_and_says_why(
    pincite: Pincite, folder: Path, service: str
) -> None:
    env = {
        "PINCITE_RERANK__ENABLED": "true",
        "PINCITE_RERANK__URL": service,
        "PINCITE_RERANK__WEIGHT": "0.9",
    }
    forever = ("--budget-ms", "0")
    told = search(pincite, folder, "--budget-ms", "20000", **env)
    assert told.code == 0 and told.out.lstrip().startswith("1  "), told.err
    assert "1.1" in told.out.splitlines()[0] and "read with the query" in told.out
    assert "note" not in told.err
    found = search(pincite, folder, "--budget-ms", "20000", "--json=full", **env).json
    assert found["hits"][0]["raw"]["rerank"] == 0.95 and found["notes"] == []
    few = search(
        pincite, folder, "--json=full", *forever, "--set", "rerank.threshold=0.5", **env
    ).json
    assert [hit["locator"] for hit in few["hits"]] == ["1.1"]
    none = search(pincite, folder, *forever, "--set", "rerank.threshold=0.99", **env)
    assert none.code == 0 and "nothing relevant: the best of 5 candidates" in none.err
    assert "shares a word" not in none.err


def test_without_a_service_the_search_still_answers(pincite: Pincite, folder: Path) -> None:
    sets = ["--set", "rerank.enabled=true", "--set", "rerank.url=http://127.0.0.1:9/v1"]
    told = search(pincite, folder, *sets, "--set", "http.retries=0")
    assert told.code == 0 and "note: not re-ranked: the model failed" in told.err
    found = search(pincite, folder, *sets, "--set", "http.retries=0", "--json=full").json
    plain = search(pincite, folder, "--json=full").json
    assert [hit["locator"] for hit in found["hits"]] == [hit["locator"] for hit in plain["hits"]]
    assert set(found) == set(plain) and found["hits"] == plain["hits"]
    assert plain["notes"] == [] and len(found["notes"]) == 1


@pytest.mark.parametrize(
    "setting", ["rerank.url=nonsense", "tuning.rerank.mode=best", "rerank.weight=2", "rerank.pol=3"]
)
def test_settings_that_do_not_fit_are_explained(
    pincite: Pincite, folder: Path, setting: str
) -> None:
    told = search(pincite, folder, "--set", "rerank.enabled=true", "--set", setting)
    assert told.code == 2 and setting.split("=")[0].split(".")[0] in told.err
