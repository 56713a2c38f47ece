"""What a tuning has worked out so far, in one file: an interrupted one goes on where it was.

The file belongs to one set of questions, one generation of an index and one set of starting
settings. With others its numbers mean nothing, and it is refused.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

import numpy as np

from pincite.core.errors import IndexBusy, StaleIndex, StoreError
from pincite.core.stages import PairScorer
from pincite.index.postings import Array

FORMAT = 1
WAIT_SECONDS = 2.0
SECONDS_BETWEEN = 2.0  # what is lost at most when the power fails
_TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS gains (trial TEXT, question INTEGER, gain REAL NOT NULL,
    PRIMARY KEY (trial, question)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS pairs (pair BLOB PRIMARY KEY, chance REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS costs (class TEXT PRIMARY KEY, cost TEXT NOT NULL) WITHOUT ROWID;
"""


class State:
    """Values of trials, scores of pairs and times of pipelines, kept between runs."""

    def __init__(self, file: Path | None, about: Mapping[str, Any]) -> None:
        """Open or make the file; without one, nothing is kept."""
        self.file = file
        self._written = time.monotonic()
        try:
            self._database = sqlite3.connect(file or ":memory:", timeout=WAIT_SECONDS)
            # The first write takes a lock that is kept: two runs would undo each other's work.
            self._database.executescript(f"PRAGMA locking_mode=EXCLUSIVE; {_TABLES}")
            known = dict(self._database.execute("SELECT name, value FROM about"))
        except sqlite3.OperationalError as error:
            raise IndexBusy(
                f"{file} cannot be used: {error}",
                hint="wait for the other tuning, or choose another folder with --out",
            ) from error
        except sqlite3.Error as error:
            raise StoreError(
                f"{file} is not a state of tuning: {error}", hint="begin anew with --restart"
            ) from error
        own = {"format": json.dumps(FORMAT)}
        own |= {name: json.dumps(value, sort_keys=True) for name, value in about.items()}
        if known:
            self._check(known, own)
        self._database.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", own.items())
        self._database.commit()

    def _check(self, known: Mapping[str, str], own: Mapping[str, str]) -> None:
        """Raise StaleIndex, with what differs, if the file belongs to something else."""
        different = [name for name in own if known.get(name) != own[name]]
        if different:
            self._database.close()
            raise StaleIndex(
                f"{self.file} was made with other {' and '.join(different)}",
                hint="begin anew with --restart, or keep it and choose another folder with --out",
            )

    def gains(self, trial: str, questions: int) -> Array:
        """Return a trial's value for every question; not a number where it is not known."""
        found = np.full(questions, np.nan)
        rows = self._database.execute("SELECT question, gain FROM gains WHERE trial = ?", (trial,))
        for at, gain in rows:
            found[at] = gain
        return found

    def add_gains(self, rows: Iterable[tuple[str, int, float]]) -> None:
        """Keep values: trial, question, value."""
        self._database.executemany("INSERT OR REPLACE INTO gains VALUES (?, ?, ?)", rows)
        self._now_and_then()

    def pairs(self) -> dict[bytes, float]:
        """Return the scores of all pairs that were read before."""
        return dict(self._database.execute("SELECT pair, chance FROM pairs"))

    def add_pairs(self, rows: Iterable[tuple[bytes, float]]) -> None:
        self._database.executemany("INSERT OR REPLACE INTO pairs VALUES (?, ?)", rows)
        self._now_and_then()

    def cost(self, name: str) -> dict[str, float] | None:
        """Return what a class of pipelines takes, if it was measured."""
        row = self._database.execute("SELECT cost FROM costs WHERE class = ?", (name,)).fetchone()
        return None if row is None else dict(json.loads(row[0]))

    def add_cost(self, name: str, cost: Mapping[str, float]) -> None:
        row = (name, json.dumps(dict(cost)))
        self._database.execute("INSERT OR REPLACE INTO costs VALUES (?, ?)", row)
        self._now_and_then()

    def _now_and_then(self) -> None:
        if time.monotonic() - self._written > SECONDS_BETWEEN:
            self._database.commit()
            self._written = time.monotonic()

    def close(self) -> None:
        """Write what is left."""
        self._database.commit()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RememberedPairs:
    """A scorer that reads every pair of question and text once, however many trials ask for it."""

    def __init__(self, inner: PairScorer, known: dict[bytes, float]) -> None:
        self.inner = inner
        self.known = known
        self._new: dict[bytes, float] = {}

    @property
    def id(self) -> str:
        return self.inner.id

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        keys = [self._key(query, text) for text in texts]
        new = [at for at, key in enumerate(keys) if key not in self.known]
        if new:
            scores = self.inner.score(query, [texts[at] for at in new])
            read = {keys[at]: float(score) for at, score in zip(new, scores, strict=True)}
            self.known |= read
            self._new |= read
        return [self.known[key] for key in keys]

    def add(self, read: Mapping[bytes, float]) -> None:
        """Take over what was read elsewhere."""
        self.known |= read
        self._new |= read

    def taken(self) -> list[tuple[bytes, float]]:
        """Return what was read since the last time, to be kept.

        A search reads in a thread of its own, so that the state is not written from there.
        """
        new, self._new = self._new, {}
        return list(new.items())

    def _key(self, query: str, text: str) -> bytes:
        whole = "\0".join((self.id, query, text))
        return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).digest()
