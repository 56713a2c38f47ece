"""Vectors in lists: nothing is lost, the nearest are found, filters hold."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pincite.index import vectors as ragged
from pincite.index.opened import Rows
from pincite.index.vectors import VectorIndex, lists_of, looked_at, nearest_lists, packed
from pincite.model.errors import ModelError
from pincite.search.row_scorers import MeaningScores
from pincite.store.files import Array, write_folder
from pincite.store.manifest import VECTORS, VectorEntry
from pincite.store.segment import Vectors

ROWS, DIMENSION = 60_000, 48


def clustered(count: int, seed: int = 3) -> Array:
    """Return vectors of 2,000 themes in 50 fields, so that neighbours mean something."""
    random = np.random.default_rng(seed)
    spread = (1 + np.arange(DIMENSION, dtype=np.float32)) ** -0.5

    def noise(size: int) -> Array:
        return random.standard_normal((size, DIMENSION), dtype=np.float32) * spread

    themes = noise(50)[random.integers(50, size=2000)] + noise(2000)
    found = themes[random.integers(2000, size=count)] + noise(count)
    unit: Array = found / np.linalg.norm(found, axis=1, keepdims=True)
    return unit


class Small:
    """Segments of vectors in real folders, and what search needs around them."""

    def __init__(self, folder: Path, parts: list[tuple[Array, Array]]) -> None:
        (folder / VECTORS).mkdir(parents=True)
        self.vectors, entries, segments = [], [], []
        for number, (rows, exact) in enumerate(parts):
            name, count = str(number), int(rows.max()) + 1
            sha256 = write_folder(folder / VECTORS / name, packed(rows, exact))
            entry = VectorEntry(name, sha256, name, "m", len(rows), count)
            self.vectors.append(Vectors(folder, entry))
            entries.append(SimpleNamespace(entry=SimpleNamespace(name=name, chunks=count)))
            ids = np.char.mod(f"{number}%014d", np.arange(count)).astype("S16")
            segments.append(SimpleNamespace(ids=ids))
        index: Any = SimpleNamespace(lexical=SimpleNamespace(segments=segments))
        snapshot: Any = SimpleNamespace(
            segments=entries,
            vectors_of=lambda model: self.vectors,
            nearest_rows=lambda *_: None,
        )
        self.rows = Rows(index)
        self.index = VectorIndex(snapshot, "m")

    def best(self, query: Array, k: int, masks: list[Array | None] | None = None) -> Array:
        every = masks or [None] * len(self.vectors)
        return MeaningScores(self.index, self.rows, query, every).best(k)


@pytest.fixture(scope="module")
def drawn() -> Array:
    return clustered(ROWS + 50)


@pytest.fixture(scope="module")
def small(drawn: Array, tmp_path_factory: pytest.TempPathFactory) -> Small:
    """Two segments with lists; two windows a row, so that best windows matter."""
    half = ROWS // 2
    exact = drawn[:ROWS].astype(np.float16)
    rows = np.arange(half) // 2
    return Small(tmp_path_factory.mktemp("lists"), [(rows, exact[:half]), (rows, exact[half:])])


@pytest.fixture(scope="module")
def queries(drawn: Array) -> Array:
    return drawn[ROWS:]


def truth(small: Small, query: Array, k: int, masks: list[Array] | None = None) -> Array:
    """Return the best rows with every window compared in full precision."""
    scores = np.concatenate(
        [small.index.exact(n, np.arange(size), query) for n, size in enumerate(small.index.sizes)]
    )
    if masks is not None:
        scores[~np.concatenate(masks)] = -1
    return np.argsort(-scores)[:k]


def test_every_vector_stands_in_one_list_with_its_own_code(small: Small) -> None:
    for part in small.vectors:
        assert part.centres is not None
        assert np.array_equal(np.sort(part.order), np.arange(len(part.rows)))
        assert part.starts[0] == 0 and part.starts[-1] == len(part.rows)
        near = part.codes.astype(np.float32) * part.scales[:, None]
        assert np.abs(near - part.exact[part.order].astype(np.float32)).max() < 0.01


def test_a_scan_of_lists_is_a_scan_of_everything(small: Small, queries: Array) -> None:
    size = small.index.sizes[0]
    found = small.index.approximate(0, queries[0])
    assert np.allclose(found, small.index.exact(0, np.arange(size), queries[0]), atol=0.02)


def test_the_nearest_hundred_are_found(small: Small, queries: Array) -> None:
    assert small.index.nearest(queries[0], [None, None], ROWS)  # lists are used at all
    recall = [
        len(np.intersect1d(small.best(query, 100), truth(small, query, 100))) / 100
        for query in queries
    ]
    assert np.mean(recall) >= 0.98, np.mean(recall)


def test_only_some_windows_are_looked_at(small: Small, queries: Array) -> None:
    looked = small.index.nearest(queries[0], [None, None], ROWS)
    assert sum(len(rows) for rows, _ in looked.values()) <= looked_at(ROWS) + 1000 < ROWS / 2


def test_top_ten_is_a_prefix_of_top_hundred(small: Small, queries: Array) -> None:
    for query in queries[:10]:
        assert np.array_equal(small.best(query, 10), small.best(query, 100)[:10])


@pytest.mark.parametrize("share", [0.9, 0.6, 0.2, 0.01, 0.0005])
def test_a_filter_holds_and_misses_little(small: Small, queries: Array, share: float) -> None:
    random = np.random.default_rng(5)
    masks = [random.random(size) < share for size in small.index.sizes]
    allowed, recall = np.concatenate(masks), []
    for query in queries[:20]:
        found = small.best(query, 50, [*masks])
        wanted = truth(small, query, min(50, int(allowed.sum())), masks)
        assert allowed[found].all() and len(found) == len(wanted)
        recall.append(len(np.intersect1d(found, wanted)) / len(wanted))
    assert np.mean(recall) >= 0.98
    if share <= 0.2:  # so few that all of them are looked at
        assert min(recall) == 1


def test_a_filter_far_from_the_question_still_finds_its_rows(small: Small, queries: Array) -> None:
    """The nearest lists may hold none of what a filter leaves."""
    query = queries[0]
    masks = []
    for number, size in enumerate(small.index.sizes):
        scores = small.index.exact(number, np.arange(size), query)
        masks.append(scores < np.quantile(scores, 0.5))
    found = small.best(query, 100, [*masks])
    assert len(found) == 100
    # What is left begins where the nearest half ends, and lies in all directions.
    assert len(np.intersect1d(found, truth(small, query, 100, masks))) >= 90


def test_an_empty_filter_finds_nothing(small: Small, queries: Array) -> None:
    masks: list[Array | None] = [np.zeros(size, dtype=bool) for size in small.index.sizes]
    assert not len(small.best(queries[0], 10, masks))


def test_many_hits_are_chosen_from_everything(small: Small, queries: Array) -> None:
    found = small.best(queries[0], 20_000)
    assert len(np.intersect1d(found, truth(small, queries[0], 20_000))) >= 19_950


def test_segments_with_and_without_lists_are_searched_together(
    small: Small, drawn: Array, queries: Array, tmp_path: Path
) -> None:
    exact, half = drawn[:ROWS].astype(np.float16), ROWS - 1000
    mixed = Small(
        tmp_path, [(np.arange(half), exact[:half]), (np.arange(ROWS - half), exact[half:])]
    )
    assert [part.centres is None for part in mixed.vectors] == [False, True]
    recall = [
        len(np.intersect1d(mixed.best(query, 100), truth(mixed, query, 100))) / 100
        for query in queries[:20]
    ]
    assert np.mean(recall) >= 0.98


def test_few_vectors_get_no_lists_and_the_same_ones_the_same_lists(drawn: Array) -> None:
    assert lists_of(drawn[: ragged.LISTED_FROM]) == {}
    some = drawn[: ragged.LISTED_FROM + 1]
    one, two = lists_of(some), lists_of(some)
    assert all(np.array_equal(one[name], two[name]) for name in one)


def test_many_equal_vectors_do_no_harm(tmp_path: Path) -> None:
    exact = np.zeros((60_000, 8), dtype=np.float16)
    exact[:, 0] = 1
    small = Small(tmp_path, [(np.arange(60_000), exact)])
    query = np.eye(8, dtype=np.float32)[0]
    assert len(small.best(query, 10)) == 10


def test_another_dimension_is_explained(small: Small) -> None:
    with pytest.raises(ModelError, match="m gives vectors of 3 numbers, the index has 48"):
        small.index.check(3)


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=9), min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_lists_are_taken_in_order_until_there_is_enough(sizes: list[list[int]]) -> None:
    random = np.random.default_rng(1)
    near = [random.random(len(each)) for each in sizes]
    chosen = nearest_lists(near, [np.array(each) for each in sizes], 12)
    taken = np.concatenate(
        [np.isin(np.arange(len(n)), c) for n, c in zip(near, chosen, strict=True)]
    )
    every, size = np.concatenate(near), np.concatenate([np.array(each) for each in sizes])
    assert size[taken].sum() >= min(12, size.sum())
    if not taken.all():
        assert every[taken].min() > every[~taken].max()
        last = np.flatnonzero(taken)[every[taken].argmin()]
        assert size[taken].sum() - size[last] < 12
