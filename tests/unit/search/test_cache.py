"""Remembered pairs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pincite.search.windows import PairCache


def test_a_pair_is_known_by_scorer_query_and_text() -> None:
    cache = PairCache(10)
    cache.put("m1", "q", {"a": 0.5})
    assert cache.get("m1", "q", ["a", "b"]) == {"a": 0.5}
    assert not cache.get("m2", "q", ["a"])  # another revision
    assert not cache.get("m1", "q2", ["a"])
    assert not cache.get("m1", "qa", [""])  # not the same letters in another place
    assert PairCache(10).get("m1", "\ud800", ["\udfff"]) == {}


def test_the_least_recently_used_goes_first() -> None:
    cache = PairCache(2)
    cache.put("m", "q", {"a": 0.1, "b": 0.2})
    cache.get("m", "q", ["a"])
    cache.put("m", "q", {"c": 0.3})
    assert cache.get("m", "q", ["a", "b", "c"]) == {"a": 0.1, "c": 0.3}


def test_0_remembers_nothing() -> None:
    cache = PairCache(0)
    cache.put("m", "q", {"a": 0.1})
    assert len(cache) == 0 and not cache.get("m", "q", ["a"])


def test_threads_share_it() -> None:
    cache = PairCache(50)

    def use(number: int) -> bool:
        text = str(number % 80)
        cache.put("m", "q", {text: number % 80 / 80})
        return all(score == int(t) / 80 for t, score in cache.get("m", "q", [text]).items())

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(5000)))
    assert len(cache) == 50
