"""A process that changes an index and dies while it does: forked, so that many deaths are cheap.

It reads jobs, one JSON object a line, and answers each with how the child ended:

    {"home": ..., "round": 7, "kill_after": 0.1}        work until SIGKILL comes
    {"home": ..., "round": 7, "crash_at": 12}           one round, ended before its 12th write step
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from unittest.mock import patch

import numpy as np

from pincite import update
from pincite import update as vectorise
from pincite.encode.models import SHIPPED
from pincite.index import builder
from pincite.model.settings import Settings
from pincite.model.tuning import Tuning
from pincite.read.enrich.profile import profile_fingerprint
from pincite.read.load import parse

DOCUMENTS = 6
SETTINGS = Settings(tuning=Tuning(bigrams=False, cache=False))
CRASHED = 77
groups: list[int] = []  # of the last child and its own children
WRITES = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"}


def state(number: int) -> dict[str, str]:
    """Return the documents of a round: in each some come, go and change; before the first, none."""
    return {
        f"{i}.md": document(i, version=(number + i) // 2)
        for i in range(DOCUMENTS)
        if number > 0 and (number + i) % 5
    }


def document(i: int, *, version: int) -> str:
    """Return a text that says its version in every paragraph, in small sections."""
    mark = f"Document {i} version {version} paragraph"
    sections = (f"## {i}.{s} Section of v{version}\n\n{mark} {s}.\n\n" for s in range(1, 4))
    return f"# Title {i} v{version}\n\n{mark} 0.\n\n" + "".join(sections)


def write_sources(home: Path, number: int) -> None:
    """Make the source folder the state of a round, each file whole or not at all."""
    wanted = state(number)
    folder = home / "sources"
    folder.mkdir(exist_ok=True)
    for file in folder.glob("*.md"):
        if file.name not in wanted:
            file.unlink()
    for name, text in wanted.items():
        aside = folder / f".{name}"
        aside.write_text(text)
        aside.rename(folder / name)


def ingest(home: Path) -> None:
    """Bring the index up to date with the sources."""
    files = update.find_files([home / "sources"])
    for outcome in update.iter_ingest(files, home / "index", SETTINGS, prune=True):
        assert outcome.status != "rejected", outcome.reason
    encode(home)


def ingest_here(home: Path, *, rebuild: bool = False) -> None:
    """Do the same without children that parse, in a fraction of the time."""
    files = {file.name: file for file in sorted((home / "sources").glob("*.md"))}
    profile = profile_fingerprint(SETTINGS.ingest.profile)
    with builder.IndexBuilder(home / "index", SETTINGS, rebuild=rebuild, profile=profile) as writer:
        for name, file in files.items():
            loaded = parse(file.read_bytes(), name, SETTINGS.ingest, source=str(file.resolve()))
            known = writer.meta(name) or {}
            if known.get("sha256") != loaded.document.meta["sha256"]:
                writer.put(loaded)
        for name in writer.documents():
            if name not in files:
                writer.drop(name)
        writer.flush()
    encode(home)


class Letters:
    """An encoder that is nothing to wait for: what is written and when is all that matters here."""

    spec = SHIPPED

    def token_starts(self, text: str) -> range:
        return range(0, len(text), 4)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        counts = [np.bincount(list(text.encode()), minlength=384)[:384] for text in texts]
        return np.array(counts, dtype=np.float32).reshape(-1, 384)

    def encode_query(self, text: str) -> np.ndarray:
        return self.encode([text])[0]


def encode(home: Path) -> None:
    """Give the chunks their vectors."""
    with patch.object(vectorise, "open_encoder", lambda _: Letters()):
        list(vectorise.embed_index(home / "index", SETTINGS))


def rounds(home: Path, first: int) -> None:
    """Play one round after the other, without an end; a file tells which one has begun."""
    for number in count(first):
        (home / "round.aside").write_text(str(number))
        (home / "round.aside").rename(home / "round")
        write_sources(home, number)
        ingest(home)


def crash_before(step: int, folder: Path) -> None:
    """End this process before the given write step inside the folder.

    To open a file for writing is two steps: before it, and when the file is empty.
    """
    inside, taken, fsync = str(folder), count(1), os.fsync

    def take(emptied: str | None = None) -> None:
        if next(taken) == step:
            if emptied is not None:
                os.close(os.open(emptied, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
            os._exit(CRASHED)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        opens = event == "open" and "w" in str(arguments[1])
        if (opens or event in WRITES) and str(arguments[0]).startswith(inside):
            take()
            if opens:
                take(emptied=str(arguments[0]))

    def counted(handle: int) -> None:
        take()
        fsync(handle)

    sys.addaudithook(hook)
    os.fsync = counted


def play(job: dict[str, object]) -> None:
    home, number = Path(str(job["home"])), int(str(job["round"]))
    if "kill_after" in job:
        rounds(home, number)
    write_sources(home, number)
    crash_before(int(str(job["crash_at"])), home / "index")
    ingest_here(home, rebuild=bool(job.get("rebuild")))


def ended(job: dict[str, object]) -> int:
    """Play a job in a child and return its exit code, negative for a signal.

    The child's own children are left alone until the next job: they must not be in anybody's way.
    """
    end_orphans()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        try:
            play(job)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    groups.append(child)
    if "kill_after" in job:
        time.sleep(float(str(job["kill_after"])))
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def end_orphans() -> None:
    while groups:
        with suppress(ProcessLookupError):
            os.killpg(groups.pop(), signal.SIGKILL)


def make_small_segments() -> None:
    """Make a few words a segment and a few segments a merge."""
    builder.SEGMENT_TERMS = 120
    builder.MERGE_FACTOR = 3


if __name__ == "__main__":
    make_small_segments()
    for line in sys.stdin:
        print(ended(json.loads(line)), flush=True)
    end_orphans()
