"""Durable files: written aside, synced, renamed; the lock of the one writer; folders of arrays.

A folder of arrays is written once: bulk numbers in one mapped file, and a listing with checksums.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import math
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pincite.model.errors import IndexBusy, StoreError, StoreFull, reason_of

BLOCK = 1 << 20


def sha256_of(file: Path) -> str:
    """Return the file's SHA-256 in hex."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def sync(path: Path) -> None:
    """Flush a file or a folder's entries to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def delete(path: Path) -> None:
    """Delete a file, or a folder with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_durably(file: Path, data: bytes) -> None:
    """Replace the file as a whole: after a crash it is the old one or the new one."""
    with replaced(file) as stream:
        stream.write(data)


@contextmanager
def replaced(file: Path) -> Iterator[BinaryIO]:
    """Hand out a stream whose words take the file's place at once when the block has ended.

    If the block or the disk fails, the file is what it was, and nothing is left beside it.
    """
    aside = file.with_name(f"{file.name}.tmp-{os.getpid()}")
    _forget_killed(file)
    with cleared_on_error(aside):
        with aside.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        aside.rename(file)
    sync(file.parent)


def _forget_killed(file: Path) -> None:
    """Delete what writers of a file left beside it that were killed."""
    for aside in file.parent.glob(f"{escape(file.name)}.tmp-*"):
        number = aside.name.rpartition("-")[2]
        if number.isdecimal() and not is_running(int(number)):
            with suppress(OSError):
                aside.unlink()


def is_running(pid: int) -> bool:
    """Tell whether there is a process with this number."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # somebody else's
    return True


@contextmanager
def cleared_on_error(aside: Path) -> Iterator[None]:
    """Delete what is half written when something fails: a full disk needs the room."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            delete(aside)
        raise


_ELSEWHERE = "choose another folder with --index"
_FULL = "free some disk space and run the same command again; nothing is lost"
_HINTS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    # SQLite says the same of a quota and of a limit on sizes.
    errno.EIO: "check the disk's room, limits and health, then run: pincite doctor",
    errno.EROFS: f"the file system is read-only: {_ELSEWHERE}",
    errno.EACCES: f"check who owns the folder, or {_ELSEWHERE}",
    errno.EPERM: f"check who owns the folder, or {_ELSEWHERE}",
    errno.ENOTDIR: f"a part of that path is a file: {_ELSEWHERE}",
    errno.ENOENT: f"no folder can be made there: {_ELSEWHERE}",
    errno.EEXIST: f"a file is in the way: {_ELSEWHERE}",
    errno.EMFILE: "this process has too many files open: raise the limit (ulimit -n)",
}
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
# What SQLite says instead of an error number of the system: the low byte of its code.
_SQLITE_ERRORS = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_READONLY: errno.EROFS,
}


@contextmanager
def explained(action: str, path: Path, *, hint: str = "") -> Iterator[None]:
    """Turn the operating system's refusals into one StoreError that names the remedy.

    ``hint`` is the remedy where the path is wrong and is no index's folder.
    """
    try:
        yield
    except (OSError, sqlite3.OperationalError) as error:
        number = getattr(error, "errno", None)
        if isinstance(error, sqlite3.Error):
            number = _SQLITE_ERRORS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)
        told = _HINTS.get(number or 0, "check the disk, then run: pincite doctor")
        if hint and (_ELSEWHERE in told or number == errno.EISDIR):
            told = hint
        kind = StoreFull if number in NO_ROOM else StoreError
        raise kind(f"cannot {action} {path}: {reason_of(error)}", hint=told) from error


# Locks belong to open files, and children inherit those: a child that outlived its parent would
# keep the lock of a dead writer. So children close them.
_held: set[int] = set()


def _let_go() -> None:
    while _held:
        os.close(_held.pop())


