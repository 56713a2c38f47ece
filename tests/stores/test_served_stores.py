"""The service over an index in a server answers as over a folder, to the last digit."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

for needed in ("fastapi", "uvicorn", "python_multipart", "prometheus_client"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

import httpx
from tests.servers.postgres import Postgres
from tests.stores.documents import build, library

from pincite.maintain.copy import copy_index
from pincite.model.settings import Settings, merged
from pincite.read.load import find_files
from pincite.serve.access import add_key, new_key
from pincite.serve.app import create_app
from pincite.serve.service import Options
from pincite.update import embed_index, ingest_files

ROOT = Path(__file__).parents[2]
SECRET = "---\naccess: staff\n---\n# Vault\n\n## 7 Code\n\nThe vault code is zanzibar.\n"
pytestmark = pytest.mark.slow
READS: list[tuple[str, str, dict[str, Any]]] = [
    ("POST", "/v1/search", {"query": "how far apart do two earth rods have to be", "k": 5}),
    ("POST", "/v1/search", {"query": "eart rodds", "k": 5}),  # two slips
    ("POST", "/v1/search", {"query": "zanzibar vault code", "k": 5}),
    ("POST", "/v1/explain", {"query": "earth rods", "place": "250.52"}),
    ("POST", "/v1/show", {"locator": "250.56(B)"}),
    ("POST", "/v1/show", {"locator": "999.99"}),
    ("POST", "/v1/similar", {"locator": "250.56(B)"}),
    (
        "POST",
        "/v1/cell",
        {"table": "Table 250.66", "row": "95 mm²", "column": "electrode copper"},
    ),
    ("POST", "/v1/ask", {"question": "How far apart must two earth rods be?"}),
    ("GET", "/v1/documents", {}),
    ("GET", "/v1/documents/rulebook.md", {}),
    ("GET", "/?q=earth+rods", {}),
    ("GET", "/?doc=rulebook.md", {}),
    ("GET", "/why?q=earth+rods", {}),
    ("GET", "/library", {}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the samples and a document that not everybody may see."""
    base = tmp_path_factory.mktemp("served-stores")
    (base / "vault.md").write_text(SECRET)
    files = [*find_files([ROOT / "samples"]), (base / "vault.md", "vault.md")]
    list(ingest_files(files, base / "index"))
    list(embed_index(base / "index"))
    return base / "index"


@pytest.fixture(scope="module", params=["postgresql", "mongodb", "chroma", "opensearch"])
def store(request: pytest.FixtureRequest, folder: Path) -> str:
    """The same index in a server; another kind of server is one more line here."""
    name = f"served_{uuid4().hex[:8]}"
    if request.param == "postgresql":
        url = f"{request.getfixturevalue('postgres').url}#{name}"
    elif request.param == "mongodb":
        url = request.getfixturevalue("new_mongodb")()
    elif request.param == "opensearch":
        url = request.getfixturevalue("new_opensearch")()
    else:
        url = f"{request.getfixturevalue('mortal_chroma').url}/{name}"
    list(copy_index(folder, url))
    return url


def settings(tmp_path: Path, seconds: float = 30.0) -> Settings:
    values = {
        "serve": {"rate_per_minute": 0},
        "tuning": {"serve": {"reload_seconds": 0.1}},
        # Exact, or a graph of neighbours that misses one changes what a page counts.
        "store": {
            "folder": str(tmp_path / "beside"),
            "timeout_seconds": seconds,
            "exact": True,
        },
    }
    return merged(Settings(), values, origin="test")


@asynccontextmanager
async def client(
    place: str | Path, chosen: Settings, options: Options | None = None, key: str = ""
) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(place, chosen, options)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://localhost",
            headers=headers,
            timeout=60,
        ) as opened,
    ):
        yield opened


async def answers(opened: httpx.AsyncClient) -> list[tuple[int, Any]]:
    found = []
    for method, path, body in READS:
        told = await opened.request(method, path, json=body or None)
        value: Any = told.text
        if told.headers["content-type"] == "application/json":
            value = _lasting(told.json())
        elif path.startswith("/why"):
            value = ""  # its pictures are made of times
        else:  # pages show times, and the number of the generation
            value = re.sub(r"generation \d+|[\d.,]+( |&nbsp;|\u202f)?m?s\b", "…", value)
        found.append((told.status_code, value))
    return found


