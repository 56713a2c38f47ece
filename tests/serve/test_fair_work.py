"""One key that asks much: others are served as before, and it is told to come back."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import ClassVar

import httpx
import pytest

from pincite.answer.reader import AnswerReader
from pincite.serve.access import OWNER, add_key, new_key
from pincite.serve.ask_routes import AnswerRequest
from pincite.serve.errors import ServiceError
from pincite.serve.requests import Visit
from pincite.serve.search_routes import CheckBody, check
from pincite.serve.service import AuditFacts, Options, SearchService
from pincite.serve.work import Work

from .conftest import run, served, settings


def test_a_newcomer_is_next_whoever_waits() -> None:
    """Ten of one owner wait for the one thread; another's single piece is done second."""

    async def crowd() -> list[str]:
        work, done, held = Work("test", 1, 100), [], threading.Event()
        first = work.submit("busy", held.wait)
        others = [work.submit("busy", done.append, f"busy {n}") for n in range(10)]
        other = work.submit("quiet", done.append, "quiet")
        held.set()
        await asyncio.gather(first, other, *others)
        work.close()
        return done

    assert run(crowd())[0] == "quiet"


def test_who_had_much_time_waits_for_who_had_little() -> None:
    async def crowd() -> list[str]:
        work, done, held = Work("test", 1, 100), [], threading.Event()
        first = work.submit("other", held.wait)
        waiting = [work.submit("slow", _slowly, done, "slow") for _ in range(4)]
        waiting += [work.submit("quick", done.append, "quick") for _ in range(4)]
        held.set()
        await asyncio.gather(first, *waiting)
        work.close()
        return done

    assert run(crowd())[:6] == ["slow", *["quick"] * 4, "slow"]


def _slowly(done: list[str], name: str) -> None:
    time.sleep(0.05)
    done.append(name)


def test_long_work_takes_turns_and_ends_when_nobody_waits() -> None:
    steps: list[int] = []

    def long() -> Iterator[None]:
        for number in range(1000):
            steps.append(number)
            time.sleep(0.005)
            yield

    async def crowd() -> float:
        work = Work("test", 1, 100)
        with pytest.raises(ServiceError, match="not done"):
            await work.run("busy", 0.1, long)
        began = len(steps)
        await work.run("busy", 5, time.sleep, 0.05)
        assert len(steps) <= began + 2  # it was given up
        waiting = work.submit("busy", long)
        started = time.monotonic()
        await work.run("quiet", 5, lambda: None)
        took = time.monotonic() - started
        waiting.cancel()
        work.close()
        return took

    assert run(crowd()) < 1.0  # of the five seconds of the other


def test_a_full_queue_makes_room_at_the_cost_of_who_fills_it() -> None:
    async def crowd() -> None:
        work, held = Work("test", 1, 4), threading.Event()
        busy = [work.submit("busy", held.wait) for _ in range(5)]
        with pytest.raises(ServiceError, match="waiting"):
            work.submit("busy", held.wait)
        quiet = work.submit("quiet", lambda: "served")
        held.set()
        assert await quiet == "served"
        ends = await asyncio.gather(*busy, return_exceptions=True)
        assert [isinstance(each, ServiceError) for each in ends] == [False] * 4 + [True]
        assert work.shed == 2
        work.close()

    run(crowd())


def test_what_was_begun_ends_before_the_same_owner_begins_more() -> None:
    async def crowd() -> list[str]:
        work, done, held = Work("test", 1, 100), [], threading.Event()
        first = work.submit("one", held.wait)
        more = [work.submit("one", done.append, f"new {n}") for n in range(3)]
        begun = work.go_on("one", done.append, "begun")
        held.set()
        await asyncio.gather(first, begun, *more)
        work.close()
        return done

    assert run(crowd())[0] == "begun"


def test_answers_are_worked_out_by_few_threads(sample_index: Path) -> None:
    """Their models use all processors: many at a time would leave none to searches."""

    async def most_at_a_time() -> int:
        service = SearchService({"default": sample_index}, settings(threads=4))
        await service.start()
        visit = Visit(service, OWNER, AuditFacts())
        asked = [AnswerRequest(visit, "", f"How far apart are {n} earth rods?") for n in range(6)]
        every = asyncio.gather(*(each.whole() for each in asked))
        most = 0
        while not every.done():
            await asyncio.sleep(0.002)
            frames = sys._current_frames().values()
            most = max(most, sum(_is_reading(frame) for frame in frames))
        assert all(answer["state"] for answer in await every)
        await service.stop()
        return most

    assert run(most_at_a_time()) == 1


def _is_reading(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not AnswerReader.read.__code__:
        frame = frame.f_back
    return frame is not None


def test_a_check_gives_others_their_turn(sample_index: Path) -> None:
    """Between two claims; all of one text at once would keep the only thread."""

    async def crowd() -> int:
        service = SearchService({"default": sample_index}, settings(threads=1))
        await service.start()
        visit = Visit(service, OWNER, AuditFacts())
        text = 'It says "two rods are at least 2.4 m apart" in 250.56(B). ' * 8
        checking = asyncio.create_task(check(CheckBody(text=text), _Plain(), visit))
        others = 0
        while not checking.done():
            await service.reading.run("somebody else", 60, lambda: None)
            others += 1
        assert b'"claims"' in bytes((await checking).body)
        await service.stop()
        return others

    assert run(crowd()) >= 8


class _Plain:
    headers: ClassVar[dict[str, str]] = {}


def test_a_search_is_quick_while_others_have_thousands_of_texts_scored(
    sample_index: Path, tmp_path: Path
) -> None:
    keys = [_key(tmp_path / "keys.json", f"key {n}") for n in range(5)]
    chosen = settings(search_seconds=20.0)
    options = Options(keys=tmp_path / "keys.json")
    with (
        served({"default": sample_index}, chosen, options) as address,
        httpx.Client(base_url=address, timeout=60) as http,
    ):
        good = {"authorization": f"Bearer {keys[0]}"}
        _search(http, good, 0)
        statuses: list[int] = []
        crowd = [
            threading.Thread(target=_rerank, args=(address, key, statuses)) for key in keys[1:]
        ]
        for each in crowd:
            each.start()
        time.sleep(1.0)
        took = sorted(_search(http, good, number) for number in range(1, 12))
        assert took[-2] < 2.0, took
        for each in crowd:
            each.join()
    assert set(statuses) <= {200, 503, 504}


def _key(file: Path, name: str) -> str:
    key, shown = new_key(name, ["read"], access=None)
    add_key(file, key)
    return shown


def _search(http: httpx.Client, headers: dict[str, str], number: int) -> float:
    started = time.monotonic()
    answer = http.post("/v1/search", json={"query": f"earth rod {number}"}, headers=headers)
    assert answer.status_code == 200, answer.text
    return time.monotonic() - started


def _rerank(address: str, key: str, statuses: list[int]) -> None:
    texts = [f"clause {n}: two earth rods are {n} m apart in such soil" for n in range(1000)]
    body = {"query": "how far apart are rods", "documents": texts}
    headers = {"authorization": f"Bearer {key}"}
    answer = httpx.post(f"{address}/v1/rerank", json=body, headers=headers, timeout=60)
    statuses.append(answer.status_code)
