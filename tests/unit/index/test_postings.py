"""Postings equal those of a plain dictionary."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest

from pincite.index.postings import MAX_COUNT, build_postings, live_terms, pair_key, term_key
from pincite.index.postings import _field as field_of
from pincite.store.segment import Field

WORDS = [f"word{i}" for i in range(30)]
SKIPPED = {"word0", "word3"}
Postings = dict[object, dict[int, int]]


def texts(seed: int) -> list[list[str]]:
    chance = random.Random(seed)
    weights = [1 / (i + 1) for i in range(len(WORDS))]
    return [chance.choices(WORDS, weights, k=chance.choice([0, 1, 2, 5, 40])) for _ in range(50)]


def built(rows: list[list[str]]) -> dict[str, np.ndarray]:
    words = list(dict.fromkeys(word for row in rows for word in row))
    number = {word: i for i, word in enumerate(words)}
    return build_postings(
        np.array([term_key(word) for word in words], dtype=np.uint64),
        np.array([number[word] for row in rows for word in row], dtype=np.uint32),
        np.cumsum([0, *map(len, rows)]),
        pairs=True,
        skipped=np.array([word in SKIPPED for row in rows for word in row], dtype=bool),
    )


def read(field: Field, names: dict[int, object]) -> Postings:
    """Return what the arrays say as a dictionary of dictionaries."""
    found: Postings = {}
    for position, key in enumerate(field.keys.tolist()):
        start, end = field.offsets[position : position + 2]
        rows, counts = field.rows[start:end].tolist(), field.counts[start:end].tolist()
        assert rows == sorted(set(rows))
        found[names[key]] = dict(zip(rows, counts, strict=True))
    return found


def expected(rows: list[list[str]]) -> tuple[Postings, Postings, list[int]]:
    terms: Postings = defaultdict(dict)
    pairs: Postings = defaultdict(dict)
    lengths = []
    for number, row in enumerate(rows):
        for word, count in Counter(row).items():
            terms[word][number] = count
        content = [word for word in row if word not in SKIPPED]
        for pair, count in Counter(pairwise(content)).items():
            pairs[pair][number] = count
        lengths.append(max(0, len(content) - 1))
    return dict(terms), dict(pairs), lengths


def check(arrays: dict[str, np.ndarray], rows: list[list[str]]) -> None:
    terms, pairs, lengths = expected(rows)
    assert arrays["term_keys"].tolist() == sorted(arrays["term_keys"].tolist())
    names: dict[int, object] = {term_key(word): word for word in WORDS}
    in_order = [names[key] for key in arrays["term_keys"].tolist()]
    pair_names: dict[int, object] = {
        pair_key(left, right, arrays["pair_keys"]): (in_order[left], in_order[right])
        for left in range(len(in_order))
        for right in range(len(in_order))
    }
    assert read(Field("term", arrays), names) == terms
    assert read(Field("pair", arrays), pair_names) == pairs
    assert arrays["pair_lengths"].tolist() == lengths
    stream = [in_order[term] for term in arrays["stream"].tolist()]
    assert stream == [word for row in rows for word in row]


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_a_dictionary(seed: int) -> None:
    check(built(texts(seed)), texts(seed))


@pytest.mark.parametrize("rows", [[], [[]], [[], ["word1"], []], [["word0"]]])
def test_next_to_nothing(rows: list[list[str]]) -> None:
    check(built(rows), rows)


def test_live_rows_of_segments_make_the_segment_of_all() -> None:
    parts, live, kept = [], [], []
    for seed in range(3):
        rows = texts(seed)
        chance = random.Random(seed)
        marks = np.array([chance.random() < 0.6 for _ in rows])
        parts.append(built(rows))
        live.append(marks)
        kept += [row for row, mark in zip(rows, marks.tolist(), strict=True) if mark]
    keys, stream, offsets = live_terms(zip(parts, live, strict=True))
    skipped = np.isin(keys, np.array([term_key(word) for word in SKIPPED], np.uint64))[stream]
    check(build_postings(keys, stream, offsets, pairs=True, skipped=skipped), kept)


def test_keys_too_large_to_pack_give_the_same() -> None:
    chance = random.Random(9)
    keys = np.array([chance.choice([1, 5, 2**62 + 1, 2**63 + 7]) for _ in range(500)], np.uint64)
    rows = np.sort(np.array([chance.randrange(40) for _ in range(500)], np.uint64))
    large = field_of("f", keys, rows)  # does not fit into 64 bits with the row: sorted by two keys
    _, small_keys = np.unique(keys, return_inverse=True)
    small = field_of("f", small_keys.astype(np.uint64), rows)
    assert large["f_keys"].tolist() == sorted(set(keys.tolist()))
    for name in ("f_offsets", "f_rows", "f_counts"):
        assert large[name].tolist() == small[name].tolist()
        assert large[name].dtype == small[name].dtype


def test_counts_stop_at_what_they_can_hold() -> None:
    arrays = built([["word1"] * (MAX_COUNT + 10)])
    assert arrays["term_counts"].tolist() == [MAX_COUNT]


@pytest.mark.parametrize(
    ("vocabulary", "stream", "pairs"),
    [(65_536, np.uint16, np.uint32), (65_537, np.uint32, np.uint64)],
)
def test_numbers_are_as_narrow_as_the_vocabulary_allows(
    vocabulary: int, stream: type, pairs: type
) -> None:
    """The last two terms are the ones that a type too narrow would lose."""
    arrays = build_postings(
        np.arange(vocabulary, dtype=np.uint64),
        np.arange(vocabulary, dtype=np.uint32),
        np.array([0, vocabulary - 2, vocabulary]),
        pairs=True,
        skipped=np.zeros(vocabulary, dtype=bool),
    )
    assert (arrays["stream"].dtype, arrays["pair_keys"].dtype) == (stream, pairs)
    assert arrays["stream"].tolist() == list(range(vocabulary))
    field = Field("pair", arrays)
    position = field.position(pair_key(vocabulary - 2, vocabulary - 1, field.keys))
    start, end = field.span(position)
    assert field.rows[start:end].tolist() == [1]
    assert field.position(pair_key(vocabulary - 3, vocabulary - 2, field.keys)) == -1


def test_a_term_has_the_same_key_for_ever() -> None:
    """Indexes on disk depend on it."""
    assert term_key("ampacity") == 4057695023772178405
