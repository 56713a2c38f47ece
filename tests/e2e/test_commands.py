"""The command line as a user meets it: every command once, on the samples."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parents[2] / "samples"
OLD, NEW = "electrical-code-2021.md", "electrical-code-2024.md"
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, pincite: Run) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "index"
    told = pincite("ingest", SAMPLES, "--index", folder)
    assert told.code == 0, told.err
    assert told.out.startswith("5 added; ")
    return folder


def test_search_prints_place_path_snippet_and_reason(pincite: Run, index: Path) -> None:
    told = pincite("search", "error E-07", "-k", "1", "--index", index)
    assert "User Manual, Table 4 > E-07" in told.out
    assert "5 Troubleshooting › 5.1 Error Codes" in told.out
    assert "Misting pressure low" in told.out
    assert "why: has the identifier" in told.out


def test_show_prints_exactly_the_clause(pincite: Run, index: Path) -> None:
    told = pincite("show", "210.8(D)", "--document", NEW, "--index", index)
    text = (SAMPLES / NEW).read_text("utf-8")
    start = text.index("(D) Testing.")
    assert told.out == text[start : text.index("\n\n", start)] + "\n"


def test_show_of_a_removed_section_names_the_edition(pincite: Run, index: Path) -> None:
    told = pincite("show", "240.33", "--document", NEW, "--index", index)
    assert told.code == 4
    assert f"it is in {OLD}" in told.err


def test_audit_names_the_planted_gap(pincite: Run, index: Path) -> None:
    told = pincite("audit", "--index", index).out
    assert "Table 314.16(C)" in told and "2 references that lead nowhere\n" in told


def test_diff(pincite: Run, index: Path) -> None:
    assert "555.38" in pincite("diff", OLD, NEW, "--index", index).out


def test_list_shows_dates(pincite: Run, index: Path) -> None:
    assert "2021 Edition  [code]  from 2021-01-01" in pincite("list", "--index", index).out


def test_show_as_of_a_day(pincite: Run, index: Path) -> None:
    def shown(locator: str, day: str) -> Any:
        return pincite("show", locator, "--as-of", day, "--index", index)

    told = shown("210.8(D)", "2022")
    assert "every six months" in told.out
    assert f"in force on 2022-01-01: {OLD} (from 2021-01-01)" in told.err
    assert "three months" in shown("210.8(D)", "2024").out
    told = shown("555.38", "2022")
    assert told.code == 4
    assert f"it is in {NEW} (from 2024-01-01)" in told.err
    assert f"the edition in force is {OLD}" in told.err
    assert shown("210.8(D)", "1990").code == 4
    assert shown("210.8(D)", "yesterday").code == 2


def test_doctor_without_an_index(pincite: Run, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        told = pincite("doctor", "--index", folder)
        assert told.code == pincite("list", "--index", folder).code == 4
        assert f"no index in {folder}" in told.out and "pincite ingest" in told.out


def test_export_and_import(pincite: Run, index: Path, tmp_path: Path) -> None:
    assert pincite("export", tmp_path / "plain", "--index", index).code == 0
    told = pincite("import", tmp_path / "plain", "--index", tmp_path / "again")
    assert told.code == 0 and f"read into {tmp_path / 'again'}, vectors in" in told.out
    facts = pincite("doctor", "--json", "--index", index).json["facts"]
    report = pincite("doctor", "--json", "--index", tmp_path / "again").json
    assert report["facts"]["vectors"] == facts["vectors"] != "0"
    assert report["ok"] and report["hint"] == ""


def test_doctor_says_that_vectors_are_missing(pincite: Run, index: Path, tmp_path: Path) -> None:
    again, none = tmp_path / "again", ("--set", "embedding.model=none")
    assert pincite("export", tmp_path / "plain", "--index", index).code == 0
    told = pincite("import", tmp_path / "plain", "--index", again, *none)
    assert told.code == 0 and "no vectors: embedding.model is none" in told.out
    told = pincite("doctor", "--index", again)
    assert told.code == 0 and "chunks have no vector of minilm" in told.out
    assert "all is well" not in told.out and "pincite doctor --repair" in told.out
    assert "all is well" in pincite("doctor", "--index", again, *none).out
    told = pincite("doctor", "--repair", "--index", again)
    assert told.code == 0 and "chunks computed" in told.out and "all is well" in told.out


def test_ingest_tells_what_is_gone_and_what_it_passed_over(pincite: Run, tmp_path: Path) -> None:
    laws, at = tmp_path / "laws", ("--index", tmp_path / "index", "--set", "embedding.model=none")
    laws.mkdir()
    for name in ("a.md", "b.md"):
        (laws / name).write_text(f"# Law {name}\n\n## 1.1 Bees\n\nBees are kept.\n")
    for name in ("x.LOG", "y.log", "README", ".hidden"):
        (laws / name).write_text("words")
    (tmp_path / "other.md").write_text("# Other\n\n## 1.1 Cats\n\nCats are not kept.\n")
    told = pincite("ingest", laws, *at)
    assert "\n3 files of other kinds passed over: 2 .log, 1 no ending\n" in told.out
    assert "no longer there" not in told.out
    (laws / "a.md").unlink()
    told = pincite("ingest", laws, *at)
    assert "\n1 document is no longer there; --prune removes it\n" in told.out
    assert "no longer" not in pincite("ingest", tmp_path / "other.md", *at).out
    told = pincite("ingest", laws, *at, "--json").json
    assert (told["gone"], told["passed_over"]) == (["a.md"], 3)
    told = pincite("ingest", laws, *at)
    assert "--prune removes it, and 1 other that came from elsewhere" in told.out
    told = pincite("ingest", laws, *at, "--prune")
    assert told.out.startswith("2 removed, 1 unchanged;") and "no longer" not in told.out


def test_settings_come_from_file_environment_and_options(pincite: Run, index: Path) -> None:
    def hits(*more: str, **env: str) -> int:
        answer = pincite("search", "earth", "--json", "--index", index, *more, **env).json
        return len(answer["hits"])

    assert hits("--set", "search.k=3") == 3
    assert hits(PINCITE_SEARCH__K="4") == 4
    assert hits("--set", "search.k=3", PINCITE_SEARCH__K="4") == 3


@contextmanager
def watching(folder: Path, index: Path) -> Iterator[Callable[[], str]]:
    """Watch a folder; give what returns the next line that is printed."""
    command = [sys.executable, "-c", "from pincite.cli.main import run; run()"]
    watcher = subprocess.Popen(
        [*command, "ingest", folder, "--index", index, "--watch"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert watcher.stdout is not None
        yield watcher.stdout.readline
    finally:
        watcher.kill()
        watcher.wait()
        if watcher.stdout is not None:
            watcher.stdout.close()


def test_watch_follows_a_folder(tmp_path: Path) -> None:
    folder, index = tmp_path / "docs", tmp_path / "index"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nfirst words\n")
    with watching(folder, index) as line:
        assert line().startswith("1 added")
        (folder / "b.md").write_text("# B\n\nsecond words\n")
        assert line().startswith("1 added, 1 unchanged")
        (folder / "a.md").unlink()
        assert line().startswith("1 removed, 1 unchanged")


def test_watch_leaves_what_is_not_of_its_folder(pincite: Run, tmp_path: Path) -> None:
    one, two, index = tmp_path / "one", tmp_path / "two", tmp_path / "index"
    for folder in (one, two):
        folder.mkdir()
        (folder / f"{folder.name}.md").write_text(f"# {folder.name}\n\nwords\n")
    assert pincite("ingest", one, "--index", index).code == 0
    with watching(two, index) as line:
        assert line().startswith("1 added")
        (two / "more.md").write_text("# More\n\nwords\n")
        assert line().startswith("1 added, 1 unchanged")
        two.rename(tmp_path / "away")
        assert "is gone; its documents stay in the index" in line()
        (tmp_path / "away").rename(two)
        (two / "two.md").unlink()
        assert line().startswith("1 removed, 1 unchanged")
    listed = {each["document"] for each in pincite("list", "--json", "--index", index).json}
    assert listed == {"one.md", "more.md"}


def test_completion_is_offered(pincite: Run) -> None:
    assert "--install-completion" in pincite("--help").out


def test_search_within_filters(pincite: Run, index: Path) -> None:
    query = ("search", "receptacle protection", "--json=full", "--index", index)
    answer = pincite(*query, "--kind", "exception", "-d", "*2021*", "-k", "3").json
    assert answer["filters"] == {"documents": ["*2021*"], "kinds": ["exception"]}
    assert {hit["kind"] for hit in answer["hits"]} == {"exception"}
    assert {hit["document"] for hit in answer["hits"]} == {OLD}
    older = pincite("search", "210.8(D)", "--as-of", "2022", "--json=full", "--index", index).json
    assert NEW not in {hit["document"] for hit in older["hits"]}
    assert older["hits"][0]["document"] == OLD
    told = pincite("search", "210.8(D)", "-d", "manual.md", "--index", index)
    assert "no place 210.8(d)" in told.err


def test_a_filter_that_leaves_nothing_is_explained(pincite: Run, index: Path) -> None:
    told = pincite("search", "wire", "--kind", "excption", "-d", "x*", "--index", index)
    assert told.code == 0
    assert f"no document matches 'x*'; documents: {OLD}, {NEW}" in told.err
    assert "no kind is called 'excption'; kinds: exception" in told.err
    assert "what the filters leave" in told.err
    for option, value, hint in (("--pages", "9-3", "3-10"), ("--as-of", "soon", "2022")):
        wrong = pincite("search", "wire", option, value, "--index", index)
        assert wrong.code == 2
        assert hint in wrong.err


def test_audit_of_some_documents(pincite: Run, index: Path) -> None:
    report = pincite("audit", "--document", OLD, "--json", "--index", index).json
    assert {gap["document"] for gap in report["gaps"]} == {OLD}
    assert pincite("audit", "-d", "nothing*", "--index", index).code == 4
