"""What tests of several folders share: small indexes, and the command line as a subprocess."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from pincite.api import Index
from pincite.cluster import Cluster, connected
from pincite.index.builder import IndexBuilder
from pincite.model.settings import Settings
from pincite.read.load import parse

SOURCE = Path(__file__).parents[1] / "src"
# Several tests run at a time, and a busy machine is no bug; pytest-timeout ends what hangs.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")
# Vectors that one test computed serve the others, in all processes that pytest starts, and never
# the person who runs the tests.
SHARED_CACHE = "PINCITE_TESTS_CACHE"
if SHARED_CACHE not in os.environ:
    _OWN_CACHE = tempfile.TemporaryDirectory(prefix="pincite-cache-", ignore_cleanup_errors=True)
    os.environ[SHARED_CACHE] = _OWN_CACHE.name
os.environ["PINCITE_CACHE"] = os.environ[SHARED_CACHE]


# What takes long stands in these places, and wherever a test is marked slow: `make test` leaves it
# out, `make test-all` runs it. Other tests of stores need no server.
LONG = ("stores", "serve/browser", "integration/test_cluster", "e2e/test_cluster")
QUICK = ("stores/test_contract.py", "stores/test_copy.py", "stores/test_store_settings.py")
# Who begins with what takes the longest does not wait for one of them at the end.
LONGEST_FIRST = ("golden", "stores", "e2e", "integration", "serve", "faults", "property")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow, and put tests of the folders that take long before the others."""
    here = Path(__file__).parent

    def place(item: pytest.Item) -> str:
        inside = item.path.is_relative_to(here)
        return item.path.relative_to(here).as_posix() if inside else ""

    def turn(item: pytest.Item) -> int:
        folder = place(item).split("/")[0]
        return LONGEST_FIRST.index(folder) if folder in LONGEST_FIRST else len(LONGEST_FIRST)

    for item in items:
        if place(item).startswith(LONG) and place(item) not in QUICK:
            item.add_marker("slow")
    items.sort(key=turn)


# Ray reads its token once in the life of a process.
RAY_TOKEN = os.urandom(32).hex()


@dataclass(frozen=True, slots=True)
class Told:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def environment() -> dict[str, str]:
    """Return the environment without any settings of the person who runs the tests."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PINCITE_")}
    own = {"PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "error", "COLUMNS": "200"}
    return {**kept, **own, "PINCITE_CACHE": os.environ[SHARED_CACHE]}


@pytest.fixture(scope="session")
def clean_environment() -> dict[str, str]:
    return environment()


def _runner(command: Callable[..., list[str | Path]]) -> Callable[..., Told]:
    """Return what runs a program in a process of its own; it must never show a traceback."""

    def run(*arguments: str | Path, cwd: Path | None = None, stdin: str = "", **env: str) -> Told:
        done = subprocess.run(
            [sys.executable, *command(*arguments)],
            cwd=cwd,
            env=environment() | env,
            input=stdin.encode(),
            capture_output=True,
            timeout=120,
            check=False,
        )
        told = Told(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Traceback" not in told.out + told.err, told.err
        return told

    return run


@pytest.fixture(scope="session")
def pincite() -> Callable[..., Told]:
    """Run the command line."""
    return _runner(lambda *given: ["-c", "from pincite.cli.main import run; run()", *given])


@pytest.fixture(scope="session")
def program() -> Callable[..., Told]:
    """Run a program beside the package, named by its path in the repository."""
    return _runner(lambda path, *given: [SOURCE.parent / path, *given])


def put(builder: IndexBuilder, name: str, text: str, settings: Settings) -> None:
    """Parse a text and put it into the builder."""
    builder.put(parse(text.encode(), name, settings.ingest))


@pytest.fixture
def make_index(tmp_path: Path) -> Iterator[Callable[..., Index]]:
    """Build an index of texts by name and open it."""
    opened: list[Index] = []

    def make(texts: Mapping[str, str], settings: Settings | None = None) -> Index:
        settings = settings or Settings()
        folder = tmp_path / f"index-{len(opened)}"
        with IndexBuilder(folder, settings) as builder:
            for name, text in texts.items():
                put(builder, name, text, settings)
            builder.flush()
        opened.append(Index.open(folder, settings))
        return opened[-1]

    yield make
    for index in opened:
        index.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A Ray of this machine for all tests of a module; whoever connects again gets the same."""
    pytest.importorskip("ray", reason="needs the extra ray")
    from cluster_work import LOCAL

    before = _started_programs()
    work = str(Path(__file__).parent / "integration")
    with pytest.MonkeyPatch.context() as patch:
        # Nodes find the functions of tests there.
        patch.setenv("PYTHONPATH", os.pathsep.join([work, os.environ.get("PYTHONPATH", "")]))
        patch.setenv("RAY_AUTH_TOKEN", RAY_TOKEN)
        with connected(LOCAL) as found:
            assert found is not None
            yield found
    for started in _started_programs() - before:  # Ray ends its own, and does not wait for them
        started.wait(timeout=30)


def _started_programs() -> set[subprocess.Popen[bytes]]:
    # Not isinstance(), which would ask a weak reference for what it stood for.
    return {each for each in gc.get_objects() if issubclass(type(each), subprocess.Popen)}
