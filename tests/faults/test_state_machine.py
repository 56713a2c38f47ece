"""Any sequence of changes, crashes and merges ends in the index that a clean build gives.

PINCITE_MACHINE_EXAMPLES=500 plays more sequences than CI does.
"""

from __future__ import annotations

import os
import random
import shutil
from contextlib import ExitStack
from pathlib import Path

import fault_workload as workload
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from simulated_disk import CRASH, ERRORS, Crash, Disk, Fault

from pincite.maintain.exchange import export_index
from pincite.maintain.repair import repair_index
from pincite.model.errors import PinciteError
from pincite.store.manifest import current
from pincite.store.snapshot import Snapshot

EXAMPLES = int(os.environ.get("PINCITE_MACHINE_EXAMPLES", "20"))
numbers = st.integers(0, 4)


class Index(RuleBasedStateMachine):
    """An index that documents come to, change in and go from, with a disk that fails."""

    @initialize()
    def begin(self) -> None:
        self.stack = ExitStack()
        self.stack.enter_context(workload.small_segments())
        self.scratch = self.stack.enter_context(workload.scratch())
        self.turn = 0
        self.home = self.scratch / "0"
        self.home.mkdir()
        self.wanted: dict[str, str] = {}  # the files, as they are now
        self.safe: dict[str, str] = {}  # what the last ingest acknowledged
        self.since: dict[str, set[str | None]] = {}  # what files were while later ones failed

    @property
    def folder(self) -> Path:
        return self.home / "index"

    @rule(number=numbers, version=st.integers(1, 3))
    def add_or_change(self, number: int, version: int) -> None:
        self.wanted[f"{number}.md"] = workload.document(number, version)

    @rule(number=numbers)
    def delete(self, number: int) -> None:
        self.wanted.pop(f"{number}.md", None)

    @rule()
    def ingest(self) -> None:
        workload.bring(self.folder, self.wanted)
        self._acknowledged()

    @rule()
    def rebuild(self) -> None:
        workload.bring(self.folder, self.wanted, rebuild=True)
        self._acknowledged()

    @rule()
    def encode(self) -> None:
        if (self.folder / "CURRENT").exists():
            workload.encode(self.folder)

    @rule()
    def repair(self) -> None:
        """Mend an index that has lost its pointer, which has to change nothing."""
        if (self.folder / "CURRENT").exists():
            (self.folder / "CURRENT").unlink()
            repair_index(self.folder)

    @rule(
        kind=st.sampled_from([CRASH, CRASH, *ERRORS]), step=st.integers(1, 150), seed=st.randoms()
    )
    def ingest_on_a_bad_disk(self, kind: str, step: int, seed: random.Random) -> None:
        self.turn += 1
        image = self.scratch / str(self.turn)
        disk = Disk(self.home, Fault(kind, step, stays=seed.random() < 0.7), seed, image)
        for name in self.wanted.keys() | self.safe.keys():
            self.since.setdefault(name, set()).add(self.wanted.get(name))
        try:
            with disk.attached():
                workload.bring(self.folder, self.wanted)
        except Crash:
            shutil.rmtree(self.home)
            self.home = image
        except PinciteError as error:
            assert error.hint
        else:
            self._acknowledged()

    def _acknowledged(self) -> None:
        self.safe, self.since = dict(self.wanted), {}

    @invariant()
    def each_document_is_one_that_was_asked_for(self) -> None:
        if not (self.folder / "CURRENT").exists():
            assert not self.safe
            return
        found = workload.content(self.folder)
        for name in found.texts.keys() | self.safe.keys():
            allowed = {self.safe.get(name), *self.since.get(name, ())}
            assert found.texts.get(name) in allowed
        assert found.records == workload.clean(found.texts).records

    def teardown(self) -> None:
        try:
            workload.bring(self.folder, self.wanted)
            if not (self.folder / "CURRENT").exists():
                assert not self.wanted
                return
            workload.encode(self.folder)
            workload.check_complete(self.folder, self.wanted, vectors=True)
            number = current(self.folder).generation
            workload.bring(self.folder, self.wanted)  # again: nothing happens
            assert current(self.folder).generation == number
            scratch = self.scratch / "clean"
            workload.bring(scratch / "index", self.wanted)
            assert exported(self.folder, self.scratch / "a") == exported(
                scratch / "index", self.scratch / "b"
            )
        finally:
            self.stack.close()


def exported(folder: Path, to: Path) -> dict[str, list[bytes]]:
    """Return the plain files of an index, byte for byte; documents stand in any order in them."""
    if not (folder / "CURRENT").exists():
        return {}
    with Snapshot.open(folder) as snapshot:
        if not snapshot.documents():
            return {}
        list(export_index(snapshot, to))
    return {file.name: sorted(file.read_bytes().splitlines()) for file in sorted(to.iterdir())}


Index.TestCase.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=14,
    derandomize=EXAMPLES <= 20,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
TestIndex = pytest.mark.slow(Index.TestCase)


def test_the_same_documents_are_the_same_bytes(tmp_path: Path) -> None:
    """Built twice, an index is the same to the byte: manifests, segments, vectors."""
    with workload.small_segments():
        for name in ("a", "b"):
            workload.bring(tmp_path / name, workload.state(1))
            workload.bring(tmp_path / name, workload.state(2))
            workload.encode(tmp_path / name)

    def files(name: str) -> dict[str, bytes]:
        root = tmp_path / name
        found = [file for file in root.rglob("*") if file.is_file() and file.name != "write.lock"]
        return {str(file.relative_to(root)): file.read_bytes() for file in found}

    assert files("a") == files("b") and len(files("a")) > 10
