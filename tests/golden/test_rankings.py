"""Rankings stay what they are, to the hit and to the part; the rule is in golden_rankings.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import golden_rankings as rankings
import numpy as np
import pytest

CASES = [("samples", pipeline) for pipeline in rankings.samples().pipelines] + [
    ("part97", "default"),
    ("part97", "lexical"),
    ("part97", "dense"),
    ("srd-5.1", "lexical"),
]


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Build the index of a collection once a session."""

    @cache
    def build(name: str) -> Path:
        folder = tmp_path_factory.mktemp("golden") / "index"
        rankings.build(rankings.COLLECTIONS[name](), folder)
        return folder

    return build


@pytest.fixture(scope="session")
def has_same_vectors() -> bool:
    """Whether this processor gives the vectors that the goldens were made with."""
    was, now = np.array(json.loads(rankings.VECTOR.read_text())), np.array(rankings.vector())
    assert float(was @ now) > 0.999, "the encoder is another one: make the goldens again"
    return bool(np.abs(was - now).max() < rankings.TOLERANCE)


@pytest.mark.parametrize(("name", "pipeline"), CASES)
def test_rankings_are_the_stored_ones(
    name: str, pipeline: str, folder_of: Callable[[str], Path], has_same_vectors: bool
) -> None:
    if not rankings.is_there(name):
        pytest.skip(f"the documents of {name} are not on this machine")
    if pipeline not in rankings.WORDS_ONLY and not has_same_vectors:
        pytest.skip("the encoder gives other last digits on this processor")
    collection = rankings.COLLECTIONS[name]()
    found = dict(rankings.ask_all(collection, pipeline, folder_of(name)))
    stored = list(rankings.Golden.load(name).rankings(pipeline))
    assert [kept.query for kept in stored] == list(found), "other queries than those stored"
    same = rankings.twins(folder_of(name)) if pipeline == rankings.CODED else {}
    wrong = [rankings.difference(kept, found[kept.query], same) for kept in stored]
    wrong = [each for each in wrong if each]
    assert not wrong, f"{len(wrong)} of {len(stored)} differ:\n" + "\n".join(wrong[:10])


def test_the_comparison_sees_what_it_should() -> None:
    kept = rankings.Kept("q", ["a", "b"], [{"terms": 2.0}, {"terms": 1.0}], is_tiered=False)
    same = [("a", {"terms": 2.0}), ("b", {"terms": 1.0})]
    other = [("a", {"terms": 2.0}), ("b", {"terms": 1.1})]
    assert rankings.difference(kept, same) == ""
    assert "from rank 1 ['b', 'a']" in rankings.difference(kept, same[::-1])
    assert "from rank 2 [] instead of ['b']" in rankings.difference(kept, same[:1])
    assert "terms: 1.1 instead of 1.0" in rankings.difference(kept, other)
    twin = [("c", {"terms": 2.0}), ("b", {"terms": 1.0})]
    assert rankings.difference(kept, twin) and not rankings.difference(kept, twin, {"c": "a"})
    tiered = rankings.Kept("q", ["a", "b"], [], is_tiered=True)
    assert rankings.difference(tiered, other) == ""
    assert rankings.difference(tiered, other[::-1])
