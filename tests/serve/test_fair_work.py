"""One key that asks much: others are served as before, and it is told to come back."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pincite.serve.access import add_key, new_key
from pincite.serve.errors import ServiceError
from pincite.serve.service import Options
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
