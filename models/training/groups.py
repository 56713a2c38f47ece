"""What a cross-encoder learns from: a question, the passage that answers it, and rivals."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pincite.model.errors import MALFORMED, SourceError
from pincite.store.files import Array

QUESTION_TOKENS = 48
HELD_OUT = 40  # one document in so many is kept for looking at, never trained on


@dataclass(frozen=True, slots=True)
class Group:
    """A question with texts: the first answers it, the others do not."""

    query: str
    texts: tuple[str, ...]
    document: str  # groups of one document are all trained on, or none is
    source: str = ""


def read_groups(files: Sequence[Path]) -> list[Group]:
    """Return the groups of files of JSON lines with query, texts and doc."""
    groups = []
    for file in files:
        try:
            for line in file.read_text(encoding="utf-8").splitlines():
                values = json.loads(line)
                texts = tuple(str(text) for text in values["texts"])
                group = Group(values["query"], texts, values["doc"], values.get("source", ""))
                if group.query.strip() and len(texts) > 1 and texts[0].strip():
                    groups.append(group)
        except (OSError, *MALFORMED) as error:
            raise SourceError(
                f"{file} has no groups to train on: {error!r}",
                hint='a line is {"query": ..., "texts": [answer, rival, ...], "doc": ...}',
            ) from error
    return groups


def split(groups: Sequence[Group]) -> tuple[list[Group], list[Group]]:
    """Return groups to train on, and groups of other documents to look at."""
    names = sorted({(group.source, group.document) for group in groups})
    random.Random(7).shuffle(names)
    held = set(names[: max(1, len(names) // HELD_OUT)])
    kept = [group for group in groups if (group.source, group.document) not in held]
    apart = [group for group in groups if (group.source, group.document) in held]
    random.Random(11).shuffle(kept)
    random.Random(3).shuffle(apart)
    return kept, apart


@dataclass(frozen=True, slots=True)
class Batch:
    """Pairs side by side, padded: token numbers, and which of them is what."""

    ids: Array
    types: Array
    is_token: Array
    is_question: Array
    is_passage: Array


class PairTokens:
    """Turns pairs into token numbers as BERT wants them: [CLS] question [SEP] passage [SEP]."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        self.first, self.last = tokenizer.encode("").ids

    def batch(self, pairs: Sequence[tuple[str, str]]) -> Batch:
        rows = [self._row(*pair) for pair in pairs]
        shape = (len(rows), max(len(question) + len(passage) + 3 for question, passage in rows))
        ids, types = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        masks = np.zeros((3, *shape), dtype=bool)
        for number, (question, passage) in enumerate(rows):
            begin, end = len(question) + 2, len(question) + len(passage) + 3
            ids[number, :end] = [self.first, *question, self.last, *passage, self.last]
            types[number, begin:end] = 1
            masks[0, number, :end] = True
            masks[1, number, 1 : begin - 1] = True
            masks[2, number, begin : end - 1] = True
        return Batch(ids, types, *masks)

    def _row(self, query: str, text: str) -> tuple[list[int], list[int]]:
        question = self.tokenizer.encode(query, add_special_tokens=False).ids[:QUESTION_TOKENS]
        passage = self.tokenizer.encode(text, add_special_tokens=False).ids
        return question, passage[: self.max_tokens - 3 - len(question)]


def batches(
    groups: Sequence[Group], size: int, rivals: int, first: int, last: int
) -> Iterator[list[tuple[str, str]]]:
    """Yield the pairs of each step from ``first`` to ``last``: answer, rivals, something else.

    Groups of like length go together, so that little is padded. A step always has the same
    pairs, whether training was interrupted before it or not.
    """
    block_size = 8 * size
    for step in range(first, last):
        at = (step * size) % max(1, len(groups) - block_size)
        block = list(groups[at - at % block_size :][:block_size])
        block.sort(key=lambda group: max(map(len, group.texts[: rivals + 1])))
        inside = at % block_size // size * size
        chance = random.Random(step)
        pairs = []
        for group in block[inside : inside + size]:
            others = list(group.texts[1:])
            some = chance.sample(others, min(rivals, len(others)))
            while len(some) < rivals + 1:  # the last one is about something else
                some.append(chance.choice(groups).texts[0])
            pairs += [(group.query, text) for text in (group.texts[0], *some)]
        yield pairs
