"""What an index of vectors in a server finds, beside comparing all of them."""

from __future__ import annotations

import numpy as np

from pincite.model.settings import StoreSettings
from pincite.store.location import open_engine

COUNT, LENGTH = 12_000, 32


def made_vectors(count: int = COUNT) -> np.ndarray:
    """Return vectors around centres, as those of texts are."""
    random = np.random.default_rng(0)
    centres = random.normal(size=(50, LENGTH))
    made = centres[random.integers(50, size=count)] + 0.6 * random.normal(size=(count, LENGTH))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float16)


def assert_nearly_all_are_found(url: str) -> None:
    """Look for neighbours in two sets: free, filtered a little, a lot, and exactly."""
    made = made_vectors()
    names = ["000001-0", "000001-1"]
    half = COUNT // 2
    engine = open_engine(url, StoreSettings(timeout_seconds=60))
    with engine.lock():
        for at, name in enumerate(names):
            engine.put_vectors(name, "m", made[at * half : (at + 1) * half])
        assert np.array_equal(engine.vectors(names[1], [5, 1, 5999]), made[[6005, 6001, 11_999]])
        many = np.flatnonzero(np.random.default_rng(1).random(half) < 0.8)
        few = many[:900]
        found = {"free": 0.0, "many": 0.0, "few": 0.0}
        for query in made[:10].astype(np.float32):
            scores = made.astype(np.float32) @ query
            for kind, allowed in {
                "free": {},
                "many": {names[0]: many},
                "few": {names[0]: few, names[1]: few},
            }.items():
                near = engine.nearest(names, query, 50, allowed)
                rows = [n + half * names.index(name) for name, n, _ in near]
                assert len(rows) == len(set(rows)) == 50
                assert all(
                    abs(scores[n] - s) < 0.005 for n, (_, _, s) in zip(rows, near, strict=True)
                )
                assert [s for _, _, s in near] == sorted((s for _, _, s in near), reverse=True)
                mask = np.ones(COUNT, dtype=bool)
                for name, numbers in allowed.items():
                    at = half * names.index(name)
                    mask[at : at + half] = False
                    mask[at + numbers] = True
                assert mask[rows].all()
                best = np.flatnonzero(mask)[np.argsort(-scores[mask], kind="stable")[:50]]
                found[kind] += len(set(rows) & set(best.tolist())) / 500
        assert min(found.values()) >= 0.97, found
        exact = open_engine(url, StoreSettings(exact=True, timeout_seconds=60))
        exact._homes = engine._homes  # type: ignore[attr-defined]
        query = made[0].astype(np.float32)
        scores = made.astype(np.float32) @ query
        near = exact.nearest(names, query, 50, {})
        assert {n + half * names.index(name) for name, n, _ in near} == set(
            np.argsort(-scores)[:50].tolist()
        )
        exact.close()
    engine.close()
