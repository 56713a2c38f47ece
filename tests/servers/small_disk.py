"""A disk that is soon full, for a real server: a small file system, or a limit on its files.

A file system of its own needs the right to mount. Where that is missing, the kernel lets no file
of the server grow beyond a limit, which is lifted at any time: a file that has to grow cannot, as
on a full disk, and the error has another number.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from tests.servers.chroma import Chroma
from tests.servers.postgres import Postgres

# What the journal may take; it would need more than all the rest.
OPTIONS = {"max_wal_size": "8MB", "min_wal_size": "2MB"}
DISK_MB = 96
LEFT_BYTES = 100_000
# The journal's files have 1 MB, and so may others.
LARGEST_FILE = 1_048_576
# With this the journal cannot go on.
LARGEST_JOURNAL = 300_000


class SmallDisk:
    """A file system in memory with little room."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pincite-disk-"))
        self._ballast = self.folder / "ballast"

    def __enter__(self) -> SmallDisk:
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(self.folder)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except BaseException:
            self.folder.rmdir()
            raise
        self.folder.chmod(0o755)
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)
        self.folder.rmdir()

    def fill(self, _: Postgres | Chroma, *, is_journal: bool = False) -> None:
        """Leave no room, or none for a journal."""
        with self._ballast.open("wb", buffering=0) as stream:
            while (left := shutil.disk_usage(self.folder).free) > LEFT_BYTES:
                stream.write(bytes(min(left - LEFT_BYTES, 65_536)))

    def free(self, _: Postgres | Chroma) -> None:
        self._ballast.unlink()


class SmallFiles:
    """A folder where a server may not let a file grow."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="pincite-disk-"))
        self.folder.chmod(0o755)

    def __enter__(self) -> SmallFiles:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def fill(self, server: Postgres | Chroma, *, is_journal: bool = False) -> None:
        self._limit(server, LARGEST_JOURNAL if is_journal else LARGEST_FILE)

    def free(self, server: Postgres | Chroma) -> None:
        self._limit(server, resource.RLIM_INFINITY)

    def _limit(self, server: Postgres | Chroma, largest: int) -> None:
        def limit() -> None:
            for process in server.processes():
                with suppress(ProcessLookupError):  # it has just ended
                    _, most = resource.prlimit(process, resource.RLIMIT_FSIZE)
                    resource.prlimit(process, resource.RLIMIT_FSIZE, (largest, most))

        # In a child that is the server's user: who is root may not have the right to do this.
        subprocess.run(["true"], check=True, preexec_fn=limit, **server.user)


def means() -> list[type[SmallDisk] | type[SmallFiles]]:
    """Return the ways that this machine allows; there is always one."""
    return [SmallDisk, SmallFiles] if _may_mount() else [SmallFiles]


def _may_mount() -> bool:
    if os.getuid() != 0 or shutil.which("mount") is None:
        return False
    try:
        with SmallDisk():
            return True
    except (OSError, subprocess.CalledProcessError):
        return False
