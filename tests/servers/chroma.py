"""A real Chroma server from its package of PyPI, in a folder of its own.

As a program it starts one, prints its URL and stops it when its input ends:

    python -m tests.servers.chroma
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from tests.servers.process import ServerProcess

# It syncs after every write; a killed process loses nothing in memory-backed files.
MEMORY = Path("/dev/shm")
START_SECONDS = 60.0


class Chroma(ServerProcess):
    """One server with nothing in it; an index is named behind its URL."""

    def __init__(self, folder: Path | None = None, *, in_memory: bool = True) -> None:
        """Choose a place: a given folder, or the machine's memory if it can and may be there."""
        room = folder or (MEMORY if in_memory and os.access(MEMORY, os.W_OK) else None)
        self.home = Path(tempfile.mkdtemp(prefix="pincite-chroma-", dir=room))
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            self.port: int = listening.getsockname()[1]
        self.url = f"chroma://127.0.0.1:{self.port}"
        self.user: dict[str, int] = {}  # whose process it is: ours

    def start(self) -> None:
        """Start it, or start it again, and wait until it answers."""
        # What the command `chroma` does, without its seconds of importing.
        run = "import sys, chromadb_rust_bindings as c; c.cli(['chroma', *sys.argv[1:]])"
        command = [sys.executable, "-c", run, "run", "--path", str(self.home / "data")]
        command += ["--host", "127.0.0.1", "--port", str(self.port)]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=self.home, start_new_session=True
            )
        waited_until = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > waited_until:
                told = (self.home / "log").read_text(errors="replace")[-5000:]
                raise RuntimeError(f"Chroma did not start:\n{told}")
            time.sleep(0.05)

    def processes(self) -> list[int]:
        return [self.pid]

    def size(self) -> int:
        """Return the bytes of all its files."""
        return sum(f.stat().st_size for f in (self.home / "data").rglob("*") if f.is_file())

    def _answers(self) -> bool:
        try:
            url = f"http://127.0.0.1:{self.port}/api/v2/heartbeat"
            with urllib.request.urlopen(url, timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


if __name__ == "__main__":
    with Chroma() as server:
        print(server.url, flush=True)
        sys.stdin.read()
