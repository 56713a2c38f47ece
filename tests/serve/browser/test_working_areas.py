"""What an engineer does: judge by keys, compare rankings, bring documents in, walk the graph."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, Page, expect

from pincite.cli.main import app as cli
from pincite.measure.questions import load

from ..conftest import ROOT, served, settings
from .conftest import AXE, Opener, opened_pages
from .documents import payloads

RODS = "how far apart do two earth rods have to be"
SMALL = "electrical-code-2024.md"


@pytest.fixture(scope="module")
def folder(sample_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index that may be changed, with a run of two pipelines on some questions."""
    home = tmp_path_factory.mktemp("working")
    index = Path(shutil.copytree(sample_index, home / "index"))
    lines = (ROOT / "samples" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    (home / "some.jsonl").write_text("\n".join(lines[:25]) + "\n", encoding="utf-8")
    asked = ["eval", str(home / "some.jsonl"), "--pipeline", "hybrid", "--pipeline", "lexical"]
    told = CliRunner().invoke(cli, [*asked, "--index", str(index)])
    assert told.exit_code == 0, told.output
    return index


@pytest.fixture(scope="module")
def working(folder: Path) -> Iterator[str]:
    with served(folder, settings(rate_per_minute=0)) as found:
        yield found


@pytest.fixture
def open_page(browser: Browser, working: str) -> Iterator[Opener]:
    with opened_pages(browser, working) as opener:
        yield opener


def test_a_queue_is_judged_by_keys_alone(open_page: Opener, folder: Path) -> None:
    page = open_page("/judge", by="anna")
    page.get_by_label("Add questions").fill(RODS)
    page.get_by_role("button", name="Add").click()
    place = page.locator(".candidate .where-line")
    expect(place).to_be_visible()
    seen = []
    for key in ("y", "n", "s", "3"):
        seen.append(place.inner_text())
        page.keyboard.press(key)
        expect(place).not_to_have_text(seen[-1])
        expect(page.locator("#candidate")).to_be_focused()
    assert len(set(seen)) == 4
    (question,) = [q for q in load(folder / "feedback.jsonl").questions if q.text == RODS]
    said = (*question.places, *question.rejected)
    assert sorted(p.grade for p in said) == [0, 1, 3] and {p.by for p in said} == {"anna"}
    # The name is remembered where the address does not say it.
    page.goto(page.url.split("?")[0])
    expect(page.locator("#judging strong").first).to_have_text("anna")


def test_hits_are_judged_in_place_and_people_are_compared(open_page: Opener) -> None:
    for name, key in (("ben", "y"), ("cleo", "n")):
        page = open_page("/judge", q="what does error E-07 mean", by=name)
        page.locator("body").press("j")
        expect(page.locator("a[data-hit]").first).to_be_focused()
        page.keyboard.press(key)
        pressed = page.locator(".hit").first.locator("[aria-pressed=true]")
        expect(pressed).to_contain_text("Answers" if key == "y" else "Does not")
        expect(page.locator("a[data-hit]").first).to_be_focused()
    expect(page.locator("#agreement")).to_contain_text("They differ on 1 place")
    page.get_by_label("Its number or name").fill("250.56(B)")
    page.get_by_role("button", name="This answers well").click()
    expect(page.locator("#agreement")).to_contain_text("answers (2) 250.56(B)")
    page.locator(".hit").first.get_by_role("button", name="Take back").click()
    expect(page.locator("#agreement")).not_to_contain_text("They differ")


def test_judging_works_without_scripts(open_page: Opener, browser: Browser) -> None:
    """A browser tells the service where a form comes from, or the service would refuse it."""
    page = open_page("/judge", q="how is a grapple resolved", by="dora")
    context = browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(page.url)
    plain.locator(".hit").first.get_by_role("button", name="Does not").click()
    expect(plain.locator(".said-no")).to_have_count(1)
    assert "by=dora" in plain.url
    context.close()


def test_a_question_opens_the_two_rankings(open_page: Opener) -> None:
    page = open_page("/measure")
    expect(page.locator(".says")).to_contain_text("hybrid reaches nDCG@10")
    assert page.locator("svg.interval").count() >= 10
    expect(page.locator("svg.waterfall")).to_have_count(2)
    page.locator("#rows a[data-parts=pair]").first.click()
    expect(page.locator("#pair-title")).to_be_focused()
    expect(page.locator("#pair .ranking")).to_have_count(2)
    assert "question=" in page.url
    page.get_by_role("link", name="Close", exact=True).click()
    expect(page.locator("#pair-title")).to_have_count(0)
    page.go_back()
    expect(page.locator("#pair-title")).to_be_visible()
    page.locator("#pair .ranking a").first.click()
    expect(page.locator("#reader [data-lit], #reader .lit").first).to_be_visible()


def test_live_figures_follow(open_page: Opener) -> None:
    page = open_page("/measure")
    row = page.locator("#live tr", has_text="/v1/search")
    before = int(row.locator("td").first.inner_text()) if row.count() else 0
    body = json.dumps({"query": "rods"})
    headers = {"content-type": "application/json"}
    for _ in range(3):
        page.request.post(page.url.replace("/measure", "/v1/search"), data=body, headers=headers)
    expect(row.locator("td").first).to_have_text(str(before + 3))


def test_files_become_documents_that_one_asks_about(open_page: Opener) -> None:
    page = open_page("/library")
    words = b"# Kiln rules\n\n## 1 Heat\n\n(a) Slowly, at 80 degrees an hour.\n\n(c) See 9.9.\n"
    good = {"name": "kiln.md", "mimeType": "text/markdown", "buffer": words}
    bad = {"name": "kiln.pdf", "mimeType": "application/pdf", "buffer": b"no pdf"}
    page.locator("#files").set_input_files([good, bad])
    lines = page.locator("#jobs li")
    expect(lines.filter(has_text="kiln.pdf")).to_contain_text("cannot be read", timeout=60_000)
    # They are the server's: whoever comes back finds them.
    page.goto(page.url)
    done = lines.filter(has_text="kiln.md")
    expect(done).to_contain_text("ready:", timeout=60_000)
    expect(page.locator(".shelf li", has_text="Kiln rules")).to_be_visible()
    done.get_by_role("link", name="Ask about it").click()
    expect(page.locator("#scope input:checked")).to_have_value("kiln.md")
    page.locator("#q").fill("how fast is the kiln heated")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#answer[data-done]")).to_be_visible()
    expect(page.locator("#hits")).to_contain_text("80 degrees")
    page.goto(page.url.split("?")[0] + "library")
    line = page.locator(".shelf li", has_text="kiln.md")
    line.get_by_role("link", name="About", exact=True).click()
    expect(page.locator(".gaps")).to_contain_text("(c) follows (a)")
    page.go_back()
    line.locator("summary", has_text="Change").click()
    line.locator("input[name=title]").fill("Rules of the kiln")
    line.get_by_role("button", name="Rename").click()
    expect(page.locator(".shelf .title", has_text="Rules of the kiln")).to_be_visible()
    line.locator("summary", has_text="Change").click()
    line.get_by_role("button", name="Remove").click()
    expect(page.locator("#library")).not_to_contain_text("Rules of the kiln")


def test_a_thumb_is_a_judgement(open_page: Opener, folder: Path) -> None:
    page = open_page("/", q="how is a creature resolved that is grappled", width=1440)
    page.locator(".hit").first.get_by_role("button", name="It answers").click()
    pressed = page.locator(".hit").first.locator("[aria-pressed=true]")
    expect(pressed).to_have_count(1)
    (question,) = [q for q in load(folder / "feedback.jsonl").questions if "grappled" in q.text]
    assert [p.grade for p in question.places] == [1]
    pressed.click()
    expect(page.locator(".hit").first.locator("[aria-pressed=true]")).to_have_count(0)


def test_task_9_judge_and_see_the_measure(open_page: Opener) -> None:
    page = open_page("/", q="error E-07", width=1440)
    page.locator(".hit").first.get_by_role("button", name="It answers").click()
    expect(page.locator(".hit").first.locator("[aria-pressed=true]")).to_have_count(1)
    page.get_by_role("link", name="Quality").click()
    page.get_by_role("button", name="Ask them all").click()
    # Too few for an interval: figures alone.
    expect(page.locator("#run .note")).to_contain_text("too few")
    expect(page.locator("#run .card")).to_contain_text("nDCG@10")
    expect(page.locator("#run svg.interval")).to_have_count(0)


def test_from_nothing_to_the_first_cited_place(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Four clicks, and no page that says that something did not work."""
    empty = tmp_path_factory.mktemp("empty") / "index"
    with (
        served(empty, settings(rate_per_minute=0)) as address,
        opened_pages(browser, address) as opener,
    ):
        page = opener("/", width=1440)
        expect(page.locator("#drop")).to_be_visible()
        page.get_by_role("button", name="Try the samples").click()
        done = page.locator("#jobs li", has_text="electrical-code-2024.md")
        expect(done).to_contain_text("ready:", timeout=120_000)
        done.get_by_role("link", name="Ask about it").click()
        page.locator("#q").fill(RODS)
        page.get_by_role("button", name="Ask").click()
        expect(page.locator("#answer[data-done] .sources a").first).to_contain_text("250.56(B)")
        expect(page.locator("#reader")).to_contain_text("2.4 m")


def test_an_unknown_address_is_a_page(open_page: Opener) -> None:
    page = open_page("/")
    headers = {"accept": "text/html"}
    told = page.request.get(page.url + "nothing/here", headers=headers)
    assert told.status == 404 and "There is no such page" in told.text()
    told = page.request.get(page.url + "v1/nothing", headers={"accept": "application/json"})
    assert told.json()["error"]["code"] == 404 or told.status == 404


def test_the_graph_is_walked_by_picture_and_by_list(open_page: Opener) -> None:
    page = open_page("/library", doc=SMALL)
    page.locator("summary", has_text="graph").click()
    page.locator(".places a", has_text="250.56").click()
    title = page.locator("#graph-title")
    expect(title).to_contain_text("Around 250.56")
    boxes = page.locator("svg.graph a")
    assert 0 < boxes.count() < 30
    assert boxes.count() == page.locator(".graph-list a").count()
    boxes.filter(has_text="110.21").click()
    expect(title).to_contain_text("Around 110.21")
    expect(title).to_be_focused()
    page.locator(".graph-list a", has_text="250.56").first.press("Enter")
    expect(title).to_contain_text("Around 250.56")
    page.go_back()
    expect(title).to_contain_text("Around 110.21")


AREAS = {
    "queue": ("/judge", {"by": "axe"}),
    "hits": ("/judge", {"q": RODS, "by": "axe"}),
    "measure": ("/measure", {"show": "worse"}),
    "library": ("/library", {}),
    "document": ("/library", {"doc": SMALL}),
    "findings": ("/findings", {}),
    "graph": ("/library", {"doc": SMALL, "at": "30940-31038"}),
}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_keeps_people_out(open_page: Opener, theme: str) -> None:
    told = []
    for name, (path, asked) in AREAS.items():
        page = open_page(path, theme=theme, width=390 if theme == "dark" else 1280, **asked)
        told += [(name, "too wide")] if is_too_wide(page) else []
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.evaluate("axe.run({ resultTypes: ['violations'] }).then((r) => r.violations)")
        told += [
            (name, each["id"], each["nodes"][0]["html"][:200], each["nodes"][0]["failureSummary"])
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
    assert not told


def is_too_wide(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth"))


def test_hostile_questions_names_and_documents_stay_words(open_page: Opener) -> None:
    bad = [each.replace("\n", " ") for each in payloads()]
    page = open_page("/library")
    text = "# Hostile\n\n" + "".join(
        f"## {n} {each}\n\nSee {n % 9 + 1}. {each}\n\n" for n, each in enumerate(bad, 1)
    )
    file = {"name": "hostile.md", "mimeType": "text/markdown", "buffer": text.encode()}
    page.locator("#files").set_input_files([file])
    expect(page.locator("#jobs li").first).to_contain_text("ready:", timeout=60_000)
    for each in bad[::40]:
        page.goto(page.url.split("?")[0].replace("/library", "/judge"))
        page.locator("#by").fill(each[:80])
        page.locator("#q").fill(each)
        page.get_by_role("button", name="Show").click()
        page.locator(".verdict button").first.click()
        expect(page.locator("[aria-pressed=true]")).to_have_count(1)
    for path in ("/judge", "/library?doc=hostile.md", "/library?doc=hostile.md&at=20-30"):
        page.goto(page.url.split("/judge")[0].split("/library")[0] + path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.__xss ?? 0") == 0
        foreign = "#main :is(script, img, iframe, style, [onerror], [onload], [onfocus], [style])"
        assert page.locator(foreign).count() == 0
