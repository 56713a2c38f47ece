"""The learned stage: a model's probability takes the place of the scores before it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pincite.core.errors import ModelError
from pincite.core.types import Hit, Ranking
from pincite.learn.features import NAMES, Features
from pincite.learn.model import Model, load_model

# What a query names stays before what a model thinks: these features say that it does.
NAMED = ("place", "entities")


class Learned:
    """Reorders the best candidates by a model; the rest stays behind them in its order.

    ``learned`` is the probability that a hit answers; features before it are in ``raw``, with those
    that the model reads. What the query named is lifted above the rest again, under the name of
    the stage that found it, so that the features add up to the score.
    """

    name = "learned"

    def __init__(self, model: Model, features: Features) -> None:
        self.model = model
        self.features = features

    @classmethod
    def load(cls, file: str | Path, features: Features) -> Learned:
        """Return the stage with the model of a file, if the index has what the model reads."""
        model = load_model(Path(file))
        of_vectors = {"semantic_similarity": features.dense, "late_score": features.late}
        for name, source in of_vectors.items():
            if source is None and name in model.about.get("reads", ()):
                raise ModelError(
                    f"{file} reads {name}, for which this index has no vectors",
                    hint="ingest with --set learn.tokens=true, or learn a model on this index",
                )
        return cls(model, features)

    def rerank(self, ranking: Ranking) -> Ranking:
        table = self.features.of(ranking, self.model.k)
        if not len(table):
            return ranking
        scores = self.model.scores(table, NAMES)
        chances = self.model.probabilities(scores).tolist()
        hits = []
        for place, hit in enumerate(ranking.hits):
            if place < len(chances):
                own = dict(zip(NAMES, table[place].tolist(), strict=True))
                raw = {name: own[name] for name in self.model.features}
                parts = {self.name: chances[place]}
            else:
                raw, parts = {}, {"behind": -1.0 - place}
            parts |= _lift(hit, place, len(ranking.hits))
            before = {**hit.features, **hit.raw}
            hits.append(Hit(hit.chunk_id, sum(parts.values()), parts, {**raw, **before}))
        return replace(ranking, hits=tuple(hits))


def _lift(hit: Hit, place: int, count: int) -> dict[str, float]:
    """Return what a named hit gets on top of a probability, or of being behind."""
    if hit.features.get("place", 0.0) > 0:
        return {"place": 3.0 * (count + 1) - place}  # in the order in which they are named
    if hit.features.get("entities", 0.0) > 0:
        return {"entities": 1.0 * (count + 1)}
    return {}
