"""Trials tried on the nodes of a cluster: some questions of all trials of a batch at a time.

A node keeps what questions share (their places, vectors, what was matched) from batch to batch.
Scores of pairs that were read before are sent, and those read anew come back to be kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pincite.cluster import Cluster, Piece
from pincite.core.settings import Settings
from pincite.evaluate.judgements.questions import Question
from pincite.evaluate.measures import Measure
from pincite.evaluate.node_index import SentIndex, received, sent
from pincite.index.opened import OpenIndex
from pincite.index.postings import Array
from pincite.search.scorers import open_scorer
from pincite.tune.ground import Ground, gains
from pincite.tune.space import Trial
from pincite.tune.state import RememberedPairs

# Trials of a batch share most of the work of a question, so that few questions are enough.
QUESTIONS_AT_ONCE = 4

Gains = tuple[int, list[str], Array]  # a question, trials, and what each of them brings
_GROUNDS: dict[str, Ground] = {}  # on a node: by index, while the questions are the same


@dataclass(frozen=True, slots=True)
class Batch:
    """What all pieces of a batch of trials have in common."""

    index: SentIndex
    questions: Sequence[Question]
    base: Settings
    measure: Measure
    depth: int
    trials: Mapping[str, Settings]
    pairs: Mapping[bytes, float]


@dataclass
class Nodes:
    """Asks questions under some trials on a cluster; each index is sent to it once."""

    cluster: Cluster
    base: Settings
    measure: Measure
    depth: int
    sent: dict[int, SentIndex] = field(default_factory=dict)

    def gains(
        self,
        ground: Ground,
        trials: Sequence[Trial],
        missing: Mapping[str, Array],
        scorer: RememberedPairs | None,
    ) -> Iterator[Gains]:
        """Yield each question in order with what it brings under the trials that lack it."""
        if id(ground) not in self.sent:
            self.sent[id(ground)] = sent(self.cluster, ground.opened.snapshot)
        questions = [gold.question for gold in ground.golds]
        batch = Batch(
            self.sent[id(ground)],
            questions,
            self.base,
            self.measure,
            self.depth,
            {trial.key: trial.settings for trial in trials},
            dict(scorer.known) if scorer else {},
        )
        shared = self.cluster.put(batch)
        wanted = [[key for key in batch.trials if missing[key][at]] for at in range(len(questions))]
        numbered = list(enumerate(wanted))
        pieces = (
            Piece(None, (shared, numbered[at : at + QUESTIONS_AT_ONCE]))
            for at in range(0, len(numbered), QUESTIONS_AT_ONCE)
        )
        for _, (found, pairs) in self.cluster.distribute(try_some, pieces):
            if scorer is not None:
                scorer.add(pairs)
            yield from found


def try_some(
    batch: Batch, wanted: Sequence[tuple[int, Sequence[str]]]
) -> tuple[list[Gains], dict[bytes, float]]:
    """On a node: ask some questions under their trials; the pairs that were read come along."""
    ground = _ground(batch)
    scorer = ground.scorer
    if isinstance(scorer, RememberedPairs):
        scorer.known |= batch.pairs
    plans = {key: ground.plan(settings, batch.depth) for key, settings in batch.trials.items()}
    found = [
        (at, list(keys), gains(ground, at, [plans[key] for key in keys], batch.measure))
        for at, keys in wanted
    ]
    ground.forget()
    return found, dict(scorer.taken()) if isinstance(scorer, RememberedPairs) else {}


def _ground(batch: Batch) -> Ground:
    """Return the ground of this process, made with the first piece."""
    name = batch.index.name
    known = _GROUNDS.get(name)
    if known is None or [gold.question for gold in known.golds] != list(batch.questions):
        inner = open_scorer(replace(batch.base.rerank, enabled=True))
        scorer = RememberedPairs(inner, {}) if inner else None
        _GROUNDS[name] = Ground(OpenIndex.open(received(batch.index)), batch.questions, scorer)
    return _GROUNDS[name]
