"""What the learned ranker's features are worth on OHR-Bench: importances, ablation, a drawing.

    python bench/learned.py DATA OUT.svg      DATA has gt/ and qas_dev.json; needs the extra learn

Importance is what shuffling a feature among the candidates of each question costs, on documents
that the model has not seen; ablation leaves a group of features out and learns again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from experiments.ohr_learned import K, asked_with_features, joined_examples
from pincite.measure.learning import Examples, first_right, folds_by_group, out_of_fold, scorer_of
from pincite.model.settings import Settings, load_settings
from pincite.search.feature_table import NAMES, OF_DOCUMENT, PARTS, WINDOWS
from pincite.search.features import OF_POOL, OF_TEXT, PUBLISHED

FOLDS = 5
KIND = "lambdamart"
SHOWN = 20
GROUPS = {
    "published": PUBLISHED,
    "raw BM25": ("bm25", *PARTS),
    "windows": tuple(WINDOWS),
    "document": OF_DOCUMENT,
    "pool": tuple(OF_POOL),
    "text": tuple(OF_TEXT),
}


def main(data: str, drawing: str) -> None:
    settings: Settings = load_settings(overrides=["search.preset=lexical"])
    folder = Path(data)
    asked, _ = asked_with_features(folder, folder / "qas_dev.json", settings)
    examples = joined_examples(asked, K)
    folds = folds_by_group(examples.groups, FOLDS)
    print(f"{len(examples.sizes)} questions, {len(examples.table)} candidates, {FOLDS} folds")
    whole = ablation(examples, folds, NAMES)
    print(f"{'all features':24} right first {whole:.4f}")
    for name, group in GROUPS.items():
        kept = [each for each in NAMES if each not in group]
        value = ablation(examples, folds, kept)
        print(f"{'without ' + name:24} right first {value:.4f}  {value - whole:+.4f}")
    found = importances(examples, folds)
    for name, value in found[:SHOWN]:
        print(f"{name:36} {value:+.4f}")
    Path(drawing).write_text(drawn(found[:SHOWN]), encoding="utf-8")


def ablation(examples: Examples, folds: Any, names: Sequence[str]) -> float:
    """Return the share of questions with a right first hit, by models of some features."""
    columns = [NAMES.index(name) for name in names]
    part = Examples(
        examples.table[:, columns], examples.grades, examples.sizes, examples.groups, examples.k
    )
    return first_right(part, out_of_fold(part, partial(scorer_of, KIND, names), folds))


def importances(examples: Examples, folds: Any) -> list[tuple[str, float]]:
    """Return for each feature what shuffling it costs, the dearest first."""
    rng = np.random.default_rng(1)
    order = np.lexsort((rng.random(len(examples.table)), examples.question))
    lost = dict.fromkeys(NAMES, 0.0)
    for fold in range(FOLDS):
        score = scorer_of(KIND, NAMES, examples.of(folds != fold))
        held = examples.of(folds == fold)
        mixed = examples.table[order][np.repeat(folds == fold, examples.sizes)]
        before = first_right(held, _scores(held, held.table, score))
        for column, name in enumerate(NAMES):
            table = held.table.copy()
            table[:, column] = mixed[:, column]
            after = first_right(held, _scores(held, table, score))
            lost[name] += (before - after) * len(held.sizes) / len(examples.sizes)
    return sorted(lost.items(), key=lambda pair: -pair[1])


def _scores(examples: Examples, table: Any, score: Any) -> Any:
    parts = zip(examples.starts.tolist(), examples.sizes.tolist(), strict=True)
    return np.concatenate([score(table[start : start + size]) for start, size in parts])


def drawn(values: Sequence[tuple[str, float]]) -> str:
    """Return the importances as bars in an SVG."""
    most = max(value for _, value in values) or 1.0
    lines = []
    for number, (name, value) in enumerate(values):
        y, width = 20 * number + 14, max(0.0, 300 * value / most)
        lines.append(
            f'<text x="235" y="{y}" text-anchor="end">{name}</text>'
            f'<rect x="240" y="{y - 11}" width="{width:.0f}" height="14" fill="#4477aa"/>'
            f'<text x="{245 + width:.0f}" y="{y}">{value:.4f}</text>'
        )
    body = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="620" height="{20 * len(values) + 10}" '
        f'font-family="sans-serif" font-size="12">\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