def _lasting(value: Any) -> Any:
    """Return what does not depend on the clock, nor on how often was written."""
    if isinstance(value, dict):
        passing = ("generation", "seconds", "request_id", "took", "stages")
        return {name: _lasting(each) for name, each in value.items() if name not in passing}
    return [_lasting(each) for each in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A file of keys: one that sees everything, and one that does not."""
    file = tmp_path_factory.mktemp("keys") / "keys.json"
    shown = []
    for name, access in (("all", None), ("some", ())):
        key, text = new_key(name, scopes=("read",), access=access, collections=(), days=1)
        add_key(file, key)
        shown.append(text)
    return file, shown


async def told_to_all(place: str | Path, keys: tuple[Path, list[str]], beside: Path) -> list[Any]:
    """Return what each key is answered."""
    found = []
    for text in keys[1]:
        async with client(place, settings(beside), Options(keys[0]), text) as opened:
            found.append(await answers(opened))
    return found


@pytest.fixture(scope="module")
def wanted(folder: Path, keys: tuple[Path, list[str]]) -> list[Any]:
    """What the service over the folder answers."""
    return asyncio.run(told_to_all(folder, keys, folder.parent))


def test_every_route_answers_as_over_a_folder(
    wanted: list[Any], store: str, keys: tuple[Path, list[str]], tmp_path: Path
) -> None:
    """Also to a key that does not see everything."""
    found = asyncio.run(told_to_all(store, keys, tmp_path))
    for here, there in zip(wanted, found, strict=True):
        for (method, path, body), one, other in zip(READS, here, there, strict=True):
            assert one == other, (method, path, body)
        statuses = [status for status, _ in there]
        assert statuses.count(404) == 1 and statuses.count(200) == len(READS) - 1


def test_documents_come_and_go(store: str, tmp_path: Path) -> None:
    async def main() -> None:
        chosen = settings(tmp_path)
        async with client(store, chosen) as one, client(store, chosen) as other:
            told = await one.post(
                "/v1/documents",
                files={"file": ("notes.md", b"# Notes\n\n## 31.7 Pumps\n\nA xylograph pumps.\n")},
                data={"name": "mine/notes.md"},
            )
            assert told.status_code == 202, told.text
            job = await _ended(other, told.json()["id"])  # whoever shares the folder knows it
            assert job["state"] == "done", job
            assert await _finds(one, "xylograph")
            await _until(lambda: _finds(other, "xylograph"))
            told = await other.post(
                "/v1/feedback",
                json={"question": "who pumps", "locator": "31.7", "document": "mine/notes.md"}
                | {"grade": 1},
            )
            assert told.status_code == 201, told.text
            told = await other.delete("/v1/documents/mine/notes.md")
            assert told.status_code == 200, told.text
            assert not await _finds(other, "xylograph")
            await _until(lambda: _not(_finds(one, "xylograph")))
        (beside,) = (tmp_path / "beside").iterdir()
        assert "who pumps" in (beside / "feedback.jsonl").read_text()

    asyncio.run(main())


async def _ended(opened: httpx.AsyncClient, job: str) -> dict[str, Any]:
    for _ in range(600):
        found: dict[str, Any] = (await opened.get(f"/v1/jobs/{job}")).json()
        if found["state"] in ("done", "rejected", "failed"):
            return found
        await asyncio.sleep(0.1)
    raise AssertionError("the job does not end")


async def _finds(opened: httpx.AsyncClient, word: str) -> bool:
    told = await opened.post("/v1/search", json={"query": word, "k": 3})
    assert told.status_code == 200, told.text
    return any(word in hit["snippet"] for hit in told.json()["hits"])


async def _not(work: Any) -> bool:
    return not await work


async def _until(is_so: Callable[[], Any]) -> None:
    until = time.monotonic() + 60
    while not await is_so():
        assert time.monotonic() < until
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("kind", ["mongodb", "chroma"])
def test_an_outage_is_told_and_ends_by_itself(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """What replicas over PostgreSQL do (test_replicas.py), over all others."""
    server: Any = request.getfixturevalue(f"mortal_{kind}")
    url = f"{server.url}/outage"
    build(url, library())
    asked = {"query": "how many days to inspect a boiler"}

    async def main() -> None:
        async with client(url, settings(tmp_path, 4.0)) as opened:

            async def is_told(path: str, status: int) -> bool:
                return (await opened.get(path)).status_code == status

            before = await opened.post("/v1/search", json=asked)
            assert before.status_code == 200 and await is_told("/readyz", 200)
            server.kill()
            told = await opened.post("/v1/search", json={"query": "clearance near a crane"})
            assert told.status_code == 503, told.text
            assert told.json()["error"]["message"] == "the store of 'default' does not answer"
            await _until(lambda: is_told("/readyz", 503))
            ready = (await opened.get("/readyz")).json()
            assert ready["problems"] == {"default": "the store does not answer"}
            assert await is_told("/healthz", 200)
            await asyncio.to_thread(server.start)
            await _until(lambda: is_told("/readyz", 200))
            after = await opened.post("/v1/search", json=asked)
            assert (after.status_code, after.json()["hits"]) == (200, before.json()["hits"])

    asyncio.run(main())


def test_an_empty_store_takes_its_first_document(postgres: Postgres, tmp_path: Path) -> None:
    url = f"{postgres.url}#empty_{uuid4().hex[:8]}"

    async def main() -> None:
        async with client(url, settings(tmp_path)) as opened:
            assert (await opened.get("/v1/documents")).json()["documents"] == []
            told = await opened.post(
                "/v1/documents", files={"file": ("a.md", b"# A\n\n## 1 Rods\n\nTwo metres.\n")}
            )
            job = await _ended(opened, told.json()["id"])
            assert job["state"] == "done", job
            assert await _finds(opened, "metres")

    asyncio.run(main())


def test_agents_reach_a_store(postgres: Postgres, folder: Path, tmp_path: Path) -> None:
    """`pincite mcp` lends what a store has now, and asks it no more often than it has to."""
    pytest.importorskip("mcp", reason='needs: pip install "pincite[mcp]"')
    from pincite.cli.serve import _lent
    from pincite.mcp.server import make_server
    from pincite.serve.collections import ServedCollection

    url = f"{postgres.url}#agents_{uuid4().hex[:8]}"
    list(copy_index(folder, url))
    collection = ServedCollection("documents", url, settings(tmp_path))
    server = make_server(lambda request: _lent(collection, ("staff",), request))

    async def called(tool: str, **arguments: str) -> str:
        import mcp

        async with mcp.Client(server) as opened:
            told = await opened.call_tool(tool, arguments)
            return json.dumps(told.structured_content)

    assert "zanzibar" in asyncio.run(called("search", query="vault code"))
    (tmp_path / "new.md").write_text("# New\n\n## 55.1 Kites\n\nA kite needs a xylograph.\n")
    list(ingest_files([(tmp_path / "new.md", "new.md")], url))
    until = time.monotonic() + 30
    while "xylograph" not in (found := asyncio.run(called("show", locator="55.1"))):
        assert time.monotonic() < until, found
    collection.close()
