"""Names that lead elsewhere, and folders with more in them than files."""

from __future__ import annotations

import os
import socket
from functools import partial
from pathlib import Path

from fuzz.hostile import Case
from pincite.model.settings import Settings, merged
from pincite.read.load import find_files, read_bytes
from pincite.serve.collections import document_name
from pincite.store.snapshot import Snapshot
from pincite.update import ingest_files

SECRET = "the key of the house is under the mat"
UPLOADED = [
    *("../x.md", "../../etc/passwd", "a/../../x.md", "a/..", "..", ".", "/etc/passwd", "//x.md"),
    *("a//b.md", "./x.md", "a/./b.md", "~/x.md/..", ".htaccess", "a/.git/config", ".env", ""),
    *("..\\..\\x.md", "C:\\x.md", "C:/x.md", "\\\\host\\share\\x.md", "a\\b.md", "x.md:stream"),
    *(
        "x\0.md",
        "x.md\0.pdf",
        "x\n.md",
        "x\r\n.md",
        "x\t.md",
        "x\x1b[31m.md",
        "x\x7f.md",
        "\x9bx.md",
    ),
    *(
        "\u202etxt.exe.md",
        "\u2066x\u2069.md",
        "x\u2028.md",
        "x\u2029.md",
        "x\ud800.md",
        "\ufeffx.md",
    ),
    *(
        "x" * 300 + ".md",
        "é" * 150 + ".md",
        "/".join("abcdefghijk") + ".md",
        " x.md",
        "x.md ",
        "x ",
    ),
    *(
        "*.md",
        "?.md",
        "<x>.md",
        '"x".md',
        "|x.md",
        "a/ /b.md",
        "a/",
        "/",
        "a\u2044b.md/..",
        "x\u3000/ ",
    ),
    *(
        "%2e%2e%2fx.md",
        "..%2fx.md",
        "．．/x.md",
        "x.md;rm -rf",
        "$(id).md",
        "`id`.md",
        "-rf.md",
        "x'.md",
    ),
    *("CON.md", "NUL", "x.md.", "..x.md", "x..md", "...md"),
]


def upload(name: str, folder: Path) -> None:
    """A name that is taken names a file below the folder of uploads."""
    taken = document_name(name)
    home = (folder / "uploads").resolve()
    target = (home / taken).resolve()
    assert target.is_relative_to(home) and target != home, target
    assert taken.isprintable() and not any(part.startswith(".") for part in taken.split("/"))


def _plain() -> Settings:
    return merged(Settings(), {"embedding": {"model": "none"}}, origin="hostile")


def _ingested(folder: Path, index: Path) -> dict[str, str]:
    """Ingest a folder and return the texts of what came in."""
    list(ingest_files(find_files([folder]), index, _plain()))
    with Snapshot.open(index) as snapshot:
        return {name: snapshot.text(name) for name in snapshot.documents()}


def link_out(folder: Path) -> None:
    """Links of an unpacked archive do not bring in files of the reader's own."""
    home, secret = folder / "docs", folder / "secret.md"
    (home / "sub").mkdir(parents=True)
    secret.write_text(SECRET)
    (home / "good.md").write_text("# Good\n\nWords.\n")
    (home / "a.md").symlink_to(secret)
    (home / "b.md").symlink_to("../secret.md")
    (home / "sub" / "c.md").symlink_to("../../secret.md")
    (home / "d.md").symlink_to("a.md")
    (home / "elsewhere").symlink_to(folder)
    found = _ingested(home, folder / "index")
    assert list(found) == ["good.md"], list(found)


def link_inside(folder: Path) -> None:
    """A link that stays in the folder is a file like others."""
    (folder / "docs").mkdir()
    (folder / "docs" / "good.md").write_text("# Good\n\nWords.\n")
    (folder / "docs" / "other.md").symlink_to("good.md")
    assert len(_ingested(folder / "docs", folder / "index")) == 2


def loops(folder: Path) -> None:
    home = folder / "docs"
    home.mkdir()
    (home / "good.md").write_text("# Good\n\nWords.\n")
    (home / "loop").symlink_to(home)
    (home / "self.md").symlink_to("self.md")
    (home / "gone.md").symlink_to("nothing.md")
    assert list(_ingested(home, folder / "index")) == ["good.md"]


def pipe(folder: Path) -> None:
    """A pipe would keep its reader waiting for ever."""
    os.mkfifo(folder / "x.md")
    assert not find_files([folder])
    read_bytes(folder / "x.md", max_mb=1)


def device(folder: Path) -> None:
    (folder / "x.md").symlink_to("/dev/zero")
    assert not find_files([folder])
    read_bytes(folder / "x.md", max_mb=1)


def listener(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(folder / "x.md"))
        assert not find_files([folder])
        read_bytes(folder / "x.md", max_mb=1)


def folder_as_file(folder: Path) -> None:
    (folder / "x.md").mkdir()
    read_bytes(folder / "x.md", max_mb=1)


def growing(folder: Path) -> None:
    """A file that is larger than allowed, or says it is not (as those of /proc do)."""
    (folder / "x.md").write_bytes(b"a" * 2_000_000)
    read_bytes(folder / "x.md", max_mb=1)


def strange_names(folder: Path) -> None:
    """Names of files as they may be on a disk: each is a document, or refused with a reason."""
    home = folder / "docs"
    home.mkdir()
    names = [
        b"a\x1b[31m.md",
        b"b\n.md",
        b"c\xff.md",
        "\u202etxt.md".encode(),
        b"$(id).md",
        b"-rf.md",
    ]
    for name in names:
        (Path(os.fsdecode(os.fsencode(home) + b"/" + name))).write_text("# Good\n\nWords.\n")
    outcomes = list(ingest_files(find_files([home]), folder / "index", _plain()))
    refused = [each for each in outcomes if each.status == "rejected"]
    assert len(outcomes) == len(names) and len(refused) == 1, refused
    assert "not UTF-8" in refused[0].reason


def named_like_another(folder: Path) -> None:
    """Two files of one name in two folders are two documents."""
    for part in ("a", "b"):
        (folder / part).mkdir()
        (folder / part / "x.md").write_text(f"# {part}\n\nWords.\n")
    files = find_files([folder / "a", folder / "b"])
    first, second = ingest_files(files, folder / "index", _plain())
    assert [first.document, second.document] == ["x.md", "b/x.md"]
    assert first.status == second.status == "added"


_FOLDERS = (
    link_out, link_inside, loops, pipe, device, listener, folder_as_file, growing, strange_names,
    named_like_another,
)  # fmt: skip
CASES = [
    *(Case("names of uploads", repr(name), partial(upload, name)) for name in UPLOADED),
    *(Case("links and odd files", each.__name__, each) for each in _FOLDERS),
]
