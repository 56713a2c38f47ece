"""What a person does: search, ask, read in place, see why; by mouse, by keyboard, on a phone."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from playwright.sync_api import expect

from .conftest import PDF, Opener

RODS = "how far apart do two earth rods have to be"
needs_pdf = pytest.mark.skipif(not PDF.exists(), reason="no real PDF here; see PINCITE_DATA")


def test_hits_come_while_one_types_and_the_address_follows(open_page: Opener) -> None:
    page = open_page("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("error E-07", delay=15)
    first = page.locator(".hit").first
    expect(first).to_contain_text("Misting pressure low")
    assert "q=error+E-07" in page.url
    # A row of a table is a real table, and the word that was asked for is marked in it.
    expect(first.locator("table th").first).to_have_text("Code")
    expect(first.locator("td mark")).to_have_text("E-07")
    expect(page.locator("#status")).to_contain_text("places found")
    page.go_back()
    expect(page.locator(".start")).to_be_visible()
    expect(page.locator("#q")).to_have_value("")


def test_the_newcomers_path_is_three_clicks(open_page: Opener) -> None:
    page = open_page("/")
    page.locator("#q").click()
    page.keyboard.type(RODS)
    page.get_by_role("button", name="Ask").click()
    cite = page.locator("pincite-answer .cite").first
    cite.click()
    lit = page.locator("#reader [data-lit], #reader .lit").first
    expect(lit).to_be_in_viewport()
    expect(lit).to_contain_text("they shall be at least")
    expect(page.locator("#reader")).to_contain_text("2.4 m apart")
    expect(page.locator("pincite-answer .stages li.done")).not_to_have_count(0)


@needs_pdf
def test_a_citation_of_a_pdf_opens_its_page_with_the_passage_boxed(open_page: Opener) -> None:
    page = open_page("/", c="pdf", q="AOA DISAGREE alert software update", ask="1")
    page.locator("pincite-answer .cite").first.click()
    image = page.locator("#reader .sheet img")
    expect(image).to_be_visible()
    page.wait_for_function("() => document.querySelector('.sheet img').complete")
    assert page.evaluate("document.querySelector('.sheet img').naturalWidth") == 1000
    box = page.locator("#reader rect").first
    expect(box).to_be_in_viewport()
    # Dark ink is under the box: it stands on words, not beside them.
    assert page.evaluate(INK) > 0.02
    number = page.locator(".pager strong").first.inner_text()
    page.locator("body").press("]")
    expect(page.locator(".pager strong").first).to_have_text(str(int(number) + 1))
    page.get_by_role("link", name="Text", exact=True).click()
    expect(page.locator("#reader .clauses")).to_contain_text("AOA")


INK = """() => {
  const image = document.querySelector(".sheet img"), box = document.querySelector(".sheet rect");
  const canvas = new OffscreenCanvas(image.naturalWidth, image.naturalHeight);
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0);
  const share = (name) => parseFloat(box.getAttribute(name)) / 100;
  const [x, y] = [share("x") * canvas.width, share("y") * canvas.height];
  const [w, h] = [share("width") * canvas.width, share("height") * canvas.height];
  const data = pen.getImageData(x, y, w, h).data;
  let dark = 0;
  for (let at = 0; at < data.length; at += 4) dark += data[at] < 128;
  return dark / (data.length / 4);
}"""


def test_the_keyboard_is_enough(open_page: Opener) -> None:
    page = open_page("/", q="earth electrode")
    page.locator("body").press("j")
    expect(page.locator("[data-hit]").nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("[data-hit]").nth(1)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.locator("#reader .crumbs")).to_be_visible()
    expect(page.locator(".hit[aria-current]")).to_have_count(1)
    assert "doc=" in page.url and "at=" in page.url
    page.keyboard.press("Escape")
    expect(page.locator("#reader")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()


def test_filters_narrow_and_their_counts_are_true(open_page: Opener) -> None:
    page = open_page("/", q="earth rod", k="200")
    page.locator(".filters summary").click()
    while page.locator("[data-more]").count():
        page.mouse.wheel(0, 40_000)
        page.wait_for_timeout(50)
    found = Counter(
        each.split("›")[0].strip() for each in page.locator(".where").all_text_contents()
    )
    choices = page.locator(".facet[aria-label=Document] a")
    told = [re.fullmatch(r"(.*) (\d+)", each.strip()) for each in choices.all_inner_texts()]
    assert {each[1]: int(each[2]) for each in told if each} == found
    name = choices.first.inner_text().rpartition(" ")[0]
    choices.first.click()
    expect(page.locator(".filters a[aria-current]")).to_contain_text(name)
    titles = page.locator(".hit .where").all_text_contents()
    assert titles and all(title.startswith(name) for title in titles)
    page.go_back()
    expect(page.locator(".filters a[aria-current]")).to_have_count(0)


def test_an_address_can_be_shared(open_page: Opener) -> None:
    page = open_page("/", q=RODS)
    page.locator("[data-hit]").first.click()
    expect(page.locator("#reader [data-lit]").first).to_be_visible()
    other = open_page(page.url.split("/", 3)[3].join(["/", ""]))
    for part in (".hit[aria-current] h2", "#reader .crumbs", "#reader [data-lit]"):
        expect(other.locator(part).first).to_have_text(page.locator(part).first.inner_text())


def test_references_are_links_with_previews(open_page: Opener) -> None:
    page = open_page("/read", doc="electrical-code-2024.md", place="250.56(A)")
    link = page.locator("#reader a.ref", has_text="250.52").first
    link.hover()
    expect(page.locator("#tip")).to_contain_text("The following shall be permitted")
    page.keyboard.press("Escape")
    expect(page.locator("#tip")).to_be_hidden()
    link.focus()
    expect(page.locator("#tip")).to_be_visible()
    assert link.get_attribute("aria-describedby") == "tip"
    link.click()
    expect(page.locator("#reader .crumbs [aria-current]")).to_contain_text("250.52")


def test_editions_and_what_changed(open_page: Opener) -> None:
    page = open_page("/read", doc="electrical-code-2024.md", place="250.56(A)")
    page.get_by_role("link", name="what changed").click()
    change = page.locator(".change", has_text="250.56(A)")
    expect(change.locator("del")).to_have_text("40")
    expect(change.locator("ins")).to_have_text("30")
    page.get_by_role("link", name="2021-01-01").click()
    expect(page.locator("#reader [data-lit]").first).to_contain_text("40 ohms")


def test_why_shows_stages_bars_and_lost_places(open_page: Opener) -> None:
    page = open_page("/why", q=RODS, b="lexical", place="110.26(E)")
    sides = page.locator(".side")
    expect(sides).to_have_count(2)
    bar = sides.first.locator("svg.bar[role=img]").first
    assert re.search(r"meaning \+0\.\d+", bar.get_attribute("aria-label") or "")
    assert bar.locator("rect").count() >= 2
    stages = sides.first.locator("thead th").all_inner_texts()
    assert {"lexical", "dense", "hybrid", "spread"} <= set(stages)
    expect(page.locator(".why-not").first).to_contain_text("Lost: ")
    expect(sides.first.locator(".times th").first).to_be_visible()
    page.locator("#b").select_option("")
    page.get_by_role("button", name="Explain").click()
    expect(sides).to_have_count(1)


def test_no_answer_says_why_and_what_is_near(open_page: Opener) -> None:
    page = open_page("/", q="earth rods", ask="1", **{"in": "nothing.md"})
    answer = page.locator("pincite-answer[data-done]")
    expect(answer).to_contain_text("Why there is no answer")


def test_themes_narrow_screens_and_history(open_page: Opener) -> None:
    page = open_page("/", q="earth rod", width=390, theme="dark")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(ground)
    page.locator("[data-theme-switch]").click()
    assert page.evaluate(ground) != dark
    page.reload()
    assert page.evaluate(ground) != dark  # it was chosen, and stays
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("[data-hit]").first.click()
    expect(page.locator("#reader")).to_be_visible()
    expect(page.locator("#results")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("link", name="Close").click()
    expect(page.locator("#results")).to_be_visible()
    page.goto(page.url.split("?")[0])
    expect(page.locator("#past li")).to_have_text(["earth rod"])


def test_it_reads_without_scripts(open_page: Opener) -> None:
    page = open_page("/", q=RODS)
    context = page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    plain = context.new_page()
    plain.goto(page.url)
    plain.locator("[data-hit]").first.click()
    expect(plain.locator("#reader [data-lit]").first).to_be_visible()
    plain.locator("#q").fill("error E-07")
    plain.get_by_role("button", name="Search").click()
    expect(plain.locator(".hit").first).to_contain_text("Misting")
    context.close()
