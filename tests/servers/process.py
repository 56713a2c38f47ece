"""A server as one process of its own, which tests start, kill and freeze."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Self


class ServerProcess:
    """What servers have in common; a subclass chooses a home and says how its process starts."""

    home: Path
    _process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def start(self) -> None:
        """Start it, or start it again, and wait until it answers."""
        raise NotImplementedError

    def kill(self) -> None:
        """Kill the server at once."""
        if self._process is not None:
            with suppress(ProcessLookupError):  # it did not even start
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Let it hang: connections stay open and nobody answers."""
        os.killpg(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid
