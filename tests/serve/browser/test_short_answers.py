"""The short answer on the page: first, marked inside its quotation, and boxed on the page image.

The answers are real ones whose short answer is set here, so that what the page shows does not
depend on what a model reads.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import expect

from pincite.answer.asker import Asker
from pincite.answer.values import Answer, CompleteEvent, Event, ShortEvent
from pincite.model.types import Span

from .conftest import Opener
from .test_desk import RODS, needs_pdf


@pytest.fixture
def short_words(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Words that every answer has as its short answer from here on: the first of the list."""
    wanted: list[str] = []
    ask = Asker.ask

    def asked(self: Asker, question: str, **how: Any) -> Generator[Event]:
        for event in ask(self, question, **how):
            if isinstance(event, ShortEvent):
                continue
            if isinstance(event, CompleteEvent):
                spans = tuple(_spans(event.answer, wanted[0]))
                event = CompleteEvent(
                    replace(event.answer, short=wanted[0], short_spans=spans, abstention=None)
                )
            yield event

    monkeypatch.setattr(Asker, "ask", asked)
    return wanted


def _spans(answer: Answer, words: str) -> Iterator[Span]:
    for citation in answer.citations:
        if citation.span and (at := citation.quote.find(words)) >= 0:
            start = citation.span.start + at
            yield Span(citation.span.doc_id, start, start + len(words))


def test_the_short_answer_comes_first_and_is_marked(
    open_page: Opener, short_words: list[str]
) -> None:
    short_words.append("2.4 m")
    page = open_page("/", c="default", width=1440)
    page.locator("#q").fill(RODS)
    page.get_by_role("button", name="Ask").click()
    answer = page.locator("#answer[data-done]")
    expect(answer.locator(".state")).to_have_text("Found")
    expect(answer.locator(".short")).to_have_text("2.4 m")
    expect(answer.locator(".sentence mark").first).to_have_text("2.4 m")
    # The document has followed already; a click makes it the open one.
    expect(page.locator("#reader mark")).to_have_text("2.4 m")
    answer.locator(".cite").first.click()
    expect(page.locator("#reader[data-chosen] mark")).to_have_text("2.4 m")
    assert re.search(r"short=\d+-\d+", page.url)
    page.locator("#answer .short").click()
    expect(page.locator("#reader .clauses .lit, #reader [data-lit]").first).to_be_visible()
    expect(page.locator("#reader mark")).to_have_text("2.4 m")


@needs_pdf
def test_the_short_answer_is_boxed_on_its_page(open_page: Opener, short_words: list[str]) -> None:
    short_words.append("AOA DISAGREE alert")
    page = open_page("/", c="pdf", q="AOA DISAGREE alert software update", ask="1", width=1440)
    page.locator("#answer[data-done] .cite").first.click()
    expect(page.locator("#reader[data-chosen] rect.short").first).to_be_in_viewport()
    whole = page.locator("#reader[data-chosen] rect.cited").first.bounding_box()
    part = page.locator("#reader[data-chosen] rect.short").first.bounding_box()
    assert whole and part
    assert part["width"] < whole["width"] and part["height"] <= whole["height"] + 2
