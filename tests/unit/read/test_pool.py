"""Readers that hang, crash, eat memory or break: the file is rejected, the batch goes on."""

from __future__ import annotations

import faulthandler
import json
import mmap
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

import pytest

from pincite.model.errors import SourceError
from pincite.model.settings import LimitSettings, Settings
from pincite.model.types import ParsedDocument
from pincite.read import load
from pincite.read import workers as pool_module
from pincite.read.workers import ParseTask, WorkerPool, from_json, to_json

SETTINGS = replace(Settings(), limits=LimitSettings(seconds=4.0, memory_mb=1000.0))


def bad_reader(data: bytes, name: str) -> Any:
    """Do what the file says."""
    match data:
        case b"hang":
            time.sleep(60)
        case b"crash":
            faulthandler.disable()  # pytest's, whose report would fill the screen
            os.abort()
        case b"eat":
            return bytearray(3_000_000_000)
        case b"break":
            raise ZeroDivisionError("a reader's bug")
        case b"leave":
            os._exit(7)
    raise AssertionError


def task(name: str, data: bytes) -> ParseTask:
    return ParseTask(name, data, "", len(data))


WORDS = ["hang", "crash", "eat", "break", "leave"]


def read_bad_batch() -> list[tuple[str, str, str]]:
    """Return name, words and error of each file of a batch in which every other one is bad."""
    load.READERS[".bad"] = "formats.bad"
    sys.modules["pincite.read.formats.bad"] = SimpleNamespace(read=bad_reader)  # type: ignore[assignment]
    tasks: list[ParseTask | str] = []
    for i, word in enumerate(WORDS):
        tasks += [task(f"{i}.bad", word.encode()), task(f"{i}.md", b"# T\n\nGood words."), "kept"]
    found = []
    with WorkerPool(SETTINGS, workers=2) as pool:
        for item, result in pool.parse(tasks):
            name = item if isinstance(item, str) else item.doc_id
            text = result.document.text if isinstance(result, ParsedDocument) else ""
            found.append((name, text, result.message if isinstance(result, SourceError) else ""))
    return found


@pytest.mark.alone
def test_whatever_a_reader_does_the_batch_goes_on() -> None:
    # In a process of its own: children know our reader only if they are forked, and a process
    # in which other tests left threads cannot be.
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    results = json.loads(done.stdout.splitlines()[-1])
    assert [name for name, _, _ in results] == [
        name for i in range(len(WORDS)) for name in (f"{i}.bad", f"{i}.md", "kept")
    ]
    reasons = [error for _, _, error in results if error]
    expected = ["longer than 4 s", "SIGABRT", "more memory", "ZeroDivisionError", "exit code 7"]
    assert len(reasons) == len(WORDS)
    for reason, part in zip(reasons, expected, strict=True):
        assert part in reason
    assert [text for _, text, _ in results if text] == ["# T\n\nGood words."] * len(WORDS)


def test_many_files_keep_their_order() -> None:
    tasks = [
        task(f"{i}.md", f"# Title {i}\n\n{'word ' * (i % 7 * 100)}".encode()) for i in range(150)
    ]
    with WorkerPool(SETTINGS) as pool:
        names = [
            loaded.document.id
            for _, loaded in pool.parse(tasks)
            if isinstance(loaded, ParsedDocument)
        ]
    assert names == [f"{i}.md" for i in range(150)]


def test_transfer_is_lossless() -> None:
    text = "# Größe\n\n## 1.1 A\n(a) Eins \U0001f600.\n(b) Zwei.\n\fPage two.\n"
    loaded = load.parse(text.encode(), "a.md", Settings().ingest, source="/x/a.md")
    assert from_json(to_json(loaded)) == loaded
    error = from_json(to_json(SourceError("what", hint="how")))
    assert isinstance(error, SourceError) and (error.message, error.hint) == ("what", "how")


def test_children_that_were_killed_while_idle_are_replaced() -> None:
    """The kernel kills processes when memory runs out; the pipe to one of ours was an error."""
    pool = WorkerPool(SETTINGS, workers=2)

    def tasks() -> Iterator[ParseTask | str]:
        yield from (task(f"{i}.md", b"# T\n\nGood words.") for i in range(4))
        yield "all are read"

    with pool:
        first = list(pool.parse(tasks()))
        assert pool._idle
        for child in pool._idle:
            child._process.kill()
            child._process.join()
        results = [*first, *pool.parse(tasks())]
    assert sum(isinstance(result, ParsedDocument) for _, result in results) == 8


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_reader_ends_although_its_parent_died_before_it_began(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It asked for its parent's number when that was 1 already, and stayed for ever."""
    monkeypatch.setattr(pool_module, "ORPHAN_SECONDS", 0.05)
    mine, theirs = multiprocessing.Pipe()
    text = json.dumps({"ingest": asdict(SETTINGS.ingest), "limits": asdict(SETTINGS.limits)})
    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)
    reader = multiprocessing.get_context("fork").Process(
        target=pool_module._serve, args=(theirs, text, gone)
    )
    reader.start()
    reader.join(30)
    assert reader.exitcode == 0
    mine.close()
    theirs.close()


if __name__ == "__main__":
    print(json.dumps(read_bad_batch()))


def test_what_the_parent_has_mapped_does_not_count_for_a_reader() -> None:
    """A service with a large index reads files all the same."""
    with mmap.mmap(-1, 3_000_000_000, prot=mmap.PROT_READ), WorkerPool(SETTINGS, workers=1) as pool:
        ((_, result),) = pool.parse([task("a.md", b"# A\n\nWords.\n")])
    assert isinstance(result, ParsedDocument)
