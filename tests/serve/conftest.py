"""What tests of the service share: an index of the samples, applications, a real server."""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pincite.model.settings import Settings
from pincite.model.tuning import ServeTuning
from pincite.read.load import find_files
from pincite.update import embed_index, ingest_files

NEEDED = ("fastapi", "uvicorn", "python_multipart", "prometheus_client")
MISSING = [name for name in NEEDED if find_spec(name) is None]
if MISSING:  # test_extra.py says so
    collect_ignore_glob = ["test_[!e]*.py"]
else:
    import httpx

    from pincite.serve.app import create_app
    from pincite.serve.connections import BoundedConnection
    from pincite.serve.service import Options

ROOT = Path(__file__).parents[2]
T = TypeVar("T")


@pytest.fixture(scope="session")
def sample_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the samples with vectors; nobody may change it."""
    folder = tmp_path_factory.mktemp("served") / "index"
    list(ingest_files(find_files([ROOT / "samples"]), folder))
    list(embed_index(folder))
    return folder


@pytest.fixture
def own_index(sample_index: Path, tmp_path: Path) -> Path:
    """A copy of the samples' index that may be changed."""
    return Path(shutil.copytree(sample_index, tmp_path / "own"))


def settings(**serve: Any) -> Settings:
    """Return settings whose sections ``serve`` and ``tuning.serve`` have these values."""
    tuned = {each.name for each in fields(ServeTuning)}
    values = {"reload_seconds": 0.1, **serve}
    prefixes = {name: "tuning.serve" if name in tuned else "serve" for name in values}
    return Settings().changed({f"{prefixes[name]}.{name}": values[name] for name in values})


@asynccontextmanager
async def client(
    folders: Path | Mapping[str, Path],
    chosen: Settings | None = None,
    options: Options | None = None,
    key: str = "",
    host: str = "localhost",
) -> AsyncIterator[httpx.AsyncClient]:
    """A client that calls the application without a network."""
    app = create_app(folders, chosen or settings(), options)
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with app.router.lifespan_context(app):
        transport = httpx.ASGITransport(app)
        address = f"http://{host}"
        async with httpx.AsyncClient(
            transport=transport, base_url=address, headers=headers, timeout=60
        ) as opened:
            yield opened


def run(work: Awaitable[T]) -> T:
    """Run a coroutine to its end."""

    async def main() -> T:
        return await work

    return asyncio.run(main())


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def served(
    folders: Path | Mapping[str, Path],
    chosen: Settings | None = None,
    options: Options | None = None,
) -> Iterator[str]:
    """A real server on a free port of this machine; gives its address."""
    import uvicorn

    port = free_port()
    app = create_app(folders, chosen or settings(), options)
    config = uvicorn.Config(
        app,
        "127.0.0.1",
        port,
        log_level="error",
        access_log=False,
        http=BoundedConnection,
        ws="none",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + 60
    while not server.started and time.monotonic() < until:
        time.sleep(0.02)
    assert server.started
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)


@pytest.fixture(scope="session")
def sample_server(sample_index: Path) -> Iterator[str]:
    """One server of the samples for all tests that only read."""
    with served(sample_index, settings(rate_per_minute=0)) as address:
        yield address


Served = Callable[..., Any]
