"""The short answer on the page: first, marked inside its quotation, and boxed on the page image.

The answers are real ones whose short answer is set here, so that what the page shows does not
depend on what a model reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Page, expect

from pincite.answer.asker import Asker
from pincite.answer.values import Answer, CompleteEvent, Event, ShortEvent
from pincite.api import Index
from pincite.model.types import Span

from .conftest import Opener
from .test_areas import RODS, needs_pdf


def with_short(folder: Path, question: str, words: str) -> Iterator[Event]:
    """Yield the events of a question, with words of its first quotations as the short answer."""
    with Index.open(folder) as index:
        events = [each for each in Asker(index).ask(question) if not isinstance(each, ShortEvent)]
    end = events.pop()
    assert isinstance(end, CompleteEvent)
    spans = tuple(_spans(end.answer, words))
    yield from events[:2]
    yield ShortEvent(words, spans)
    yield from events[2:]
    yield CompleteEvent(replace(end.answer, short=words, short_spans=spans))


def _spans(answer: Answer, words: str) -> Iterator[Span]:
    for citation in answer.citations:
        if citation.span and (at := citation.quote.find(words)) >= 0:
            start = citation.span.start + at
            yield Span(citation.span.doc_id, start, start + len(words))


def sent(page: Page, events: Sequence[Event]) -> None:
    """Let the page hear these events when it asks."""
    lines = (f"event: {e.name}\ndata: {json.dumps(e.plain())}\n\n" for e in events)
    body = "".join(lines)
    page.route("**/v1/ask", lambda r: r.fulfill(body=body, content_type="text/event-stream"))


def test_the_short_answer_comes_first_and_is_marked(
    open_page: Opener, folders: dict[str, Path]
) -> None:
    page = open_page("/")
    sent(page, list(with_short(folders["default"], RODS, "2.4 m")))
    page.locator("#q").fill(RODS)
    page.get_by_role("button", name="Ask").click()
    answer = page.locator("pincite-answer[data-done]")
    expect(answer.locator(".state")).to_have_text("Found")
    expect(answer.locator(".short")).to_have_text("2.4 m")
    expect(answer.locator(".sentence mark").first).to_have_text("2.4 m")
    answer.locator(".cite").first.click()
    expect(page.locator("#reader mark")).to_have_text("2.4 m")
    assert re.search(r"short=\d+-\d+", page.url)
    page.locator("pincite-answer .short").click()
    expect(page.locator("#reader .lit")).to_have_count(1)
    expect(page.locator("#reader .lit mark")).to_have_text("2.4 m")


def test_words_of_a_document_do_not_end_what_is_lit(
    open_page: Opener, folders: dict[str, Path]
) -> None:
    page = open_page("/")
    events = list(with_short(folders["default"], RODS, "2.4 m"))
    end = events[-1]
    assert isinstance(end, CompleteEvent)
    first, *rest = end.answer.sentences
    # Signs of ours in the document, and a character that is two to a browser.
    odd = replace(first, text=f"\ue000\U0001f600\ue001 {first.text} <b>x</b>")
    events[-1] = CompleteEvent(replace(end.answer, sentences=(odd, *rest)))
    sent(page, events)
    page.locator("#q").fill(RODS)
    page.get_by_role("button", name="Ask").click()
    sentence = page.locator("pincite-answer[data-done] .sentence").first
    expect(sentence.locator("mark")).to_have_text("2.4 m")
    expect(sentence).to_contain_text("<b>x</b>")


@needs_pdf
def test_the_short_answer_is_boxed_on_its_page(open_page: Opener, folders: dict[str, Path]) -> None:
    page = open_page("/", c="pdf")
    question = "AOA DISAGREE alert software update"
    sent(page, list(with_short(folders["pdf"], question, "AOA DISAGREE alert")))
    page.locator("#q").fill(question)
    page.get_by_role("button", name="Ask").click()
    page.locator("pincite-answer[data-done] .cite").first.click()
    expect(page.locator("#reader rect.short").first).to_be_in_viewport()
    whole = page.locator("#reader rect:not(.short)").first.bounding_box()
    part = page.locator("#reader rect.short").first.bounding_box()
    assert whole and part
    assert part["width"] < whole["width"] and part["height"] <= whole["height"] + 2


def test_no_answer_says_which_of_the_three_states_it_is(open_page: Opener) -> None:
    page = open_page("/", q="zxqv wkjh", ask="1")
    answer = page.locator("pincite-answer[data-done]")
    expect(answer.locator(".state")).to_have_text(
        re.compile("Candidates: places only|Not in these")
    )
