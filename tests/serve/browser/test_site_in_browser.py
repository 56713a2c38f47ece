"""The site of the documentation, opened in a browser: it asks nobody for anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from scripts import website

pytestmark = pytest.mark.slow


def test_no_page_asks_another_machine(browser: Browser, tmp_path: Path) -> None:
    pytest.importorskip("zensical", reason="needs: pip install --group dev")
    website.build(tmp_path / "site")
    context = browser.new_context()
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    for name in ("index.html", "search.html", "decisions/index.html"):
        page.goto((tmp_path / "site" / name).as_uri(), wait_until="load")
        page.wait_for_timeout(500)
        assert page.locator("h1").first.is_visible()
    context.close()
    assert len(asked) > 3
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
