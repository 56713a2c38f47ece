"""A real Milvus (standalone) from a package of PyPI, in a folder of its own.

As a program it starts one, prints its URL and stops it when its input ends:

    python -m tests.servers.milvus

It is the server of the package ``milvus`` 2.3.5, the newest that comes as one. It listens on all
addresses of the machine, which cannot be set, and asks for no password.
"""

from __future__ import annotations

import lzma
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from tests.servers.process import ServerProcess

# It syncs after every write; a killed process loses nothing in memory-backed files.
MEMORY = Path("/dev/shm")
START_SECONDS = 120.0
SEALED = 3  # the state of a part that grows no more, and is served with its indexes
# The server looks around every now and then; for tests more often, so that they wait less. Not its
# clock, though, which would take a fifth of a core while nobody asks.
OPTIONS = {
    "queryCoord.checkInterval": "100",
    "queryCoord.distPullInterval": "100",
    "queryCoord.checkHandoffInterval": "500",
    "rocksmq.lrucacheratio": "0.01",
    "common.gracefulStopTimeout": "1",
    "log.level": "warn",
}


class Milvus(ServerProcess):
    """One server with nothing in it."""

    def __init__(self, session_seconds: int = 30, *, for_tests: bool = True) -> None:
        """Choose a place.

        Args:
            session_seconds: how long one that was killed is missed before it can come back. One
                that hangs for longer ends itself.
            for_tests: in a hurry, and with its files in memory.
        """
        self._session_seconds = session_seconds
        self._options = OPTIONS if for_tests else {}
        room = MEMORY if for_tests and os.access(MEMORY, os.W_OK) else None
        self.home = Path(tempfile.mkdtemp(prefix="pincite-milvus-", dir=room))
        self._programs = _programs()
        self._ports = _free_ports(12)
        self.port = self._ports[0]
        self.url = f"milvus://127.0.0.1:{self.port}/default"

    def __enter__(self) -> Self:
        self._configure()
        return super().__enter__()

    def _configure(self) -> None:
        from milvus import MilvusServerConfig

        config = MilvusServerConfig(data_dir=str(self.home))
        names = [name for name in config.configurable_items if name.endswith("_port")]
        names.sort(key=lambda name: name != "proxy_port")  # ours is the first
        peer, *_ = ports = self._ports[len(names) :]
        config.update(**dict(zip(names, self._ports, strict=False)))
        for name, value in self._options.items():
            config.set(name, value)
        config.set("common.session.ttl", str(self._session_seconds))
        config.resolve()
        self._health = ports[1]
        etcd = self.home / "configs" / "etcd.yaml"
        client = f"http://127.0.0.1:{config.get('etcd_port')}"
        etcd.write_text(
            f"name: default\ndata-dir: {self.home}/data/etcd.data\n"
            f"listen-client-urls: {client}\nadvertise-client-urls: {client}\n"
            f"listen-peer-urls: http://127.0.0.1:{peer}\n"
            f"initial-advertise-peer-urls: http://127.0.0.1:{peer}\n"
            f"initial-cluster: default=http://127.0.0.1:{peer}\n"
            "unsafe-no-fsync: true\n"
        )
        file = self.home / "configs" / "milvus.yaml"
        text = file.read_text()
        file.write_text(text.replace("\netcd:\n", f"\netcd:\n  config:\n    path: {etcd}\n", 1))

    def start(self) -> None:
        """Start it, or start it again, and wait until it answers."""
        environment = {
            **os.environ,
            "DEPLOY_MODE": "STANDALONE",
            "METRICS_PORT": str(self._health),
            "MILVUS_RUN_DIR": str(self.home / "run"),
            "LD_LIBRARY_PATH": str(self._programs),
        }
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "milvus", "run", "standalone"],
                stdout=log,
                stderr=log,
                cwd=self.home,
                env=environment,
                start_new_session=True,
            )
        waited_until = time.monotonic() + START_SECONDS
        while not (self._answers() and self._serves()):
            if self._process.poll() is not None or time.monotonic() > waited_until:
                told = (self.home / "log").read_text(errors="replace")[-5000:]
                raise RuntimeError(f"Milvus did not start:\n{told}")
            time.sleep(0.1)

    def size(self) -> int:
        """Return the bytes of all its files."""
        return sum(f.stat().st_size for f in (self.home / "data").rglob("*") if f.is_file())

    def _answers(self) -> bool:
        try:
            url = f"http://127.0.0.1:{self._health}/healthz"
            with urllib.request.urlopen(url, timeout=5) as answer:
                return b"OK" in answer.read()
        except OSError:
            return False

    def settle(self, seconds: float) -> None:
        """Wait until all that was flushed is in its indexes, and they are what it searches."""
        waited_until = time.monotonic() + seconds
        with self.asked() as client:
            for name in client.list_collections(timeout=30):
                column = "vector" if "_vectors_" in name else "key0"
                while "_mark_" not in name and not self._is_indexed(client, name, column):
                    if time.monotonic() > waited_until:
                        raise RuntimeError(f"{name} is not indexed after {seconds:g} s")
                    time.sleep(0.2)

    def _is_indexed(self, client: Any, name: str, column: str) -> bool:
        known = client.describe_index(name, column, timeout=30)
        segments = client.list_loaded_segments(name, timeout=30)
        ready = sum(each.num_rows for each in segments if each.state == SEALED)
        total = int(known["total_rows"])
        return int(known["indexed_rows"]) >= total and ready >= total

    def clear(self) -> None:
        """Drop all that is in it."""
        with self.asked() as client:
            for name in client.list_collections(timeout=5):
                client.drop_collection(name, timeout=30)

    @contextmanager
    def asked(self) -> Iterator[Any]:
        """Lend a client of it."""
        from pymilvus import MilvusClient

        url = f"http://127.0.0.1:{self.port}"
        client = MilvusClient(uri=url, timeout=5, dedicated=True)
        try:
            yield client
        finally:
            client.close()

    def _serves(self) -> bool:
        """Tell whether all that was served before a restart is served again."""
        from pymilvus import MilvusException

        try:
            with self.asked() as client:
                for name in client.list_collections(timeout=5):
                    if "NotLoad" not in str(client.get_load_state(name, timeout=5)["state"]):
                        client.query(name, filter="", output_fields=["count(*)"], timeout=5)
        except MilvusException:
            return False
        return True


def _programs() -> Path:
    """Return the folder of the server's programs, which the package carries compressed."""
    package = find_spec("milvus")
    if package is None or package.origin is None:
        raise RuntimeError("no Milvus here: pip install milvus")
    packed = Path(package.origin).parent / "data" / "bin"
    # Beside the package, so that they go when it goes; elsewhere if nobody may write there.
    kept = packed.parent / "unpacked"
    if kept.is_dir():
        return kept
    writable = os.access(packed.parent, os.W_OK)
    made = Path(tempfile.mkdtemp(prefix="unpacking-", dir=packed.parent if writable else None))
    for file in packed.glob("*.lzma"):
        target = made / file.name.removesuffix(".lzma")
        with lzma.open(file) as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
        target.chmod(0o755)
    if not writable:
        return made
    try:
        made.rename(kept)
    except OSError:  # another process was faster
        shutil.rmtree(made)
    return kept


def _free_ports(count: int) -> list[int]:
    listening: list[Any] = [socket.socket() for _ in range(count)]
    try:
        for each in listening:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in listening]
    finally:
        for each in listening:
            each.close()


if __name__ == "__main__":
    with Milvus() as server:
        print(server.url, flush=True)
        sys.stdin.read()
