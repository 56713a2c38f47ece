"""Reading on the page: what a key may see, pages that are drawn, stretches of long documents."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi", reason='needs: pip install "pincite[serve]"')

from pincite.answer.asker import Asker
from pincite.api import Index
from pincite.model.errors import SourceError
from pincite.read.load import find_files
from pincite.read.pdf.picture import png
from pincite.serve.access import add_key, new_key
from pincite.serve.page.drawing import Drawing
from pincite.serve.page.text import STRETCH_CHARS, stretch
from pincite.serve.service import Options
from pincite.update import ingest_files

from .browser.documents import long_pdf, long_table, many_sections
from .conftest import client, run

SECRET = "---\naccess: gm\n---\n# Plots\n\n## 1 Villain\n\nThe butler is the villain.\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "open.md").write_text("# Open\n\n## 1 Butler\n\nThe butler serves.\n")
    (tmp_path / "files" / "plots.md").write_text(SECRET)
    (tmp_path / "files" / "pumps.pdf").write_bytes(long_pdf(3))
    list(ingest_files(find_files([tmp_path / "files"]), tmp_path / "index"))
    return tmp_path


def test_no_area_shows_what_a_key_may_not_see(home: Path) -> None:
    key, secret = new_key("player", ("read",))
    add_key(home / "keys.json", key)
    addresses = [
        "/?q=butler+villain&k=200",
        "/?q=villain&doc=plots.md",
        "/?q=villain&in=plots.md",
        "/library",
        "/library?doc=plots.md",
        "/?doc=plots.md",
        "/?doc=open.md&view=changes&with=plots.md",
        "/?doc=open.md&find=villain",
        "/?q=villain&ask=1",
        "/answer?q=who+is+the+villain&ask=1",
        "/d/plots.md/1",
        "/cite?doc=plots.md&at=20-70",
        "/contents?doc=plots.md&at=20-70",
        "/sheets?doc=plots.md&page=1",
        "/file?doc=plots.md",
        "/preview?doc=plots.md&at=20-70",
        "/page-image?doc=plots.md&page=1",
        "/why?q=butler+villain&place=Villain",
    ]

    async def ask() -> list[Any]:
        options = Options(keys=home / "keys.json")
        async with client(home / "index", None, options, key=secret) as opened:
            return [await opened.get(address) for address in addresses]

    for address, told in zip(addresses, run(ask()), strict=True):
        assert "is the villain" not in told.text and "Plots" not in told.text, address
        assert told.status_code < 500


def test_a_streamed_answer_ends_as_a_part_and_follows_the_question_before(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before: list[list[str]] = []
    ask = Asker.ask

    def asked(self: Asker, question: str, **how: Any) -> Any:
        before.append([each.text for each in how["history"]])
        yield from ask(self, question, **how)

    monkeypatch.setattr(Asker, "ask", asked)

    async def work() -> list[str]:
        async with client(home / "index") as opened:
            streamed = await opened.get("/answer?q=what+does+the+butler+do&ask=1")
            addresses = ("", "&before=what+does+the+butler+do")
            pages = [await opened.get(f"/?q=and+who+serves&ask=1{a}") for a in addresses]
            return [each.text for each in (streamed, *pages)]

    streamed, alone, after = run(work())
    (event,) = re.findall(r"event: part\ndata: (.*)", streamed)
    assert 'id="answer" data-part data-done' in json.loads(event)["html"]
    assert "data-done" in alone and "data-done" in after
    assert before == [[], [], ["what does the butler do"]]


def test_pages_are_drawn_in_a_child_and_only_of_the_file_that_was_ingested(home: Path) -> None:
    async def ask() -> list[Any]:
        async with client(home / "index") as opened:
            first = await opened.get("/page-image?doc=pumps.pdf&page=2")
            far = await opened.get("/page-image?doc=pumps.pdf&page=9")
            wide = await opened.get("/page-image?doc=pumps.pdf&page=1&width=9999")
            other = await opened.get("/page-image?doc=open.md&page=1")
            (home / "files" / "pumps.pdf").write_bytes(long_pdf(4))
            changed = await opened.get("/page-image?doc=pumps.pdf&page=1")
            page = await opened.get("/?doc=pumps.pdf&page=3")
            return [first, far, wide, other, changed, page]

    first, far, wide, other, changed, page = run(ask())
    assert first.headers["content-type"] == "image/png"
    assert struct.unpack(">II", first.content[16:24]) == (1000, 1295)
    assert far.status_code == 422 and "no page 9" in far.text
    assert wide.status_code == 422 and other.status_code == 404
    assert changed.status_code == 422 and "no longer what was ingested" in changed.text
    assert page.status_code == 200 and "Read its text" in page.text


@pytest.fixture
def drawing() -> Iterator[Drawing]:
    made = Drawing()
    yield made
    made.close()


def test_a_damaged_file_is_an_error_and_the_next_one_is_drawn(
    drawing: Drawing, tmp_path: Path
) -> None:
    import hashlib

    def sha(data: bytes) -> str:
        return hashlib.sha256(data).hexdigest()

    bad, good = tmp_path / "bad.pdf", tmp_path / "good.pdf"
    bad.write_bytes(b"%PDF-1.4 nonsense")
    good.write_bytes(long_pdf(1))
    with pytest.raises(SourceError, match=r"bad\.pdf"):
        drawing.picture(bad, sha(bad.read_bytes()), 1, 1000)
    assert drawing.picture(good, sha(good.read_bytes()), 1, 1000)[:4] == b"\x89PNG"
    assert drawing.facts(good, sha(good.read_bytes()), 1).count == 1


def test_a_picture_keeps_its_pixels() -> None:
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    data = png(pixels)
    size = struct.unpack(">I", data[33:37])[0]
    lines = np.frombuffer(zlib.decompress(data[41 : 41 + size]), np.uint8).reshape(2, 10)
    assert (lines[:, 1:].reshape(2, 3, 3) == pixels).all() and not lines[:, 0].any()
    grey = png(np.repeat(np.arange(6, dtype=np.uint8).reshape(2, 3, 1), 3, axis=2))
    assert grey[25] == 0  # one channel is enough


def test_a_stretch_shows_what_is_around_a_place(make_index: Callable[..., Index]) -> None:
    index = make_index({"parts.md": many_sections(1200), "sizes.md": long_table(500)})
    (part,) = index.show("600", "parts.md")
    at = (part.span.start, part.span.end)
    shown = stretch(index, "parts.md", at, None)
    assert [node.chunk.locator for node in shown.nodes if node.is_lit] == ["600"]
    names = [node.chunk.locator for node in shown.nodes]
    assert names.index("600") > 10 and len(names) - names.index("600") > 50
    assert shown.high - shown.low < 2 * STRETCH_CHARS
    # From the end of one stretch the next one goes on, and nothing is left out.
    after = stretch(index, "parts.md", None, shown.high)
    assert after.low == shown.high and int(after.nodes[0].chunk.locator) == int(names[-1]) + 1
    (row,) = index.show("Table 1 > bolt 377", "sizes.md")
    table = stretch(index, "sizes.md", (row.span.start, row.span.end), None)
    rows = [each for node in table.nodes for block in node.blocks for each in block.rows]
    assert len(rows) == 500 and [each.cells[0][0].text for each in rows if each.is_lit] == [
        "bolt 377"
    ]
