"""Bad input of every kind: one clear error with a remedy, the right exit code, no traceback."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cli_driver
import pytest

from pincite.store.files import write_lock
from pincite.store.manifest import current

pytestmark = pytest.mark.slow
SOURCE = Path(__file__).parents[2] / "src"
Cli = Callable[..., Any]
GOOD = "# Good\n\n## 1.1 Boxes\n\nEvery box has a cover.\n\n## 1.2 Wires\n\nNo wire is bare.\n"

BAD = {
    "empty.md": b"",
    "blank.txt": b" \n\t\n ",
    "picture.md": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)),
    "zeros.txt": b"text \x00\x00\x00 text",
    "latin.md": "# Gerät\n\nMaß\n".encode("latin-1"),
    "cut.txt": "Maß".encode()[:-1],
    "odd.txt": b"\xff\xfea",
    "string.json": b'"just a string"',
    "number.json": b"17",
    "object.json": b'{"text": "x", "page_idx": 0}',
    "keys.json": b'[{"words": "x", "page": 0}]',
    "types.json": b'[{"text": 5, "page_idx": 0}]',
    "null.json": b'[{"text": null, "page_idx": null}]',
    "none.json": b"[]",
    "broken.json": b'[{"text": "x", "page_idx": 0}',
    "nested.json": b"[" * 200_000 + b"]" * 200_000,
    "nested_text.json": b'[{"text": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}]",
    "unknown.docx": b"PK\x03\x04 word",
    "noending": b"some text",
}


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("good") / "good.md"
    file.write_text(GOOD)
    return file


@pytest.fixture(scope="module")
def built(good: Path, pincite: Cli) -> Path:
    assert pincite("ingest", good, "--index", good.parent / "index").code == 0
    return good.parent / "index"


@pytest.fixture
def index(tmp_path: Path, built: Path) -> Path:
    """An index with the good file in it, to be spoilt."""
    return Path(shutil.copytree(built, tmp_path / "index"))


def many(calls: list[list[str]]) -> list[tuple[int, str, str]]:
    """Call the command line many times in one process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", cli_driver.__file__],
        input=json.dumps(calls),
        env={**os.environ, "PYTHONPATH": str(SOURCE), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = [(code, out, err) for code, out, err in json.loads(done.stdout)]
    for arguments, (_, out, err) in zip(calls, told, strict=True):
        assert "Traceback" not in out + err, (arguments, err)
    return told


def program(first: str, *arguments: str) -> tuple[int, str, str]:
    """Call the command line in a process that does something else first."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", f"{first}from pincite.cli.main import run; run()", *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


def test_bad_files_in_a_batch(tmp_path: Path, good: Path, pincite: Cli) -> None:
    for name, data in BAD.items():
        (tmp_path / name).write_bytes(data)
    paths = [good, *(tmp_path / name for name in BAD), tmp_path / "missing.md"]
    told = pincite("ingest", *paths, "--index", tmp_path / "index")
    assert told.code == 3
    lines = told.err.splitlines()
    skipped = [line for line in lines if line.startswith("skipped: ")]
    assert len(skipped) == len(BAD) + 1
    assert len(lines) == 2 * len(skipped)  # each with its remedy, and nothing else
    for name, line in zip([*BAD, "missing.md"], skipped, strict=True):
        assert name in line
    assert all(line.startswith("         ") and line.strip() for line in lines[1::2])
    assert f"1 added, {len(BAD) + 1} rejected" in flat(told.out)

    as_json = pincite("ingest", *paths, "--index", tmp_path / "other", "--json")
    assert (as_json.code, as_json.err) == (3, "")
    assert as_json.json["counts"] == {"added": 1, "rejected": len(BAD) + 1}
    rejected = [each for each in as_json.json["files"] if each["status"] == "rejected"]
    assert [f"skipped: {each['reason']}" for each in rejected] == skipped
    assert all(each["hint"] for each in rejected)

    found = pincite("search", "cover of a box", "--index", tmp_path / "index", "--json")
    assert found.json["hits"][0]["locator"] == "1.1"


@pytest.mark.parametrize(
    "data",
    [
        b'[{"text": "half of a character: \\ud800", "page_idx": 0}]',
        b'[{"text": "x", "page_idx": 1e999}]',
        b'[{"text": "x", "page_idx": 100000000000000000000}]',
    ],
)
def test_json_with_values_that_nothing_can_hold(
    tmp_path: Path, good: Path, pincite: Cli, data: bytes
) -> None:
    (tmp_path / "bad.json").write_bytes(data)
    told = pincite("ingest", tmp_path / "bad.json", good, "--index", tmp_path / "i", "--json")
    assert told.code == 3
    assert told.json["counts"] == {"added": 1, "rejected": 1}


def test_a_file_of_a_hundred_megabytes_is_refused(tmp_path: Path, good: Path, pincite: Cli) -> None:
    large = tmp_path / "large.txt"
    with large.open("wb") as stream:
        for _ in range(100):
            stream.write(b"word " * 200_000)
    told = pincite("ingest", large, good, "--index", tmp_path / "index")
    assert told.code == 3
    assert "100 MB" in told.err
    assert "--set limits.file_mb=" in told.err
    assert "1 added, 1 rejected" in flat(told.out)


def test_a_long_line_is_read_and_the_remedy_for_a_large_file_works(
    tmp_path: Path, index: Path, pincite: Cli
) -> None:
    line = tmp_path / "line.txt"
    line.write_bytes(b"filler " * 300_000 + b"needle\n")
    limit = ("--set", "limits.file_mb=1")
    assert pincite("ingest", line, "--index", index, *limit).code == 3
    assert pincite("ingest", line, "--index", index, "--set", "limits.file_mb=3").code == 0
    hits = pincite("search", "needle", "--index", index, "--json").json["hits"]
    assert hits[0]["document"] == "line.txt"
    assert "needle" in hits[0]["snippet"]


def test_a_name_that_is_not_utf8(tmp_path: Path, good: Path, pincite: Cli) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    shutil.copy(good, sources)
    try:
        (sources / os.fsdecode(b"bad-\xff.md")).write_text(GOOD)
    except OSError:
        pytest.skip("this file system has UTF-8 names only")
    told = pincite("ingest", sources, "--index", tmp_path / "index", "--json")
    assert told.code == 3
    assert told.json["counts"] == {"added": 1, "rejected": 1}
    query = os.fsdecode(b"box \xff")
    for command, code in (("search", 0), ("show", 4), ("list", 4), ("remove", 4)):
        assert pincite(command, query, "--index", tmp_path / "index", "--json").code == code


def test_brackets_are_not_markup(tmp_path: Path) -> None:
    folder = tmp_path / "x["
    (folder / "d[").mkdir(parents=True)
    (folder / "d[" / "e].md").write_text(
        "# Title [/x] [red]\n\n## 1.1 Rule [/dim]\n\nbox [/bold] box\n"
    )
    at = ["--index", str(folder / "index]")]
    told = many(
        [
            ["ingest", str(folder), *at],
            ["list", *at],
            ["list", "d[/e].md", *at],
            ["search", "box", *at],
            ["show", "1.1", *at],
            ["show", "[/nothing]", *at],
            ["doctor", *at],
            ["remove", "d[/e].md", *at],
            ["doctor", "--index", str(folder / "d[")],
        ]
    )
    assert [code for code, _, _ in told] == [0, 0, 0, 0, 0, 4, 0, 0, 4]
    assert "x[/index]" in told[0][1]
    assert "d[/e].md  Title [/x] [red]" in told[1][1]
    assert "box [/bold] box" in told[3][1]


def test_folders_without_files(tmp_path: Path, pincite: Cli) -> None:
    (tmp_path / "folder.md").mkdir()
    told = pincite("ingest", tmp_path / "folder.md", "--index", tmp_path / "index")
    assert told.code == 3
    assert "no files" in told.out


def test_an_index_where_nothing_can_be_written(tmp_path: Path, good: Path) -> None:
    """Root may write into folders without permission, but not here."""
    file = tmp_path / "file"
    file.write_text("in the way")
    places = [file, file / "index", Path("/proc/nothing/index"), Path("/dev/null")]
    for place in places:
        ingest, search = many(
            [["ingest", str(good), "--index", str(place)], ["search", "box", "--index", str(place)]]
        )
        assert ingest[0] == search[0] == 4
        assert ingest[2].startswith(f"error: cannot write to {place}: ")
        assert "hint: " in ingest[2] and "--index" in ingest[2]


def test_a_full_disk(tmp_path: Path, index: Path, pincite: Cli) -> None:
    """A limit on file sizes stands for the disk: every kind of file meets it at some size."""
    more = tmp_path / "more.md"
    more.write_text("\n\n".join(f"## {i}.1 Word{i}\n\nword{i} text{i}" for i in range(2000)))
    limited = "import resource, sys; limit = int(sys.argv.pop(1))\n"
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))\n"
    for limit in (1000, 60_000, 300_000):
        code, _, err = program(limited, str(limit), "ingest", str(more), "--index", str(index))
        assert code == 4
        # A slow machine tells its progress first.
        assert "error: cannot write to" in err and "hint: " in err
    assert pincite("list", "--index", index).out.startswith("good.md")
    assert pincite("ingest", more, "--index", index).code == 0


def test_a_second_writer_is_told_to_wait(
    tmp_path: Path, good: Path, index: Path, pincite: Cli
) -> None:
    with write_lock(index):
        for command in (("ingest", good), ("ingest", good, "--rebuild"), ("remove", "good.md")):
            told = pincite(*command, "--index", index)
            assert told.code == 4
            assert f"is being written by another process (pid {os.getpid()})" in told.err
        told = pincite("ingest", good, "--index", index, "--json")
        assert told.json["error"]["kind"] == "IndexBusy"
        assert pincite("search", "box", "--index", index).code == 0


BAD_SETTINGS = [
    (["--set", "search.kk=5"], "unknown setting search.kk", "did you mean search.k?"),
    (["--set", "serch.k=5"], "unknown setting serch", "did you mean search?"),
    (["--set", "search.k=ten"], "search.k must be int, got 'ten'", ""),
    (["--set", "search.k=-1"], "search.k must be from 0", ""),
    (["--set", "tuning.lexical.b=3"], "tuning.lexical.b must be from 0 to 1", ""),
    (["--set", "tuning.lexical.variant=bm42"], "must be one of lucene", ""),
    (["--set", "search.k"], "no value", "section.key=value"),
    (["--set", "search=5"], "search is a section", ""),
    (["--set", "search.preset=magic"], "no pipeline 'magic'", "known: "),
    (
        ["--config", "missing.toml"],
        "missing.toml cannot be read: No such file or directory",
        "check the path",
    ),
    (["--config", "bad.toml"], "bad.toml cannot be read as TOML", "docs/settings.md"),
    (["--config", "unknown.toml"], "unknown setting ingest.langage", "ingest.language"),
    (["--config", "latin.toml"], "latin.toml cannot be read", "docs/settings.md"),
]


def test_bad_settings(tmp_path: Path, built: Path) -> None:
    (tmp_path / "bad.toml").write_text("[search\nk = 5")
    (tmp_path / "unknown.toml").write_text("[ingest]\nlangage = 'english'")
    (tmp_path / "latin.toml").write_bytes(b"# \xe4")
    options = [
        [option, str(tmp_path / value) if option == "--config" else value]
        for (option, value), _, _ in BAD_SETTINGS
    ]
    calls = [["search", "box", "--index", str(built), *each] for each in options]
    plain, as_json = many(calls), many([[*call, "--json"] for call in calls])
    for (_, message, hint), told, json_told in zip(BAD_SETTINGS, plain, as_json, strict=True):
        assert (told[0], json_told[0]) == (2, 2)
        assert told[2].count("error: ") == 1
        assert message in told[2] and hint in told[2]
        assert message in json.loads(json_told[1])["error"]["message"]


def test_bad_environment_and_language(built: Path, good: Path, pincite: Cli) -> None:
    told = pincite("search", "box", "--index", built, PINCITE_SEARCH__KK="5")
    assert told.code == 2 and "environment PINCITE_SEARCH__KK" in told.err
    told = pincite("ingest", good, "--index", built, "--set", "ingest.language=klingon")
    assert told.code == 2 and "english" in told.err
    told = pincite("ingest", good, "--index", built, "--set", "ingest.language=german")
    assert told.code == 4 and "--rebuild" in told.err


def flipped(file: Path, chance: random.Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(chance.choice([1, 1, 1, 8])):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)


def truncated(file: Path, chance: random.Random) -> None:
    os.truncate(file, chance.randrange(file.stat().st_size))


def test_a_damaged_index(tmp_path: Path, index: Path) -> None:
    """In each copy one file is damaged; every file gets its turn in both ways."""
    chance = random.Random(3)
    files = sorted(
        file.relative_to(index)
        for pattern in ("CURRENT", "generations/*", "segments/*/*", "vectors/*/*")
        for file in index.glob(pattern)
        if pattern != "generations/*" or int(file.stem) == current(index).generation
    )
    assert len(files) >= 5
    turns = [(file, damage) for damage in (flipped, truncated) for file in files]
    turns += [(file, flipped) for file in chance.choices(files[2:], k=30)]
    calls: list[list[str]] = []
    for number, (file, damage) in enumerate(turns):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(index, copy)
        damage(copy / file, chance)
        at = ["--index", str(copy)]
        calls += [
            ["doctor", *at],
            ["search", "the cover of a box 1.2", *at],
            ["list", "good.md", *at, "--json"],
            ["show", "1.1", *at],
        ]
    told = many(calls)
    for (file, damage), start in zip(turns, range(0, len(told), 4), strict=True):
        doctor, *others = told[start : start + 4]
        assert doctor[0] == 4, (file, damage)
        assert doctor[1].count("problem ") == 1 and "--rebuild" in doctor[1]
        for code, out, err in others:
            assert code in (0, 4), (file, damage, err)
            if code == 4:
                assert err.count("error: ") + out.count('"error": ') == 1
                assert "pincite" in err + out


def test_damage_never_gets_a_new_checksum(
    tmp_path: Path, good: Path, index: Path, pincite: Cli
) -> None:
    """Merging copies what is in a segment: it must not copy damage."""
    (tmp_path / "other.md").write_text(GOOD.replace("box", "fuse"))
    assert pincite("ingest", tmp_path / "other.md", "--index", index).code == 0
    stream = index / "segments" / "000001-0" / "arrays.bin"
    data = bytearray(stream.read_bytes())
    data[-1] ^= 0x80
    stream.write_bytes(data)
    merging = "from pincite.index import builder; builder.MERGE_FACTOR = 2\n"
    (tmp_path / "third.md").write_text(GOOD.replace("box", "lamp"))
    arguments = ["ingest", str(tmp_path / "third.md"), "--index", str(index)]
    code, _, err = program(merging, *arguments)
    assert code == 4
    assert "arrays.bin does not match its checksum" in err
    assert pincite("doctor", "--index", index).code == 4
    assert pincite("ingest", good, "--index", index, "--rebuild").code == 0
    assert pincite("doctor", "--index", index).code == 0
