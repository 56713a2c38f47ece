"""Which questions may not be parted: those about one document, or one section, or with one wording.

A setting that is chosen on a document's questions is not to be judged on others about the same
document. Questions that cite two documents tie these together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pincite.core.errors import SourceError
from pincite.evaluate.judgements.coverage import Corpus, Gold
from pincite.index.postings import Array
from pincite.learn.examples import folds_by_group
from pincite.search.diversity import section_of

By = Literal["document", "section", "wording"]


@dataclass(frozen=True)
class Folds:
    """A group and a fold for every question; a group is in one fold."""

    groups: tuple[str, ...]
    fold: Array
    by: By

    @property
    def count(self) -> int:
        return int(self.fold.max()) + 1

    @property
    def largest(self) -> int:
        """How many questions the largest group has."""
        return max(Counter(self.groups).values())

    def left_out(self, number: int) -> Array:
        """Return which questions are not in a fold: those that may be learned from."""
        return np.asarray(self.fold != number)


def folded(golds: Sequence[Gold], corpus: Corpus, count: int) -> Folds:
    """Return the folds: by document if there are enough, else by section, else by wording."""
    levels: dict[By, list[list[str]]] = {
        "document": [_documents(gold) for gold in golds],
        "section": [_sections(gold, corpus) for gold in golds],
        "wording": [[_wording(gold)] for gold in golds],
    }
    for by, keys in levels.items():
        groups = tied(keys)
        if len(set(groups)) >= count:
            return Folds(groups, folds_by_group(groups, count), by)
    many = len(set(groups))
    if many < 2:
        raise SourceError(
            f"{len(golds)} questions with an answer, all alike: nothing can be held out",
            hint="give more questions, about different places",
        )
    return Folds(groups, folds_by_group(groups, many), "wording")


def tied(keys: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return a group for every question: those that share a key, directly or by others, have one.

    >>> tied([["a"], ["a", "b"], ["b"], ["c"]])
    ('a', 'a', 'a', 'c')
    """
    parent: dict[str, str] = {}

    def home(key: str) -> str:
        parent.setdefault(key, key)
        while parent[key] != key:
            parent[key] = key = parent[parent[key]]
        return key

    for each in keys:
        first = home(each[0])
        for key in each[1:]:
            one, other = sorted((first, home(key)))
            parent[other] = first = one
    return tuple(home(each[0]) for each in keys)


def _wording(gold: Gold) -> str:
    return f"words: {gold.question.wording}"


def _group(gold: Gold) -> list[str]:
    return [f"group: {gold.question.group}"] if gold.question.group else []


def _documents(gold: Gold) -> list[str]:
    return [*sorted(gold.documents), *_group(gold), _wording(gold)]


def _sections(gold: Gold, corpus: Corpus) -> list[str]:
    chunks = corpus.snapshot.get(sorted(gold.chunks))
    names = {
        f"{chunk.span.doc_id}#{section_of(chunk.locator) or chunk.page}": None for chunk in chunks
    }
    return [*names, *_group(gold), _wording(gold)]
