"""A server that speaks MongoDB's wire protocol, from a package of PyPI, in a folder of its own.

It is nx-27017, which keeps documents in SQLite: no registry of packages has MongoDB's own server.
Set PINCITE_TEST_MONGODB to the URL of a real one, without database, to run the tests against that;
those that kill the server are left out then.

As a program it starts one, prints its URL and stops it when its input ends:

    python -m tests.servers.mongodb
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.servers.process import ServerProcess

START_SECONDS = 60.0
# It syncs after every single document; a killed process loses nothing in memory-backed files.
MEMORY = Path("/dev/shm")


class MongoDB(ServerProcess):
    """One server with no database in it."""

    def __init__(self) -> None:
        room = MEMORY if os.access(MEMORY, os.W_OK) else None
        self.home = Path(tempfile.mkdtemp(prefix="pincite-mongodb-", dir=room))
        self.port = _free_port()
        self.url = f"mongodb://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, or start it again, and wait until it answers."""
        command = [sys.executable, "-m", "nx_27017.nx_27017", "--data-dir", str(self.home / "data")]
        command += ["--port", str(self.port), "--log-file", str(self.home / "own-log")]
        process_id = self.home / "pid"
        process_id.unlink(missing_ok=True)  # of one that was killed
        command += ["--pid-file", str(process_id)]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.home, start_new_session=True
            )
        waited_until = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > waited_until:
                raise RuntimeError("the server did not start:\n" + (self.home / "log").read_text())
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


if __name__ == "__main__":
    with MongoDB() as server:
        print(server.url, flush=True)
        sys.stdin.read()
