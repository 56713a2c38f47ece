"""The learned stage: a model's probability takes the place of the scores before it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from pincite.model.errors import ModelError
from pincite.search.candidates import Candidates, Tier
from pincite.search.feature_table import NAMES, Columns, Features
from pincite.search.query import ParsedQuery
from pincite.search.ranker import RankerModel, load_model
from pincite.search.row_scorers import WordScorer
from pincite.store.files import Array

NAME = "learned"


class Learned:
    """Reorders the best candidates by a model; the rest stays behind them in its order.

    The part ``learned`` is the probability that a candidate answers; the parts before it are in
    ``raw``, with what the model reads. Tiers stay as they are.
    """

    name = NAME

    def __init__(self, model: RankerModel, features: Features) -> None:
        self.model = model
        self.features = features

    @classmethod
    def load(cls, file: str | Path, features: Features) -> Learned:
        """Return the stage with the model of a file, if the index has what the model reads."""
        model = load_model(Path(file))
        of_vectors = {"semantic_similarity": features.meaning, "late_score": features.late}
        for name, source in of_vectors.items():
            if source is None and name in model.about.get("reads", ()):
                raise ModelError(
                    f"{file} reads {name}, for which this index has no vectors",
                    hint="ingest with --set tuning.token_vectors=true, or learn on this index",
                )
        return cls(model, features)

    def __call__(self, query: ParsedQuery, table: Candidates) -> Candidates:
        table = table.take(table.order())
        return judged(self.model, table, feature_lines(self.features, query, table, self.model.k))


def judged(model: RankerModel, table: Candidates, lines: Array) -> Candidates:
    """Return a table that is in order with the model's probabilities for its first lines."""
    if not len(lines):
        return table
    count = len(lines)
    chances = model.probabilities(model.scores(lines, NAMES))
    learned, behind = np.full(len(table), np.nan), np.full(len(table), np.nan)
    learned[:count] = chances
    behind[count:] = -1.0 - np.arange(count, len(table))
    read = {}
    for name in model.features:
        read[name] = np.full(len(table), np.nan)
        read[name][:count] = lines[:, NAMES.index(name)]
    parts = {NAME: learned} | ({"behind": behind} if count < len(table) else {})
    return replace(table, parts=parts, raw={**read, **table.parts, **table.raw})


def feature_lines(features: Features, query: ParsedQuery, table: Candidates, k: int) -> Array:
    """Return a line of features for each of the first ``k`` of a table that is in order."""
    known = {**table.parts, **table.features, **table.raw}
    zeros = np.zeros(len(table))
    words = [known[name] for name in WordScorer.part_names if name in known]
    scores = table.exported_scores()
    best = scores[0] if len(scores) else 0.0
    columns = Columns(
        ids=table.names(),
        rows=table.rows,
        words=known.get(WordScorer.name, np.sum([zeros, *map(np.nan_to_num, words)], axis=0)),
        stage=scores / best if best > 0 else zeros,
        is_place=table.is_named,
        is_entity=(table.tier & Tier.ENTITY) > 0,
        measured=known,
    )
    return features.of(query.query, columns, k)
