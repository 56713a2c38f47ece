"""Nothing that a stranger writes makes the program call somebody: there is no way to give a URL."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fuzz.cases import archives, documents, pdfs
from fuzz.hostile import Case
from pincite.model.errors import SourceError
from pincite.model.settings import IngestSettings, Settings, merged
from pincite.read.load import find_files, parse
from pincite.serve.collections import document_name
from pincite.update import ingest_files

URLS = [
    *("http://127.0.0.1:9/x.md", "http://localhost/x.md", "http://[::1]/x.md", "http://0/x.md"),
    *("http://2130706433/x.md", "http://0x7f000001/x.md", "http://017700000001/x.md"),
    *(
        "http://[::ffff:127.0.0.1]/x.md",
        "http://[64:ff9b::7f00:1]/x.md",
        "http://[2002:7f00:1::]/x.md",
    ),
    *("http://169.254.169.254/latest/meta-data/x.md", "http://metadata.google.internal/x.md"),
    *("http://10.0.0.1/x.md", "http://user@127.0.0.1/x.md", "http://example.com@127.0.0.1/x.md"),
    *("file:///etc/passwd", "gopher://127.0.0.1/x.md", "ftp://127.0.0.1/x.md", "//127.0.0.1/x.md"),
]
_PICTURE = "![x](http://127.0.0.1:9/x.png) <img src=http://127.0.0.1:9/x> [x]: http://127.0.0.1:9/y"
_ACTION = b"/OpenAction << /S /URI /URI (http://127.0.0.1:9/x) >>"
FILES: dict[str, Any] = {
    "x.docx template": lambda: archives.template("http://127.0.0.1:9/x.dotm"),
    "x.docx main part": lambda: archives.related("http://127.0.0.1:9/x", mode="External"),
    "x.xml definition": documents.XML["a definition in the net"],
    "x.xml entity": documents.XML["an address of the net"],
    "x.xml inclusion": documents.XML["a file by inclusion"],
    "x.xml style sheet": documents.XML["a style sheet in the net"],
    "x.html scripts and frames": documents.HTML["scripts, frames and pictures elsewhere"],
    "x.html refresh": documents.HTML["a page that sends elsewhere"],
    "x.md pictures": f"# T\n\n{_PICTURE}\n",
    "x.txt addresses": f"T\n\n{_PICTURE}\n",
    "x.json addresses": '[{"text": "http://127.0.0.1:9/x", "page_idx": 0, "$ref": "http://127.0.0.1:9"}]',
    "x.csv addresses": "a,b\nhttp://127.0.0.1:9/x,=WEBSERVICE(\"http://127.0.0.1:9\")\n",
    "x.pdf action": lambda: pdfs.pdf(root=_ACTION),
    "x.pdf file elsewhere": lambda: pdfs.pdf(content=b"<< /Length 0 /F (http://127.0.0.1:9/x) >>\nstream\nendstream"),
}  # fmt: skip


@contextmanager
def unplugged() -> Iterator[None]:
    """Fail on any attempt to reach another machine, or to look up its name."""

    def refuse(*arguments: Any, **_: Any) -> Any:
        raise AssertionError(f"a connection to {arguments[1:] or arguments}")

    names = ("connect", "connect_ex", "sendto")
    with patch.multiple(socket.socket, **dict.fromkeys(names, refuse)), patch.multiple(
        socket, getaddrinfo=refuse, create_connection=refuse
    ):  # fmt: skip
        yield


def ingested(url: str, folder: Path) -> None:
    """An address is not a file: it is refused, and nobody is called."""
    settings = merged(Settings(), {"embedding": {"model": "none"}}, origin="hostile")
    with unplugged():
        (outcome,) = ingest_files(find_files([Path(url)]), folder / "index", settings)
        assert outcome.status == "rejected", outcome
        raise SourceError(outcome.reason, hint=outcome.hint)


def uploaded(url: str, _: Path) -> None:
    with unplugged():
        document_name(url)


def read(name: str, _: Path) -> None:
    made = FILES[name]
    data = made() if callable(made) else made
    with unplugged():
        parse(
            data.encode() if isinstance(data, str) else data,
            name.partition(" ")[0],
            IngestSettings(),
        )


CASES = [
    *(Case("addresses as files", url, partial(ingested, url)) for url in URLS),
    *(Case("addresses as names", url, partial(uploaded, url)) for url in URLS),
    *(Case("addresses in documents", name, partial(read, name)) for name in FILES),
]
