"""What may be tuned, and what was tried."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from pincite.index.postings import Array
from pincite.model.errors import IndexBusy, StaleIndex, StoreError
from pincite.model.settings import LATE, Settings, flat, merged, nested
from pincite.model.types import PairScorer
from pincite.search.build import RERANKED


class Watcher(Protocol):
    """Is told how far the work is."""

    def begin(self, trials: int, questions: int) -> None:
        """A batch of so many trials is asked so many questions."""

    def asked(self, trials: int) -> None:
        """A question was asked under so many trials."""


# Settings as ``section.key`` with the values that a trial gives them.
Change = Mapping[str, Any]
# What an axis cannot be tried without.
VECTORS, TOKENS, FILES, EXAMPLES = "vectors", "tokens", "files", "examples"
LEARNED_K = 20
# Fixed pipelines that tuning has to be as good as; "default" is the settings one started from.
PRESETS = ("lexical", "dense", "hybrid+graph", LATE, RERANKED, "traversal")


@dataclass(frozen=True)
class Trial:
    """Settings to be tried, perhaps with a ranker of a kind that is learned on the way."""

    settings: Settings
    learned: str = ""  # kind of model; it takes the place of the cross-encoder

    @cached_property
    def key(self) -> str:
        """A name for what is tried, the same in every run."""
        return self.settings.fingerprint() + (f"+{self.learned}" if self.learned else "")


@dataclass(frozen=True, slots=True)
class Axis:
    """Settings that belong together, and the values to try."""

    name: str
    changes: tuple[Change, ...]
    needs: str = ""
    learned: tuple[str, ...] = ()  # kinds of rankers, where this is the axis of learning
    part: str = ""  # what is tried with and without it
    when: Callable[[Settings], bool] = lambda _: True  # whether it makes sense beside the others

    def options(self, trial: Trial) -> list[Trial]:
        """Return the trial with every value of the axis, itself first and none twice."""
        found = [trial]
        if not self.when(trial.settings):
            return found
        for change in self.changes:
            settings = merged(trial.settings, nested(change), origin="tune")
            found.append(Trial(settings, "" if settings.rerank.enabled else trial.learned))
        if self.part:
            both = trial.settings.taking_in(self.part), trial.settings.leaving_out(self.part)
            found += [replace(trial, settings=settings) for settings in both]
        if self.learned:
            unread = replace(trial.settings.rerank, enabled=False)
            alone = replace(trial.settings, rerank=unread)
            found += [Trial(alone, kind) for kind in ("", *self.learned)]
        return list(dict.fromkeys(found))


def _grid(section: str, **values: Sequence[Any]) -> tuple[Change, ...]:
    """Return every combination of values of one section.

    >>> _grid("lexical", k1=[0.2, 0.4], b=[0.6])
    ({'lexical.k1': 0.2, 'lexical.b': 0.6}, {'lexical.k1': 0.4, 'lexical.b': 0.6})
    """
    return _all_of({f"{section}.{name}": some for name, some in values.items()})


def _all_of(values: Mapping[str, Sequence[Any]]) -> tuple[Change, ...]:
    found: list[dict[str, Any]] = [{}]
    for name, some in values.items():
        found = [{**each, name: value} for each in found for value in some]
    return tuple(found)


def _fusion(method: str, weights: Sequence[float]) -> tuple[Change, ...]:
    return _all_of({"tuning.fusion": [method], "search.meaning_weight": weights})


_FUSIONS = (
    *_fusion("theoretical", [0.6, 0.7, 0.8, 0.9]),
    *_fusion("minmax", [0.3, 0.5, 0.7]),
    *_fusion("rrf", [0.5]),
    *_fusion("zscore", [0.5]),
    {"search.meaning_weight": 0.0},
)
_GRAPHS = (
    {"tuning.graph.mode": "off"},
    *_grid("tuning.graph", mode=["bfs"], boost=[0.05, 0.1], depth=[1, 2]),
    *_grid("tuning.graph", mode=["ppr"], boost=[0.05], depth=[2]),
)
_READERS = (
    {"rerank.enabled": False},
    *_grid("rerank", enabled=[True], pool=[5, 10], weight=[0.2, 0.3, 0.4, 0.6]),
    {"rerank.enabled": True, "tuning.rerank.mode": "rrf", "rerank.pool": 10, "rerank.weight": 0.5},
)
# In this order they are gone through: what finds candidates before what orders them.
AXES = (
    Axis(
        "chunking",
        (
            *_grid("ingest", chunking=["clause"], max_chars=[1500, 3000, 6000], split_depth=[0, 1]),
            *_grid("ingest", chunking=["fixed"], max_tokens=[256, 512]),
        ),
        FILES,
    ),
    Axis("tokens", _grid("ingest", language=["auto", "none"]), FILES),
    Axis("fusion", _FUSIONS, VECTORS),
    Axis("saturation", _grid("tuning.lexical", k1=[0.2, 0.4, 0.8, 1.5], b=[0.4, 0.6, 0.8])),
    Axis(
        "phrases",
        _grid("tuning.lexical", bigram_weight=[0.0, 0.5, 1.0], window_weight=[0.0, 0.5, 1.0]),
    ),
    Axis("question words", _grid("tuning.lexical", content_words=[True, False])),
    Axis("names", (), part="names"),
    Axis("documents", (), part="documents"),
    Axis("aliases", _grid("tuning", alias_weight=[0.0, 0.1, 0.2, 0.4])),
    Axis("graph", _GRAPHS),
    Axis("late interaction", _grid("search", late_weight=[0.0, 0.1, 0.2, 0.3, 0.5]), TOKENS),
    Axis("spread", _grid("tuning", spread=[0.0, 0.04, 0.08, 0.12])),
    Axis("cross-encoder", _READERS),
    # Reading is what takes time: more is read only where more was better.
    Axis(
        "reading deeper",
        _grid("rerank", pool=[20, 40]),
        when=lambda settings: settings.rerank.enabled and settings.rerank.pool >= 10,
    ),
    Axis("learned ranker", (), EXAMPLES, learned=("logistic", "lambdamart")),
)


def parts_of(trial: Trial) -> tuple[str, ...]:
    """Return the parts of a search that are switched on: the fewer, the simpler."""
    settings, pipeline = trial.settings, trial.settings.search.preset
    tuning, out = settings.tuning, settings.left_out
    reads = settings.rerank.enabled or pipeline == RERANKED
    after = {"cross-encoder": reads, "learned ranker": bool(trial.learned)}
    if pipeline in ("dense", "traversal"):
        alone = "meaning" if pipeline == "dense" else "traversal"
        return (alone, *(name for name, is_on in after.items() if is_on))
    has_meaning = (
        pipeline != "lexical" and settings.search.meaning_weight > 0 and "dense" not in out
    )
    found = {
        "words": True,
        "pairs": tuning.lexical.bigram_weight > 0,
        "windows": tuning.lexical.window_weight > 0,
        "meaning": has_meaning,
        "names": True,
        "documents": True,
        "aliases": tuning.alias_weight > 0,
        "graph": tuning.graph.mode != "off" or pipeline == "hybrid+graph",
        "late interaction": has_meaning and settings.late_weight > 0,
        "spread": tuning.spread > 0,
        **after,
    }
    return tuple(name for name, is_on in found.items() if is_on and name not in out)


def cost_class(trial: Trial) -> str:
    """Return a name for all trials that take the same time: weights cost nothing, stages do."""
    settings, parts = trial.settings, parts_of(trial)
    facts: dict[str, Any] = {"parts": parts, "depth": settings.tuning.depth}
    facts |= {"shape": settings.shape(), "learned": trial.learned}
    if "graph" in parts:
        facts["graph"] = [settings.tuning.graph.mode, settings.tuning.graph.depth]
    if "cross-encoder" in parts:
        facts["pool"] = settings.rerank.pool
    return json.dumps(facts, sort_keys=True)


def changes_between(settings: Settings, default: Settings) -> dict[str, Any]:
    """Return what differs, as ``section.key`` with its value.

    >>> changes_between(merged(Settings(), {"search": {"k": 3}}, origin=""), Settings())
    {'search.k': 3}
    """
    other = dict(flat(default))
    return {key: value for key, value in flat(settings) if value != other[key]}


def said(trial: Trial, default: Settings) -> str:
    """Return in a few words how a trial differs from the default."""
    changes = changes_between(trial.settings, default)
    words = [f"{key}={value}" for key, value in changes.items()]
    if trial.learned:
        words.append(f"learned ranker ({trial.learned})")
    return ", ".join(words) or "default"


def undoings(trial: Trial, default: Settings) -> dict[str, Trial]:
    """Return the trial with each of its changes undone, by the change in words.

    Settings that mean something only together are undone together.
    """
    together: dict[str, dict[str, Any]] = {}
    for key, value in changes_between(trial.settings, default).items():
        together.setdefault(_belongs(key), {})[key] = value
    found, before = {}, dict(flat(default))
    for some in together.values():
        old = {key: before[key] for key in some}
        settings = merged(trial.settings, nested(old), origin="tune")
        words = ", ".join(f"{key}={value}" for key, value in some.items())
        found[words] = Trial(settings, trial.learned)
    if trial.learned:
        found[f"learned ranker ({trial.learned})"] = replace(trial, learned="")
    return found


def _belongs(key: str) -> str:
    """Return a name for the settings that stand or fall with this one."""
    section, _, name = key.removeprefix("tuning.").partition(".")
    if key == "ingest.language":
        return key
    if key in ("tuning.fusion", "search.meaning_weight"):
        return "fusion"
    return section if section in ("ingest", "graph", "rerank", "routing") and name else key


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


class State(AbstractContextManager["State"]):
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

    def taken(self) -> list[tuple[bytes, float]]:
        """Return what was read since the last time, to be kept.

        A search reads in a thread of its own, so that the state is not written from there.
        """
        new, self._new = self._new, {}
        return list(new.items())

    def _key(self, query: str, text: str) -> bytes:
        whole = "\0".join((self.id, query, text))
        return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).digest()
