"""The frame of the page: safe headers, parts, errors as pages, keys in a cookie."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason='needs: pip install "pincite[serve]"')

from pincite.serve.access import add_key, new_key
from pincite.serve.page.look import Look
from pincite.serve.page.text import MarkedText
from pincite.serve.service import Options

from .conftest import client, run


def get(folder: Path, *addresses: str, **headers: str) -> list[Any]:
    """Return the answers to some addresses."""

    async def ask() -> list[Any]:
        async with client(folder) as opened:
            return [await opened.get(address, headers=headers) for address in addresses]

    return run(ask())


def test_a_page_lets_nothing_in_from_elsewhere(sample_index: Path) -> None:
    for told in get(sample_index, "/", "/?q=rods", "/?k=many", "/login"):
        policy = told.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self';" in policy
        assert "unsafe" not in policy and "trusted-types pincite" in policy
        assert "<script>" not in told.text and " style=" not in told.text
        assert "http" not in told.text.replace("http-equiv", "")
        assert told.headers["cache-control"] == "no-store"


def test_parts_are_what_the_page_has(sample_index: Path) -> None:
    (whole,) = get(sample_index, "/?q=earth+rods")
    (part,) = get(sample_index, "/?q=earth+rods", **{"x-parts": "results nonsense ../base"})
    assert part.text.strip().startswith('<section id="results"')

    def timeless(text: str) -> str:
        return re.sub(r"[0-9.]+ m?s\b", "", text)

    assert timeless(part.text.strip()) in timeless(whole.text)


def test_an_error_is_a_page_with_its_remedy(sample_index: Path) -> None:
    told, span, none = get(sample_index, "/?k=many", "/?at=9-3", "/?c=secret")
    assert told.status_code == 400 and "k must be a number" in told.text
    assert span.status_code == 400 and "120-340" in span.text
    assert none.status_code == 404 and "no collection" in none.text
    assert all('href="/static/page.css"' in each.text for each in (told, span, none))


def test_a_key_is_kept_in_a_cookie_that_no_script_reads(sample_index: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    key, secret = new_key("anna", ("read",), collections=("law",))
    add_key(file, key)
    folders = {"law": sample_index, "diaries": sample_index}

    async def ask() -> tuple[Any, ...]:
        async with client(folders, options=Options(keys=file)) as opened:
            first = await opened.get("/?q=earth+rods")
            wrong = await opened.post("/login", data={"key": "nonsense", "next": "/"})
            away = await opened.post("/login", data={"key": secret, "next": "//elsewhere.example"})
            opened.cookies.clear()
            right = await opened.post("/login", data={"key": secret, "next": "/?q=earth+rods"})
            page = await opened.get("/?q=earth+rods")
            other = await opened.get("/?c=diaries")
            return first, wrong, away, right, page, other

    first, wrong, away, right, page, other = run(ask())
    assert first.status_code == 303 and first.headers["location"].startswith("/login?next=")
    assert wrong.status_code == 401 and "not known" in wrong.text
    assert away.headers["location"] == "/"
    assert right.headers["location"] == "/?q=earth+rods"
    cookie = right.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert page.status_code == 200 and "250.5" in page.text
    assert "diaries" not in page.text and other.status_code == 404


def test_an_address_says_everything() -> None:
    look = Look(q="a&b", c="law", k=20, within=("x y.md", "z"), kind=("table",), at=(3, 9))
    assert look.url("/why", place="1.2") == (
        "/why?q=a%26b&c=law&k=20&in=x+y.md&in=z&kind=table&at=3-9&place=1.2"
    )
    assert Look().url("/") == "/" and Look(q="\ud800").url("/") == "/?q=%3F"


def test_words_become_runs_and_never_markup() -> None:
    text = (
        "## A <b>title</b>\n\nSome **bold** words^1^ here.\n| A | B\\|C |\n|---|---|\n| <i> | 3 |"
    )
    at = text.index("words")
    blocks = MarkedText(text, 100, marks=[(at, at + 5)], links=[(at, at + 5)]).blocks()
    assert [block.kind for block in blocks] == ["heading", "text", "table"]
    assert blocks[0].level == 2 and [run.text for run in blocks[0].runs] == ["A ", "title"]
    assert [run.text for run in blocks[1].runs] == ["Some ", "bold", " ", "words", "1", " here."]
    bold, word, raised = (blocks[1].runs[n] for n in (1, 3, 4))
    assert bold.is_strong and word.is_mark and word.link == 0 and raised.is_raised
    assert blocks[2].head is not None
    cells = [[run.text for run in cell] for cell in blocks[2].head.cells]
    assert cells == [["A"], ["B|C"]]
    assert [row.cells[0][0].text for row in blocks[2].rows] == ["<i>"]
