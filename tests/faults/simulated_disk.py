"""A disk that fails when a seed says so: crashes that forget, and errors at the Nth write step.

The code under test works on a real folder. Around it the calls that change files are replaced by
ones that count, keep books of what a disk would have to remember, and fail at a chosen step. When
the power goes, the folder that is left is made from the books: what was synced is there; of what
was not, some is there, in any mixture that the rules of a disk allow.

    file      its words are safe when it was synced; else they are the old ones, the new ones, a
              part of them, or blocks of both
    name      a file that was made, renamed or deleted has its new name for sure only when the
              folder that holds the name was synced; names of one folder may come in any mixture
"""

from __future__ import annotations

import errno
import io
import os
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

BLOCK = 512
CRASH, SHORT = "crash", "short write"
ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EROFS": errno.EROFS, "EDQUOT": errno.EDQUOT}
KINDS = (CRASH, SHORT, *ERRORS)
SQLITE_SAYS = {  # code and words of SQLite for an error of the disk
    "ENOSPC": (13, "database or disk is full"),
    "EDQUOT": (13, "database or disk is full"),
    "EIO": (10, "disk I/O error"),
    "EROFS": (8, "attempt to write a readonly database"),
}
FREES = ("unlink", "rmdir", "fsync")  # steps that need no room on a disk


class Crash(BaseException):
    """The power is gone: nothing of this process happens any more."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong, at which write step, and whether it stays so."""

    kind: str
    step: int
    stays: bool = False


@dataclass(eq=False)
class File:
    """A file's words that are safe, and whether it has others by now."""

    synced: bytes = b""
    is_dirty: bool = True
    last: bytes | None = None  # its words when it was deleted


@dataclass(eq=False)
class Folder:
    """The names of a folder: as they are, as they are safe, and what changed in between."""

    names: dict[str, File | Folder] = field(default_factory=dict)
    safe: dict[str, File | Folder] = field(default_factory=dict)
    changes: list[tuple[str, str, str, File | Folder]] = field(default_factory=list)


