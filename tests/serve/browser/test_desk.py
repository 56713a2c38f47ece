"""What a person does at the desk: search, ask, read, cite; by mouse, by keyboard, on a phone."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlencode

import pytest
from playwright.sync_api import Page, expect

from .conftest import PDF, Opener

RODS = "how far apart do two earth rods have to be"
CODE = "electrical-code-2024.md"
needs_pdf = pytest.mark.skipif(not PDF.exists(), reason="no real PDF here; see PINCITE_DATA")


def clicks(page: Page) -> int:
    return int(page.evaluate("window.__clicks"))


def counted(page: Page) -> Page:
    """Count what is clicked from here on, also on the pages that follow."""
    count = "(e) => e.isTrusted && window.__clicks++"
    page.evaluate(f"window.__clicks = 0; addEventListener('click', {count}, true)")
    return page


def copied(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def may_copy(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])


def test_hits_come_while_one_types_and_the_document_follows(open_page: Opener) -> None:
    page = open_page("/", width=1440)
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("error E-07", delay=15)
    first = page.locator(".hit").first
    expect(first).to_contain_text("Misting pressure low")
    assert "q=error+E-07" in page.url and "doc=" not in page.url
    # A row of a table is a real table, and the word that was asked for is marked in it.
    expect(first.locator("table th").first).to_have_text("Code")
    expect(first.locator("td mark")).to_have_text("E-07")
    expect(page.locator("#status")).to_contain_text("places found")
    # The document of the first place is there already, lit, and so is its place in the contents.
    expect(page.locator("#reader .lit-row")).to_contain_text("Misting pressure low")
    expect(first).to_have_attribute("aria-current", "true")
    expect(page.locator("#contents [aria-current]")).to_be_visible()
    expect(page).to_have_title(re.compile("error E-07"))
    page.go_back()
    expect(page.locator(".start")).to_be_visible()
    expect(page.locator("#q")).to_have_value("")


def test_a_new_question_never_leaves_the_old_document(open_page: Opener) -> None:
    page = open_page("/", q="error E-07", width=1440)
    page.locator("[data-hit]").first.click()
    expect(page.locator("#reader .doc-title")).to_be_focused()
    page.locator("#q").fill("earth electrode")
    expect(page.locator(".hit").first).to_contain_text("electrode")
    title = (
        page.locator(".hit .where-line").first.inner_text().split("·")[0].splitlines()[0].strip()
    )
    expect(page.locator("#reader .doc-title")).to_have_text(title)
    assert "doc=" not in page.url


# The ten tasks, each with the clicks that it may take.


def test_task_1_a_rule_by_its_number(open_page: Opener) -> None:
    page = counted(open_page("/", width=1440))
    page.locator("#q").click()
    page.keyboard.type("250.56(B)")
    expect(page.locator(".hit h3").first).to_contain_text("250.56(B)")
    expect(page.locator("#reader [data-lit]").first).to_contain_text("2.4 m")
    assert clicks(page) <= 1


def test_task_3_ask_and_see_the_place(open_page: Opener) -> None:
    page = counted(open_page("/", width=1440))
    page.locator("#q").click()
    page.keyboard.type(RODS)
    page.get_by_role("button", name="Ask").click()
    answer = page.locator("#answer[data-done]")
    expect(answer.locator(".state")).to_have_text("Found")
    # The document follows the answer by itself.
    lit = page.locator("#reader [data-lit], #reader .lit").first
    expect(lit).to_contain_text("they shall be at least")
    expect(lit).to_be_in_viewport()
    assert clicks(page) <= 2


@needs_pdf
def test_task_3_on_the_page_of_a_pdf(open_page: Opener) -> None:
    page = open_page("/", c="pdf", q="AOA DISAGREE alert software update", ask="1", width=1440)
    page.locator("#answer .cite").first.click()
    sheets = page.locator("#reader .sheets")
    number = sheets.get_attribute("data-page")
    image = page.locator(f"#page-{number} img")
    expect(image).to_be_visible()
    page.wait_for_function(f"() => document.querySelector('#page-{number} img').complete")
    box = page.locator(f"#page-{number} rect.cited").first
    expect(box).to_be_in_viewport()
    # Dark ink is under the box: it stands on words, not beside them.
    assert page.evaluate(INK) > 0.02
    # The page that is cited is the page that is boxed.
    cited = page.locator("#answer .sources a").first.inner_text()
    told = re.search(r"p\. (?:\S+ \(PDF (\d+)\)|(\d+))", cited)
    assert told and number in told.groups()
    page.locator("body").press("]")
    expect(page.locator(f"#page-{int(number or 0) + 1}")).to_be_visible()


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


@needs_pdf
def test_pages_scroll_and_their_words_can_be_selected(open_page: Opener) -> None:
    page = open_page("/", c="pdf", doc=PDF.name, page="3", width=1440)
    may_copy(page)
    expect(page.locator("#page-3")).to_be_visible()
    page.locator("#page-4").scroll_into_view_if_needed()
    expect(page.locator("#page-5")).to_be_attached()
    page.get_by_role("button", name="150 %").click()
    wide = page.locator("#page-3").bounding_box()
    page.get_by_role("button", name="Fit").click()
    fit = page.locator("#page-3").bounding_box()
    assert wide and fit and wide["width"] > fit["width"]
    page.locator(".pager input[name=page]").fill("6")
    page.locator(".pager input[name=page]").press("Enter")
    expect(page.locator("#page-6")).to_be_in_viewport()
    # What is copied are the words of the page, line by line.
    page.evaluate("""() => {
      const lines = document.querySelectorAll("#page-6 svg text");
      const range = document.createRange();
      range.setStart(lines[2].firstChild, 0);
      range.setEnd(lines[5].firstChild, lines[5].firstChild.data.length);
      getSelection().removeAllRanges(); getSelection().addRange(range);
    }""")
    page.keyboard.press("Control+c")
    lines = page.locator("#page-6 svg text").all_text_contents()[2:6]
    assert copied(page).splitlines() == [line for line in lines if line]
    page.locator("#copy-cited").click()
    page.wait_for_function("() => navigator.clipboard.readText().then((t) => t.startsWith('“'))")
    assert copied(page).endswith(")") and "p. " in copied(page)
    page.locator(".find input[name=find]").fill("the airplane")
    page.locator(".find input[name=find]").press("Enter")
    expect(page.locator(".found-count")).to_contain_text("1 of")
    expect(page.locator("rect.cited").first).to_be_in_viewport()


def test_task_4_a_citation_as_one_needs_it(open_page: Opener) -> None:
    page = open_page("/", q="250.56(B)", width=1440)
    may_copy(page)
    counted(page)
    page.locator("#reader summary", has_text="Cite").click()
    page.get_by_role("link", name="Legal", exact=True).click()
    expect(page.locator("#status")).to_contain_text("§ 250.56(B)")
    assert copied(page).endswith("§ 250.56(B)") or "2024" in copied(page)
    assert clicks(page) <= 2
    # The style is remembered: from now on a key is enough, and so is a button of a hit.
    page.locator("body").press("c")
    page.locator(".hit").nth(1).get_by_role("button", name="Cite").click()
    expect(page.locator(".hit").nth(1).get_by_role("button", name="Copied")).to_be_visible()
    assert "§" in copied(page)
    gutter = page.locator(".clause .gutter").first
    gutter.evaluate("(each) => each.click()")
    expect(gutter).to_have_text("Copied")


def test_task_5_compare_editions_side_by_side(open_page: Opener) -> None:
    page = open_page("/", doc=CODE, place="250.56(A)", width=1440)
    counted(page)
    page.get_by_role("link", name="what changed").click()
    change = page.locator(".change", has_text="250.56(A)")
    expect(change.locator("del")).to_have_text("40")
    expect(change.locator("ins")).to_have_text("30")
    old, new = (change.locator(".sides p").nth(n).bounding_box() for n in (0, 1))
    assert old and new and old["y"] == new["y"] and old["x"] < new["x"]
    assert clicks(page) <= 2
    page.get_by_role("link", name="2021-01-01").click()
    expect(page.locator("#reader [data-lit]").first).to_contain_text("40 ohms")


def test_task_8_the_clause_beside(open_page: Opener) -> None:
    page = counted(open_page("/", doc=CODE, place="250.56(A)", width=1440))
    page.locator("[data-beside=after]").click()
    expect(page.locator("#reader .crumbs [aria-current]")).to_contain_text("250.56(B)")
    expect(page.locator("#contents [aria-current]")).to_contain_text("250.56(B)")
    assert clicks(page) <= 1
    page.locator("body").press("[")
    expect(page.locator("#reader .crumbs [aria-current]")).to_contain_text("250.56(A)")


def test_task_10_share_a_place(open_page: Opener) -> None:
    page = open_page("/", q="250.56(B)", width=1440)
    may_copy(page)
    counted(page)
    page.locator("#reader").get_by_role("link", name="Link").click()
    expect(page.locator("#status")).to_contain_text("Copied")
    assert clicks(page) <= 1
    link = copied(page)
    assert unquote(link).split("?")[0].endswith("/d/electrical-code-2024.md/250.56(B)")
    other = open_page("/" + link.split("/", 3)[3])
    expect(other.locator("#reader [data-lit]").first).to_contain_text("2.4 m")
    # Words that have moved are found by themselves; words that are gone are said to be.
    moved = open_page("/d/electrical-code-2024.md/250.56(A)", w="(B) Spacing. Where more than one")
    expect(moved.locator("#reader .note")).to_contain_text("250.56(A) says something else now")
    expect(moved.locator("#reader .crumbs [aria-current]")).to_contain_text("250.56(B)")


def test_what_is_gone_is_said_to_be_gone(open_page: Opener) -> None:
    page = open_page("/")
    told = page.request.get(page.url + "d/electrical-code-2024.md/250.56(B)?w=no+such+words+here")
    assert told.status == 404 and "does not say that any more" in told.text()


def test_the_keyboard_is_enough(open_page: Opener) -> None:
    page = open_page("/", q="earth electrode", width=1440)
    page.locator("body").press("j")
    expect(page.locator("[data-hit]").nth(0)).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator("[data-hit]").nth(1)).to_be_focused()
    # The document follows without another key.
    expect(page.locator(".hit").nth(1)).to_have_attribute("aria-current", "true")
    name = page.locator(".hit h3").nth(1).inner_text().split()[0]
    expect(page.locator("#reader .crumbs [aria-current]")).to_contain_text(name)
    page.keyboard.press("Enter")
    expect(page.locator("#reader .doc-title")).to_be_focused()
    assert "doc=" in page.url and "at=" in page.url
    page.keyboard.press("Escape")
    expect(page.locator("[data-hit]").nth(1)).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()


def test_what_is_ticked_is_the_scope(open_page: Opener) -> None:
    page = open_page("/", q="earth rod", width=1440)
    page.locator("#scope label", has_text="2021 Edition").click()
    expect(page.locator("#scope input:checked")).to_have_count(1)
    page.wait_for_function(
        "() => [...document.querySelectorAll('.where-line')]"
        ".every((each) => each.textContent.includes('2021'))"
    )
    assert "in=electrical-code-2021.md" in page.url
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer[data-done] .sources a").first).to_contain_text("2021 Edition")
    page.locator("#scope label", has_text="2021 Edition").click()
    expect(page.locator("#scope input:checked")).to_have_count(0)


def test_the_contents_are_whole_and_unfold(open_page: Opener) -> None:
    page = open_page("/", doc=CODE, width=1440)
    tree = page.locator("#contents")
    expect(tree.locator("a", has_text="Chapter 2")).to_be_visible()
    line = tree.locator("li", has_text="Chapter 2").first
    line.locator(".unfold").first.click()
    article = line.locator("li", has_text="Article 250").first
    article.locator(".unfold").first.click()
    section = article.locator("a", has_text="250.56")
    section.click()
    expect(page.locator("#reader .crumbs [aria-current]")).to_contain_text("250.56")


def test_an_address_can_be_shared(open_page: Opener) -> None:
    page = open_page("/", q=RODS, width=1440)
    page.locator("[data-hit]").first.click()
    expect(page.locator("#reader [data-lit]").first).to_be_visible()
    other = open_page(page.url.split("/", 3)[3].join(["/", ""]), width=1440)
    for part in (".hit[aria-current] h3 a", "#reader .crumbs [aria-current]", "[data-lit] p"):
        expect(other.locator(part).first).to_have_text(page.locator(part).first.inner_text())


def test_references_are_links_with_previews(open_page: Opener) -> None:
    page = open_page("/", doc=CODE, place="250.56(A)")
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


def test_why_shows_stages_bars_and_lost_places(open_page: Opener) -> None:
    page = open_page("/why", q=RODS, b="lexical", place="110.26(E)", c="default")
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


def test_no_answer_says_so_in_one_of_two_states(open_page: Opener) -> None:
    page = open_page("/", q="zxqv wkjh", ask="1")
    expect(page.locator("#answer[data-done] .state")).to_have_text(
        re.compile("Candidates|Not in these documents")
    )
    assert "%" not in page.locator("#answer").inner_text()


def test_several_collections_are_searched_together(open_page: Opener) -> None:
    page = open_page("/", width=1440)
    if page.locator(".collections a").count() == 0:
        pytest.skip("one collection: no real PDF here")
    page.locator("#q").fill("alert")
    groups = page.locator("#hits .group")
    expect(groups.first).to_be_visible()
    names = {each.split()[0] for each in groups.all_inner_texts()}
    assert names <= {"default", "pdf"}
    page.locator(".collections a", has_text="default").click()
    expect(page.locator(".collections [aria-current]")).to_have_text("default")
    expect(page.locator("#q")).to_have_value("alert")


def test_a_phone_shows_one_thing_at_a_time(open_page: Opener) -> None:
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
    page.get_by_role("link", name="Back to the places").click()
    expect(page.locator("#results")).to_be_visible()
    page.goto(page.url.split("?")[0])
    expect(page.locator("#past li")).to_have_text(["earth rod"])


@needs_pdf
def test_a_phone_opens_the_text_of_a_pdf(open_page: Opener) -> None:
    page = open_page("/", c="pdf", q="software update", width=390)
    page.locator("[data-hit]").first.click()
    expect(page.locator("#reader .clauses")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_reads_and_answers_without_scripts(open_page: Opener) -> None:
    page = open_page("/", q=RODS)
    context = page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    plain = context.new_page()
    plain.goto(page.url)
    plain.locator("[data-hit]").first.click()
    expect(plain.locator("#reader [data-lit]").first).to_be_visible()
    plain.locator("#q").fill("error E-07")
    plain.get_by_role("button", name="Search", exact=True).click()
    expect(plain.locator(".hit").first).to_contain_text("Misting")
    plain.locator("#q").fill(RODS)
    plain.get_by_role("button", name="Ask").click()
    expect(plain.locator("#answer .state")).to_have_text("Found")
    expect(plain.locator("#answer")).to_contain_text("2.4 m")
    plain.locator("#answer .cite").first.click()
    expect(plain.locator("#reader .lit, #reader [data-lit]").first).to_be_visible()
    context.close()


@pytest.mark.parametrize("asked", [{}, {"q": "earth rods", "c": "default"}], ids=["home", "search"])
def test_the_page_is_light(open_page: Opener, asked: dict[str, str]) -> None:
    page = open_page("/static/icon.svg")
    sizes: list[int] = []
    page.on("requestfinished", lambda r: sizes.append(r.sizes()["responseBodySize"]))
    page.goto(page.url.replace("/static/icon.svg", f"/?{urlencode(asked)}"))
    page.wait_for_load_state("networkidle")
    print(f"{len(sizes)} requests, {sum(sizes) / 1000:.1f} KB")  # seen with pytest -s
    assert len(sizes) <= 14 and sum(sizes) <= 60_000
