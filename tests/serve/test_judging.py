"""Judging on the page: one store with who and when, a blind queue for each person, agreement."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason='needs: pip install "pincite[serve]"')

from pincite.measure.questions import load
from pincite.serve.access import add_key, new_key
from pincite.serve.service import Options

from .conftest import client, run

RODS = "how far apart do two earth rods have to be"
PLACE = {"question": RODS, "locator": "250.56(B)", "doc": "electrical-code-2024.md"}


async def candidate(opened: httpx.AsyncClient, **asked: str) -> dict[str, Any] | None:
    """Return what the queue shows next, as its form would send it."""
    text = (await opened.get("/judge", params=asked)).text
    form = re.search(r'<article class="card candidate".*?</form>', text, re.DOTALL)
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', form.group())) if form else None


def test_a_judgement_says_who_and_when_and_a_person_may_change_it(own_index: Path) -> None:
    async def work() -> None:
        async with client(own_index) as opened:
            for by, grade in (("anna", 1), ("ben", 0), ("anna", 2), ("ben", 0)):
                body = {**PLACE, "by": by, "grade": grade, "next": "/judge?q=x"}
                told = await opened.post("/judge", data=body)
                assert told.status_code == 303 and told.headers["location"] == "/judge?q=x"
            shown = await opened.get("/judge", params={"q": RODS, "by": "anna", "k": 5})
            assert re.search(r'value="2"[^>]*aria-pressed="true"', shown.text)
            assert "Others said: ben 0" in shown.text

    run(work())
    (question,) = load(own_index / "feedback.jsonl").questions
    (yes,), (no,) = question.places, question.rejected
    assert (yes.by, yes.grade, no.by) == ("anna", 2, "ben")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", yes.when)


def test_what_is_taken_back_is_gone(own_index: Path) -> None:
    async def work() -> None:
        async with client(own_index) as opened:
            await opened.post("/judge", data={**PLACE, "by": "anna"})
            await opened.post("/judge", data={**PLACE, "by": "ben", "grade": -1})
            (question,) = load(own_index / "feedback.jsonl").questions
            assert [place.by for place in question.places] == ["anna"]
            await opened.post("/judge", data={**PLACE, "by": "anna", "grade": -1})

    run(work())
    (question,) = load(own_index / "feedback.jsonl").questions
    assert not question.places and question.unanswerable


def test_the_queue_ends_and_second_opinions_lead_to_agreement(own_index: Path) -> None:
    async def work() -> str:
        async with client(own_index) as opened:
            await opened.post("/judge/questions", data={"questions": f"{RODS}\n\n{RODS}\n"})
            seen = []
            while (found := await candidate(opened, by="anna")) is not None:
                seen.append((found["doc"], found["at"]))
                await opened.post("/judge", data={**found, "grade": len(seen) % 2})
                assert len(seen) < 20
            assert len(seen) >= 5 and len(set(seen)) == len(seen)
            assert await candidate(opened, by="ben") is None
            again = []
            while (found := await candidate(opened, by="ben", second="1")) is not None:
                again.append((found["doc"], found["at"]))
                await opened.post("/judge", data={**found, "grade": len(again) % 2})
            # In the same order, which is made of names alone: so both agree.
            assert again == seen
            return (await opened.get("/judge")).text

    text = run(work())
    assert len(load(own_index / "feedback.jsonl").questions) == 1
    assert re.search(r"of grades</dt><dd>1\.00</dd>", text)


def test_disagreement_is_shown_and_counted(own_index: Path) -> None:
    async def work() -> str:
        async with client(own_index) as opened:
            for locator in ("250.56(B)", "250.52", "110.26(E)"):
                for by in ("anna", "ben"):
                    grade = int(locator == "250.56(B)" or by == "ben")
                    body = {**PLACE, "locator": locator, "by": by, "grade": grade}
                    await opened.post("/judge", data=body)
            return (await opened.get("/judge")).text

    text = run(work())
    assert "They differ on 2 places" in text and "anna 0, ben 1" in text


def test_judging_needs_the_scope_write_and_is_signed_by_the_key(
    own_index: Path, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    reading, reader = new_key("anna", ("read",), access=None)
    writing, writer = new_key("ben", ("read", "write"), access=None)
    for key in (reading, writing):
        add_key(file, key)

    async def work(secret: str) -> list[int]:
        async with client(own_index, options=Options(file), key=secret) as opened:
            body = {**PLACE, "by": "somebody else"}
            return [
                (await opened.get("/judge")).status_code,
                (await opened.post("/judge", data=body)).status_code,
                (await opened.post("/judge/questions", data={"questions": "x"})).status_code,
            ]

    assert run(work(reader)) == [403, 403, 403]
    assert not (own_index / "feedback.jsonl").exists()
    assert run(work(writer)) == [200, 303, 303]
    (place,) = load(own_index / "feedback.jsonl").questions[0].places
    assert place.by == f"ben ({writing.id})"


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/judge\n", "/read"])
def test_it_goes_on_nowhere_else(own_index: Path, target: str) -> None:
    async def work() -> httpx.Response:
        async with client(own_index) as opened:
            return await opened.post("/judge", data={**PLACE, "next": target})

    assert run(work()).headers["location"] == "/judge"


def test_a_place_that_is_not_there_is_told(own_index: Path) -> None:
    async def work() -> list[httpx.Response]:
        async with client(own_index) as opened:
            bad = ({"locator": "nowhere"}, {"locator": "", "at": "x"}, {"question": " "})
            return [await opened.post("/judge", data={**PLACE, **each}) for each in bad]

    assert [told.status_code for told in run(work())] == [404, 422, 422]
    assert not (own_index / "feedback.jsonl").exists()


def test_words_of_questions_are_never_markup(own_index: Path) -> None:
    async def work() -> list[str]:
        async with client(own_index) as opened:
            bad = '"><img src=x onerror=alert(1)>'
            await opened.post("/judge", data={**PLACE, "question": bad, "by": bad})
            shown = [await opened.get("/judge", params=p) for p in ({}, {"q": bad, "by": bad})]
            return [each.text for each in shown]

    assert not any("<img" in text for text in run(work()))