class Disk:
    """Counts the write steps below a folder, and fails at one of them."""

    def __init__(self, root: Path, fault: Fault | None, dice: random.Random, image: Path) -> None:
        self.root = root.resolve()
        self.fault = fault
        self.dice = dice
        self.image = image  # where the folder goes that a crash leaves
        self.steps = 0
        self.kinds: Counter[str] = Counter()
        self.is_down = False
        self.tree = self._known(self.root)

    def _known(self, path: Path) -> Folder:
        """Return what is there at the beginning, all of it safe."""
        names: dict[str, File | Folder] = {}
        for each in path.iterdir():
            names[each.name] = (
                self._known(each) if each.is_dir() else File(each.read_bytes(), is_dirty=False)
            )
        return Folder(dict(names), dict(names))

    # -- books

    def _inside(self, path: Any) -> Path | None:
        """Return the path below the root; None if it is elsewhere, or all is over."""
        if self.is_down or isinstance(path, int):
            return None
        whole = Path(os.path.abspath(os.fspath(path)))
        return whole if whole.is_relative_to(self.root) else None

    def _node(self, path: Path) -> File | Folder | None:
        found: File | Folder | None = self.tree
        for part in path.relative_to(self.root).parts:
            found = found.names.get(part) if isinstance(found, Folder) else None
        return found

    def _above(self, path: Path) -> Folder:
        folder = self._node(path.parent)
        assert isinstance(folder, Folder), path
        return folder

    def _link(self, path: Path, node: File | Folder) -> None:
        above = self._above(path)
        above.names[path.name] = node
        above.changes.append(("link", path.name, "", node))

    def _unlink(self, path: Path) -> None:
        above = self._above(path)
        node = above.names.pop(path.name)
        above.changes.append(("unlink", path.name, "", node))

    def _made(self, path: Path) -> File:
        """Return the file, which is there or is made now, and is about to be changed."""
        node = self._node(path)
        if node is None:
            node = File()
            self._link(path, node)
        assert isinstance(node, File)
        node.is_dirty = True
        return node

    def _sync(self, path: Path) -> None:
        node = self._node(path)
        if isinstance(node, Folder):
            node.safe = dict(node.names)
            node.changes.clear()
        elif node is not None:
            node.synced, node.is_dirty = path.read_bytes(), False

    # -- faults

    def step(self, kind: str, path: Path) -> bool:
        """Count a step; fail if it is the one. True: a write has to stop half-way."""
        self.steps += 1
        self.kinds[kind] += 1
        fault = self.fault
        if fault is None or self.steps < fault.step:
            return False
        is_now = self.steps == fault.step
        if fault.kind == CRASH and is_now:
            self.crash()
        if fault.kind == SHORT:
            return is_now
        if fault.kind in ERRORS and (is_now or fault.stays):
            room_is_enough = fault.kind in ("ENOSPC", "EDQUOT") and kind in FREES
            if not room_is_enough:
                raise self._error(kind, path)
        return False

    def _error(self, kind: str, path: Path) -> Exception:
        assert self.fault is not None
        if kind == "sql":
            code, words = SQLITE_SAYS[self.fault.kind]
            error = sqlite3.OperationalError(words)
            error.sqlite_errorcode = code
            return error
        number = ERRORS[self.fault.kind]
        return OSError(number, os.strerror(number), str(path))

    def crash(self) -> None:
        """Leave what a disk would have, and end."""
        self.leave()
        self.is_down = True
        raise Crash

    def leave(self) -> None:
        """Make the folder that is found when the power is back."""
        mode = self.dice.choice(["nothing more", "all", "some", "first"])
        self._write(self.tree, self._words(self.root, self.tree), self.image, mode)

    def _words(self, path: Path, folder: Folder) -> dict[int, bytes]:
        """Return the present words of all files that can be reached, by node."""
        found: dict[int, bytes] = {}
        for name, node in folder.names.items():
            if isinstance(node, Folder):
                found |= self._words(path / name, node)
            elif node.is_dirty:
                # SQLite makes its file with the first words.
                file = path / name
                found[id(node)] = file.read_bytes() if file.exists() else b""
        return found

    def _write(self, folder: Folder, words: dict[int, bytes], to: Path, mode: str) -> None:
        to.mkdir()
        for name, node in self._left(folder, mode).items():
            if isinstance(node, Folder):
                self._write(node, words, to / name, mode)
            else:
                (to / name).write_bytes(self._left_words(node, words, mode))

    def _left(self, folder: Folder, mode: str) -> dict[str, File | Folder]:
        """Return the names that are left of a folder."""
        names, changes = dict(folder.safe), folder.changes
        if mode == "nothing more":
            changes = []
        elif mode == "first":
            changes = changes[: self.dice.randint(0, len(changes))]
        elif mode == "some":
            changes = [each for each in changes if self.dice.random() < 0.5]
        for kind, name, other, node in changes:
            names.pop(name, None)
            if kind != "unlink":
                names[other or name] = node
        return names

    def _left_words(self, node: File, words: dict[int, bytes], mode: str) -> bytes:
        """Return what is left of a file's words."""
        new = words.get(id(node), node.last if node.last is not None else node.synced)
        if not node.is_dirty or mode == "all":
            return new
        old = node.synced
        way = self.dice.choice(["old", "new", "cut", "blocks", "zeros"])
        cut = self.dice.randint(0, len(new))
        if way == "blocks":
            size = max(len(old), len(new))
            pairs = ((old[at : at + BLOCK], new[at : at + BLOCK]) for at in range(0, size, BLOCK))
            return b"".join(self.dice.choice(pair) for pair in pairs)
        return {"old": old, "new": new, "cut": new[:cut]}.get(way, new[:cut].ljust(len(new), b"\0"))

    # -- the calls that are replaced

    @contextmanager
    def attached(self) -> Iterator[Disk]:
        """Stand between the code under test and the files below the root."""
        with ExitStack() as stack:
            for module, name, replacement in self._replaced():
                stack.enter_context(patch.object(module, name, replacement))
            yield self

    def _replaced(self) -> list[tuple[Any, str, Callable[..., Any]]]:
        return [
            (io, "open", self._open(io.open)),
            (os, "open", self._os_open(os.open)),
            (os, "fsync", self._fsync(os.fsync)),
            (os, "rename", self._rename(os.rename)),
            (os, "replace", self._rename(os.replace)),
            (os, "mkdir", self._mkdir(os.mkdir)),
            (os, "unlink", self._gone("unlink", os.unlink)),
            (os, "remove", self._gone("unlink", os.remove)),
            (os, "rmdir", self._gone("rmdir", os.rmdir)),
            (os, "pwrite", self._handle_write(os.pwrite)),
            (os, "ftruncate", self._handle_write(os.ftruncate)),
            (shutil, "rmtree", self._rmtree),
            (sqlite3, "connect", self._connect(sqlite3.connect)),
        ]

    def _open(self, real: Any) -> Callable[..., Any]:
        disk = self

        def opened(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
            path = disk._inside(file)
            if path is None or not set(mode) & set("wax+"):
                return real(file, mode, *rest, **named)
            disk.step("open", path)
            raw = _Raw(disk, path, mode.replace("b", "").replace("t", ""))
            disk._made(path)
            stream = io.BufferedWriter(raw)
            encoding = named.get("encoding") or (rest[1] if len(rest) > 1 else None)
            return stream if "b" in mode else io.TextIOWrapper(stream, encoding or "utf-8")

        return opened

    def _os_open(self, real: Any) -> Callable[..., int]:
        def opened(path: Any, flags: int, *rest: Any, **named: Any) -> int:
            inside = self._inside(path)
            if inside is not None and flags & os.O_CREAT and not inside.exists():
                self.step("open", inside)
                handle = real(path, flags, *rest, **named)
                self._made(inside)
                return int(handle)
            return int(real(path, flags, *rest, **named))

        return opened

    def _of_handle(self, handle: int) -> Path | None:
        return self._inside(os.readlink(f"/proc/self/fd/{handle}"))

    def _fsync(self, real: Any) -> Callable[[int], None]:
        def fsync(handle: int) -> None:
            path = self._of_handle(handle)
            if path is None:
                return  # elsewhere: nothing there has to be safe
            self.step("fsync", path)
            self._sync(path)

        return fsync

    def _handle_write(self, real: Any) -> Callable[..., Any]:
        def write(handle: int, *rest: Any) -> Any:
            path = self._of_handle(handle)
            if path is not None:
                self.step("write", path)
                self._made(path)
            return real(handle, *rest)

        return write

    def _rename(self, real: Any) -> Callable[..., None]:
        def rename(old: Any, new: Any, **named: Any) -> None:
            source, target = self._inside(old), self._inside(new)
            if source is None or target is None:
                return real(old, new, **named)
            self.step("rename", source)
            real(old, new, **named)
            assert source.parent == target.parent, "the books know no rename into another folder"
            above = self._above(source)
            node = above.names.pop(source.name)
            above.names[target.name] = node
            above.changes.append(("rename", source.name, target.name, node))

        return rename

    def _mkdir(self, real: Any) -> Callable[..., None]:
        def mkdir(path: Any, *rest: Any, **named: Any) -> None:
            inside = self._inside(path)
            if inside is not None and not inside.exists():
                self.step("mkdir", inside)
                real(path, *rest, **named)
                return self._link(inside, Folder())
            return real(path, *rest, **named)

        return mkdir

    def _gone(self, kind: str, real: Any) -> Callable[..., None]:
        def gone(path: Any, **named: Any) -> None:
            inside = self._inside(path)
            if inside is None or not os.path.lexists(inside):
                return real(path, **named)
            self.step(kind, inside)
            node = self._node(inside)
            if isinstance(node, File) and node.is_dirty:
                node.last = inside.read_bytes()
            real(path, **named)
            self._unlink(inside)

        return gone

    def _rmtree(self, path: Any, *_: Any, **__: Any) -> None:
        """Delete a folder name by name, so that a crash may come between them."""
        for each in sorted(Path(path).iterdir()):
            if each.is_dir() and not each.is_symlink():
                self._rmtree(each)
            else:
                os.unlink(each)
        os.rmdir(path)

    def _connect(self, real: Any) -> Callable[..., sqlite3.Connection]:
        disk = self

        def connect(database: Any, *rest: Any, **named: Any) -> sqlite3.Connection:
            path = None if named.get("uri") else disk._inside(database)
            if path is None:
                return real(database, *rest, **named)
            disk.step("open", path)
            disk._made(path)
            connection = real(database, *rest, factory=_Connection, **named)
            connection.disk, connection.path = disk, path
            return connection

        return connect


class _Raw(io.FileIO):
    """A file whose writes are steps."""

    def __init__(self, disk: Disk, path: Path, mode: str) -> None:
        super().__init__(path, mode)
        self._disk, self._path = disk, path

    def write(self, data: Any) -> int:
        if self._disk.is_down:
            return super().write(data)
        if self._disk.step("write", self._path):
            view = memoryview(data).cast("B")
            return super().write(view[: max(1, len(view) // 2)])
        return super().write(data)


class _Connection(sqlite3.Connection):
    """A database whose statements are steps; it keeps no journal, so its words come as they are."""

    disk: Disk
    path: Path

    def _step(self) -> None:
        if not self.disk.is_down:
            self.disk.step("sql", self.path)

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        self._step()
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> sqlite3.Cursor:
        self._step()
        return super().executemany(*arguments)

    def executescript(self, *arguments: Any) -> sqlite3.Cursor:
        self._step()
        return super().executescript(*arguments)
