"""The Check view in a real browser: paste or drop, verdicts in the margin, click to the place."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from .conftest import AXE, Opener

DRAFT = (
    "Rods “shall be at least 2.5 m apart” (250.56(B)).\n\n"
    "Nothing is said here.\n\nSee also 999.99 of the Harbourline Electrical Code."
)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_pasted_text_gets_verdicts_that_lead_to_the_place(open_page: Opener, theme: str) -> None:
    page = open_page("/check", theme=theme)
    page.get_by_label("A text that quotes").fill(DRAFT)
    page.get_by_role("button", name="Check", exact=True).click()
    expect(page.locator("#checked h2")).to_contain_text("to look at")
    verdict = page.locator("#verdict-1")
    expect(verdict).to_contain_text("number differs")
    expect(verdict.locator("ins").first).to_have_text("2.4")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({ resultTypes: ['violations'] }).then((r) => r.violations)")
    assert not [(e["id"], e["nodes"][0]["html"]) for e in found if e["impact"] != "minor"]
    verdict.locator("a[href^='/?']").click()
    expect(page.locator("#reader [data-lit], #reader .lit").first).to_be_visible()


def test_it_works_without_scripts(open_page: Opener, browser: Browser) -> None:
    page = open_page("/check")
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(page.url)
    plain.get_by_label("A text that quotes").fill(DRAFT)
    plain.get_by_role("button", name="Check", exact=True).click()
    expect(plain.locator("#verdict-1")).to_contain_text("number differs")
    expect(plain.locator("#said-1")).to_contain_text("2.5 m apart")
    context.close()


def test_a_dropped_file_is_checked(open_page: Opener) -> None:
    page = open_page("/check")
    page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "draft.md", { type: "text/markdown" }));
          const how = { dataTransfer: data, bubbles: true, cancelable: true };
          document.getElementById("text").dispatchEvent(new DragEvent("drop", how));
        }""",
        DRAFT,
    )
    expect(page.locator("#verdict-1")).to_contain_text("number differs")
    expect(page.get_by_label("A text that quotes")).to_have_value(DRAFT)
