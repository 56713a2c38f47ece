"""Make the judge of statements: boosted trees over what src/pincite/check/judge.py sees.

Learns from the half "dev" of the claims that bench/check.py --claims measures with (the other half
is never seen), from the claims of fool-me-twice's test split, and from some of these beside a text
about something else. Needs lightgbm (extra `learn`).

    python models/train_judge.py [--data DIR] [--kept FILE.npz]
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from check import CLAIM_SETS, Judged, half_of
from pincite.check.judge import FEATURES, FILE, Judge
from pincite.check.support import TextParts
from pincite.encode.encoders import OnnxEncoder
from pincite.encode.models import SHIPPED
from pincite.index.tokens import Analyzer
from pincite.measure.learning import trees_of
from pincite.search.learned import Linear, RankerModel, save_model

SEED = 7
ROUNDS = 100
SETTINGS = {
    "objective": "binary",
    "num_leaves": 5,
    "learning_rate": 0.05,
    "min_data_in_leaf": 40,
    "lambda_l2": 10,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "feature_fraction": 0.7,
    "monotone_constraints": list(FEATURES.values()),
    "seed": SEED,
    "deterministic": True,
    "num_threads": 1,
    "verbose": -1,
}
EXTRA = "fool-me-twice, split test"
ASTRAY = "fool-me-twice, split test, beside evidence of other claims"
ASTRAY_CLAIMS = 400
WEIGHTS = {EXTRA: 0.7, ASTRAY: 0.2}  # a set weighs one, however many claims it has
FOLDS = 5


def extra(data: Path) -> Iterator[Judged]:
    with gzip.open(data / "training" / "fool-me-twice.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["split"] == "test":
                evidence = " ".join(row["evidence"])
                yield row["claim"], row["claim"], evidence, row["label"] == "SUPPORTS"


def astray(data: Path) -> Iterator[Judged]:
    """Yield claims beside texts that do not speak of them."""
    rows = list(extra(data))
    for row, other in zip(rows[:ASTRAY_CLAIMS], rows[len(rows) // 2 :], strict=False):
        yield row[0], row[1], other[2], False


def examples(data: Path) -> dict[str, np.ndarray[Any, Any]]:
    """Return the features of every claim with its verdict in the last column, by set."""
    judge = Judge(RankerModel("", (), 1, Linear(np.zeros(0))), OnnxEncoder(SHIPPED))
    texts, found = TextParts(Analyzer()), {}
    for name, read in {**CLAIM_SETS, EXTRA: extra, ASTRAY: astray}.items():
        rows = [
            [*judge.features(claim, evidence, texts), float(good)]
            for key, claim, evidence, good in read(data)
            if name not in CLAIM_SETS or half_of(key) == "dev"
        ]
        found[name] = np.array(rows)
        print(f"{name}: {len(rows)}", flush=True)
    return found


def grown(sets: dict[str, np.ndarray[Any, Any]]) -> Any:
    import lightgbm

    table = np.concatenate(list(sets.values()))
    weights = np.concatenate(
        [np.full(len(rows), WEIGHTS.get(name, 1.0) / len(rows)) for name, rows in sets.items()]
    )
    data = lightgbm.Dataset(table[:, :-1], table[:, -1], weight=weights / weights.mean())
    return lightgbm.train(SETTINGS, data, ROUNDS)


def judged_apart(sets: dict[str, np.ndarray[Any, Any]]) -> None:
    """Print how well trees do that were grown on other claims."""
    from check import balanced, ece

    for name, rows in sets.items():
        if name not in CLAIM_SETS:
            continue
        order = np.random.default_rng(SEED).permutation(len(rows))
        said = []
        for fold in range(FOLDS):
            inside = order % FOLDS == fold
            booster = grown({**sets, name: rows[~inside]})
            chances = booster.predict(rows[inside][:, :-1])
            said += list(zip(chances.tolist(), (rows[inside][:, -1] > 0).tolist(), strict=True))
        print(f"{name}: balanced accuracy {balanced(said):.3f}, ECE {ece(said):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--kept", type=Path, help="keep what the judge sees here, use it again")
    args = parser.parse_args()
    if args.kept and args.kept.is_file():
        with np.load(args.kept) as arrays:
            sets = dict(arrays)
    else:
        sets = examples(args.data)
        if args.kept:
            np.savez(args.kept, **sets)  # type: ignore[arg-type]
    judged_apart(sets)
    booster = grown(sets)
    about = {
        "made by": "models/train_judge.py",
        "learned from": {name: len(rows) for name, rows in sets.items()},
        "sources": "AttributionBench (OSU-NLP-Group), fool-me-twice (Apache-2.0), SciFact (CC BY)",
        "seed": SEED,
        "card": "docs/check.md",
    }
    model = RankerModel("boosted", tuple(FEATURES), 1, trees_of(booster), about=about)
    every = np.concatenate(list(sets.values()))[:, :-1]
    assert np.allclose(model.scores_of(every), booster.predict(every, raw_score=True))
    save_model(model, FILE)
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
