"""Documents, names and questions full of scripts: none of them runs, and the page stays whole."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from pincite.read.load import find_files
from pincite.update import ingest_files

from ..conftest import served, settings
from .conftest import Opener, opened_pages
from .documents import hostile_document, payloads

PAYLOADS = payloads()
# Whatever a document says, it makes none of these; our own have no place inside these parts.
FOREIGN = (
    "script, img, iframe, object, embed, video, audio, link, meta, base, style, form, input,"
    "marquee, template, math, foreignObject, animate, [onerror], [onload], [onfocus], [onclick],"
    "[style], a[href^='javascript' i], a[href^='data' i]"
)
OURS = "#hits, #answer, .clauses, .crumbs, .doc-title, .tree, #reasons, .title"
CHECK = f"""() => [window.__xss ?? 0,
  document.querySelectorAll(":is({OURS}) :is({FOREIGN})").length,
  document.querySelectorAll("body > header, body > main, body > #status, body > dialog").length,
  document.querySelectorAll("script").length]"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    home = tmp_path_factory.mktemp("hostile")
    for number, payload in enumerate(PAYLOADS, 1):
        name = payload.replace("/", "∕").replace("\n", " ").replace("\x00", "")[:120]
        file = home / "files" / f"{number:03} {name}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(hostile_document(payload, number), encoding="utf-8")
    everything = "".join(hostile_document(p, n) for n, p in enumerate(PAYLOADS, 1))
    (home / "files" / "everything.md").write_text(everything, encoding="utf-8")
    outcomes = list(ingest_files(find_files([home / "files"]), home / "index"))
    assert all(each.status == "added" for each in outcomes)
    with served(home / "index", settings(rate_per_minute=0)) as address:
        yield address


@pytest.fixture
def open_hostile(browser: Browser, hostile: str) -> Iterator[Opener]:
    with opened_pages(browser, hostile) as opener:
        yield opener


def is_whole(page: Page, scripts: int) -> bool:
    return bool(page.evaluate(CHECK) == [0, 0, 4, scripts])


def test_there_are_more_than_a_hundred() -> None:
    assert len(PAYLOADS) >= 100


@pytest.mark.parametrize("bypass_csp", [True, False], ids=["without the policy", "with it"])
def test_words_of_documents_stay_words(open_hostile: Opener, bypass_csp: bool) -> None:
    """Without the policy it is the escaping alone that holds; with it nothing is even refused."""
    page = open_hostile("/", q="hostile words", k="200", bypass_csp=bypass_csp)
    page.mouse.move(500, 500)
    page.mouse.wheel(0, 40_000)
    expect(page.locator(".hit").nth(60)).to_be_attached()
    assert is_whole(page, 4)
    page.locator("[data-hit]").first.click()
    expect(page.locator("#reader .clauses")).to_be_visible()
    assert is_whole(page, 4)
    seen = 0
    for path in ("/?doc=everything.md", "/library", "/why?q=hostile+words&k=50&place=3.1"):
        page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/", 3)[2] + path)
        seen += page.locator("text=window.__xss=1").count()
        page.mouse.move(400, 400)
        assert is_whole(page, {"/": 4, "/library": 3}.get(path.split("?")[0], 2)), path
    assert seen > 100


def test_answers_from_hostile_documents_are_words(open_hostile: Opener) -> None:
    for number in (1, 14, 60):
        page = open_hostile("/", q=f"Hostile words {number}", ask="1", bypass_csp=True)
        page.wait_for_selector("#answer[data-done]")
        assert is_whole(page, 4)


def test_questions_stay_words(open_hostile: Opener) -> None:
    page = open_hostile("/", bypass_csp=True)
    base = page.url
    # All of them as what one types: the same parts, put in place by the page itself.
    asked = [{"q": payload, "kind": payload, "tag": payload} for payload in PAYLOADS]
    page.evaluate(
        """async (addresses) => {
          const { show } = await import("/static/swap.js");
          for (const address of addresses) await show(address, ["results", "reader"]);
        }""",
        [f"{base}?{urlencode(each)}" for each in asked],
    )
    assert is_whole(page, 4)
    # Some of each sort as whole pages: there they are also in the title, the box and hidden fields.
    for payload in [*PAYLOADS[:13], *PAYLOADS[13::16]]:
        page.goto(base + "?" + urlencode({"q": payload, "kind": payload, "tag": payload}))
        assert page.locator("#q").input_value() == payload.strip().replace("\n", "")
        assert is_whole(page, 4), payload
    page.goto(base)  # what was asked lately is shown there
    expect(page.locator("#past li")).to_have_count(10)
    assert is_whole(page, 4)
