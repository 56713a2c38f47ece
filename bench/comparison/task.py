"""What every engine gets: the chunks of an index, questions about them, and what answers each.

Engines that take texts get what Pincite itself indexes, which is each chunk below the headings and
introductions above it, and for a second column the bare chunk.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from figures import Figures
from pincite.measure.coverage import Corpus, CoveredGold
from pincite.measure.grades import GradedQuestion, parse, tabulated
from pincite.measure.harness import grouping
from pincite.measure.questions import Question
from pincite.measure.words import WordNumbers, lcs_score
from pincite.model.errors import SourceError
from pincite.store.snapshot import Snapshot

K = 10
MEASURES = ("nDCG@10", "Recall@10", "RR")
LCS = "LCS@2"  # share of the evidence's words in the two best hits, if they are on its page


@dataclass(slots=True)
class Task:
    """Chunks and questions in the order in which all engines know them."""

    name: str
    index: Path
    ids: list[str]
    texts: list[str]
    contexts: list[str]  # headings and introductions above each chunk
    golds: list[CoveredGold]
    groups: list[str]
    encoder: str = ""
    cross_encoder: str = ""
    candidates: dict[str, list[int]] = field(default_factory=dict)

    @property
    def questions(self) -> list[str]:
        return [gold.question.text.strip() for gold in self.golds]

    @property
    def has_contexts(self) -> bool:
        return any(self.contexts)

    def given_texts(self, *, bare: bool = False) -> list[str]:
        """Return the texts as engines get them: the words that Pincite indexes, or chunks alone."""
        if bare:
            return self.texts
        both = zip(self.contexts, self.texts, strict=True)
        return [f"{context}\n{text}" if context else text for context, text in both]

    def write(self, folder: Path, *, bare: bool = False) -> None:
        """Write the task where the engines read it."""
        folder.mkdir(exist_ok=True)
        content = {
            "ids": self.ids,
            "texts": self.given_texts(bare=bare),
            "questions": self.questions,
            "k": K,
            "index": str(self.index.absolute()),
            "encoder": self.encoder,
            "cross_encoder": self.cross_encoder,
            "candidates": self.candidates,
        }
        (folder / "bench.json").write_text(json.dumps(content), encoding="utf-8")

    def figures(self, found: Sequence[Sequence[int]]) -> Figures:
        """Return how good hits are, given by the rows of chunks; a row below 0 is none of them."""
        golds = self.golds[: len(found)]
        groups = self.groups[: len(found)]
        figures = Figures()
        grades = tabulated(
            [
                GradedQuestion(
                    [gold.chunks.get(self.ids[row], {}) if row >= 0 else {} for row in rows],
                    gold.ideal,
                    len(gold.question.needs),
                )
                for gold, rows in zip(golds, found, strict=True)
            ]
        )
        for measure in MEASURES:
            figures.add(measure, parse(measure).of(grades).tolist(), groups)
        if all(gold.question.evidence for gold in golds):
            words = WordNumbers()
            lcs = [self._lcs(*each, words) for each in zip(golds, found, strict=True)]
            figures.add(LCS, lcs, groups)
        return figures

    def _lcs(self, gold: CoveredGold, rows: Sequence[int], words: WordNumbers) -> float:
        gold_rows = [row for row in rows[:2] if row >= 0 and self.ids[row] in gold.chunks]
        text = "\n".join(self.texts[row] for row in gold_rows)
        return lcs_score(words.of(gold.question.evidence), words.of(text))


def read_task(name: str, index: Path, questions: Sequence[Question], most: int) -> Task:
    """Return the task of an index: all searched chunks, and as many questions, evenly taken."""
    with Snapshot.open(index) as snapshot:
        corpus = Corpus(snapshot)
        golds = [corpus.gold(question) for question in questions]
        golds = [gold for gold in golds if gold.is_evaluable]
        if not golds:
            raise SourceError(
                "no question has an answer in this index", hint="give questions about its documents"
            )
        step = max(1, len(golds) // most)
        golds = golds[::step][:most]
        chunks = [c for name in snapshot.documents() for c in corpus.chunks(name) if c.searched]
    group = grouping(golds)
    return Task(
        name,
        index,
        [chunk.id for chunk in chunks],
        [chunk.text for chunk in chunks],
        [chunk.context for chunk in chunks],
        golds,
        [group(gold) for gold in golds],
    )
