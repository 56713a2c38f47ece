"""A thousand hits, 2,400 pages, a table of 500 rows: nothing blocks the page for long."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, expect

from pincite.read.load import find_files
from pincite.update import ingest_files

from ..conftest import served, settings
from .conftest import Opener, opened_pages
from .documents import long_pdf, long_table, many_sections

pytestmark = pytest.mark.alone
LONG_MS = 200
TRACED = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("long")
    (home / "files").mkdir()
    (home / "files" / "sizes.md").write_text(long_table(500), encoding="utf-8")
    (home / "files" / "parts.md").write_text(many_sections(1200), encoding="utf-8")
    (home / "files" / "pumps.pdf").write_bytes(long_pdf(2400))
    list(ingest_files(find_files([home / "files"]), home / "index"))
    with served(home / "index", settings(rate_per_minute=0)) as address:
        yield address


@pytest.fixture
def open_long(browser: Browser, long: str) -> Iterator[Opener]:
    with opened_pages(browser, long) as opener:
        yield opener


@contextmanager
def brisk(browser: Browser, page: Page) -> Iterator[None]:
    """What happens inside may keep the page's thread busy for LONG_MS at a time.

    It is the thread's own time that counts: how long it had to wait for a processor says something
    of the machine, not of the page.
    """
    browser.start_tracing(page=page, categories=TRACED)
    try:
        yield
        page.wait_for_timeout(200)
    finally:
        trace = browser.stop_tracing()
    events = json.loads(trace)["traceEvents"]
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        event["tdur"] / 1000
        for event in events
        if event["name"].endswith("RunTask")
        and "tdur" in event
        and (event["pid"], event["tid"]) in mains
    ]
    print(f"longest task: {max(tasks):.0f} ms")  # seen with pytest -s
    assert tasks and max(tasks) < LONG_MS


def wait(page: Page, condition: str) -> None:
    """Wait for something; `expect` would look through the whole page, which takes its time."""
    page.wait_for_function(f"() => {condition}")


def test_a_thousand_hits(browser: Browser, open_long: Opener) -> None:
    page = open_long("/")
    with brisk(browser, page):
        page.goto(f"{page.url}?q=grey+cork+gasket&k=1000")
        page.mouse.move(500, 500)
        until = time.monotonic() + 60
        while page.evaluate("!!document.querySelector('[data-more]')") and time.monotonic() < until:
            page.mouse.wheel(0, 40_000)
            page.wait_for_timeout(50)
        wait(page, "document.querySelectorAll('.hit').length === 1000")
        page.evaluate("document.querySelectorAll('[data-hit]')[999].click()")
        wait(page, "document.querySelector('#reader [data-lit]')?.getClientRects().length")


def test_2400_pages(browser: Browser, open_long: Opener) -> None:
    page = open_long("/")
    with brisk(browser, page):
        page.goto(f"{page.url}?q=valve+of+pump+1201&doc=pumps.pdf&page=1201&view=page")
        wait(page, "document.querySelector('.pager').textContent.includes('of 2,400')")
        # The pages around it come when they are scrolled to.
        wait(page, "document.querySelector('#page-1201 img')?.naturalWidth")
        for number in (1202, 1203):
            page.keyboard.press("]")
            wait(page, f"document.querySelector('.sheets')?.dataset.page === '{number}'")
        page.evaluate("document.querySelectorAll('.tabs a')[1].click()")
        wait(page, "document.querySelector('.clauses')?.textContent.includes('valve of pump')")


def test_a_table_of_500_rows(browser: Browser, open_long: Opener) -> None:
    page = open_long("/")
    with brisk(browser, page):
        page.goto(f"{page.url}?q=bolt+377+reach&doc=sizes.md&place=Table+1+%3E+bolt+377")
        wait(page, "document.querySelectorAll('#reader tbody tr').length === 500")
    expect(page.locator("#reader .lit-row")).to_contain_text("bolt 377")
    expect(page.locator("#reader .lit-row")).to_be_in_viewport()


def test_nothing_jumps_and_the_first_paint_is_soon(open_page: Opener) -> None:
    page = open_page("/", q="how far apart do two earth rods have to be", ask="1")
    page.wait_for_selector("#answer[data-done]")
    page.wait_for_timeout(200)
    assert page.evaluate("window.__shift") < 0.1
    page.reload()
    paint = "performance.getEntriesByName('first-contentful-paint')"
    wait(page, f"{paint}.length")  # the entry comes with the next frame, after the page's load
    assert page.evaluate(f"{paint}[0].startTime") < 1000
