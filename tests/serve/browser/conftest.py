"""One browser for all tests of the page, one server with several collections behind it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

pytest.importorskip("fastapi", reason='needs: pip install "pincite[serve]"')
pytest.importorskip("playwright", reason="needs: pip install --group dev")

from playwright.sync_api import Browser, Page, expect, sync_playwright

from pincite.update import ingest_files

from ..conftest import ROOT, served, settings

expect.set_options(timeout=20_000)  # where many things run at once, a page has to wait as well
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DATA = Path(os.environ.get("PINCITE_DATA", ROOT.parent / "shared" / "data"))
PDF = DATA / "pdf/government/tests/pdfs/federal-register-2020-17221.pdf"
AXE = Path(__file__).parent / "axe" / "axe.min.js"
WATCH = """
window.__refused = []; window.__shift = 0;
addEventListener("securitypolicyviolation", (e) => window.__refused.push(e.violatedDirective));
new PerformanceObserver((list) => {
  for (const e of list.getEntries()) if (!e.hadRecentInput) window.__shift += e.value;
}).observe({ type: "layout-shift", buffered: true });
"""


# One browser while these tests run, and no longer: its event loop is in the way of others.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def folders(sample_index: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Indexes by name: the samples, and a real PDF if it is there."""
    found = {"default": sample_index}
    if PDF.exists():
        found["pdf"] = tmp_path_factory.mktemp("page") / "pdf-index"
        list(ingest_files([(PDF, PDF.name)], found["pdf"]))
    return found


@pytest.fixture(scope="package")
def address(folders: dict[str, Path]) -> Iterator[str]:
    with served(folders, settings(rate_per_minute=0)) as found:
        yield found


Opener = Callable[..., Page]


@contextmanager
def opened_pages(browser: Browser, address: str) -> Iterator[Opener]:
    """Open pages; at the end none of them may have complained or shown a dialog."""
    problems: list[str] = []
    contexts: list[Any] = []

    def open_page(
        path: str = "/", *, width: int = 1280, theme: str = "light", **asked: Any
    ) -> Page:
        options = {name: asked.pop(name) for name in ("bypass_csp", "has_touch") if name in asked}
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, **options
        )
        contexts.append(context)
        context.add_init_script(WATCH)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.set_default_navigation_timeout(60_000)
        page.on("console", lambda m: m.type == "error" and problems.append(m.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
        page.goto(address + path + (f"?{urlencode(asked, doseq=True)}" if asked else ""))
        return page

    yield open_page
    for context in contexts:
        for page in context.pages:
            problems += page.evaluate("window.__refused ?? []")
        context.close()
    assert not problems


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Opener]:
    with opened_pages(browser, address) as opener:
        yield opener
