"""Replicas of the service as real processes over one index, and what asks them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.servers.postgres import _free_port

SOURCE = Path(__file__).parents[2] / "src"
START_SECONDS = 240.0  # on a machine that has much else to do


class Replica:
    """One `pincite serve`, with a folder of its own to work in."""

    def __init__(self, index: str, home: Path, *options: str, wait: bool = True) -> None:
        self.port = _free_port()
        self.log = home / f"replica-{self.port}.log"
        self._command = [sys.executable, "-c", "from pincite.cli.main import run; run()", "serve"]
        self._command += ["--port", str(self.port), *options]
        self._index = index
        self._home = home
        self._wait = wait
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Replica:
        kept = {name: value for name, value in os.environ.items() if "PINCITE_" not in name}
        # The URL is no argument: anybody on the machine may read those.
        own = {"PYTHONPATH": str(SOURCE), "PINCITE_INDEX": self._index}
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command, cwd=self._home, env={**kept, **own}, stdout=log, stderr=log
            )
        try:
            self.until(lambda: self._is_up(), START_SECONDS)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _is_up(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise RuntimeError("the replica did not start:\n" + self.log.read_text())
        try:
            return self.get("/readyz" if self._wait else "/healthz")[0] == 200
        except OSError:
            return False

    def until(self, is_so: Any, seconds: float) -> float:
        """Wait until something is so; gives the seconds that it took."""
        began = time.monotonic()
        while not is_so():
            if time.monotonic() - began > seconds:
                raise AssertionError(
                    f"not so within {seconds:g} s:\n{self.log.read_text()[-2000:]}"
                )
            time.sleep(0.05)
        return time.monotonic() - began

    def get(self, path: str) -> tuple[int, Any]:
        return self._send(urllib.request.Request(f"http://127.0.0.1:{self.port}{path}"))

    def post(self, path: str, **body: Any) -> tuple[int, Any]:
        """Send JSON; gives status and answer, whatever the status is."""
        address, data = f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        return self._send(urllib.request.Request(address, data, headers))

    def _send(self, request: urllib.request.Request) -> tuple[int, Any]:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def generation(self) -> int:
        status, told = self.get("/v1/documents")
        return int(told["generation"]) if status == 200 else 0