os.register_at_fork(after_in_child=_let_go)


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """Hold the index's write lock, or raise IndexBusy at once.

    The kernel drops the lock when its holder dies, so a killed writer never blocks the next one.
    The folder itself is locked, which nobody can take away without the index; `write.lock` tells
    who holds it, and is locked as well for whoever looks at that alone.
    """
    with ExitStack() as stack:
        with explained("write to", folder):
            home = stack.enter_context(_handle(folder, os.O_RDONLY | os.O_DIRECTORY))
            handle = stack.enter_context(_handle(folder / "write.lock", os.O_RDWR | os.O_CREAT))
        try:
            with _where_folders_cannot_be_locked():
                fcntl.flock(home, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
            raise IndexBusy(
                f"{folder} is being written by another process (pid {holder})",
                hint="wait for it to finish; searching goes on meanwhile",
            ) from error
        with suppress(OSError):  # who holds the lock is only told to people
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield


@contextmanager
def _handle(path: Path, flags: int) -> Iterator[int]:
    """Open a file that children let go of."""
    handle = os.open(path, flags, 0o644)
    _held.add(handle)
    try:
        yield handle
    finally:
        if handle in _held:
            _held.remove(handle)
            os.close(handle)


@contextmanager
def _where_folders_cannot_be_locked() -> Iterator[None]:
    """Go on without where file systems have no locks of folders, such as NFS."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.EBADF, errno.EINVAL, errno.ENOTSUP, errno.ENOLCK):
            raise


Array = np.ndarray[Any, np.dtype[Any]]
# Where arrays start in their file: a cache line, so that mapped numbers are aligned.
ALIGNMENT = 64
LISTING, ARRAYS = "segment.json", "arrays.bin"
FOOTER_SIZE = 8  # bytes that say how long the layout before them is
_PLAIN = re.compile(r"[<|=]?(?:[biuf][1248]|\|?b1|S\d{1,4})")


def write_folder(
    home: Path,
    arrays: Mapping[str, Array],
    fill: Callable[[Path], Mapping[str, Array]] | None = None,
) -> str:
    """Write a complete folder aside, sync it, put it in place, and return its listing's hash.

    ``fill`` writes other files into it, and returns arrays that come of that.
    """
    aside = home.with_name(f"{home.name}.tmp-{os.getpid()}")
    delete(aside)  # of a killed writer with this process id: in a container all have the same
    with cleared_on_error(aside):
        aside.mkdir()
        if fill is not None:
            arrays = {**arrays, **fill(aside)}
        layout = _write_arrays(aside / ARRAYS, arrays)
        names = [file.name for file in aside.iterdir()]
        (aside / LISTING).write_bytes(listing_of(aside, names, layout))
        for file in aside.iterdir():
            sync(file)
        sync(aside)
        delete(home)  # of a writer that was killed before its commit
        aside.rename(home)
    sync(home.parent)
    return sha256_of(home / LISTING)


def listing_of(folder: Path, names: Iterable[str], layout: Mapping[str, Any]) -> bytes:
    """Return what says which files a folder has, with their checksums, and where arrays stand."""
    files = {
        name: {"bytes": (folder / name).stat().st_size, "sha256": sha256_of(folder / name)}
        for name in names
    }
    return json.dumps({"files": files, "arrays": layout}, indent=1, sort_keys=True).encode("ascii")


def _write_arrays(file: Path, arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Write all arrays into one file and return where each one stands.

    The file ends with that too, and its size: a listing that is damaged can be written again.
    """
    layout: dict[str, Any] = {}
    with file.open("wb") as stream:
        for name, array in sorted(arrays.items()):
            stream.write(bytes(-stream.tell() % ALIGNMENT))
            where = {"dtype": array.dtype.str, "shape": array.shape, "offset": stream.tell()}
            layout[name] = where
            stream.write(np.ascontiguousarray(array).data)
        footer = json.dumps(layout, sort_keys=True).encode("ascii")
        stream.write(footer + len(footer).to_bytes(FOOTER_SIZE, "little"))
    return layout


def written_layout(file: Path) -> dict[str, Any]:
    """Return where the arrays of a file stand, as its end says; ValueError if it does not."""
    data = file.read_bytes()
    size = int.from_bytes(data[-FOOTER_SIZE:], "little")
    layout = json.loads(data[-FOOTER_SIZE - size : -FOOTER_SIZE])
    if not isinstance(layout, dict):
        raise ValueError("the file does not end with a layout")
    return layout


def read_arrays(home: Path) -> dict[str, Array]:
    """Return the arrays of a folder, mapped into memory, not read."""
    layout = json.loads((home / LISTING).read_bytes())["arrays"]
    file = home / ARRAYS
    if not file.stat().st_size:
        whole: Array = np.zeros(0, dtype=np.uint8)
    else:
        # A plain array over the mapped memory: numpy's memmap class slows every slice.
        whole = np.memmap(file, dtype=np.uint8, mode="r").view(np.ndarray)
    arrays = {}
    for name, where in layout.items():
        # Numpy reads words as a kind with a parser of its own: it sees none but plain ones.
        is_plain = _PLAIN.fullmatch(str(where["dtype"])) is not None
        if not is_plain or where["offset"] < 0 or min(where["shape"], default=0) < 0:
            raise ValueError(f"{name} is no array of plain values")
        dtype = np.dtype(where["dtype"])
        size = dtype.itemsize * math.prod(where["shape"])
        raw = whole[where["offset"] : where["offset"] + size]
        arrays[name] = raw.view(dtype).reshape(where["shape"])
    return arrays
