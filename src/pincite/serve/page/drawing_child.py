"""The child that draws pages: ``python -m pincite.serve.page.drawing_child PIPE``."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pincite.model.errors import SourceError
from pincite.read.pdf.picture import draw, facts_of, open_file

MEMORY_MB = 1500
# How often an idle child looks whether its parent is still there.
ORPHAN_SECONDS = 2.0


def serve(pipe: Connection) -> None:
    """Draw what is asked for until the pipe closes or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    size = MEMORY_MB * 1_000_000
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    parent, last = os.getppid(), ("", 0)
    document: Any = None
    while True:
        while not pipe.poll(ORPHAN_SECONDS):
            if os.getppid() != parent:
                return
        try:
            name, page, width = json.loads(pipe.recv_bytes())
        except EOFError:
            return
        try:
            file = Path(name)
            stamp = (name, file.stat().st_mtime_ns)
            if stamp != last:
                document, last = None, ("", 0)
                document, last = open_file(file), stamp
            told, drawn = asdict(facts_of(document, page)), b""
            if width:
                drawn = draw(document, page, width)
        except SourceError as error:
            told, drawn = {"problem": error.message, "hint": error.hint}, b""
        except Exception as error:  # the border of the sandbox: the file's fault, whatever it is
            reason = type(error).__name__
            told = {"problem": f"page {page} cannot be drawn: {reason}", "hint": "read its text"}
            drawn = b""
        pipe.send_bytes(json.dumps(told).encode())
        pipe.send_bytes(drawn)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
