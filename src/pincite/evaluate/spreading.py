"""Questions asked on the nodes of a cluster: some questions of all pipelines at a time.

What comes out is what :func:`pincite.evaluate.harness.ask` yields, but for the times, which are
those of the nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from pincite.cluster import Cluster, Piece
from pincite.core.settings import Settings
from pincite.evaluate.harness import Asking, Harness, without
from pincite.evaluate.judgements.questions import Question
from pincite.evaluate.node_index import SentIndex, received, sent
from pincite.evaluate.runs import Answer, Asked
from pincite.index.opened import OpenIndex
from pincite.search.reader import IndexReader
from pincite.store.snapshot import Snapshot

# Some seconds of work for one processor.
QUESTIONS_AT_ONCE = 8

Row = tuple[Asked, list[Answer]]
_KNOWN: dict[str, Harness] = {}  # on a node: the one that was asked last


@dataclass(frozen=True, slots=True)
class Recipe:
    """A pipeline: its settings, and the stage that it lacks."""

    settings: Settings
    without: str = ""

    def made(self, opened: OpenIndex) -> IndexReader:
        if self.without:
            return without(opened, self.settings, self.without)
        return IndexReader(opened, self.settings)


def ask_on(
    cluster: Cluster,
    snapshot: Snapshot,
    recipes: Sequence[Recipe],
    questions: Sequence[Question],
    how: Asking,
) -> Iterator[Row]:
    """Yield every question with the answer of each pipeline, in order."""
    index = sent(cluster, snapshot)
    whole = cluster.put((index, list(recipes), list(questions), how))
    name = sha256(repr((index.name, recipes, questions, how)).encode()).hexdigest()[:16]
    numbers = range(len(questions))
    pieces = (
        Piece(None, (name, whole, numbers[at : at + QUESTIONS_AT_ONCE]))
        for at in numbers[::QUESTIONS_AT_ONCE]
    )
    for _, rows in cluster.distribute(ask_some, pieces):
        yield from rows


def ask_some(
    name: str,
    whole: tuple[SentIndex, Sequence[Recipe], Sequence[Question], Asking],
    rows: Sequence[int],
) -> list[Row]:
    """On a node: ask some of the questions."""
    if name not in _KNOWN:
        index, recipes, questions, how = whole
        opened = OpenIndex.open(received(index))
        _KNOWN.clear()
        _KNOWN[name] = Harness([each.made(opened) for each in recipes], questions, how)
    return [_KNOWN[name].row(at) for at in rows]
