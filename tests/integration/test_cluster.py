"""Work on a cluster: order, back-pressure, what is repeated and what is not, clear errors."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import cluster_work
import pytest
from cluster_work import LOCAL

from pincite import cluster as clusters
from pincite.cluster import LOST, PIECES_PER_CPU, RETRIES, Cluster, WorkPiece, connected
from pincite.encode import batches
from pincite.model.errors import ClusterError, ConfigError, MissingExtra, SourceError
from pincite.model.settings import LimitSettings, Settings
from pincite.read.load import find_files
from pincite.update import embed_index, ingest_files

Spread = Callable[..., list[Any]]


@pytest.fixture
def spread(cluster: Cluster, tmp_path: Path) -> Spread:
    """Run a function for some numbers and return what came out."""

    def run(function: Callable[..., Any], numbers: range) -> list[Any]:
        pieces = (WorkPiece(number, (str(tmp_path), number)) for number in numbers)
        return list(cluster.attempt(function, pieces))

    return run


def test_results_come_in_order_and_everything_runs_once(spread: Spread, tmp_path: Path) -> None:
    assert spread(cluster_work.noted_slowly, range(40)) == [(n, n) for n in range(40)]
    assert all(cluster_work.runs(str(tmp_path), number) == "x" for number in range(40))


def test_pieces_are_asked_for_as_fast_as_they_are_done(cluster: Cluster, tmp_path: Path) -> None:
    asked = []

    def pieces() -> Iterator[WorkPiece[int]]:
        for number in range(100):
            asked.append(number)
            yield WorkPiece(number, (str(tmp_path), number))

    most = PIECES_PER_CPU * cluster.cpus()
    for done, _ in enumerate(cluster.distribute(cluster_work.noted, pieces())):
        assert len(asked) - done <= most


def test_large_pieces_are_held_back(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clusters, "BYTES_UNDER_WAY", 100)
    asked = []

    def pieces() -> Iterator[WorkPiece[int]]:
        for number in range(10):
            asked.append(number)
            yield WorkPiece(number, (str(tmp_path), number), size=60)

    for done, _ in enumerate(cluster.distribute(cluster_work.noted, pieces())):
        assert len(asked) - done <= 2


def test_what_has_no_arguments_passes_through_in_its_place(
    cluster: Cluster, tmp_path: Path
) -> None:
    pieces = [WorkPiece(n, (str(tmp_path), n) if n % 2 else None) for n in range(6)]
    found = [result for _, result in cluster.distribute(cluster_work.noted, pieces)]
    assert found == [None, 1, None, 3, None, 5]


def test_a_lost_piece_is_done_again(spread: Spread, tmp_path: Path) -> None:
    assert spread(cluster_work.dies_once, range(3)) == [(0, 0), (1, 1), (2, 2)]
    assert cluster_work.runs(str(tmp_path), 0) == "xx"


def test_a_piece_that_is_always_lost_is_not_tried_for_ever(spread: Spread, tmp_path: Path) -> None:
    assert spread(cluster_work.dies_always, range(1)) == [(0, LOST)]
    assert cluster_work.runs(str(tmp_path), 0) == "x" * (1 + RETRIES)


def test_who_cannot_go_on_without_a_lost_piece_is_told(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="every node that tried was lost"):
        list(cluster.distribute(cluster_work.dies_always, [WorkPiece(0, (str(tmp_path), 0))]))


def test_an_error_of_ours_comes_back_as_it_was(spread: Spread, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="number 0 is no good") as caught:
        spread(cluster_work.refuses, range(1))
    assert caught.value.hint == "take another"
    assert cluster_work.runs(str(tmp_path), 0) == "x"


def test_a_bug_is_told_once(spread: Spread, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="ZeroDivisionError: a bug"):
        spread(cluster_work.breaks, range(1))
    assert cluster_work.runs(str(tmp_path), 0) == "x"


def test_a_node_with_another_pincite_is_refused(
    spread: Spread, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = clusters.facts()
    monkeypatch.setattr(clusters, "facts", lambda: own | {"Pincite": "9.9 (cafe)"})
    with pytest.raises(
        ClusterError, match=r"has Pincite .* and the parent 9\.9 \(cafe\)"
    ) as caught:
        spread(cluster_work.noted, range(1))
    assert "same Pincite" in caught.value.hint


def test_a_node_with_another_library_is_refused(
    spread: Spread, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = clusters.facts()
    monkeypatch.setattr(clusters, "facts", lambda: own | {"rapidocr": "1.0"})
    with pytest.raises(ClusterError, match=r"has rapidocr .* and the parent 1\.0"):
        spread(cluster_work.noted, range(1))


def test_a_node_without_pincite_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    run = clusters._task()
    monkeypatch.setitem(sys.modules, "pincite.cluster", None)
    with pytest.raises(ImportError) as caught:
        run("posixpath:basename", {}, "a/b")
    assert clusters._own_error(caught.value).message.startswith("a node cannot use Pincite")


def write_documents(folder: Path) -> list[tuple[Path, str]]:
    folder.mkdir()
    for number in range(40):
        text = f"# Rule {number}\n\n## {number}.1 Scope\n\nThe load is {number} A.\n(a) One.\n"
        (folder / f"{number:02}.md").write_text(text)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing\n")
    (folder / "broken.docx").write_bytes(b"PK\x03\x04nothing")
    (folder / "large.txt").write_text("word " * 300_000)
    (folder / "last.csv").write_text("a,b\n1,2\n")
    return find_files([folder])


def contents(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_an_index_is_the_same_to_the_byte(cluster: Cluster, tmp_path: Path) -> None:
    """Rejected files are too, and a profile that only the parent has is used."""
    profile = tmp_path / "own.toml"
    profile.write_text('extends = "code"\nname = "own"\n')
    files = write_documents(tmp_path / "docs")
    base = Settings()
    here = replace(
        base,
        ingest=replace(base.ingest, profile=str(profile)),
        limits=LimitSettings(file_mb=1.0),
    )
    expected = list(ingest_files(files, tmp_path / "here", here))
    assert {each.status for each in expected} == {"added", "rejected"}
    there = replace(here, cluster=LOCAL)
    found = list(ingest_files(files, tmp_path / "there", there))
    assert found == expected
    assert any(each.node for each in found) and not any(each.node for each in expected)
    assert contents(tmp_path / "there") == contents(tmp_path / "here")
    again = {each.status for each in ingest_files(files, tmp_path / "there", there)}
    assert again == {"unchanged", "rejected"}


def test_a_reader_has_the_same_limits_on_a_node(cluster: Cluster, tmp_path: Path) -> None:
    slow = tmp_path / "slow.md"
    slow.write_text("# A\n\n" + "".join(f"## {n}.1 B\n\n(a) words\n\n" for n in range(60_000)))
    limits = LimitSettings(seconds=0.3)
    settings = replace(Settings(), limits=limits, cluster=LOCAL)
    (outcome,) = ingest_files([(slow, "slow.md")], tmp_path / "index", settings)
    assert outcome.reason == "slow.md took longer than 0.3 s to read"


def test_files_that_kill_their_nodes_are_rejected_and_the_others_read(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pincite.read import workers

    monkeypatch.setattr(workers, "read_file", cluster_work.dies_of_bad_files)
    for name in ("a.md", "bad.md", "c.md"):
        (tmp_path / name).write_text(f"# {name}\n\nSome words.\n")
    files = find_files([tmp_path])
    settings = replace(Settings(), cluster=LOCAL)
    found = {each.document: each for each in ingest_files(files, tmp_path / "index", settings)}
    assert [found[name].status for name in ("a.md", "bad.md", "c.md")] == [
        "added",
        "rejected",
        "added",
    ]
    assert "every node that tried to read it was lost" in found["bad.md"].reason


@pytest.mark.parametrize("with_tokens", [False, True])
def test_vectors_are_the_same_to_the_byte(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_tokens: bool
) -> None:
    """In several batches, some texts of which are the same."""
    monkeypatch.setattr("pincite.update.BATCH", 16)
    files = write_documents(tmp_path / "docs")
    base = Settings()
    here = base.changed({"tuning.token_vectors": with_tokens})
    steps = []
    for name, settings in (("here", here), ("there", replace(here, cluster=LOCAL))):
        monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / f"cache-{name}"))
        list(ingest_files(files, tmp_path / name, here))
        steps.append(list(embed_index(tmp_path / name, settings)))
    assert len(steps[0]) > 4 and steps[0] == steps[1]
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_what_nodes_encoded_is_kept_by_the_parent(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    files = write_documents(tmp_path / "docs")
    settings = replace(Settings(), cluster=LOCAL)
    for name in ("first", "second"):
        list(ingest_files(files, tmp_path / name, Settings()))
    assert list(embed_index(tmp_path / "first", settings))
    monkeypatch.setattr(batches, "encode_texts", cluster_work.breaks)  # nobody is asked any more
    assert list(embed_index(tmp_path / "second", settings))
    assert contents(tmp_path / "second") == contents(tmp_path / "first")


def test_a_node_without_the_encoder_is_told(cluster: Cluster, tmp_path: Path) -> None:
    settings = json.dumps(asdict(replace(Settings().encoding, model=str(tmp_path / "model"))))
    pieces = [WorkPiece(None, (settings, "model@1", ["some words"], False))]
    with pytest.raises(ClusterError, match="a node lacks the encoder"):
        list(cluster.distribute(batches.encode_texts, pieces))
    pieces = [
        WorkPiece(None, (json.dumps(asdict(Settings().encoding)), "other@1", ["words"], False))
    ]
    with pytest.raises(ClusterError, match=r"a node has the encoder .* parent other@1"):
        list(cluster.distribute(batches.encode_texts, pieces))


def test_without_a_cluster_ray_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\nwords\n")
    code = (
        "import sys; from pincite import find_files, ingest_files; from pathlib import Path;"
        f"list(ingest_files(find_files([Path({str(tmp_path)!r})]), {str(tmp_path / 'i')!r}));"
        "print('ray' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_cluster_without_ray_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra) as caught, connected(LOCAL):
        pass
    assert "pincite[ray]" in caught.value.hint


@pytest.mark.parametrize("address", ["nonsense", "ray://", "host:port"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="is no address"):
        clusters._check_reachable(address)


def test_a_cluster_that_is_not_there_is_told_at_once() -> None:
    start = time.monotonic()
    for address in ("127.0.0.1:9", "ray://127.0.0.1:9"):
        with pytest.raises(ClusterError, match="no Ray cluster at"):
            clusters._check_reachable(address)
    assert time.monotonic() - start < 5


def test_where_it_is_worked_out_does_not_name_the_settings() -> None:
    assert replace(Settings(), cluster=LOCAL).fingerprint() == Settings().fingerprint()
